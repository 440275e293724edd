//! The requests of one connection that carries many at once, whatever carries them.
//!
//! ```text
//! begin ─► Places::enqueue ─► waiting ─► Places::open_next ─► in flight ─► Places::end ─► free
//! ```
//!
//! A place is one user's in a closed loop, one permit in an open loop. What waits outlives the
//! connection it waits on: it was not sent, so a new connection may carry it.

use std::collections::VecDeque;

use bakeoff_record::Outcome;

use crate::connection::BodyComparison;
use crate::spec::Exchange;
use crate::tally::{Tally, Times};

/// The requests of one connection.
pub(crate) struct Places {
    places: Vec<Place>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    in_flight: u32,
    /// No more streams are to be opened on this connection.
    pub(crate) is_draining: bool,
    /// Requests that the connection carried and the server withdrew.
    pub(crate) withdrawn: u32,
}

/// A place for a request.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// When it was enqueued on a connection that was ready, or found it ready.
    enqueued: u64,
    intended: u64,
    /// When it was sent first; 0 before.
    sent: u64,
    /// 0 before.
    first_byte: u64,
    body: BodyComparison,
    exchange: u32,
    status: u16,
    state: State,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    Waiting,
    InFlight,
}

/// A request that is to be sent when there is room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    pub(crate) exchange: u32,
    pub(crate) intended: u64,
    pub(crate) check: bool,
}

/// Where what is read goes.
pub(crate) struct Sink<'a> {
    pub(crate) tally: &'a mut Tally,
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
    pub(crate) intended: u64,
    /// Time for which the stream limit had kept it waiting, nanoseconds.
    pub(crate) blocked_ns: u64,
}

/// Why requests on a connection end without an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss<'a> {
    pub(crate) outcome: Outcome,
    /// Whether requests that were never sent end too.
    pub(crate) with_waiting: bool,
    pub(crate) now: u64,
    pub(crate) words: &'a str,
}

impl Places {
    pub(crate) fn new(count: u32) -> Self {
        Self {
            places: vec![Place::default(); count as usize],
            free: (0..count).rev().collect(),
            waiting: VecDeque::new(),
            in_flight: 0,
            is_draining: false,
            withdrawn: 0,
        }
    }

