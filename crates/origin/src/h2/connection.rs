//! One connection of HTTP/2: its socket, what was read of a frame, and what was not taken yet.
//!
//! Nothing is read while the client does not take what it is sent, so what is kept for it stays
//! within what one read can ask for.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::Errno;

use super::session::{Session, Work};
use crate::behaviour::Behaviour;
use crate::connection::{drain, shut};
use crate::driven::Shared;
use crate::driven::{Driven, Wait};
use crate::link::Link;

/// Writes in a row that one connection may cost the others.
const WRITES_MAX: usize = 8;

/// One connection.
pub(crate) struct Connection<L> {
    link: L,
    session: Session,
    /// The start of a frame.
    kept: Vec<u8>,
    /// What the client has not taken, and how much of it is out.
    unsent: Vec<u8>,
    sent: usize,
    /// Set once the connection has sent everything it will send.
    lingers_until: Option<Instant>,
    /// The time that the loop will wake it at.
    alarm: Option<Instant>,
    /// What it is registered for.
    wait: Wait,
}

/// What became of an attempt to send.
enum Sent {
    All,
    Blocked,
    Failed,
}

impl<B: Behaviour, L: Link> Driven<B> for Connection<L> {
    fn new(socket: OwnedFd, shared: &Shared<'_, B>) -> Option<Self> {
        Some(Self {
            link: L::new(socket, &shared.room)?,
            session: Session::default(),
            kept: Vec::new(),
            unsent: Vec::new(),
            sent: 0,
            lingers_until: None,
            alarm: None,
            wait: Wait::Readable,
        })
    }

    #[inline]
    fn socket(&self) -> &OwnedFd {
        self.link.socket()
    }

    #[inline]
    fn registered(&mut self) -> &mut Wait {
        &mut self.wait
    }

    fn lingers_until(&self) -> Option<Instant> {
        self.lingers_until
    }

    fn is_deaf(&self, _shared: &Shared<'_, B>) -> bool {
        false
    }

    fn alarm(&mut self, _shared: &Shared<'_, B>) -> Option<Instant> {
        let next = self.session.next()?;
        if self.alarm.is_some_and(|alarm| alarm <= next) {
            return None;
        }
        self.alarm = Some(next);
        self.alarm
    }

    fn is_due(&mut self, _shared: &Shared<'_, B>, at: Instant) -> bool {
        let is_due = self.alarm == Some(at);
        if is_due {
            self.alarm = None;
        }
        is_due
    }

    fn proceed(&mut self, shared: &mut Shared<'_, B>) -> Wait {
        if self.lingers_until.is_some() {
            return drain(self.link.socket(), shared);
        }
        match self.wait {
            Wait::Writable => self.write(shared),
            _ => self.receive(shared),
        }
    }

    fn wake(&mut self, shared: &mut Shared<'_, B>, now: Instant) -> Wait {
        self.session.wake(now);
        match self.wait {
            Wait::Writable => Wait::Writable,
            _ => self.write(shared),
        }
    }
}

impl<L: Link> Connection<L> {
    fn receive<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>) -> Wait {
        let kept = self.kept.len();
        shared.buffer[..kept].copy_from_slice(&self.kept);
        let room = &mut shared.room;
        let read = match self.link.receive(room, &mut shared.buffer[kept..]) {
            Ok(0) => return Wait::Close,
            Ok(read) => read,
            Err(Errno::AGAIN | Errno::INTR) => return Wait::Readable,
            Err(_) => return Wait::Close,
        };
        shared.counters.bytes_read.add(read as u64);
        let bytes = &shared.buffer[..kept + read];
        let mut work = Work {
            replies: &shared.replies.h2,
            counters: shared.counters,
            behaviour: &mut shared.behaviour,
            out: &mut shared.out,
        };
        match self.session.receive(bytes, &mut work) {
            Ok(used) => {
                self.kept.clear();
                self.kept.extend_from_slice(&bytes[used..]);
            }
            Err(_) => return self.linger(shared),
        }
        if self.kept.is_empty() && self.kept.capacity() > 0 {
            self.kept = Vec::new();
        }
        self.write(shared)
    }

    /// Sends what was written, and what can be written then.
    fn write<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>) -> Wait {
        match self.send_unsent(shared) {
            Sent::All => {}
            Sent::Blocked => return Wait::Writable,
            Sent::Failed => return Wait::Close,
        }
        for _ in 0..WRITES_MAX {
            self.session.pump(&mut Work {
                replies: &shared.replies.h2,
                counters: shared.counters,
                behaviour: &mut shared.behaviour,
                out: &mut shared.out,
            });
            if shared.out.is_empty() {
                return Wait::Readable;
            }
            match self.send_written(shared) {
                Sent::All if !self.session.has_more() => return Wait::Readable,
                Sent::All => {}
                Sent::Blocked => return Wait::Writable,
                Sent::Failed => return Wait::Close,
            }
        }
        // The others first: room to write is reported again at once.
        Wait::Writable
    }

    /// Sends what is in the thread's memory, and keeps what the client does not take.
    fn send_written<B>(&mut self, shared: &mut Shared<'_, B>) -> Sent {
        let mut at = 0;
        let sent = loop {
            match self.link.send(&mut shared.room, &shared.out[at..]) {
                Ok(sent) => at += sent,
                Err(Errno::AGAIN | Errno::INTR) => break Sent::Blocked,
                Err(_) => break Sent::Failed,
            }
            if at == shared.out.len() {
                break Sent::All;
            }
        };
        shared.counters.bytes_written.add(at as u64);
        self.unsent.extend_from_slice(&shared.out[at..]);
        shared.out.clear();
        sent
    }

    /// Sends more of what the client did not take.
    fn send_unsent<B>(&mut self, shared: &mut Shared<'_, B>) -> Sent {
        while self.sent < self.unsent.len() {
            match self.link.send(&mut shared.room, &self.unsent[self.sent..]) {
                Ok(sent) => {
                    self.sent += sent;
                    shared.counters.bytes_written.add(sent as u64);
                }
                Err(Errno::AGAIN | Errno::INTR) => return Sent::Blocked,
                Err(_) => return Sent::Failed,
            }
        }
        if self.sent > 0 {
            (self.unsent, self.sent) = (Vec::new(), 0);
        }
        Sent::All
    }

    /// Sends what is left, ends the sending half, and waits for the client to do the same.
    fn linger<B>(&mut self, shared: &mut Shared<'_, B>) -> Wait {
        self.kept = Vec::new();
        let sent = self.send_written(shared);
        // A client that reads nothing does not learn why.
        self.unsent = Vec::new();
        if !matches!(sent, Sent::All) {
            return Wait::Close;
        }
        self.link.end(&mut shared.room);
        self.lingers_until = shut(self.link.socket());
        match self.lingers_until {
            Some(_) => Wait::Readable,
            None => Wait::Close,
        }
    }
}
