//! Requests that have begun and not ended: one on a serial connection, or as many as a connection
//! has places where it carries many at once.
//!
//! ```text
//! begin ─► Flights::enqueue ─► waiting ─► Flights::open_next ─► in flight ─► Flights::end ─► free
//! ```
//!
//! A place is one user's in a closed loop, one permit in an open loop. What waits outlives the
//! connection it waits on: it was not sent, so a new connection may carry it.

use std::collections::VecDeque;

use bakeoff_record::Outcome;
use bakeoff_wire::h1::NewHead;

use crate::body::BodyComparison;
use crate::end::End;
use crate::flight::{Flight, Origin};
use crate::ledger::{Answer, Failure, Ledger};
use crate::lengths::Lengths;
use crate::spec::Exchange;

/// The requests of a slot.
pub(crate) enum Requests {
    /// Of a connection that carries one request at a time, or that has not agreed on more.
    One(Option<Flight>),
    /// Of a connection that carries many at once.
    Many(Box<Flights>),
}

impl Requests {
    /// Hands `look` the origin of each request that has begun and not ended.
    pub(crate) fn each_unended(&self, mut look: impl FnMut(&Origin)) {
        match self {
            Self::One(one) => one.iter().for_each(|flight| look(&flight.origin)),
            Self::Many(flights) => flights.unended().for_each(look),
        }
    }

    /// Places without a request.
    pub(crate) fn free(&self) -> usize {
        match self {
            Self::One(one) => usize::from(one.is_none()),
            Self::Many(flights) => flights.free.len(),
        }
    }
}

/// The requests of a connection that carries many at once.
pub(crate) struct Flights {
    places: Vec<Place>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    in_flight: u32,
    /// Requests whose answers may be long; see [`Lengths`].
    long: u32,
    /// Whether a stream was opened on this connection.
    has_opened: bool,
    /// No more streams are to be opened on this connection.
    pub(crate) is_draining: bool,
    /// Requests that the connection carried and the server withdrew.
    pub(crate) withdrawn: u32,
    /// Requests that were answered on this connection.
    pub(crate) answered: u64,
    /// Bytes of bodies that came, for [`crate::greed`].
    pub(crate) body_bytes: u64,
    /// How its clients were served in the window.
    pub(crate) score: Score,
}

/// A place for a request.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    flight: Flight,
    /// When it was enqueued on a connection that was ready, or found it ready.
    enqueued: u64,
    status: u16,
    state: State,
    may_be_long: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    Waiting,
    InFlight,
}

/// Where what is read goes.
pub(crate) struct Sink<'a> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) lengths: &'a mut Lengths,
    pub(crate) exchanges: &'a [Exchange],
    /// When what is read arrived.
    pub(crate) arrived: u64,
    /// When it was read.
    pub(crate) now: u64,
}

/// What came of an attempt to open a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Opened,
    /// As many streams are open as may be.
    Full,
    /// The connection takes no more streams.
    Draining,
}

/// A stream that was opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opened {
    /// Not a request that was withdrawn before.
    pub(crate) is_first: bool,
    pub(crate) origin: Origin,
    /// Time for which the stream limit had kept it waiting, nanoseconds.
    pub(crate) blocked_ns: u64,
}

/// Which requests end with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Those that were sent; the others wait for the next connection.
    Sent,
    /// Those that were never sent, too.
    All,
}

impl Flights {
    pub(crate) fn new(count: u32) -> Self {
        Self {
            places: vec![Place::default(); count as usize],
            free: (0..count).rev().collect(),
            waiting: VecDeque::new(),
            in_flight: 0,
            long: 0,
            has_opened: false,
            is_draining: false,
            withdrawn: 0,
            answered: 0,
            body_bytes: 0,
            score: Score::default(),
        }
    }

    /// Takes another connection, ready at `now`; what waited for it waits no longer than that.
    pub(crate) fn restart(&mut self, now: u64) {
        self.has_opened = false;
        self.is_draining = false;
        self.withdrawn = 0;
        self.answered = 0;
        self.wait_from(now);
    }

    /// What waits does so for the server's limit from `now` on, no longer for its settings.
    pub(crate) fn wait_from(&mut self, now: u64) {
        for token in &self.waiting {
            self.places[*token as usize].enqueued = now;
        }
    }

    /// Number of places without a request.
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// Whether a request waits for room.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Requests that are on streams.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether an answer that may be long is awaited.
    pub(crate) fn may_be_long(&self) -> bool {
        self.long > 0
    }

