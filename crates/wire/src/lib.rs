//! What the bytes mean: HTTP clients without sockets or clocks.
//!
//! Bytes go in with `handle_*`, what they mean comes out. The caller owns the socket, the clock
//! and the buffers, so loss, delay and fragmentation are ordinary unit tests here.

mod fields;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod proxy_protocol;
