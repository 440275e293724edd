//! Rules that a server can break, and the codes that errors have on the wire.

use super::qpack::{EncoderStreamError, SectionError};
use crate::fields::Fault;

/// A code of RESET_STREAM, STOP_SENDING and CONNECTION_CLOSE (RFC 9114, 8.1; RFC 9204, 8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(pub u64);

impl ErrorCode {
    /// Not an error.
    pub const NO_ERROR: Self = Self(0x100);
    /// A stream came that may not be.
    pub const STREAM_CREATION_ERROR: Self = Self(0x103);
    /// A stream that a connection needs was closed.
    pub const CLOSED_CRITICAL_STREAM: Self = Self(0x104);
    /// A frame came where it may not be.
    pub const FRAME_UNEXPECTED: Self = Self(0x105);
    /// A frame's length does not fit what is in it.
    pub const FRAME_ERROR: Self = Self(0x106);
    /// The peer generates too much load.
    pub const EXCESSIVE_LOAD: Self = Self(0x107);
    /// An identifier was used wrongly.
    pub const ID_ERROR: Self = Self(0x108);
    /// A setting is wrong.
    pub const SETTINGS_ERROR: Self = Self(0x109);
    /// The control stream did not begin with SETTINGS.
    pub const MISSING_SETTINGS: Self = Self(0x10a);
    /// The server did not process the request.
    pub const REQUEST_REJECTED: Self = Self(0x10b);
    /// The request or its response is no longer wanted.
    pub const REQUEST_CANCELLED: Self = Self(0x10c);
    /// A message is malformed.
    pub const MESSAGE_ERROR: Self = Self(0x10e);
    /// A field section could not be decoded.
    pub const QPACK_DECOMPRESSION_FAILED: Self = Self(0x200);
    /// An instruction of the encoder's stream could not be read.
    pub const QPACK_ENCODER_STREAM_ERROR: Self = Self(0x201);
    /// An instruction of the decoder's stream could not be read.
    pub const QPACK_DECODER_STREAM_ERROR: Self = Self(0x202);

    /// The code's name, for codes that the RFCs name.
    pub(crate) fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 17] = [
            "H3_NO_ERROR",
            "H3_GENERAL_PROTOCOL_ERROR",
            "H3_INTERNAL_ERROR",
            "H3_STREAM_CREATION_ERROR",
            "H3_CLOSED_CRITICAL_STREAM",
            "H3_FRAME_UNEXPECTED",
            "H3_FRAME_ERROR",
            "H3_EXCESSIVE_LOAD",
            "H3_ID_ERROR",
            "H3_SETTINGS_ERROR",
            "H3_MISSING_SETTINGS",
            "H3_REQUEST_REJECTED",
            "H3_REQUEST_CANCELLED",
            "H3_REQUEST_INCOMPLETE",
            "H3_MESSAGE_ERROR",
            "H3_CONNECT_ERROR",
            "H3_VERSION_FALLBACK",
        ];
        const QPACK_NAMES: [&str; 3] = [
            "QPACK_DECOMPRESSION_FAILED",
            "QPACK_ENCODER_STREAM_ERROR",
            "QPACK_DECODER_STREAM_ERROR",
        ];
        let (names, first) = match self.0 {
            0x200.. => (&QPACK_NAMES[..], 0x200),
            _ => (&NAMES[..], 0x100),
        };
        let place = usize::try_from(self.0.checked_sub(first)?).ok()?;
        names.get(place).copied()
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