    /// Puts a request behind those that wait. There must be a free place.
    pub(crate) fn enqueue(&mut self, origin: Origin, may_be_long: bool, now: u64) {
        let token = self
            .free
            .pop()
            .expect("a request begins where a place is free");
        self.places[token as usize] = Place {
            flight: Flight::new(origin),
            enqueued: now,
            status: 0,
            state: State::Waiting,
            may_be_long,
        };
        self.long += u32::from(may_be_long);
        self.waiting.push_back(token);
    }

    /// Opens a stream by `open`, which takes the exchange and the token, for the request that
    /// waits longest, if there is one and room for it.
    ///
    /// A client of a closed loop means to send when it can: its wait is recorded apart.
    #[inline]
    pub(crate) fn open_next(
        &mut self,
        is_closed_loop: bool,
        now: u64,
        open: impl FnOnce(u32, u32) -> Attempt,
    ) -> Option<Opened> {
        let token = *self.waiting.front()?;
        let place = &mut self.places[token as usize];
        match open(place.flight.origin.exchange, token) {
            Attempt::Opened => {}
            Attempt::Full => return None,
            Attempt::Draining => {
                self.is_draining = true;
                return None;
            }
        }
        self.waiting.pop_front();
        self.in_flight += 1;
        place.state = State::InFlight;
        place.flight.origin.is_first = !std::mem::replace(&mut self.has_opened, true);
        let is_first = place.flight.sent == 0;
        if is_first {
            place.flight.sent = now;
            if is_closed_loop {
                place.flight.origin.intended = now;
            }
        }
        Some(Opened {
            is_first,
            origin: place.flight.origin,
            blocked_ns: now.saturating_sub(place.enqueued),
        })
    }

    /// The head of a request's final response came.
    #[inline]
    pub(crate) fn head(&mut self, token: u32, status: u16, sink: &mut Sink<'_>) {
        let place = &mut self.places[token as usize];
        place.status = status;
        place.flight.first_byte = sink.arrived;
        if !(200..300).contains(&status) {
            let at = place.flight.origin.exchange;
            let head = NewHead {
                status,
                reason: b"",
                location: None,
            };
            let expected = sink.exchanges[at as usize].status;
            let answers = &mut sink.ledger.counts.observed.said;
            let kept = answers.begin(at, expected, &head).into_iter();
            kept.for_each(|number| place.flight.body.keep(number));
        }
    }

    /// A part of a request's response body came.
    #[inline]
    pub(crate) fn data(&mut self, token: u32, part: &[u8], sink: &mut Sink<'_>) {
        let place = &mut self.places[token as usize];
        let exchange = &sink.exchanges[place.flight.origin.exchange as usize];
        let expected = exchange.body.as_deref().unwrap_or_default();
        let answers = &mut sink.ledger.counts.observed.said;
        place.flight.body.take(expected, part, answers);
        self.body_bytes += part.len() as u64;
    }

    /// The server ends the connection in order and will not look at this request, which goes on
    /// the next one (RFC 9113, 6.8). It is still the same request: its time goes on.
    #[cold]
    pub(crate) fn withdraw(&mut self, token: u32, sink: &mut Sink<'_>) {
        sink.ledger.counts.links.connections.streams_withdrawn += 1;
        self.withdrawn += 1;
        self.wait_again(token, sink.now);
        self.waiting.push_back(token);
    }

    /// The server took no early data, and this request was in it: it is sent again on the same
    /// connection, before those that wait.
    #[cold]
    pub(crate) fn send_again(&mut self, token: u32, sink: &mut Sink<'_>) {
        sink.ledger.counts.links.quic.early_data.sent_again += 1;
        self.wait_again(token, sink.now);
        self.waiting.push_front(token);
    }

    fn wait_again(&mut self, token: u32, now: u64) {
        self.in_flight -= 1;
        let place = &mut self.places[token as usize];
        place.state = State::Waiting;
        place.enqueued = now;
        // What came of an answer is not of the one that will come.
        place.status = 0;
        place.flight.first_byte = 0;
        place.flight.body = BodyComparison::start(place.flight.origin.check);
    }

