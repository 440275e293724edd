//! A driver for tests: peers in memory, and simulated time. Time advances only when the loop waits,
//! or by as much as the test says that a call takes.
//!
//! A run is exact and always the same, and takes no longer than its arithmetic. A peer sees what
//! was opened and sent, and says what follows and when. As in the kernel, sockets are
//! edge-triggered: a socket that was not read to its end is not reported again. A wait ends with
//! the first socket that is ready. A blind wait goes on after that, for as long as the kernel's
//! driver would at most.
//!
//! It has no datagrams: HTTP/3 is tested on real sockets.

use std::cell::Cell;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use rustix::io::Errno;

use super::{Driver, ReadTime, Ready, Received, Wait, Way};
use crate::quic::datagrams::Block;
use crate::usage::CpuTime;

/// When the clock begins: not at 0, which means "not yet" in the engine.
pub(crate) const BEGIN: u64 = 1_000_000_000;
/// Longest blind wait.
const BLIND_NS_MAX: u64 = 2_000_000;
/// Sockets that one wait reports at the most.
const READY_MAX: usize = 256;
/// Waits in a row in which the clock may stand still, before the loop is said to turn in vain.
const STILL_MAX: u32 = 1_000_000;

/// What a peer hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard<'a> {
    /// A connection was opened.
    Opened,
    /// These bytes were sent.
    Bytes(&'a [u8]),
}

/// What a peer does, and after how many nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Sends these bytes.
    Send(u64, Vec<u8>),
    /// Sends these bytes over and over: whenever the client reads, there is more.
    Flood(u64, Vec<u8>),
    /// Takes so many bytes more, after it took no more.
    Take(u64, usize),
    /// Closes the connection.
    Close(u64),
    /// Resets it.
    Reset(u64),
}

/// How an attempt to connect ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// Open, after so many nanoseconds.
    Opens(u64),
    /// Refused, after so many.
    Refuses(u64),
    /// No answer, ever.
    Silent,
}

/// What the peers of a test do: at the door, by the connection's number and the time, and on a
/// connection that is open.
pub(crate) trait World {
    /// Connection number `number` is attempted at `now`.
    fn door(&mut self, _number: usize, _now: u64) -> Door {
        Door::Opens(50_000)
    }

    /// Bytes that connection number `number` takes before its peer says that it takes more.
    fn room(&mut self, _number: usize) -> usize {
        usize::MAX
    }

    /// Connection number `number` heard something at `now`.
    fn hear(&mut self, number: usize, heard: Heard<'_>, now: u64) -> Vec<Act>;
}

/// What the loop's calls take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Costs {
    /// Each call that opens, sends or receives, nanoseconds.
    pub(crate) call_ns: u64,
    /// Each byte received, nanoseconds.
    pub(crate) byte_ns: u64,
    /// Each look at the clock, nanoseconds.
    pub(crate) look_ns: u64,
}

/// What a test may look at when the loop is gone.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The time.
    pub(crate) now: Cell<u64>,
    /// How often the loop waited.
    pub(crate) waits: Cell<u64>,
    /// How often it did so without looking at a socket.
    pub(crate) blind: Cell<u64>,
    /// How often it called for anything else.
    pub(crate) calls: Cell<u64>,
}

/// Peers in memory and time moved by hand.
pub(crate) struct Invented<W> {
    pub(crate) notes: Rc<Notes>,
    world: W,
    costs: Costs,
    /// Whether a read says when the bytes arrived.
    stamps: bool,
    links: Vec<Link>,
    /// What happens when, in order.
    events: BinaryHeap<Reverse<Event>>,
    /// Events so far.
    entered: u64,
    /// Links that became ready and were not reported.
    raised: VecDeque<usize>,
    ready: Vec<Ready>,
    /// Waits since the clock moved.
    still: u32,
}

/// A connection as its client sees it.
struct Link {
    token: u64,
    door: Door,
    is_open: bool,
    inbox: VecDeque<u8>,
    /// When the last of the inbox came.
    arrived: u64,
    /// What it sends over and over, and where in it the next read begins.
    flood: Option<(Vec<u8>, usize)>,
    /// Bytes that it takes.
    room: usize,
    end: Option<Ended>,
    is_raised: bool,
    is_gone: bool,
}

/// How a peer ended its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Closed,
    Reset,
    /// Reset, and the client has seen it: a socket reports an error once.
    ResetTold,
}

/// Something that happens.
struct Event {
    at: u64,
    /// Of two at the same time the one that was entered first.
    order: u64,
    link: usize,
    /// What the peer does; `None` where it opens or refuses.
    act: Option<Act>,
}

impl<W: World> Invented<W> {
    /// `stamps`: reads say when the bytes arrived, as they do in an open loop.
    pub(crate) fn new(world: W, costs: Costs, stamps: bool) -> Self {
        let notes = Rc::new(Notes::default());
        notes.now.set(BEGIN);
        Self {
            notes,
            world,
            costs,
            stamps,
            links: Vec::new(),
            events: BinaryHeap::new(),
            entered: 0,
            raised: VecDeque::new(),
            ready: Vec::new(),
            still: 0,
        }
    }

