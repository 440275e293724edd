//! The driver on the kernel's sockets: epoll, its clock, and its stamps of what arrived.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::{Driver, ReadTime, Ready, Received, Wait, Way};
use crate::clock::{now, real_time_ahead};
use crate::driver::epoll::ahead::Ahead;
use crate::driver::epoll::nap::Nap;
use crate::driver::epoll::poll::Poll;
use crate::quic::datagrams::{self, Block};
use crate::socket;
use crate::spec::Waiting;
use crate::target::Endpoint;
use crate::usage::{CpuTime, thread_cpu};

mod ahead;
mod nap;
mod poll;

/// In a closed loop one answer in so many is read with its stamp.
const STAMP_ONE_IN: u32 = 64;

/// The kernel's sockets and clock, for one thread.
pub(crate) struct Epoll {
    poll: Poll,
    waiting: Waiting,
    nap: Nap,
    stamps: Stamps,
    /// Whether an arrival that should have had a stamp had none: then none is waited for asleep.
    lacks_stamps: bool,
}

/// Which arrivals' stamps are read.
enum Stamps {
    /// Each, in an open loop: what arrived while the thread slept has its own time.
    Each(Ahead),
    /// One in [`STAMP_ONE_IN`], in a closed loop, whose next request begins when the answer was
    /// read: to see how late that is.
    Some { until_next: u32 },
}

impl Epoll {
    pub(crate) fn new(waiting: Waiting, is_open_loop: bool) -> io::Result<Self> {
        Ok(Self {
            poll: Poll::new()?,
            waiting,
            nap: Nap::default(),
            stamps: if is_open_loop {
                Stamps::Each(Ahead::new(real_time_ahead()))
            } else {
                Stamps::Some {
                    until_next: STAMP_ONE_IN,
                }
            },
            lacks_stamps: false,
        })
    }

    fn wait_once(&mut self, wait: &Wait) -> io::Result<usize> {
        if self.waiting == Waiting::Spin {
            return self.poll.wait(0);
        }
        let gap = wait.until.saturating_sub(wait.from);
        if wait.is_exact && self.nap.suits(gap) {
            let is_blind = wait.is_blind && !self.lacks_stamps;
            match self.waiting {
                Waiting::Slack(_) if is_blind => Nap::past(wait.until),
                Waiting::Slack(_) => return self.poll.wait(gap),
                Waiting::Nap | Waiting::Spin if is_blind => self.nap.until(wait.until),
                Waiting::Nap | Waiting::Spin => return self.nap.watch(wait.until, &mut self.poll),
            }
            return self.poll.wait(0);
        }
        if let Some(gather) = wait.gather
            && gather < gap
        {
            // From the first answer on: one that comes alone would be a turn of its own.
            if self.poll.until_ready(gap - gather)? {
                Nap::past(now() + gather);
            }
            return self.poll.wait(0);
        }
        self.poll.wait(gap)
    }

    /// Apart, so that the room for a stamp is not made where none is asked for.
    #[inline(never)]
    fn take_stamped(
        &mut self,
        socket: &OwnedFd,
        buffer: &mut [u8],
    ) -> Result<(usize, ReadTime), Errno> {
        let (read, stamp) = socket::read_stamped(socket, buffer)?;
        self.lacks_stamps |= stamp.is_none() && read > 0;
        Ok((read, self.stamped(stamp)))
    }

    /// The time of what was just read, by its stamp.
    fn stamped(&mut self, stamp: Option<u64>) -> ReadTime {
        let mut time = ReadTime::at(now());
        let ahead = match &mut self.stamps {
            Stamps::Each(ahead) => *ahead,
            Stamps::Some { until_next } => {
                *until_next = STAMP_ONE_IN;
                Ahead::new(real_time_ahead())
            }
        };
        let arrived = stamp.and_then(|stamp| ahead.arrived(stamp, time.now));
        let Some(arrived) = arrived else {
            return time;
        };
        match self.stamps {
            Stamps::Each(_) => time.arrived = arrived,
            Stamps::Some { .. } => time.lag = time.now - arrived,
        }
        time
    }
}

