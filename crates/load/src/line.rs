//! A connection's stream of bytes: its socket, TLS on it, and what the socket has not taken.
//!
//! It knows no protocol above TLS. What is to be sent is made in the thread's tools and flushed;
//! what a socket does not take is kept here, up to a bound.

use rustix::io::Errno;

use crate::driver::{Driver, ReadTime};
use crate::end::End;
use crate::thread::{READ_BYTES, Thread};
use crate::tls::Tls;

/// What a connection may keep unsent beyond the requests of its client, bytes. A server that has
/// so much more sent to it than it reads is given up.
const UNSENT_BYTES_MAX: usize = 1 << 20;

/// A connection's stream of bytes.
pub(crate) struct Line<S> {
    pub(crate) socket: S,
    /// TLS on the socket, from the start of its handshake.
    pub(crate) tls: Option<Box<Tls>>,
    /// Bytes that were made for this connection and that the socket would not take.
    pub(crate) unsent: Vec<u8>,
    /// The peer has closed its half, or the socket failed: read until the end.
    pub(crate) ended: bool,
    /// Why writing failed; reading may give a better reason.
    pub(crate) broken: Option<Errno>,
}

/// What one read of ciphertext came to.
pub(crate) enum Ciphertext {
    /// Bytes in the buffer, and how many of them are new.
    Some(usize, usize, ReadTime),
    /// Nothing for now.
    Drained,
    /// The stream has ended.
    End,
    Failed(Errno),
}

impl<S> Line<S> {
    pub(crate) fn new(socket: S, ended: bool) -> Self {
        Self {
            socket,
            tls: None,
            unsent: Vec::new(),
            ended,
            broken: None,
        }
    }

    /// Whether no more requests are to be sent, because TLS has no keys for many more.
    #[inline]
    pub(crate) fn is_used_up(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_used_up())
    }

    /// Writes what was made for the line, and keeps what its socket does not take.
    pub(crate) fn flush<D: Driver<Socket = S>>(
        &mut self,
        thread: &mut Thread<'_, D>,
    ) -> Result<(), End> {
        let made = &mut thread.tools.made;
        // What was made earlier goes first.
        let waiting = !self.unsent.is_empty();
        if waiting {
            self.unsent.append(made);
        }
        let bytes = if waiting { &self.unsent } else { &*made };
        let mut at = 0;
        while at < bytes.len() && self.broken.is_none() {
            match thread.driver.send(&self.socket, &bytes[at..]) {
                Ok(written) => at += written,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    self.broken = Some(errno);
                    self.ended = true;
                }
            }
        }
        thread.ledger.counts.meter.wrote(at);
        if waiting {
            self.unsent.drain(..at);
        } else if at < made.len() {
            self.unsent.extend_from_slice(&made[at..]);
        }
        made.clear();
        if self.unsent.is_empty() || self.broken.is_some() {
            self.unsent = Vec::new();
        } else if self.unsent.len() > UNSENT_BYTES_MAX + thread.tools.asked_bytes_max {
            return Err(End::Unread);
        }
        Ok(())
    }

    /// The end of the stream, seen by reading: unless a write was answered by a reset before, it
    /// is `usual`.
    #[cold]
    pub(crate) fn end(&self, usual: End) -> End {
        match self.broken {
            Some(errno @ Errno::CONNRESET) => End::Write(errno),
            _ => usual,
        }
    }

    /// Nothing is to be read. Where writing failed nothing will come either.
    #[cold]
    pub(crate) fn broken(&self) -> Result<(), End> {
        self.broken.map_or(Ok(()), |errno| Err(End::Write(errno)))
    }

    /// Reads behind the ciphertext that waits for the rest of its record.
    pub(crate) fn take_ciphertext<D: Driver<Socket = S>>(
        &mut self,
        thread: &mut Thread<'_, D>,
    ) -> Ciphertext {
        let partial = self.tls.as_ref().map_or(&[][..], |tls| tls.partial());
        let waiting = partial.len();
        let buffer = &mut thread.tools.buffer;
        if buffer.len() < waiting + READ_BYTES {
            // Records are at most 16 KiB, handshake messages rarely more: this happens once.
            let mut larger = vec![0; waiting + READ_BYTES];
            larger[..buffer.len()].copy_from_slice(buffer);
            *buffer = larger.into_boxed_slice();
        }
        buffer[..waiting].copy_from_slice(partial);
        loop {
            return match thread.driver.take(&self.socket, &mut buffer[waiting..]) {
                Ok((0, _)) => Ciphertext::End,
                Ok((read, time)) => {
                    thread.ledger.counts.meter.read(read);
                    Ciphertext::Some(waiting + read, read, time)
                }
                Err(Errno::AGAIN) => Ciphertext::Drained,
                Err(Errno::INTR) => continue,
                Err(errno) => Ciphertext::Failed(errno),
            };
        }
    }
}
