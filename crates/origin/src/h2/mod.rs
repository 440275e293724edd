//! HTTP/2 as a server meets it (RFC 9113).
//!
//! ```text
//! recv ─► Connection ─► Session::receive ─► Behaviour ─► an answer, copied ─► send, once a read
//!                         ├─ wire::h2::frame: frames          (or else)
//!                         ├─ fields.rs: whose method          Streams ─► Session::pump
//!                         └─ window.rs: what a client may send
//! ```
//!
//! A request whose answer fits the client's windows leaves nothing behind: its answer is a copy
//! of bytes made before, with the stream's number written into it. Only a stream that has to wait
//! for something is remembered. Header blocks use no dynamic table, so they are the same on every
//! connection; those of clients may, and are read by [`bakeoff_wire`], as frames are.
//!
//! Priorities are read over, nothing is pushed, and a GOAWAY of the client changes nothing: it
//! closes the connection when it has what it wants.

mod connection;
mod fields;
mod replies;
mod session;
mod streams;
mod window;

pub(crate) use connection::Connection;
pub(crate) use replies::{Ready, encode};
pub use session::answer;