    /// Moves the clock to `at`, unless it is later already, and lets happen what is due, each at
    /// its time.
    fn move_to(&mut self, at: u64) {
        let before = self.notes.now.get();
        let at = at.max(before);
        if at > before {
            self.still = 0;
        }
        while let Some(Reverse(event)) = self.events.peek()
            && event.at <= at
            && let Some(Reverse(event)) = self.events.pop()
        {
            let now = self.notes.now.get();
            self.notes.now.set(now.max(event.at));
            match event.act {
                None => self.open(event.link),
                Some(act) => self.act(event.link, act),
            }
        }
        self.notes.now.set(at);
    }

    /// One call, which took so many bytes, passes its time. What happens meanwhile is found by
    /// the next one.
    fn spend(&mut self, bytes: usize) {
        let Costs {
            call_ns, byte_ns, ..
        } = self.costs;
        self.notes.calls.set(self.notes.calls.get() + 1);
        self.move_to(self.notes.now.get() + call_ns + byte_ns * bytes as u64);
    }

    fn enter(&mut self, after: u64, link: usize, act: Option<Act>) {
        self.entered += 1;
        self.events.push(Reverse(Event {
            at: self.notes.now.get() + after,
            order: self.entered,
            link,
            act,
        }));
    }

    fn hear(&mut self, number: usize, heard: Heard<'_>) {
        for act in self.world.hear(number, heard, self.notes.now.get()) {
            let after = match &act {
                Act::Send(after, _) | Act::Flood(after, _) | Act::Take(after, _) => *after,
                Act::Close(after) | Act::Reset(after) => *after,
            };
            self.enter(after, number, Some(act));
        }
    }

    fn open(&mut self, number: usize) {
        self.raise(number);
        let link = &mut self.links[number];
        link.is_open = !link.is_gone && matches!(link.door, Door::Opens(_));
        if link.is_open {
            self.hear(number, Heard::Opened);
        }
    }

    fn act(&mut self, number: usize, act: Act) {
        let now = self.notes.now.get();
        let link = &mut self.links[number];
        match act {
            Act::Send(_, bytes) => {
                link.inbox.extend(bytes);
                link.arrived = now;
            }
            Act::Flood(_, bytes) => link.flood = Some((bytes, 0)),
            Act::Take(_, bytes) => link.room = link.room.saturating_add(bytes),
            Act::Close(_) => link.end = Some(Ended::Closed),
            Act::Reset(_) => link.end = Some(Ended::Reset),
        }
        self.raise(number);
    }

    /// The client's socket becomes ready, once, like an edge of the kernel's.
    fn raise(&mut self, number: usize) {
        let link = &mut self.links[number];
        if !link.is_gone && !std::mem::replace(&mut link.is_raised, true) {
            self.raised.push_back(number);
        }
    }

    /// Reports what became ready, by what is true of it now.
    fn report(&mut self) {
        self.ready.clear();
        while self.ready.len() < READY_MAX
            && let Some(number) = self.raised.pop_front()
        {
            let link = &mut self.links[number];
            link.is_raised = false;
            let has_bytes = !link.inbox.is_empty() || link.flood.is_some();
            let ended = link.end.is_some() || matches!(link.door, Door::Refuses(_));
            if !link.is_gone {
                self.ready.push(Ready {
                    token: link.token,
                    readable: has_bytes || link.end.is_some(),
                    ended,
                });
            }
        }
    }

    /// What a read finds: some bytes, up to `most`, the end, or an error.
    fn look(&mut self, number: usize, most: usize) -> Result<usize, Errno> {
        self.move_to(self.notes.now.get());
        let link = &mut self.links[number];
        let found = match link.end {
            _ if link.flood.is_some() => Ok(most),
            _ if !link.inbox.is_empty() => Ok(link.inbox.len().min(most)),
            None => Err(Errno::AGAIN),
            Some(Ended::Closed | Ended::ResetTold) => Ok(0),
            Some(Ended::Reset) => {
                link.end = Some(Ended::ResetTold);
                Err(Errno::CONNRESET)
            }
        };
        self.spend(found.unwrap_or(0));
        if self.links[number].flood.is_some() {
            self.raise(number);
        }
        found
    }
}

impl Link {
    /// Takes so many bytes as `buffer` is long out of the inbox, and of what never ends.
    fn drain(&mut self, buffer: &mut [u8]) {
        let held = self.inbox.len().min(buffer.len());
        let (from_inbox, mut rest) = buffer.split_at_mut(held);
        from_inbox
            .iter_mut()
            .zip(self.inbox.drain(..held))
            .for_each(|(to, from)| *to = from);
        while let Some((bytes, next)) = &mut self.flood
            && !rest.is_empty()
        {
            let part = (bytes.len() - *next).min(rest.len());
            let (now, later) = rest.split_at_mut(part);
            now.copy_from_slice(&bytes[*next..*next + part]);
            *next = (*next + part) % bytes.len();
            rest = later;
        }
    }
}

