//! A place for a connection: a client in a closed loop, one of a pool in an open loop.
//!
//! ```text
//! Spare ─► Connecting ─► Shaking ─► Ready(Link)
//!   ▲                                   │
//!   └──────────── Resting ◄─────────────┘
//! ```
//!
//! What follows an event of one slot is done by that slot alone; it never reaches into another.
//! What it does on a connection that is ready is in [`crate::work`].

use bakeoff_record::Outcome;

use crate::driver::Driver;
use crate::end::{Closed, End};
use crate::flight::Flight;
use crate::flights::{Flights, Requests, Score};
use crate::greed::Greed;
use crate::ledger::Stage;
use crate::line::Line;
use crate::link::{Link, QuicLink};
use crate::thread::{Course, Thread};
use crate::ways::ATTEMPT_NS_MAX;

/// A place for a connection.
pub(crate) struct Slot<S> {
    pub(crate) index: u32,
    /// Raised with each new socket, so that an event of an old one is known as such.
    pub(crate) generation: u32,
    /// The place of the address that its connection leads to.
    pub(crate) endpoint: usize,
    pub(crate) phase: Phase<S>,
    /// What has begun here and not ended.
    pub(crate) requests: Requests,
    /// When the phase began, or the request on a serial connection was sent.
    pub(crate) since: u64,
    /// When the connection was made, or the last answer on it came.
    pub(crate) quiet_since: u64,
    /// Requests that this connection has carried.
    pub(crate) carried: u32,
    /// Connections in a row that ended without taking a request.
    pub(crate) fruitless: u8,
    /// Its earliest entry among the deadlines.
    pub(crate) deadline: Option<u64>,
    /// Whether the agenda watches it.
    pub(crate) is_watched: bool,
    pub(crate) greed: Greed,
    pub(crate) score: Score,
}

/// What a slot is doing.
pub(crate) enum Phase<S> {
    /// No socket.
    Spare,
    /// No socket, after a failure and before the next attempt.
    Resting,
    /// No socket, because the server had no room for a connection: it is attempted again then.
    Knocking(u64),
    /// Connecting, for a request or ahead of one.
    Connecting(S),
    /// Connected, and agreeing on TLS.
    Shaking(Line<S>),
    /// Agreeing on QUIC.
    ShakingQuic(Box<QuicLink<S>>),
    /// Ready to carry requests.
    Ready(Link<S>),
}

impl<S> Phase<S> {
    /// The QUIC connection, in its handshake or ready.
    #[inline]
    pub(crate) fn quic(&self) -> Option<&QuicLink<S>> {
        match self {
            Self::ShakingQuic(quic) | Self::Ready(Link::Quic(quic)) => Some(quic),
            _ => None,
        }
    }

    /// As [`quic`](Self::quic).
    #[inline]
    pub(crate) fn quic_mut(&mut self) -> Option<&mut QuicLink<S>> {
        match self {
            Self::ShakingQuic(quic) | Self::Ready(Link::Quic(quic)) => Some(quic),
            _ => None,
        }
    }

    /// Whether the server said that it ends the connection.
    pub(crate) fn was_left(&self) -> bool {
        match self {
            Self::Ready(Link::Streams(streams)) => streams.was_left(),
            Self::Ready(Link::Quic(quic)) => quic.session.is_going_away(),
            _ => false,
        }
    }

    /// Whether the server said that it ends the connection, without an error.
    pub(crate) fn was_left_in_order(&self) -> bool {
        match self {
            Self::Ready(Link::Streams(streams)) => streams.was_left_in_order(),
            Self::Ready(Link::Quic(quic)) => quic.session.is_going_away(),
            _ => false,
        }
    }
}

impl<S> Slot<S> {
    pub(crate) fn new(index: u32) -> Self {
        Self {
            index,
            generation: 0,
            endpoint: 0,
            phase: Phase::Spare,
            requests: Requests::One(None),
            since: 0,
            quiet_since: 0,
            carried: 0,
            fruitless: 0,
            deadline: None,
            is_watched: false,
            greed: Greed::default(),
            score: Score::default(),
        }
    }

    pub(crate) fn token(&self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The slot as the pace of an open loop knows it.
    pub(crate) fn permit(&self) -> (u32, u32) {
        (self.index, self.generation)
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready(_))
    }