    /// A whole response ended a request.
    #[inline]
    pub(crate) fn end(&mut self, token: u32, body_bytes: u64, sink: &mut Sink<'_>) {
        let place = &self.places[token as usize];
        let answer = Answer {
            status: place.status,
            body_bytes,
            done: sink.arrived.max(place.flight.sent),
            now: sink.now,
        };
        let ledger = &mut sink.ledger;
        if ledger.answer(&place.flight, &answer, sink.exchanges) {
            let intended = place.flight.origin.intended;
            self.score.add(answer.done.saturating_sub(intended));
        }
        sink.lengths.note(place.flight.origin.exchange, body_bytes);
        self.answered += 1;
        self.release(token);
    }

    /// A request ended without a whole response.
    #[cold]
    pub(crate) fn fail(&mut self, token: u32, end: &End, sink: &mut Sink<'_>) {
        let flight = self.places[token as usize].flight;
        sink.ledger.fail(&flight, &Failure::by(end, sink.now));
        self.release(token);
    }

    fn release(&mut self, token: u32) {
        let place = &mut self.places[token as usize];
        self.in_flight -= u32::from(place.state == State::InFlight);
        self.long -= u32::from(place.may_be_long);
        place.state = State::Free;
        self.free.push(token);
    }

    /// Ends the requests that were lost with a connection, by its end; one whose answer had
    /// begun and was cut by the stream's end is `truncated`.
    pub(crate) fn lose(&mut self, end: &End, lost: Lost, now: u64, ledger: &mut Ledger) {
        for token in 0..self.places.len() as u32 {
            let place = &self.places[token as usize];
            let is_lost = match place.state {
                State::Free => false,
                State::Waiting => lost == Lost::All,
                State::InFlight => true,
            };
            if !is_lost {
                continue;
            }
            let is_cut = end.outcome() == Outcome::ClosedEarly && place.flight.first_byte != 0;
            let end = if is_cut { &End::INSIDE_ANSWER } else { end };
            ledger.fail(&place.flight, &Failure::by(end, now));
            self.release(token);
        }
        if lost == Lost::All {
            self.waiting.clear();
        }
    }

    /// When the oldest request times out, if `is_ready`, or those that were sent on an earlier
    /// connection.
    pub(crate) fn next_deadline(&self, timeout_ns: u64, is_ready: bool) -> Option<u64> {
        let since = self.places.iter().filter_map(|place| place.since(is_ready));
        since.min().map(|since| since.saturating_add(timeout_ns))
    }

    /// Ends requests older than `timeout_ns` by `end`; `cancel` ends the stream of one that has
    /// one, and says how it ends. Of a connection that is not ready only those that were sent on
    /// an earlier one end.
    pub(crate) fn expire(
        &mut self,
        timeout_ns: u64,
        is_ready: bool,
        end: &End,
        sink: &mut Sink<'_>,
        mut cancel: impl FnMut(u32) -> End,
    ) {
        for token in 0..self.places.len() as u32 {
            let place = &self.places[token as usize];
            let deadline = place.since(is_ready);
            let deadline = deadline.map(|since| since.saturating_add(timeout_ns));
            if deadline.is_none_or(|deadline| deadline > sink.now) {
                continue;
            }
            if place.state == State::InFlight {
                let end = cancel(token);
                self.fail(token, &end, sink);
            } else {
                self.waiting.retain(|each| *each != token);
                self.fail(token, end, sink);
            }
        }
    }

    /// Origins of all requests that have begun and not ended.
    fn unended(&self) -> impl Iterator<Item = &Origin> {
        let begun = self.places.iter();
        let begun = begun.filter(|place| place.state != State::Free);
        begun.map(|place| &place.flight.origin)
    }

    /// Drops a request without counting it, as a defect would. For tests of the counts.
    #[cfg(test)]
    pub(crate) fn lose_one(&mut self) {
        if let Some(token) = self.waiting.pop_front() {
            self.release(token);
        }
    }
}

impl Place {
    /// What its timeout is counted from: when it was sent first, or when it began to wait on a
    /// connection that is ready.
    fn since(&self, is_ready: bool) -> Option<u64> {
        match self.flight.sent {
            _ if self.state == State::Free => None,
            0 => is_ready.then_some(self.enqueued),
            sent => Some(sent),
        }
    }
}

/// How a client was served in the window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Score {
    /// `ok` answers.
    pub(crate) answers: u64,
    /// Longest wait for one of them, nanoseconds.
    pub(crate) longest: u64,
}

impl Score {
    #[inline]
    pub(crate) fn add(&mut self, latency: u64) {
        self.answers += 1;
        self.longest = self.longest.max(latency);
    }
}
