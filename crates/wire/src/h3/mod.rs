//! HTTP/3 as a client meets it (RFC 9114), upon a QUIC that the caller drives.
//!
//! ```text
//! Request ──► Requests: the bytes of a whole request stream, once per load
//! Connection::begin ──► the bytes of our control stream
//! a request stream's bytes ──► Response::handle ──► events; at its end Response::finish
//!                                ├─ frame.rs: cutting into frames
//!                                └─ memo.rs: what a section means, or meant before ── qpack
//! a unidirectional stream's bytes ──► Connection::handle_uni ──► settings, GOAWAY
//! ```
//!
//! No dynamic table is offered and none is used: requests are encoded beforehand, responses are
//! read without waiting for another stream, and the caller opens a single stream in addition to its
//! requests, for [`Connection::begin`]: those of QPACK would stay empty (RFC 9204, 4.2). The full
//! decoder in [`qpack`] is there to check others by.
//!
//! Left to the caller: QUIC, its limits (it should allow the server no bidirectional streams, and
//! few unidirectional ones), resets, and what an outcome is. No push, no priorities, no datagrams,
//! no CONNECT, no retries.

mod connection;
mod frame;
mod memo;
pub mod qpack;
mod request;
mod response;
mod settings;
mod varint;
mod violation;

pub use crate::fields::{HeaderBytes, Request, RequestError};
pub use connection::{Connection, ControlEvent};
pub use memo::Memo;
pub use request::Requests;
pub use response::{End, Event, Response};
pub use settings::{Config, PeerSettings};
pub use violation::{ErrorCode, Violation};

#[cfg(test)]
mod tests;
