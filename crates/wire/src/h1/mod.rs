//! HTTP/1.1 as a client meets it (RFC 9112).
//!
//! ```text
//! Request::encode, encode_chunked ──► bytes, once per load
//! bytes ──► ResponseReader::handle ──► Progress { consumed, response }
//!                │   ├─ head.rs: httparse, or the memo of the head seen last
//!                │   └─ partial.rs: a head that comes in pieces
//!                └───── chunked.rs: the chunk machine
//! end of stream ──► ResponseReader::handle_end
//! ```
//!
//! It does not pipeline, does not follow redirects and does not decode content.

mod chunked;
mod head;
mod partial;
mod request;
mod response;

pub use head::{Framing, Head, HeadMemo, MAX_HEAD_BYTES};
pub use request::{CHUNK_BYTES, Request, RequestError};
pub use response::{EarlyEnd, NewHead, Progress, Response, ResponseReader, Taker};

/// A rule of RFC 9112 that a response broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The head is not `HTTP/1.x status reason` and header lines.
    #[error("the response head is malformed (RFC 9112, 2.1)")]
    MalformedHead,
    /// A frame of HTTP/2 came in place of a head.
    #[error("the server speaks HTTP/2 here, not HTTP/1.1: use the protocol h2c")]
    Http2,
    /// A record of TLS came in place of a head.
    #[error("the server speaks TLS here: use https")]
    Tls,
    /// The head is longer than [`MAX_HEAD_BYTES`].
    #[error("the response head exceeds 64 KiB")]
    HeadTooLong,
    /// More header lines than are read.
    #[error("the response head has more than 256 header lines")]
    TooManyHeaders,
    /// `Content-Length` is no number, or two of them differ.
    #[error("the Content-Length is invalid (RFC 9112, 6.3)")]
    BadContentLength,
    /// `Transfer-Encoding` has `chunked` twice, or stands beside `Content-Length`.
    #[error("the Transfer-Encoding is invalid (RFC 9112, 6.1)")]
    BadTransferEncoding,
    /// A chunk's size line or its end is malformed.
    #[error("a chunk is malformed (RFC 9112, 7.1)")]
    BadChunk,
    /// Bytes came although no request is in flight.
    #[error("bytes arrived without a request in flight")]
    Unsolicited,
}
