//! What the loop asks of the machine: the time, sockets, and to be woken.
//!
//! ```text
//! Loop ─► Driver ─► Epoll      the kernel's sockets and clock
//!               └─► Invented   peers in memory and time moved by hand, for tests
//! ```
//!
//! A driver knows no protocol, no request and no schedule. It is a type parameter of the loop, so
//! the hot path has no dynamic call.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;

use crate::quic::datagrams::{Block, Datagrams};
use crate::target::Endpoint;
use crate::usage::CpuTime;

pub(crate) mod epoll;
#[cfg(test)]
pub(crate) mod invented;

/// The machine beneath a loop.
pub(crate) trait Driver {
    /// A connection's socket, open until it is given to [`close`](Self::close).
    type Socket;

    /// Nanoseconds on a clock that only goes forward.
    fn now(&mut self) -> u64;

    /// CPU time of this thread so far.
    fn cpu(&self) -> CpuTime;

    /// Waits until a socket is ready or a time has come, and returns how many sockets are ready.
    fn wait(&mut self, wait: &Wait) -> io::Result<usize>;

    /// One of the sockets that the last [`wait`](Self::wait) found ready.
    fn ready(&self, index: usize) -> Ready;

    /// Starts a connection; `token` comes back when it is ready.
    fn connect(&mut self, way: Way<'_>, token: u64) -> Result<Self::Socket, Errno>;

    /// Whether a connection in progress was made, once its socket is ready.
    fn connected(&mut self, socket: &Self::Socket) -> Result<(), Errno>;

    /// The address that a connection comes from.
    fn local_address(&self, socket: &Self::Socket) -> Option<SocketAddr>;

    /// Writes what the socket takes at once.
    fn send(&mut self, socket: &Self::Socket, bytes: &[u8]) -> Result<usize, Errno>;

    /// Reads what there is, up to the buffer's length; 0 at the end of the stream.
    fn take(
        &mut self,
        socket: &Self::Socket,
        buffer: &mut [u8],
    ) -> Result<(usize, ReadTime), Errno>;

    /// Drops up to `most` bytes that were received, unread; 0 at the end of the stream.
    fn discard(&mut self, socket: &Self::Socket, most: usize) -> Result<(usize, ReadTime), Errno>;

    /// Ends a connection.
    fn close(&mut self, socket: Self::Socket);

    /// Opens a socket of datagrams to one address.
    fn open_datagrams(&mut self, way: Way<'_>, token: u64) -> Result<Self::Socket, Errno>;

    /// Receives datagrams of one size into `block`, as many as came together.
    fn take_datagrams(
        &mut self,
        socket: &Self::Socket,
        block: &mut Block,
    ) -> Result<Received, Errno>;

    /// Sends datagrams of `segment` bytes each, the last of which may be shorter.
    fn send_datagrams(
        &mut self,
        socket: &Self::Socket,
        bytes: &[u8],
        segment: usize,
    ) -> Result<(), Errno>;

    /// Reports from now on, too, when a socket of datagrams has room.
    fn watch_writing(&mut self, socket: &Self::Socket, token: u64);
}

/// Where a connection leads, and from where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) to: &'a Endpoint,
    pub(crate) source: Option<IpAddr>,
}

/// How long to wait, and what for. Times are nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    /// When the wait begins.
    pub(crate) from: u64,
    /// When it ends at the latest.
    pub(crate) until: u64,
    /// Whether it is a request of the schedule that is due then.
    pub(crate) is_exact: bool,
    /// Whether the wait may sleep past what becomes ready, to be on time: nothing but short
    /// answers can come, each has its own stamp, and nothing follows one before the wait ends.
    pub(crate) is_blind: bool,
    /// How long answers may gather from the first one on.
    pub(crate) gather: Option<u64>,
}

/// What happened to one socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    /// The token it was registered with.
    pub(crate) token: u64,
    /// There is something to read.
    pub(crate) readable: bool,
    /// The peer closed its half, or the socket failed: read until the end.
    pub(crate) ended: bool,
}

/// When something was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadTime {
    /// When it had arrived in the kernel, where each arrival is stamped; else `now`.
    pub(crate) arrived: u64,
    /// When it was read.
    pub(crate) now: u64,
    /// How long it lay in the kernel, where that was looked at; else 0.
    pub(crate) lag: u64,
}

impl ReadTime {
    /// Arrived and read at once, as far as is known.
    pub(crate) fn at(now: u64) -> Self {
        Self {
            arrived: now,
            now,
            lag: 0,
        }
    }
}

/// What one receive call took.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) datagrams: Datagrams,
    /// Length of each but the last.
    pub(crate) segment: usize,
    pub(crate) time: ReadTime,
}