impl<W: World> Driver for Invented<W> {
    type Socket = usize;

    fn now(&mut self) -> u64 {
        if self.costs.look_ns > 0 {
            self.move_to(self.notes.now.get() + self.costs.look_ns);
        }
        self.notes.now.get()
    }

    fn cpu(&self) -> CpuTime {
        CpuTime::default()
    }

    fn wait(&mut self, wait: &Wait) -> io::Result<usize> {
        self.notes.waits.set(self.notes.waits.get() + 1);
        self.still += 1;
        assert!(
            self.still < STILL_MAX,
            "the loop turns, and time stands still"
        );
        self.move_to(self.notes.now.get());
        let gap = wait.until.saturating_sub(wait.from);
        let gather = wait.gather.filter(|gather| *gather < gap).unwrap_or(0);
        let until = wait.until - gather;
        if wait.is_blind && gap <= BLIND_NS_MAX {
            self.notes.blind.set(self.notes.blind.get() + 1);
            self.move_to(until);
        }
        while self.raised.is_empty()
            && let Some(Reverse(next)) = self.events.peek()
            && next.at <= until
        {
            self.move_to(next.at);
        }
        if self.raised.is_empty() {
            self.move_to(until);
        } else {
            self.move_to(self.notes.now.get() + gather);
        }
        self.report();
        Ok(self.ready.len())
    }

    fn ready(&self, index: usize) -> Ready {
        self.ready[index]
    }

    fn connect(&mut self, _: Way<'_>, token: u64) -> Result<usize, Errno> {
        let number = self.links.len();
        let door = self.world.door(number, self.notes.now.get());
        self.links.push(Link {
            token,
            door,
            is_open: false,
            inbox: VecDeque::new(),
            arrived: 0,
            flood: None,
            room: self.world.room(number),
            end: None,
            is_raised: false,
            is_gone: false,
        });
        match door {
            Door::Opens(after) | Door::Refuses(after) => self.enter(after, number, None),
            Door::Silent => {}
        }
        self.spend(0);
        Ok(number)
    }

    /// As of the kernel's socket: a connection that is still in progress has no error.
    fn connected(&mut self, socket: &usize) -> Result<(), Errno> {
        self.spend(0);
        let link = &mut self.links[*socket];
        match (link.door, link.end) {
            (Door::Opens(_), Some(Ended::Reset)) => {
                link.end = Some(Ended::ResetTold);
                Err(Errno::CONNRESET)
            }
            (Door::Opens(_), _) => Ok(()),
            (Door::Refuses(_) | Door::Silent, _) => Err(Errno::CONNREFUSED),
        }
    }

    fn local_address(&self, _: &usize) -> Option<SocketAddr> {
        None
    }

    fn send(&mut self, socket: &usize, bytes: &[u8]) -> Result<usize, Errno> {
        self.spend(0);
        let link = &mut self.links[*socket];
        match link.end {
            Some(Ended::Reset) => {
                link.end = Some(Ended::ResetTold);
                return Err(Errno::CONNRESET);
            }
            Some(Ended::ResetTold) => return Err(Errno::PIPE),
            Some(Ended::Closed) | None => {}
        }
        let taken = bytes.len().min(link.room);
        if taken == 0 || !link.is_open {
            return Err(Errno::AGAIN);
        }
        if link.room != usize::MAX {
            link.room -= taken;
        }
        self.hear(*socket, Heard::Bytes(&bytes[..taken]));
        Ok(taken)
    }

    fn take(&mut self, socket: &usize, buffer: &mut [u8]) -> Result<(usize, ReadTime), Errno> {
        let bytes = self.look(*socket, buffer.len())?;
        let link = &mut self.links[*socket];
        link.drain(&mut buffer[..bytes]);
        let mut time = ReadTime::at(self.notes.now.get());
        if self.stamps && bytes > 0 && link.flood.is_none() {
            time.arrived = link.arrived;
        }
        Ok((bytes, time))
    }

    fn discard(&mut self, socket: &usize, most: usize) -> Result<(usize, ReadTime), Errno> {
        self.take(socket, &mut vec![0; most])
    }

    fn close(&mut self, socket: usize) {
        let link = &mut self.links[socket];
        link.is_gone = true;
        (link.inbox, link.flood) = (VecDeque::new(), None);
    }

    fn open_datagrams(&mut self, _: Way<'_>, _: u64) -> Result<usize, Errno> {
        Err(Errno::NOTSUP)
    }

    fn take_datagrams(&mut self, _: &usize, _: &mut Block) -> Result<Received, Errno> {
        Err(Errno::AGAIN)
    }

    fn send_datagrams(&mut self, _: &usize, _: &[u8], _: usize) -> Result<(), Errno> {
        Err(Errno::NOTSUP)
    }

    fn watch_writing(&mut self, _: &usize, _: u64) {}
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}