impl Driver for Epoll {
    type Socket = OwnedFd;

    #[inline]
    fn now(&mut self) -> u64 {
        now()
    }

    fn cpu(&self) -> CpuTime {
        thread_cpu()
    }

    #[inline]
    fn wait(&mut self, wait: &Wait) -> io::Result<usize> {
        let ready = self.wait_once(wait)?;
        if let Stamps::Each(ahead) = &mut self.stamps
            && ready > 0
        {
            ahead.look(real_time_ahead());
        }
        Ok(ready)
    }

    #[inline]
    fn ready(&self, index: usize) -> Ready {
        self.poll.ready(index)
    }

    fn connect(&mut self, way: Way<'_>, token: u64) -> Result<OwnedFd, Errno> {
        let socket = socket::start_connect(way.to, way.source)?;
        if let Endpoint::Tcp(_) = way.to {
            socket::stamp_arrivals(&socket)?;
        }
        self.poll.add(&socket, token)?;
        Ok(socket)
    }

    fn connected(&mut self, socket: &OwnedFd) -> Result<(), Errno> {
        socket::connection_result(socket)
    }

    fn local_address(&self, socket: &OwnedFd) -> Option<SocketAddr> {
        socket::local_address(socket)
    }

    #[inline]
    fn send(&mut self, socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
        socket::write(socket, bytes)
    }

    #[inline(always)]
    fn take(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> Result<(usize, ReadTime), Errno> {
        if let Stamps::Some { until_next } = &mut self.stamps
            && *until_next > 0
        {
            *until_next -= 1;
            return socket::read(socket, buffer).map(|read| (read, ReadTime::at(now())));
        }
        self.take_stamped(socket, buffer)
    }

    fn discard(&mut self, socket: &OwnedFd, most: usize) -> Result<(usize, ReadTime), Errno> {
        match self.stamps {
            Stamps::Each(_) => {
                let (dropped, stamp) = socket::drop_stamped(socket, most)?;
                Ok((dropped, self.stamped(stamp)))
            }
            Stamps::Some { .. } => {
                let dropped = socket::drop_unread(socket, most)?;
                Ok((dropped, ReadTime::at(now())))
            }
        }
    }

    fn close(&mut self, socket: OwnedFd) {
        drop(socket);
    }

    fn open_datagrams(&mut self, way: Way<'_>, token: u64) -> Result<OwnedFd, Errno> {
        let Endpoint::Tcp(remote) = way.to else {
            // QUIC needs an address, not a socket file.
            return Err(Errno::AFNOSUPPORT);
        };
        let socket = datagrams::open(*remote, way.source)?;
        if let Stamps::Each(_) = self.stamps {
            socket::stamp_arrivals(&socket)?;
        }
        self.poll.add_for_reading(&socket, token)?;
        Ok(socket)
    }

    fn take_datagrams(&mut self, socket: &OwnedFd, block: &mut Block) -> Result<Received, Errno> {
        let received = datagrams::receive(socket, block)?;
        let time = match self.stamps {
            Stamps::Each(_) => self.stamped(received.stamp),
            Stamps::Some { .. } => ReadTime::at(now()),
        };
        Ok(Received {
            datagrams: received.bytes,
            segment: received.segment,
            time,
        })
    }

    fn send_datagrams(
        &mut self,
        socket: &OwnedFd,
        bytes: &[u8],
        segment: usize,
    ) -> Result<(), Errno> {
        datagrams::send_segments(socket, bytes, segment)
    }

    fn watch_writing(&mut self, socket: &OwnedFd, token: u64) {
        // Where that fails, a timer of the connection's sends it later.
        let _ = self.poll.watch_writing(socket, token);
    }
}