    /// Whether requests wait for a connection.
    pub(crate) fn has_waiting(&self) -> bool {
        match &self.requests {
            Requests::One(one) => one.is_some(),
            Requests::Many(flights) => flights.has_waiting(),
        }
    }

    /// Whether a request of it has begun, or will when its rest is over.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_waiting() || matches!(self.phase, Phase::Resting)
    }

    /// The slot carries many requests at once from now on.
    pub(crate) fn make_many(&mut self, streams: u32, now: u64) {
        if let Requests::One(one) = &mut self.requests {
            let mut flights = Flights::new(streams.max(1));
            if let Some(flight) = one.take() {
                flights.enqueue(flight.origin, true, now);
            }
            self.requests = Requests::Many(Box::new(flights));
        }
    }

    /// The slot is ready to carry requests.
    pub(crate) fn opened<D: Driver>(&mut self, thread: &mut Thread<'_, D>, now: u64) {
        thread.agenda.opening -= 1;
        thread.agenda.progressed_at = now;
    }

    /// Adds the time that a phase without requests took inside the window. Returns when it began.
    pub(crate) fn leave_phase<D: Driver>(&self, thread: &mut Thread<'_, D>, now: u64) -> u64 {
        if thread.ledger.stage == Stage::Open {
            self.note_phase(thread, now);
        }
        self.since
    }

    /// Adds the time that the phase has taken inside the window until `now`.
    pub(crate) fn note_phase<D: Driver>(&self, thread: &mut Thread<'_, D>, now: u64) {
        let inside_s = thread.ledger.window.inside(self.since, now) as f64 / 1e9;
        let set_up = &mut thread.ledger.counts.observed.set_up;
        match self.phase {
            Phase::Connecting(_) | Phase::Knocking(_) => set_up.connecting_s += inside_s,
            Phase::Shaking(_) | Phase::ShakingQuic(_) => set_up.handshaking_s += inside_s,
            Phase::Resting => set_up.resting_s += inside_s,
            Phase::Spare | Phase::Ready(_) => {}
        }
    }

    /// Says how long a connection was quiet that the server closed before an answer.
    pub(crate) fn after_quiet<D: Driver>(
        &self,
        end: End,
        is_ready: bool,
        thread: &mut Thread<'_, D>,
        now: u64,
    ) -> End {
        if !is_ready || end.outcome() != Outcome::ClosedEarly {
            return end;
        }
        let after_ns = now.saturating_sub(self.quiet_since);
        let links = &mut thread.ledger.counts.links;
        links.closed_early_after.record(after_ns);
        match end {
            End::Closed(Closed::BeforeAnswer) => End::ClosedAfter {
                after_s: after_ns as f64 / 1e9,
                had_answers: self.had_answers(),
                said: self.said(),
            },
            other => other,
        }
    }

    /// The error by which the server said that it ends the connection, if it did.
    #[cold]
    pub(crate) fn said(&self) -> Option<Box<str>> {
        match &self.phase {
            Phase::Ready(Link::Streams(streams)) => streams.said(),
            _ => None,
        }
    }

    fn had_answers(&self) -> bool {
        match &self.requests {
            Requests::One(_) => self.carried > 1,
            Requests::Many(flights) => flights.answered > 0,
        }
    }

    /// Lets the slot rest before its next attempt.
    pub(crate) fn rest<D: Driver>(&mut self, thread: &mut Thread<'_, D>, now: u64) {
        self.since = now;
        if thread.course == Course::Connecting {
            // What could not be connected ahead of the load connects in it.
            self.phase = Phase::Spare;
        } else if thread.may_connect() {
            self.phase = Phase::Resting;
            thread.agenda.wake(self.index, now + thread.pause_ns());
        }
    }

    /// Closes the connection. What was made for it and not written must not reach the next one.
    pub(crate) fn close<D: Driver<Socket = S>>(&mut self, thread: &mut Thread<'_, D>) {
        thread.tools.made.clear();
        if let Some(h2) = &mut thread.tools.h2 {
            h2.frames.clear();
        }
        self.greed = Greed::default();
        thread.agenda.watch(&mut self.is_watched, false);
        match std::mem::replace(&mut self.phase, Phase::Spare) {
            Phase::Spare | Phase::Resting | Phase::Knocking(_) => {}
            Phase::Connecting(socket) => thread.driver.close(socket),
            Phase::Shaking(line) => thread.driver.close(line.socket),
            Phase::Ready(Link::Serial(serial)) => thread.driver.close(serial.line.socket),
            Phase::Ready(Link::Streams(streams)) => {
                if !streams.is_known {
                    thread.agenda.opening -= 1;
                }
                streams.note(&mut thread.ledger);
                thread.driver.close(streams.line.socket);
            }
            Phase::ShakingQuic(mut quic) | Phase::Ready(Link::Quic(mut quic)) => {
                quic.session.note(&mut thread.ledger.counts.links.quic);
                quic.say_close(thread);
                thread.driver.close(quic.socket);
            }
        }
    }

    /// Looks at the slot again when something of it may be too old.
    #[inline]
    pub(crate) fn note_deadline<D: Driver>(&mut self, thread: &mut Thread<'_, D>) {
        if self.deadline.is_none() {
            self.enter_deadline(thread);
        }
    }

    #[inline]
    pub(crate) fn has_no_deadline(&self) -> bool {
        self.deadline.is_none()
    }

    fn enter_deadline<D: Driver>(&mut self, thread: &mut Thread<'_, D>) {
        let waits = match (&self.phase, &self.requests) {
            (Phase::Spare | Phase::Resting, _) => None,
            (Phase::Ready(_), Requests::One(one)) => one.as_ref().map(|_| self.since),
            (Phase::Ready(_), Requests::Many(_)) => None,
            _ => Some(self.since),
        };
        let patience_ns = self.patience_ns(thread);
        let mut deadline = waits.map(|since| since.saturating_add(patience_ns));
        if let Requests::Many(flights) = &self.requests {
            let oldest = flights.next_deadline(thread.timeout_ns, self.is_ready());
            deadline = deadline.into_iter().chain(oldest).min();
        }
        if let Some(at) = deadline {
            let (agenda, entered) = (&mut thread.agenda, &mut self.deadline);
            agenda.set_deadline(self.index, at, entered);
        }
    }

    /// How long what it does may take.
    pub(crate) fn patience_ns<D: Driver>(&self, thread: &Thread<'_, D>) -> u64 {
        let is_attempt = matches!(self.phase, Phase::Connecting(_) | Phase::ShakingQuic(_));
        if is_attempt && thread.ways.has_others(self.endpoint) {
            ATTEMPT_NS_MAX.min(thread.timeout_ns)
        } else {
            thread.timeout_ns
        }
    }

    /// A request of a connection that carries one at a time; `None` where there is none.
    pub(crate) fn flight(&mut self) -> Option<&mut Flight> {
        match &mut self.requests {
            Requests::One(one) => one.as_mut(),
            Requests::Many(_) => None,
        }
    }

    /// Whether a place that an open loop was given is still good: one on the connection of this
    /// generation is free, or without one there is no connection.
    #[inline]
    pub(crate) fn is_free(&self, generation: Option<u32>) -> bool {
        let Some(generation) = generation else {
            return matches!(self.phase, Phase::Spare) && !self.has_waiting();
        };
        if self.generation != generation || !self.is_ready() {
            return false;
        }
        match &self.requests {
            Requests::One(one) => one.is_none(),
            Requests::Many(flights) => flights.free() > 0 && !flights.is_draining,
        }
    }

    /// Adds what the connection and its client counted by themselves, at the end of the load.
    pub(crate) fn note_score<D: Driver>(&self, thread: &mut Thread<'_, D>) {
        debug_assert_eq!(thread.ledger.stage, Stage::Closed);
        let score = match &self.requests {
            Requests::One(_) => self.score,
            Requests::Many(flights) => flights.score,
        };
        let clients = &mut thread.ledger.counts.observed.clients;
        clients.push((score.answers, score.longest));
    }
}

/// A server that sends much and settles nothing is not waited for before the load.
#[cold]
pub(crate) fn stop_awaiting<D: Driver, S>(slot: &mut Slot<S>, thread: &mut Thread<'_, D>) {
    if let Phase::Ready(Link::Streams(streams)) = &mut slot.phase
        && !std::mem::replace(&mut streams.is_known, true)
    {
        thread.agenda.opening -= 1;
    }
}