/// A rule that a server broke. It ends the connection, or the response's stream alone:
/// [`ends_connection`](Self::ends_connection) says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The control stream begins with another frame than SETTINGS.
    #[error("the control stream does not begin with SETTINGS (RFC 9114, 6.2.1)")]
    MissingSettings,
    /// A second control stream, or a second one of QPACK's.
    #[error("a stream came twice that there may be one of (RFC 9114, 6.2.1; RFC 9204, 4.2)")]
    SecondStream,
    /// The control stream or one of QPACK's ended.
    #[error("a stream ended that the connection needs (RFC 9114, 6.2.1; RFC 9204, 4.2)")]
    ClosedCriticalStream,
    /// More unidirectional streams of unknown types than are kept track of.
    #[error("more than 64 unidirectional streams are open")]
    TooManyStreams,
    /// A push stream or PUSH_PROMISE or CANCEL_PUSH, although this side allowed no push.
    #[error("the server pushes although that was not allowed (RFC 9114, 4.6)")]
    Push,
    /// A frame came on a stream that its type does not belong to, or out of its order.
    #[error("a frame came on a stream, or at a place, where it may not be (RFC 9114, 7.2)")]
    FrameUnexpected,
    /// A type of HTTP/2 that may not be used any more.
    #[error("a frame has a type that is reserved for HTTP/2 (RFC 9114, 7.2.8)")]
    Http2Frame,
    /// What is in a frame is longer or shorter than the frame.
    #[error("a frame's length does not fit what is in it (RFC 9114, 7.1)")]
    FrameLength,
    /// The stream ended within a frame.
    #[error("a stream ends within a frame (RFC 9114, 7.1)")]
    FrameCut,
    /// A setting of HTTP/2, or one that came twice.
    #[error("a setting came twice or is reserved for HTTP/2 (RFC 9114, 7.2.4.1)")]
    Setting,
    /// SETTINGS are longer than any that mean something.
    #[error("the server's SETTINGS are longer than 4 KiB")]
    SettingsTooLong,
    /// A GOAWAY names no stream of a client's, or a later one than the GOAWAY before.
    #[error("a GOAWAY names a wrong stream, or a later one than before (RFC 9114, 5.2)")]
    GoAwayId,
    /// A field section could not be decoded.
    #[error(transparent)]
    Section(#[from] SectionError),
    /// An instruction of the server's encoder is wrong.
    #[error(transparent)]
    EncoderStream(#[from] EncoderStreamError),
    /// The server's decoder acknowledges what was not sent.
    #[error("the server acknowledges entries that were not inserted (RFC 9204, 4.4)")]
    DecoderStream,
    /// The response has no `:status`, or more than one, or one that is no status.
    #[error("the response has no valid :status (RFC 9114, 4.3.2)")]
    Status,
    /// A pseudo-header field that responses or trailers do not have, or behind ordinary ones.
    #[error("a pseudo-header field is where it may not be (RFC 9114, 4.3)")]
    PseudoHeader,
    /// A field's name has an upper-case letter or another character that it may not have.
    #[error("a field's name has a character that it may not have (RFC 9114, 4.2)")]
    FieldName,
    /// A field's value has a character that it may not have, or white space around it.
    #[error("a field's value has a character that it may not have (RFC 9114, 10.3)")]
    FieldValue,
    /// A field that belongs to HTTP/1.1 connections.
    #[error("a field of HTTP/1.1 connections is in the response (RFC 9114, 4.2)")]
    ConnectionField,
    /// `content-length` is no number, or two of them differ.
    #[error("the content-length is invalid (RFC 9110, 8.6)")]
    BadContentLength,
    /// The body is not as long as `content-length` says.
    #[error("the body is not as long as its content-length (RFC 9114, 4.1.2)")]
    ContentLength,
    /// A body came where none may be: to HEAD, with 204 or with 304.
    #[error("a response that cannot have a body has one (RFC 9110, 6.4.1)")]
    UnexpectedBody,
    /// An interim response of status 101.
    #[error("an interim response is 101 (RFC 9114, 4.5)")]
    Interim,
    /// The stream ended before the final response's head.
    #[error("the stream ended without a final response (RFC 9114, 4.1)")]
    NoResponse,
}

impl Violation {
    /// The code that this is sent to the server with.
    pub fn code(self) -> ErrorCode {
        match self {
            Self::MissingSettings => ErrorCode::MISSING_SETTINGS,
            Self::SecondStream => ErrorCode::STREAM_CREATION_ERROR,
            Self::ClosedCriticalStream => ErrorCode::CLOSED_CRITICAL_STREAM,
            Self::TooManyStreams
            | Self::SettingsTooLong
            | Self::Section(SectionError::ListTooLong) => ErrorCode::EXCESSIVE_LOAD,
            Self::Push | Self::GoAwayId => ErrorCode::ID_ERROR,
            Self::FrameUnexpected | Self::Http2Frame => ErrorCode::FRAME_UNEXPECTED,
            Self::FrameLength | Self::FrameCut => ErrorCode::FRAME_ERROR,
            Self::Setting => ErrorCode::SETTINGS_ERROR,
            Self::Section(_) => ErrorCode::QPACK_DECOMPRESSION_FAILED,
            Self::EncoderStream(_) => ErrorCode::QPACK_ENCODER_STREAM_ERROR,
            Self::DecoderStream => ErrorCode::QPACK_DECODER_STREAM_ERROR,
            Self::Status
            | Self::PseudoHeader
            | Self::FieldName
            | Self::FieldValue
            | Self::ConnectionField
            | Self::BadContentLength
            | Self::ContentLength
            | Self::UnexpectedBody
            | Self::Interim
            | Self::NoResponse => ErrorCode::MESSAGE_ERROR,
        }
    }

    /// Whether the connection has to end, to be closed with [`code`](Self::code). Otherwise the
    /// response is malformed, or too large to be read, and its stream alone ends.
    pub fn ends_connection(self) -> bool {
        let is_of_stream = self.code() == ErrorCode::MESSAGE_ERROR
            || self == Self::Section(SectionError::ListTooLong);
        !is_of_stream
    }
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
