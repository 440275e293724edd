//! What came of a server's bytes.

use super::{ErrorCode, Violation};

/// Something that happened on a connection. `token` is what the caller gave
/// [`Client::open`](super::Client::open).
///
/// Each stream ends with exactly one of [`End`](Self::End), [`Reset`](Self::Reset),
/// [`Refused`](Self::Refused), [`BeyondGoAway`](Self::BeyondGoAway) and
/// [`Malformed`](Self::Malformed), unless the caller cancels it or the connection ends before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An interim response (1xx).
    Informational {
        /// Whose stream.
        token: u32,
        /// Status code.
        status: u16,
    },
    /// The head of the final response.
    Head {
        /// Whose stream.
        token: u32,
        /// Status code.
        status: u16,
    },
    /// A part of the body, never empty; a body may come in many, cut anywhere.
    Data {
        /// Whose stream.
        token: u32,
        /// Where it begins in the bytes given to `handle`.
        start: u32,
        /// Its length, bytes.
        length: u32,
    },
    /// The response is whole.
    End {
        /// Whose stream.
        token: u32,
        /// Whether trailers came behind the body.
        had_trailers: bool,
        /// Length of the body, bytes.
        body_bytes: u64,
    },
    /// The server ended the stream before its response was whole.
    Reset {
        /// Whose stream.
        token: u32,
        /// The server's reason.
        code: ErrorCode,
    },
    /// The server did not process the request: it reset the stream with REFUSED_STREAM.
    Refused {
        /// Whose stream.
        token: u32,
    },
    /// The server does not process the request: it is beyond the last stream of a GOAWAY.
    BeyondGoAway {
        /// Whose stream.
        token: u32,
    },
    /// The response broke a rule that concerns its stream alone. The stream has ended.
    Malformed {
        /// Whose stream.
        token: u32,
        /// The rule.
        violation: Violation,
    },
    /// The server wants no more streams on this connection.
    GoAway {
        /// The last stream that the server may have processed or will process.
        last: u32,
        /// The server's reason.
        code: ErrorCode,
    },
    /// The server's settings came: how many streams can be opened may be another number now.
    SettingsChanged,
}
