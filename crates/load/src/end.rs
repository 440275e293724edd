//! Every way in which a request ends without a right answer: its outcome and its message.

use bakeoff_record::{CloseKind, Outcome};
use bakeoff_wire::{h1, h2};
use rustix::io::Errno;

use crate::quic::Lost;
use crate::target::Endpoint;
use crate::tls::TlsFailure;

/// How a request, or the connection it was on, came to its end.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum End {
    /// A whole response has another status than expected.
    #[error("status {0}")]
    Status(u16),
    /// A whole response has another body than expected, of so many bytes.
    #[error("a body of {0} bytes is not the expected one")]
    WrongBody(u64),
    /// Bytes followed the response.
    #[error("bytes after the end of the response")]
    Beyond,
    /// A response came although the request had not been sent.
    #[error("the answer came before the request was sent")]
    Early,
    /// A connection could not be made to this address.
    #[error("connect to {1}: {0}")]
    Connect(Errno, Box<str>),
    /// A socket could not be set up.
    #[error("set up a connection: {0}")]
    SetUp(String),
    /// Reading failed.
    #[error("read: {0}")]
    Read(Errno),
    /// Writing failed, and nothing was there to read.
    #[error("write: {0}")]
    Write(Errno),
    /// The server ended the connection.
    #[error("the server closed the connection {0}")]
    Closed(Closed),
    /// The server ended the connection before an answer, so long after it was made or after its
    /// last answer.
    #[error(
        "the server closed the connection before answering, {after_s:.3} s after {}{}",
        if *had_answers { "its last answer" } else { "it was made" },
        by_goaway(said.as_deref())
    )]
    ClosedAfter {
        after_s: f64,
        had_answers: bool,
        /// What its GOAWAY gave as the error.
        said: Option<Box<str>>,
    },
    /// TLS failed.
    #[error(transparent)]
    Tls(TlsFailure),
    /// The response broke HTTP/1.1.
    #[error(transparent)]
    H1(h1::Violation),
    /// The server broke HTTP/2, or a response did.
    #[error(transparent)]
    H2(h2::Violation),
    /// A response broke HTTP/3.
    #[error("{0}")]
    H3(String),
    /// The server chose another protocol than HTTP/2.
    #[error("the server did not agree to HTTP/2 (ALPN h2)")]
    NoH2,
    /// The server makes this side send and does not read it.
    #[error("the server makes the client send more than it reads (RFC 9113, 10.5)")]
    Unread,
    /// The server reset the stream by this code.
    #[error("the server reset the stream: {0}")]
    StreamReset(String),
    /// The server refused the stream.
    #[error("the server refused the stream")]
    StreamRefused,
    /// The server ended the connection by this error, and the stream is beyond its last one.
    #[error("the server ended the connection and refused the stream (GOAWAY: {0})")]
    GoneAway(Box<str>),
    /// The server ended connection after connection in order and took no request.
    #[error("the server ended one connection after another (GOAWAY) and accepted no request")]
    NothingTaken,
    /// A QUIC connection ended.
    #[error("{}", .0.message)]
    Quic(Lost),
    /// Something did not happen within the timeout.
    #[error("no {0} within {1} s")]
    Late(Late, f64),
}

/// Where a request was when the server ended its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    BeforeAnswer,
    InsideAnswer,
    InHandshake,
}

impl std::fmt::Display for Closed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::BeforeAnswer => "before answering",
            Self::InsideAnswer => "inside its answer",
            Self::InHandshake => "in the handshake",
        })
    }
}

/// What was waited for in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    Connection,
    TlsHandshake,
    QuicHandshake,
    /// The server allows none at all.
    Stream,
    /// The server lets no more of the request through.
    Window,
    Answer,
}

impl std::fmt::Display for Late {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Connection => "connection",
            Self::TlsHandshake => "TLS handshake",
            Self::QuicHandshake => "QUIC handshake",
            Self::Stream => {
                "stream, because the server allows none (SETTINGS_MAX_CONCURRENT_STREAMS is 0),"
            }
            Self::Window => {
                "room for the rest of the request, because the server's window is used up (no \
                 WINDOW_UPDATE),"
            }
            Self::Answer => "whole response",
        })
    }
}

