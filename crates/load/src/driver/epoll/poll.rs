//! Readiness of sockets by epoll, with nanosecond timeouts.
//!
//! Sockets are registered once, edge-triggered for both directions: no call changes an interest
//! afterwards, and a socket that has been read is not looked at again by the kernel. The price
//! is that a reader must read until a short read; see `link`. Sockets of datagrams are the
//! exception: each datagram that leaves one would make it ready for the next.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::driver::Ready;

/// Events taken from the kernel at once. More would let answers at the end of a batch wait while
/// those before them are worked on.
const BATCH: usize = 128;
const BOTH_WAYS: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// An epoll instance and the batch it returned last.
pub(super) struct Poll {
    epoll: OwnedFd,
    batch: Vec<Event>,
}

impl Poll {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self {
            epoll,
            batch: Vec::with_capacity(BATCH),
        })
    }

    /// Registers `socket`; closing it ends the registration.
    pub(super) fn add(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        epoll::add(&self.epoll, socket, EventData::new_u64(token), BOTH_WAYS)
    }

    /// Registers a socket of datagrams for what comes alone.
    pub(super) fn add_for_reading(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        let (token, interest) = (EventData::new_u64(token), BOTH_WAYS - EventFlags::OUT);
        epoll::add(&self.epoll, socket, token, interest)
    }

    /// From now on also reports when a full socket has room again.
    pub(super) fn watch_writing(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        epoll::modify(&self.epoll, socket, EventData::new_u64(token), BOTH_WAYS)
    }

    /// Waits at most `timeout_ns` until a socket is ready, and leaves it to `wait` to take it.
    pub(super) fn until_ready(&self, timeout_ns: u64) -> io::Result<bool> {
        let mut epoll = [PollFd::new(&self.epoll, PollFlags::IN)];
        match poll(&mut epoll, Some(&timespec(timeout_ns))) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits at most `timeout_ns` and returns how many sockets are ready.
    pub(super) fn wait(&mut self, timeout_ns: u64) -> io::Result<usize> {
        let timeout = timespec(timeout_ns);
        self.batch.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.batch);
        match epoll::wait(&self.epoll, spare, Some(&timeout)) {
            Ok(_) => Ok(self.batch.len()),
            Err(Errno::INTR) => Ok(0),
            Err(Errno::NOSYS) => self.wait_coarsely(timeout_ns),
            Err(errno) => Err(errno.into()),
        }
    }

    /// `wait` where there are no timeouts in nanoseconds (kernels before 5.11, valgrind): rounds
    /// up to a millisecond, so that sends on a schedule are late by up to one and say so.
    #[cold]
    fn wait_coarsely(&mut self, timeout_ns: u64) -> io::Result<usize> {
        let timeout_ms = i32::try_from(timeout_ns.div_ceil(1_000_000)).unwrap_or(i32::MAX);
        let (epoll, room) = (self.epoll.as_raw_fd(), self.batch.capacity());
        // SAFETY: `Event` is laid out as the kernel's `epoll_event`, the pointer is good for
        // `room` of them, and the kernel has written as many as it returns.
        unsafe {
            let events = self.batch.as_mut_ptr().cast::<libc::epoll_event>();
            let count = libc::epoll_wait(epoll, events, room as i32, timeout_ms);
            self.batch.set_len(usize::try_from(count).unwrap_or(0));
            if count < 0 {
                let error = io::Error::last_os_error();
                let interrupted = error.kind() == io::ErrorKind::Interrupted;
                return if interrupted { Ok(0) } else { Err(error) };
            }
        }
        Ok(self.batch.len())
    }

    /// The socket at `index` of the batch returned last.
    #[inline]
    pub(super) fn ready(&self, index: usize) -> Ready {
        let event = self.batch[index];
        let flags = event.flags;
        let ended = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        Ready {
            token: event.data.u64(),
            readable: flags.contains(EventFlags::IN),
            ended,
        }
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_socket_of_datagrams_is_not_ready_by_its_own_sends() {
        let (here, there) = (socket(), socket());
        here.connect(there.local_addr().unwrap()).unwrap();
        there.connect(here.local_addr().unwrap()).unwrap();
        let mut poll = Poll::new().unwrap();
        poll.add_for_reading(&here, 7).unwrap();
        here.send(b"question").unwrap();
        assert!(!poll.until_ready(0).unwrap());
        there.send(b"answer").unwrap();
        assert!(poll.until_ready(1_000_000_000).unwrap());
        assert_eq!(poll.wait(0).unwrap(), 1, "it was left to be taken");
        assert_eq!(poll.wait(0).unwrap(), 0);
        poll.watch_writing(&here, 7).unwrap();
        assert_eq!(poll.wait(0).unwrap(), 1, "it has room");
        assert_eq!(poll.ready(0).token, 7);
    }

    fn socket() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").unwrap()
    }
}
