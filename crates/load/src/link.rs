//! What is spoken on a connection that is ready: one request at a time, or many.

use crate::greed::Greed;

pub(crate) mod quic;
pub(crate) mod serial;
pub(crate) mod streams;

pub(crate) use quic::QuicLink;
pub(crate) use serial::Serial;
pub(crate) use streams::Streams;

/// What one turn of a connection may read, bytes: then the others have theirs.
const TURN_BYTES: u64 = 256 * 1024;

/// A connection that is ready.
pub(crate) enum Link<S> {
    /// HTTP/1.1: one request at a time.
    Serial(Serial<S>),
    /// HTTP/2: many on one stream of bytes.
    Streams(Box<Streams<S>>),
    /// HTTP/3: many over QUIC.
    Quic(Box<QuicLink<S>>),
}

impl<S> Link<S> {
    /// Whether something that is to be sent waits for the socket or for the server's windows.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        match self {
            Self::Serial(serial) => !serial.line.unsent.is_empty(),
            Self::Streams(streams) => streams.has_unsent(),
            Self::Quic(quic) => quic.session.has_unsent(),
        }
    }
}

/// What one turn of a connection has read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Intake {
    pub(crate) bytes: u64,
    /// Bytes of bodies that it has moved: of answers that came, of requests that went.
    pub(crate) body_bytes: u64,
}

impl Intake {
    /// Whether the turn has read what it may.
    #[inline]
    pub(crate) fn is_full(&self, greed: &Greed) -> bool {
        self.bytes >= TURN_BYTES || (greed.is_greedy() && self.bytes > 0)
    }
}
