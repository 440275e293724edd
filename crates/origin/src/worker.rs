//! The event loop of one thread: accepts, and drives each connection when it can go on.
//!
//! A new connection is read at once, because a client that connects mostly has something to say:
//! one that sends its request and wants the connection closed, as a proxy with HTTP/1.0 upstreams
//! does, costs accept, recv, send and close, and never enters the epoll set.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, bind, getsockname, listen, shutdown};
use rustix::time::Timespec;

use crate::behaviour::Behaviour;
use crate::driven::{Driven, Shared, Wait};
use crate::halt::Halt;
use crate::options::OriginError;
use crate::timers::Timers;

/// Longest accept queue; the kernel lowers it to `net.core.somaxconn`.
pub(crate) const BACKLOG: i32 = 4096;

/// Longest sleep: how soon a stop, a paused listener and lingering connections are looked after.
const TICK: Duration = Duration::from_millis(50);

/// Connections accepted in a row before those that wait are served.
const ACCEPTS_MAX: usize = 64;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 512;

/// Marks the listener among the events; no file descriptor is that large.
const LISTENER: u64 = u64::MAX;

/// One thread's loop.
pub(crate) struct Worker<'a, B, C> {
    epoll: OwnedFd,
    listener: OwnedFd,
    shared: Shared<'a, B>,
    /// Connections by file descriptor.
    connections: Vec<Option<C>>,
    /// Connections that have sent everything.
    lingering: Vec<RawFd>,
    /// When answers go on that do not come at once.
    timers: Timers,
    /// When to accept again, after the system had no file or memory left for a connection.
    paused_until: Option<Instant>,
}

impl<'a, B: Behaviour, C: Driven<B>> Worker<'a, B, C> {
    /// A loop that accepts from `listener`, which must not block.
    ///
    /// # Errors
    /// When the kernel grants no epoll set.
    pub(crate) fn new(listener: OwnedFd, shared: Shared<'a, B>) -> Result<Self, OriginError> {
        let make = || -> rustix::io::Result<OwnedFd> {
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            epoll::add(
                &epoll,
                &listener,
                EventData::new_u64(LISTENER),
                EventFlags::IN,
            )?;
            Ok(epoll)
        };
        let epoll = make().map_err(|errno| system("create an epoll set", errno))?;
        Ok(Self {
            epoll,
            listener,
            shared,
            connections: Vec::new(),
            lingering: Vec::new(),
            timers: Timers::default(),
            paused_until: None,
        })
    }