impl End {
    pub(crate) const INSIDE_ANSWER: Self = Self::Closed(Closed::InsideAnswer);
    pub(crate) const BEFORE_ANSWER: Self = Self::Closed(Closed::BeforeAnswer);

    /// A connection could not be made.
    #[cold]
    pub(crate) fn connect(errno: Errno, to: &Endpoint) -> Self {
        Self::Connect(errno, to.to_string().into())
    }

    /// Whether a connection may be made to another address of the same name.
    pub(crate) fn is_of_address(&self) -> bool {
        match self {
            // Files, memory and ports are this side's.
            Self::Connect(errno, _) => !matches!(
                *errno,
                Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::ADDRINUSE
            ),
            Self::Late(Late::Connection | Late::QuicHandshake, _) => true,
            Self::Quic(lost) => lost.kind == CloseKind::Unreachable,
            _ => false,
        }
    }

    /// The message, without the address.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Connect(errno, _) => errno.to_string(),
            other => other.to_string(),
        }
    }

    /// What the requests that end so come out as.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Status(_) => Outcome::Status,
            Self::WrongBody(_) => Outcome::WrongBody,
            Self::Beyond => Outcome::TooLong,
            Self::Connect(errno, _) => of_connect(*errno),
            Self::SetUp(_) => Outcome::Local,
            Self::Read(errno) => of_read(*errno),
            Self::Write(_) | Self::StreamReset(_) => Outcome::Reset,
            Self::Closed(Closed::InsideAnswer) => Outcome::Truncated,
            Self::Closed(_) | Self::ClosedAfter { .. } => Outcome::ClosedEarly,
            Self::Tls(_) => Outcome::Tls,
            Self::Early | Self::H1(_) | Self::H2(_) | Self::H3(_) | Self::NoH2 | Self::Unread => {
                Outcome::Protocol
            }
            Self::StreamRefused | Self::GoneAway(_) | Self::NothingTaken => Outcome::RefusedStream,
            Self::Quic(lost) => lost.outcome,
            Self::Late(Late::Answer | Late::Stream | Late::Window, _) => Outcome::Timeout,
            Self::Late(_, _) => Outcome::ConnectTimeout,
        }
    }

    /// Whether it was the server that ended the connection.
    pub(crate) fn is_by_server(&self) -> bool {
        matches!(
            self.outcome(),
            Outcome::Reset | Outcome::ClosedEarly | Outcome::Truncated
        )
    }
}

/// The error of a GOAWAY behind what it led to.
fn by_goaway(said: Option<&str>) -> String {
    said.map_or(String::new(), |said| format!(" (GOAWAY: {said})"))
}

fn of_connect(errno: Errno) -> Outcome {
    match errno {
        Errno::CONNREFUSED => Outcome::Refused,
        Errno::CONNRESET => Outcome::Reset,
        Errno::TIMEDOUT => Outcome::ConnectTimeout,
        // Everything else is this side's: files, ports, memory, routes (R11).
        _ => Outcome::Local,
    }
}

fn of_read(errno: Errno) -> Outcome {
    match errno {
        Errno::CONNRESET | Errno::PIPE | Errno::CONNREFUSED => Outcome::Reset,
        Errno::TIMEDOUT => Outcome::Timeout,
        _ => Outcome::Local,
    }
}

