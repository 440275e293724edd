//! Rules that a server can break, and the codes that errors have on the wire.

use super::hpack::HpackError;
use crate::fields::Fault;

/// A code of RST_STREAM and GOAWAY (RFC 9113, 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Not an error.
    pub const NO_ERROR: Self = Self(0);
    /// A rule was broken that has no code of its own.
    pub const PROTOCOL_ERROR: Self = Self(1);
    /// Something went wrong inside the sender.
    pub const INTERNAL_ERROR: Self = Self(2);
    /// More was sent than a window allows.
    pub const FLOW_CONTROL_ERROR: Self = Self(3);
    /// A frame for a stream that has ended.
    pub const STREAM_CLOSED: Self = Self(5);
    /// A frame of a wrong size.
    pub const FRAME_SIZE_ERROR: Self = Self(6);
    /// The stream was not processed.
    pub const REFUSED_STREAM: Self = Self(7);
    /// The stream is no longer wanted.
    pub const CANCEL: Self = Self(8);
    /// A header block could not be decoded.
    pub const COMPRESSION_ERROR: Self = Self(9);
    /// The peer generates too much load.
    pub const ENHANCE_YOUR_CALM: Self = Self(11);

    /// The code's name, for codes that the RFC names.
    pub(crate) fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(self.0 as usize).copied()
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => out.write_str(name),
            None => write!(out, "error code {:#x}", self.0),
        }
    }
}

/// A rule that a server broke.
///
/// As the error of a call it ends the connection; in an event it ends one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The first frame is not SETTINGS: most likely the server does not speak HTTP/2.
    #[error("the server's first frame is not SETTINGS (RFC 9113, 3.4)")]
    NoPreface,
    /// The server answers in HTTP/1.
    #[error(
        "the server's first frame is not SETTINGS: it answers in HTTP/1.1, so use the protocol h1"
    )]
    Http1,
    /// A frame is longer than this side's SETTINGS_MAX_FRAME_SIZE.
    #[error("a frame is longer than SETTINGS_MAX_FRAME_SIZE allows (RFC 9113, 4.2)")]
    FrameTooLong,
    /// A frame's length does not fit its type.
    #[error("a frame's length does not fit its type (RFC 9113, 6)")]
    FrameLength,
    /// A frame of a stream came for the connection, or the other way round.
    #[error(
        "a frame came for a stream where its type needs the connection, or the other way \
             round (RFC 9113, 6)"
    )]
    FrameStream,
    /// A frame came for a stream that this side never opened.
    #[error("a frame came for a stream that is not open (RFC 9113, 5.1)")]
    IdleStream,
    /// DATA or HEADERS came for a stream after its end.
    #[error("a frame came for a stream after its end (RFC 9113, 5.1)")]
    ClosedStream,
    /// The padding is as long as the frame or longer.
    #[error("the padding is as long as its frame (RFC 9113, 6.1)")]
    Padding,
    /// A header block was interrupted by another frame, or continued without having begun.
    #[error("a header block is not in frames that follow each other (RFC 9113, 6.10)")]
    Continuation,
    /// A header block is longer, or in more frames, than is read.
    #[error("a header block exceeds 64 KiB or 64 frames")]
    HeaderBlockTooLong,
    /// A header block could not be decoded.
    #[error(transparent)]
    Hpack(#[from] HpackError),
    /// A push was promised although this side disabled it.
    #[error("the server pushes although that was disabled (RFC 9113, 8.4)")]
    Push,
    /// A setting has a value that it may not have.
    #[error("a setting has a value that it may not have (RFC 9113, 6.5.2)")]
    SettingValue,
    /// SETTINGS were acknowledged that were not sent.
    #[error("SETTINGS were acknowledged that were not sent (RFC 9113, 6.5.3)")]
    SettingsAck,
    /// More data than a window allows.
    #[error("more data came than the flow-control window allows (RFC 9113, 6.9.1)")]
    WindowExceeded,
    /// A window was enlarged by nothing.
    #[error("a WINDOW_UPDATE has an increment of 0 (RFC 9113, 6.9)")]
    WindowIncrement,
    /// A window was made larger than windows may be.
    #[error("a flow-control window exceeds 2^31-1 bytes (RFC 9113, 6.9.1)")]
    WindowOverflow,
    /// A GOAWAY takes back what the one before it granted less of.
    #[error("a GOAWAY names a later last stream than the one before (RFC 9113, 6.8)")]
    GoAwayRaised,
    /// The response has no `:status`, or more than one, or one that is no status.
    #[error("the response has no valid :status (RFC 9113, 8.3.2)")]
    Status,
    /// A pseudo-header field that responses or trailers do not have, or behind ordinary ones.
    #[error("a pseudo-header field is where it may not be (RFC 9113, 8.3)")]
    PseudoHeader,
    /// A field's name has an upper-case letter or another character that it may not have.
    #[error("a field's name has a character that it may not have (RFC 9113, 8.2.1)")]
    FieldName,
    /// A field's value has a character that it may not have, or white space around it.
    #[error("a field's value has a character that it may not have (RFC 9113, 8.2.1)")]
    FieldValue,
    /// A field that belongs to HTTP/1.1 connections.
    #[error("a field of HTTP/1.1 connections is in the response (RFC 9113, 8.2.2)")]
    ConnectionField,
    /// `content-length` is no number, or two of them differ.
    #[error("the content-length is invalid (RFC 9110, 8.6)")]
    BadContentLength,
    /// The body is not as long as `content-length` says.
    #[error("the body is not as long as its content-length (RFC 9113, 8.1.1)")]
    ContentLength,
    /// A body came where none may be: to HEAD, with 204 or with 304.
    #[error("a response that cannot have a body has one (RFC 9110, 6.4.1)")]
    UnexpectedBody,
    /// DATA came before the final response's head.
    #[error("DATA came before the response's head (RFC 9113, 8.1)")]
    NoHead,
    /// An interim response ended the stream, or was 101.
    #[error("an interim response ends its stream or is 101 (RFC 9113, 8.1 and 8.6)")]
    Interim,
    /// Trailers did not end the stream.
    #[error("trailers do not end their stream (RFC 9113, 8.1)")]
    Trailers,
    /// What has to be acknowledged came on and on while nothing of the answers was read; found
    /// by the caller, see [`Client::calm`](super::Client::calm).
    #[error(
        "the server sends PING or SETTINGS and does not read the acknowledgements \
         (RFC 9113, 10.5)"
    )]
    Flood,
}

impl From<Fault> for Violation {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Status => Self::Status,
            Fault::PseudoHeader => Self::PseudoHeader,
            Fault::Name => Self::FieldName,
            Fault::Value => Self::FieldValue,
            Fault::Connection => Self::ConnectionField,
            Fault::ContentLength => Self::BadContentLength,
        }
    }
}

impl Violation {
    /// The code that this is sent to the server with.
    pub(crate) fn code(self) -> ErrorCode {
        match self {
            Self::FrameTooLong | Self::FrameLength => ErrorCode::FRAME_SIZE_ERROR,
            Self::ClosedStream => ErrorCode::STREAM_CLOSED,
            Self::Hpack(HpackError::ListTooLong) | Self::HeaderBlockTooLong | Self::Flood => {
                ErrorCode::ENHANCE_YOUR_CALM
            }
            Self::Hpack(_) => ErrorCode::COMPRESSION_ERROR,
            Self::WindowExceeded | Self::WindowOverflow => ErrorCode::FLOW_CONTROL_ERROR,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }
}
