//! HTTP/3 as a server meets it (RFC 9114), upon QUIC by `quinn-proto`, which owns no socket.
//!
//! ```text
//! datagrams::receive ─► Endpoint ─► Peer: streams ─► RequestReader ─► Behaviour ─► an answer
//!                                    └─ once a turn ─► udp::send, many in one call
//! ```
//!
//! A thread has one UDP socket for all its connections, and a loop of its own: what is ready is
//! one socket, and everything else is time. A request that comes whole and whose answer QUIC takes
//! at once leaves nothing behind. Requests are read without a dynamic table and none is offered,
//! so what comes on QPACK's streams and the control stream is read and thrown away.
//!
//! Left out: 0-RTT, Retry, migration, datagrams (RFC 9221), and explicit congestion notification.
//! Over addresses of several interfaces at once (`0.0.0.0`) the kernel chooses the source of what
//! is sent, which may not be the address that was asked.

mod datagrams;
mod peer;
mod replies;
mod request;
mod worker;

pub(crate) use replies::{Ready, encode};
pub use request::{Refused, RequestReader, Sections};
pub(crate) use worker::{Worker, open};