    /// Takes another connection, ready at `now`; what waited for it waits no longer than that.
    pub(crate) fn restart(&mut self, now: u64) {
        self.is_draining = false;
        self.withdrawn = 0;
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

    /// Puts a request behind those that wait. There must be a free place.
    pub(crate) fn enqueue(&mut self, due: Due, now: u64) {
        let Some(token) = self.free.pop() else {
            debug_assert!(false, "no place is free");
            return;
        };
        self.places[token as usize] = Place {
            enqueued: now,
            intended: due.intended,
            body: BodyComparison::start(due.check),
            exchange: due.exchange,
            state: State::Waiting,
            ..Place::default()
        };
        self.waiting.push_back(token);
    }

    /// Opens a stream by `open`, which takes the exchange and the token, for the request that
    /// waits longest, if there is one and room for it.
    ///
    /// A client of a closed loop means to send when it can: its wait is told apart.
    #[inline]
    pub(crate) fn open_next(
        &mut self,
        is_closed_loop: bool,
        now: u64,
        open: impl FnOnce(u32, u32) -> Attempt,
    ) -> Option<Opened> {
        let token = *self.waiting.front()?;
        let place = &mut self.places[token as usize];
        match open(place.exchange, token) {
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
        let is_first = place.sent == 0;
        if is_first {
            place.sent = now;
            if is_closed_loop {
                place.intended = now;
            }
        }
        Some(Opened {
            is_first,
            intended: place.intended,
            blocked_ns: now.saturating_sub(place.enqueued),
        })
    }

    /// The head of a request's final response came.
    #[inline]
    pub(crate) fn head(&mut self, token: u32, status: u16, sink: &Sink<'_>) {
        let place = &mut self.places[token as usize];
        place.status = status;
        place.first_byte = sink.arrived;
    }

    /// A part of a request's response body came.
    #[inline]
    pub(crate) fn data(&mut self, token: u32, part: &[u8], sink: &Sink<'_>) {
        let place = &mut self.places[token as usize];
        let exchange = &sink.exchanges[place.exchange as usize];
        let expected = exchange.body.as_deref().unwrap_or_default();
        place.body.compare(expected, part);
    }

    /// The server ends the connection in order and will not look at this request, which goes on
    /// the next one (RFC 9113, 6.8). It is still the same request: its time goes on.
    #[cold]
    pub(crate) fn withdraw(&mut self, token: u32, sink: &mut Sink<'_>) {
        sink.tally.counts.connections.streams_withdrawn += 1;
        self.withdrawn += 1;
        self.in_flight -= 1;
        let place = &mut self.places[token as usize];
        place.state = State::Waiting;
        place.enqueued = sink.now;
        self.waiting.push_back(token);
    }

    /// The server took no early data, and this request was in it: it is sent again on the same
    /// connection, before those that wait.
    #[cold]
    pub(crate) fn send_again(&mut self, token: u32, sink: &mut Sink<'_>) {
        sink.tally.counts.quic.early_data.sent_again += 1;
        self.in_flight -= 1;
        let place = &mut self.places[token as usize];
        place.state = State::Waiting;
        place.enqueued = sink.now;
        self.waiting.push_front(token);
    }

    /// A whole response ended a request.
    #[inline]
    pub(crate) fn end(&mut self, token: u32, body_bytes: u64, sink: &mut Sink<'_>) {
        let place = &self.places[token as usize];
        let exchange = &sink.exchanges[place.exchange as usize];
        let expected = exchange.body.as_deref();
        let body_is_right = expected.is_none_or(|body| place.body.is_right(body, body_bytes));
        let (status, accepted) = (place.status, exchange.status.accepts(place.status));
        sink.tally.counts.bodies_checked += u64::from(place.body.on);
        if !accepted || !body_is_right {
            let (outcome, words) = wrong_answer(accepted, status, body_bytes);
            return self.end_error(token, outcome, Some(status), sink, || words);
        }
        let times = Times {
            intended: place.intended,
            sent: place.sent,
            first_byte: place.first_byte,
            done: sink.arrived.max(place.sent),
        };
        sink.tally.end_ok(place.exchange, times, status, body_bytes);
        self.release(token);
    }

    #[cold]
    pub(crate) fn end_error(
        &mut self,
        token: u32,
        outcome: Outcome,
        status: Option<u16>,
        sink: &mut Sink<'_>,
        words: impl FnOnce() -> String,
    ) {
        let place = &self.places[token as usize];
        let (exchange, intended) = (place.exchange, place.intended);
        sink.tally
            .end_error(exchange, outcome, intended, sink.now, status, words);
        self.release(token);
    }

    fn release(&mut self, token: u32) {
        let place = &mut self.places[token as usize];
        self.in_flight -= u32::from(place.state == State::InFlight);
        place.state = State::Free;
        self.free.push(token);
    }

    /// Ends the requests that were lost with a connection, by its outcome; one whose answer had
    /// begun and was cut by the stream's end is `truncated`.
    pub(crate) fn lose(&mut self, loss: Loss<'_>, tally: &mut Tally) {
        for token in 0..self.places.len() as u32 {
            let place = &self.places[token as usize];
            let is_lost = match place.state {
                State::Free => false,
                State::Waiting => loss.with_waiting,
                State::InFlight => true,
            };
            if !is_lost {
                continue;
            }
            let (outcome, words) = match loss.outcome {
                Outcome::ClosedEarly if place.first_byte != 0 => (
                    Outcome::Truncated,
                    "the server closed the connection inside its answer",
                ),
                other => (other, loss.words),
            };
            let (exchange, intended) = (place.exchange, place.intended);
            tally.end_error(exchange, outcome, intended, loss.now, None, || {
                words.to_owned()
            });
            self.release(token);
        }
        if loss.with_waiting {
            self.waiting.clear();
        }
    }

    /// Ends requests older than `timeout_ns`; `cancel` ends the streams of those that have one.
    /// Of a connection that is not ready only those that were sent on the one before end. Returns
    /// when the next one may be that old.
    pub(crate) fn expire(
        &mut self,
        timeout_ns: u64,
        is_ready: bool,
        words: &str,
        sink: &mut Sink<'_>,
        mut cancel: impl FnMut(u32),
    ) -> u64 {
        let mut next = u64::MAX;
        for token in 0..self.places.len() as u32 {
            let place = &self.places[token as usize];
            let since = match place.sent {
                _ if place.state == State::Free => continue,
                0 if is_ready => place.enqueued,
                0 => continue,
                sent => sent,
            };
            let deadline = since.saturating_add(timeout_ns);
            if deadline > sink.now {
                next = next.min(deadline);
                continue;
            }
            match place.state {
                State::InFlight => cancel(token),
                _ => self.waiting.retain(|each| *each != token),
            }
            self.end_error(token, Outcome::Timeout, None, sink, || words.to_owned());
        }
        next
    }

    /// Due times of all requests that have begun and not ended.
    pub(crate) fn unended(&self) -> impl Iterator<Item = u64> {
        let begun = self.places.iter();
        let begun = begun.filter(|place| place.state != State::Free);
        begun.map(|place| place.intended)
    }
}

/// What is wrong with a whole response that is not `ok`.
#[cold]
pub(crate) fn wrong_answer(accepted: bool, status: u16, body_bytes: u64) -> (Outcome, String) {
    if accepted {
        let words = format!("a body of {body_bytes} bytes is not the expected one");
        (Outcome::WrongBody, words)
    } else {
        (Outcome::Status, format!("status {status}"))
    }
}
