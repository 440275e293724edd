//! The protocols, without sockets: against other implementations, and with random input.

mod counting;
mod h1_httparse;
mod h1_llhttp;
mod h1_support;
mod h2_allocations;
mod h2_cost;
mod h2_differential;
mod h2_properties;
mod h2_stories;
mod h3_allocations;
mod h3_cost;
mod h3_properties;
mod qpack_encoders;