    /// Serves until the server is to end.
    ///
    /// # Errors
    /// When the kernel's event queue fails.
    pub(crate) fn run(mut self, halt: Halt<'_>) -> Result<(), OriginError> {
        let idle = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        let mut events = [idle; EVENTS_MAX];
        while !halt.asked() {
            if !halt.away().is_zero() {
                self.go_away(halt)?;
            }
            let sleep = timespec(if B::ACTS { self.until_next() } else { TICK });
            let ready = match epoll::wait(&self.epoll, &mut events[..], Some(&sleep)) {
                Ok(ready) => ready,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(system("wait for events", errno)),
            };
            for event in &events[..ready] {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    descriptor => self.proceed(descriptor as usize, event.flags),
                }
            }
            if B::ACTS {
                self.wake_due();
            }
            if self.paused_until.is_some() || !self.lingering.is_empty() {
                self.look_after(Instant::now())?;
            }
        }
        Ok(())
    }

    /// Closes every connection and lets nobody in until it is back, as a server that is started
    /// anew. The port stays its own.
    #[cold]
    fn go_away(&mut self, halt: Halt<'_>) -> Result<(), OriginError> {
        let stop_listening = || {
            let address = getsockname(&self.listener)?;
            shutdown(&self.listener, Shutdown::Both)?;
            // A port that the system chose is given up with that; one that was asked for is not.
            match bind(&self.listener, &address) {
                Ok(()) | Err(Errno::INVAL) => Ok(()),
                Err(errno) => Err(errno),
            }
        };
        stop_listening().map_err(|errno| system("stop listening", errno))?;
        for slot in 0..self.connections.len() {
            if self.connections[slot].is_some() {
                self.close(slot);
            }
        }
        self.lingering.clear();
        while !halt.asked() && !halt.away().is_zero() {
            std::thread::sleep(halt.away().min(TICK));
        }
        listen(&self.listener, BACKLOG).map_err(|errno| system("listen again", errno))
    }

    fn accept(&mut self) -> Result<(), OriginError> {
        for _ in 0..ACCEPTS_MAX {
            match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => self.welcome(socket),
                Err(Errno::AGAIN) => return Ok(()),
                // The client was gone before its turn; the next one may not be.
                Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => {}
                Err(_) => {
                    self.shared.counters.accept_errors.add(1);
                    return self.pause();
                }
            }
        }
        Ok(())
    }

    /// Takes a new connection as far as it will go, and keeps it if that is not its end.
    fn welcome(&mut self, socket: OwnedFd) {
        self.shared.counters.connections.add(1);
        let Some(mut connection) = C::new(socket, &self.shared) else {
            return self.shared.counters.connections_closed.add(1);
        };
        let wait = connection.proceed(&mut self.shared);
        let descriptor = connection.socket().as_raw_fd();
        if wait != Wait::Timer {
            *connection.registered() = wait;
        }
        let kept = wait != Wait::Close && {
            let data = EventData::new_u64(descriptor as u64);
            let interest = interest(*connection.registered());
            epoll::add(&self.epoll, connection.socket(), data, interest).is_ok()
        };
        if !kept {
            if B::ACTS {
                self.shared.plays.remove(descriptor as usize);
            }
            self.shared.counters.connections_closed.add(1);
            return;
        }
        if connection.lingers_until().is_some() {
            self.lingering.push(descriptor);
        }
        let slot = descriptor as usize;
        if slot >= self.connections.len() {
            self.connections.resize_with(slot + 1, || None);
        }
        if B::ACTS
            && let Some(at) = connection.alarm(&self.shared)
        {
            self.timers.add(at, slot);
        }
        self.connections[slot] = Some(connection);
    }

    /// Drives a connection that has an event. A stale event finds no connection, or one that
    /// merely has nothing to do.
    fn proceed(&mut self, slot: usize, flags: EventFlags) {
        let Some(Some(connection)) = self.connections.get_mut(slot) else {
            return;
        };
        if B::ACTS && connection.is_deaf(&self.shared) {
            return self.disturbed(slot, flags);
        }
        self.step(slot, |connection, shared| connection.proceed(shared));
    }

    /// Drives a connection by one step, and does what follows: it lingers, waits for an event or
    /// for its time, or ends.
    #[inline]
    fn step(&mut self, slot: usize, drive: impl FnOnce(&mut C, &mut Shared<'a, B>) -> Wait) {
        let Some(Some(connection)) = self.connections.get_mut(slot) else {
            return;
        };
        let lingered = connection.lingers_until().is_some();
        let wait = drive(connection, &mut self.shared);
        if !lingered && wait != Wait::Close && connection.lingers_until().is_some() {
            self.lingering.push(slot as RawFd);
        }
        if wait == Wait::Close || !registered(&self.epoll, connection, slot, wait) {
            return self.close(slot);
        }
        if B::ACTS
            && let Some(at) = connection.alarm(&self.shared)
        {
            self.timers.add(at, slot);
        }
    }

    /// A connection that waits for its time has an event: the client has left, or says more than
    /// can be answered now. Then it is not listened to until its time has come.
    fn disturbed(&mut self, slot: usize, flags: EventFlags) {
        let Some(Some(connection)) = self.connections.get_mut(slot) else {
            return;
        };
        let gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        if gone || !register(&self.epoll, connection, slot, Wait::Timer) {
            self.close(slot);
        }
    }

    /// Goes on with the answers whose time has come.
    fn wake_due(&mut self) {
        let Some(next) = self.timers.next() else {
            return;
        };
        let now = Instant::now();
        if next > now {
            return;
        }
        while let Some((at, slot)) = self.timers.take_due(now) {
            let Some(Some(connection)) = self.connections.get_mut(slot) else {
                continue;
            };
            if !connection.is_due(&self.shared, at) {
                continue;
            }
            self.step(slot, |connection, shared| connection.wake(shared, now));
        }
    }

    /// How long to sleep: up to the next timer, at the most a tick.
    fn until_next(&self) -> Duration {
        let next = self.timers.next();
        next.map_or(TICK, |at| {
            TICK.min(at.saturating_duration_since(Instant::now()))
        })
    }

    fn close(&mut self, slot: usize) {
        // Dropping the socket takes it out of the epoll set: nobody else holds it.
        self.connections[slot] = None;
        if B::ACTS {
            self.shared.plays.remove(slot);
        }
        self.shared.counters.connections_closed.add(1);
    }

    /// Stops accepting for a while: the listener would stay ready, and the loop would spin.
    fn pause(&mut self) -> Result<(), OriginError> {
        self.paused_until = Some(Instant::now() + TICK);
        self.listen_for(EventFlags::empty())
    }

    fn look_after(&mut self, now: Instant) -> Result<(), OriginError> {
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
            self.listen_for(EventFlags::IN)?;
        }
        for index in (0..self.lingering.len()).rev() {
            let slot = self.lingering[index] as usize;
            let until = self.connections[slot].as_ref().and_then(C::lingers_until);
            if until.is_none_or(|until| until <= now) {
                self.lingering.swap_remove(index);
            }
            if until.is_some_and(|until| until <= now) {
                self.close(slot);
            }
        }
        Ok(())
    }

    fn listen_for(&self, flags: EventFlags) -> Result<(), OriginError> {
        epoll::modify(
            &self.epoll,
            &self.listener,
            EventData::new_u64(LISTENER),
            flags,
        )
        .map_err(|errno| system("pause or resume accepting", errno))
    }
}

/// Sees to it that a connection is registered for what it waits for; false when that failed.
///
/// One that waits for its time stays as it is: most clients say nothing meanwhile, and registering
/// anew would cost two calls for each answer.
#[inline]
fn registered<B: Behaviour, C: Driven<B>>(
    epoll: &OwnedFd,
    connection: &mut C,
    slot: usize,
    wait: Wait,
) -> bool {
    let same = *connection.registered() == wait || wait == Wait::Timer;
    same || register(epoll, connection, slot, wait)
}

fn register<B: Behaviour, C: Driven<B>>(
    epoll: &OwnedFd,
    connection: &mut C,
    slot: usize,
    wait: Wait,
) -> bool {
    *connection.registered() = wait;
    let data = EventData::new_u64(slot as u64);
    epoll::modify(epoll, connection.socket(), data, interest(wait)).is_ok()
}

fn interest(wait: Wait) -> EventFlags {
    match wait {
        Wait::Writable => EventFlags::OUT,
        Wait::Readable | Wait::Close => EventFlags::IN,
        Wait::Timer => EventFlags::empty(),
    }
}

/// A time below a second, for the kernel.
fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: 0,
        tv_nsec: duration.subsec_nanos().into(),
    }
}

fn system(doing: &'static str, errno: Errno) -> OriginError {
    OriginError::System {
        doing,
        source: io::Error::from(errno),
    }
}
