//! HTTP clients without sockets or clocks: decodes what a server sends, and encodes requests.
//!
//! Bytes go in with `handle_*`, and their meaning comes out. The caller owns the socket, the clock
//! and the buffers, so loss, delay and fragmentation can be tested like anything else.

mod fields;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod proxy_protocol;
