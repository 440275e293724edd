//! What lies between a connection and its socket: nothing, or TLS.
//!
//! A connection reads and writes through a [`Link`] and does not see which one it has; it is
//! compiled for each, so that a clear one costs what the socket costs.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};

use crate::tls::Room;

/// The bytes of one connection, to the client and from it.
pub(crate) trait Link: Sized {
    /// The link over a socket just accepted; `None` if it cannot be made.
    fn new(socket: OwnedFd, room: &Room) -> Option<Self>;

    /// The socket.
    fn socket(&self) -> &OwnedFd;

    /// Reads what has come into `buffer` and says how many bytes that are; 0 at the end.
    ///
    /// # Errors
    /// `AGAIN` when there is nothing yet; anything else ends the connection.
    fn receive(&mut self, room: &mut Room, buffer: &mut [u8]) -> Result<usize, Errno>;

    /// Sends as much of `bytes` as the socket takes and says how much that is. What was not sent
    /// must come again, as it is.
    ///
    /// # Errors
    /// `AGAIN` when there is no room; anything else ends the connection.
    fn send(&mut self, room: &mut Room, bytes: &[u8]) -> Result<usize, Errno>;

    /// Says that nothing more will come, where that is said above TCP.
    fn end(&mut self, room: &mut Room);
}

/// A connection in the clear.
pub(crate) struct Clear(OwnedFd);

impl Link for Clear {
    #[inline]
    fn new(socket: OwnedFd, _room: &Room) -> Option<Self> {
        Some(Self(socket))
    }

    #[inline]
    fn socket(&self) -> &OwnedFd {
        &self.0
    }

    #[inline]
    fn receive(&mut self, _room: &mut Room, buffer: &mut [u8]) -> Result<usize, Errno> {
        net::recv(&self.0, buffer, RecvFlags::empty()).map(|(read, _)| read)
    }

    #[inline]
    fn send(&mut self, _room: &mut Room, bytes: &[u8]) -> Result<usize, Errno> {
        net::send(&self.0, bytes, SendFlags::NOSIGNAL)
    }

    #[inline]
    fn end(&mut self, _room: &mut Room) {}
}
