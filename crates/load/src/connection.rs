//! One connection of the engine and the request it carries.

use std::os::fd::OwnedFd;

use bakeoff_wire::h1::ResponseReader;

use crate::multiplex::Multiplex;
use crate::places::Places;
use crate::quic::Session;
use crate::tls::{Seen, Tls};

/// A place for a connection: a client in a closed loop, one of a pool in an open loop.
#[derive(Default)]
pub(crate) struct Connection {
    /// The socket; none while not connected.
    pub(crate) socket: Option<OwnedFd>,
    /// TLS on the socket, from the start of its handshake.
    pub(crate) tls: Option<Box<Tls>>,
    /// HTTP/2 on the socket, from the first time it was spoken.
    pub(crate) multiplex: Option<Box<Multiplex>>,
    /// QUIC on the socket, from the start of its handshake.
    pub(crate) quic: Option<Box<Session>>,
    /// What was seen of a handshake of QUIC.
    pub(crate) seen: Seen,
    /// The requests of a connection that carries many at once, from the first time it did.
    pub(crate) places: Option<Box<Places>>,
    /// Raised with each new socket, so that an event of an old one is known as such.
    pub(crate) generation: u32,
    /// What the connection is doing.
    pub(crate) phase: Phase,
    /// Whether a request has begun on it and not ended.
    pub(crate) has_request: bool,
    /// Reads the response.
    pub(crate) reader: ResponseReader,
    /// Requests that this socket has carried.
    pub(crate) carried: u32,
    /// Which exchange the request is of.
    pub(crate) exchange: u32,
    /// Bytes of the request written so far, where it is written as it is.
    pub(crate) written: usize,
    /// Bytes that were made for this connection and that the socket would not take.
    pub(crate) unsent: Vec<u8>,
    /// When the request was due; the time it was sent in a closed loop. Nanoseconds, as below.
    pub(crate) intended: u64,
    /// When its connection attempt, its handshake or its sending began: what the timeout is of.
    pub(crate) begun: u64,
    /// When its first byte was written.
    pub(crate) sent: u64,
    /// When the first byte of the response was read; 0 before.
    pub(crate) first_byte: u64,
    /// Comparison of the body with the expected one.
    pub(crate) body: BodyComparison,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No socket.
    #[default]
    Spare,
    /// Connecting, for a request or ahead of one.
    Connecting,
    /// Connected, and agreeing on TLS.
    Handshaking,
    /// Ready, no request.
    Idle,
    /// A request is being written or answered.
    InFlight,
    /// Ready, and carrying any number of requests.
    Multiplexed,
}

impl Phase {
    /// Whether the other side is waited for, by the connection as a whole.
    pub(crate) fn waits(self) -> bool {
        matches!(self, Self::Connecting | Self::Handshaking | Self::InFlight)
    }
}

/// How far a body agrees with the expected one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BodyComparison {
    /// Whether this body is compared at all.
    pub(crate) on: bool,
    /// Bytes compared.
    at: usize,
    /// A byte differed.
    differs: bool,
}

impl BodyComparison {
    pub(crate) fn start(on: bool) -> Self {
        Self {
            on,
            at: 0,
            differs: false,
        }
    }

    /// Compares the next bytes of a body.
    #[inline]
    pub(crate) fn compare(&mut self, expected: &[u8], bytes: &[u8]) {
        if self.on && !self.differs {
            self.differs = !expected
                .get(self.at..)
                .is_some_and(|rest| rest.starts_with(bytes));
            self.at += bytes.len();
        }
    }

    /// Whether the whole body is right, given its length.
    #[inline]
    pub(crate) fn is_right(&self, expected: &[u8], body_bytes: u64) -> bool {
        !self.differs && body_bytes == expected.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_right_only_as_a_whole() {
        let compare = |parts: &[&[u8]]| {
            let mut body = BodyComparison::start(true);
            parts.iter().for_each(|part| body.compare(b"hello", part));
            body.is_right(b"hello", parts.iter().map(|part| part.len() as u64).sum())
        };
        assert!(compare(&[b"hel", b"lo"]));
        assert!(!compare(&[b"hel"]));
        assert!(!compare(&[b"hellO"]));
        assert!(!compare(&[b"hello", b"!"]));
        assert!(BodyComparison::start(false).is_right(b"hello", 5));
        assert!(!BodyComparison::start(false).is_right(b"hello", 4));
    }
}
