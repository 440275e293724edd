//! Edges: connections that end, or speak, at the moment when nobody expects it.

use std::io;
use std::time::Duration;

use super::Protocol;
use super::frames::{self, Incoming};
use super::good::{self, HELLO};
use super::line::Line;

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\
    Connection: close\r\n\r\nbusy\n";
const GARBAGE: &[u8] = b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n\x00\x01\x02\x03";
/// A body that is cut off after five of its bytes.
const CUT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhello";
/// The same over HTTP/2, on a stream that is put in: `:status: 200`, `content-length: 1000`.
const CUT_HEAD: &[u8] = b"\x88\x0f\x0d\x041000";

/// Where a connection ends, or speaks too soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// 503 and the end, at accept; over TLS right behind the handshake.
    Busy,
    /// The end, at accept.
    Fin,
    /// A reset, at accept.
    Reset,
    /// GOAWAY and the end, at accept.
    GoAway,
    /// What another protocol begins with, at accept.
    Garbage,
    /// A reset inside a body.
    ResetInBody,
    /// An answer before any request was sent; the connection stays open.
    Early,
    /// After an answer, when the connection has long been idle, another one.
    Unasked,
}

impl Edge {
    /// Those that a protocol has.
    pub(crate) fn over(protocol: Protocol) -> &'static [Self] {
        if protocol.is_h2() {
            &[
                Self::Fin,
                Self::Reset,
                Self::GoAway,
                Self::Garbage,
                Self::ResetInBody,
                Self::Early,
            ]
        } else {
            &[
                Self::Busy,
                Self::Fin,
                Self::Reset,
                Self::Garbage,
                Self::ResetInBody,
                Self::Early,
                Self::Unasked,
            ]
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Fin => "fin",
            Self::Reset => "reset",
            Self::GoAway => "goaway",
            Self::Garbage => "garbage",
            Self::ResetInBody => "reset-in-body",
            Self::Early => "early",
            Self::Unasked => "unasked",
        }
    }

    pub(super) fn act(self, protocol: Protocol, line: &mut Line) -> io::Result<()> {
        match self {
            Self::Busy => line.open(BUSY),
            Self::Fin => line.finish(),
            Self::Reset => line.reset_at_close(),
            Self::GoAway => {
                let goaway = frames::frame(frames::GOAWAY, 0, 0, &[0; 8]);
                line.open(&[frames::settings(), goaway].concat())?;
                line.finish()
            }
            Self::Garbage => {
                line.write(GARBAGE)?;
                line.drain()
            }
            Self::ResetInBody => reset_in_body(protocol, line),
            Self::Early if protocol.is_h2() => {
                // Of two streams, so that one of them is never open.
                let early = [frames::settings(), frames::answer(3), frames::answer(1)];
                line.open(&early.concat())?;
                line.drain()
            }
            Self::Early => {
                line.open(HELLO)?;
                line.drain()
            }
            Self::Unasked => {
                line.open(&[])?;
                good::read_request(line)?;
                line.send(HELLO)?;
                std::thread::sleep(Duration::from_millis(400));
                line.send(HELLO)?;
                line.drain()
            }
        }
    }
}

fn reset_in_body(protocol: Protocol, line: &mut Line) -> io::Result<()> {
    if protocol.is_h2() {
        line.open(&frames::settings())?;
        let stream = Incoming::default().request(line)?;
        let head = frames::frame(frames::HEADERS, frames::END_HEADERS, stream, CUT_HEAD);
        let body = frames::frame(frames::DATA, 0, stream, b"hello");
        line.send(&[head, body].concat())?;
    } else {
        line.open(&[])?;
        good::read_request(line)?;
        line.send(CUT)?;
    }
    line.reset_at_close()
}