impl From<h1::EarlyEnd> for End {
    fn from(end: h1::EarlyEnd) -> Self {
        match end {
            h1::EarlyEnd::BeforeFirstByte => Self::BEFORE_ANSWER,
            h1::EarlyEnd::InsideResponse => Self::INSIDE_ANSWER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_one_outcome_and_says_what_happened() {
        let connect = |errno| End::connect(errno, &Endpoint::Unix("/a".into()));
        for (end, outcome, message) in [
            (End::Status(503), Outcome::Status, "status 503"),
            (End::WrongBody(4), Outcome::WrongBody, "4 bytes"),
            (End::Beyond, Outcome::TooLong, "after the end"),
            (End::Early, Outcome::Protocol, "before the request"),
            (
                connect(Errno::CONNREFUSED),
                Outcome::Refused,
                "connect to /a: ",
            ),
            (connect(Errno::CONNRESET), Outcome::Reset, "connect"),
            (connect(Errno::TIMEDOUT), Outcome::ConnectTimeout, "connect"),
            (connect(Errno::MFILE), Outcome::Local, "connect"),
            (End::SetUp("x".to_owned()), Outcome::Local, "set up"),
            (End::Read(Errno::CONNRESET), Outcome::Reset, "read"),
            (End::Read(Errno::TIMEDOUT), Outcome::Timeout, "read"),
            (End::Read(Errno::NOMEM), Outcome::Local, "read"),
            (End::Write(Errno::PIPE), Outcome::Reset, "write"),
            (End::BEFORE_ANSWER, Outcome::ClosedEarly, "before answering"),
            (End::INSIDE_ANSWER, Outcome::Truncated, "inside its answer"),
            (
                End::Closed(Closed::InHandshake),
                Outcome::ClosedEarly,
                "handshake",
            ),
        ] {
            assert_eq!(end.outcome(), outcome, "{end:?}");
            assert!(end.to_string().contains(message), "{end}");
        }
    }

    #[test]
    fn each_end_of_a_protocol_has_one_outcome_and_says_what_happened() {
        let lost = Lost {
            outcome: Outcome::ClosedEarly,
            kind: CloseKind::Application,
            message: "closed".to_owned(),
        };
        let alert = TlsFailure::Alert("HandshakeFailure".to_owned());
        for (end, outcome, message) in [
            (End::Tls(alert), Outcome::Tls, "HandshakeFailure"),
            (End::H1(h1::Violation::Unsolicited), Outcome::Protocol, ""),
            (End::H2(h2::Violation::Flood), Outcome::Protocol, ""),
            (End::H3("x".to_owned()), Outcome::Protocol, "x"),
            (End::NoH2, Outcome::Protocol, "ALPN"),
            (End::Unread, Outcome::Protocol, "more than it reads"),
            (
                End::StreamReset("CANCEL".to_owned()),
                Outcome::Reset,
                "CANCEL",
            ),
            (End::StreamRefused, Outcome::RefusedStream, "refused"),
            (End::NothingTaken, Outcome::RefusedStream, "GOAWAY"),
            (
                End::GoneAway("CANCEL".into()),
                Outcome::RefusedStream,
                "(GOAWAY: CANCEL)",
            ),
            (
                End::Late(Late::Stream, 2.0),
                Outcome::Timeout,
                "MAX_CONCURRENT_STREAMS is 0), within 2 s",
            ),
            (
                End::Late(Late::Window, 2.0),
                Outcome::Timeout,
                "(no WINDOW_UPDATE), within 2 s",
            ),
            (End::Quic(lost), Outcome::ClosedEarly, "closed"),
            (
                End::Late(Late::Answer, 2.0),
                Outcome::Timeout,
                "response within 2 s",
            ),
            (
                End::Late(Late::Connection, 2.0),
                Outcome::ConnectTimeout,
                "no connection",
            ),
            (
                End::Late(Late::TlsHandshake, 2.0),
                Outcome::ConnectTimeout,
                "TLS",
            ),
            (
                End::Late(Late::QuicHandshake, 2.0),
                Outcome::ConnectTimeout,
                "QUIC",
            ),
        ] {
            assert_eq!(end.outcome(), outcome, "{end:?}");
            assert!(end.to_string().contains(message), "{end}");
        }
    }

    #[test]
    fn only_what_the_server_ends_counts_as_its_end() {
        assert!(End::BEFORE_ANSWER.is_by_server());
        assert!(End::Read(Errno::CONNRESET).is_by_server());
        assert!(!End::Late(Late::Answer, 1.0).is_by_server());
        assert!(!End::H1(h1::Violation::Unsolicited).is_by_server());
    }
}
