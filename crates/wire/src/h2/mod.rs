//! HTTP/2 as a client meets it (RFC 9113).
//!
//! ```text
//! Request ──► Requests: header lists made ready, once per load
//! Client::open ──► HEADERS, a copy of the last one where nothing changed, and DATA
//! bytes ──► Client::handle ──► events, and what the connection answers by itself
//!             ├─ frame.rs: headers of frames    ├─ stream.rs: the streams in flight
//!             ├─ hpack: header blocks           └─ window.rs: flow control
//!             └─ response.rs: what a block means, or the memo of the blocks seen last
//! ```
//!
//! Answered by itself: SETTINGS, PING, windows, streams that broke a rule. Left to the caller:
//! sockets, time-outs, what an outcome is, and how many unread acknowledgements are too many. It
//! accepts no push, sends no priorities, and does not retry.

mod client;
mod event;
pub mod frame;
pub mod hpack;
mod request;
mod response;
mod settings;
mod stream;
mod violation;
mod window;

pub use crate::fields::{HeaderBytes, Request, RequestError};
pub use client::{Blocked, Client};
pub use event::Event;
pub use request::Requests;
pub use settings::{Config, PeerSettings};
pub use violation::{ErrorCode, Violation};

#[cfg(test)]
mod tests;
