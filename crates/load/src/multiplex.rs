//! The requests of one connection that carries many at once: HTTP/2.
//!
//! ```text
//! begin ─► Multiplex::enqueue ─► waiting ─► Client::open ─► in flight ─► Event::End ─► free
//! bytes ─► Multiplex::take ─► Client::handle ─► events ─► Tally
//! ```
//!
//! A place is one user's in a closed loop, one permit in an open loop. What waits outlives the
//! connection it waits on: it was not sent, so a new connection may carry it.

use std::collections::VecDeque;
use std::sync::Arc;

use bakeoff_record::Outcome;
use bakeoff_wire::h2::{
    Blocked, Client, Config, ErrorCode, Event, PeerSettings, Requests, Violation,
};

use crate::connection::BodyComparison;
use crate::spec::Exchange;
use crate::tally::{Tally, Times};

/// One connection's HTTP/2, and the requests on it.
pub(crate) struct Multiplex {
    pub(crate) client: Client,
    places: Vec<Place>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    /// No more streams are to be opened on this connection.
    pub(crate) is_draining: bool,
    /// The server said GOAWAY.
    is_left: bool,
    /// It said so without an error.
    is_graceful: bool,
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
    /// Room for events, empty between calls.
    pub(crate) events: &'a mut Vec<Event>,
    /// Frames that answer what was read.
    pub(crate) frames: &'a mut Vec<u8>,
    /// When what is read arrived.
    pub(crate) arrived: u64,
    /// When it was read.
    pub(crate) now: u64,
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

impl Multiplex {
    pub(crate) fn new(config: &Config, requests: &Arc<Requests>) -> Self {
        Self {
            client: Client::new(config, requests.clone()),
            places: vec![Place::default(); config.streams as usize],
            free: (0..config.streams).rev().collect(),
            waiting: VecDeque::new(),
            is_draining: false,
            is_left: false,
            is_graceful: false,
            withdrawn: 0,
        }
    }

    /// Takes another connection, ready at `now`; what waited for it waits no longer than that.
    pub(crate) fn restart(&mut self, config: &Config, requests: &Arc<Requests>, now: u64) {
        self.client = Client::new(config, requests.clone());
        self.is_draining = false;
        self.is_left = false;
        self.is_graceful = false;
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

    /// Opens a stream for the request that waits longest, if there is one and room for it.
    ///
    /// A client of a closed loop means to send when it can: its wait is told apart.
    #[inline]
    pub(crate) fn open_next(
        &mut self,
        is_closed_loop: bool,
        now: u64,
        frames: &mut Vec<u8>,
    ) -> Option<Opened> {
        let token = *self.waiting.front()?;
        let place = &mut self.places[token as usize];
        match self.client.open(place.exchange, token, frames) {
            Ok(()) => {}
            Err(Blocked::Full) => return None,
            Err(Blocked::GoingAway | Blocked::UsedUp) => {
                self.is_draining = true;
                return None;
            }
        }
        self.waiting.pop_front();
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

    /// Takes what the server sent, and counts what has ended by it.
    pub(crate) fn take(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), Violation> {
        let result = self.client.handle(bytes, sink.events, sink.frames);
        let mut events = std::mem::take(sink.events);
        for event in events.drain(..) {
            self.handle(event, bytes, sink);
        }
        *sink.events = events;
        result.map(|_| ())
    }

    #[inline]
    fn handle(&mut self, event: Event, bytes: &[u8], sink: &mut Sink<'_>) {
        match event {
            Event::Head { token, status } => {
                let place = &mut self.places[token as usize];
                place.status = status;
                place.first_byte = sink.arrived;
            }
            Event::Data {
                token,
                start,
                length,
            } => {
                let place = &mut self.places[token as usize];
                let part = &bytes[start as usize..(start + length) as usize];
                let exchange = &sink.exchanges[place.exchange as usize];
                let expected = exchange.body.as_deref().unwrap_or_default();
                place.body.compare(expected, part);
            }
            Event::End {
                token, body_bytes, ..
            } => self.end(token, body_bytes, sink),
            Event::Reset { token, code } => {
                let words = format!("the server reset the stream: {code}");
                self.end_error(token, Outcome::Reset, None, sink, || words);
            }
            Event::Refused { token } if self.is_graceful => self.withdraw(token, sink),
            Event::Refused { token } => {
                let words = || "the server did not take the stream".to_owned();
                self.end_error(token, Outcome::RefusedStream, None, sink, words);
            }
            Event::Malformed { token, violation } => {
                let words = || violation.to_string();
                self.end_error(token, Outcome::Protocol, None, sink, words);
            }
            Event::GoAway { code, .. } => {
                self.is_draining = true;
                self.is_graceful = code == ErrorCode::NO_ERROR;
                // A server may say it twice: that it will end, and later where.
                if !std::mem::replace(&mut self.is_left, true) {
                    sink.tally.counts.connections.goaways += 1;
                }
            }
            Event::SettingsChanged => {
                let settings = *self.client.peer_settings();
                sink.tally.counts.peer_settings.get_or_insert(settings);
            }
            Event::Informational { .. } => {}
        }
    }

    /// The server ends the connection in order and will not look at this request, which goes on
    /// the next one (RFC 9113, 6.8). It is still the same request: its time goes on.
    #[cold]
    fn withdraw(&mut self, token: u32, sink: &mut Sink<'_>) {
        sink.tally.counts.connections.streams_withdrawn += 1;
        self.withdrawn += 1;
        let place = &mut self.places[token as usize];
        place.state = State::Waiting;
        place.enqueued = sink.now;
        self.waiting.push_back(token);
    }

    /// A whole response ended a request.
    #[inline]
    fn end(&mut self, token: u32, body_bytes: u64, sink: &mut Sink<'_>) {
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
    fn end_error(
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
        self.places[token as usize].state = State::Free;
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

    /// Ends requests older than `timeout_ns` and resets their streams; of a connection that is
    /// not ready only those that were sent on the one before. Returns when the next one may be
    /// that old.
    pub(crate) fn expire(
        &mut self,
        timeout_ns: u64,
        is_ready: bool,
        words: &str,
        sink: &mut Sink<'_>,
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
                State::InFlight => self.client.cancel(token, sink.frames),
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
fn wrong_answer(accepted: bool, status: u16, body_bytes: u64) -> (Outcome, String) {
    if accepted {
        let words = format!("a body of {body_bytes} bytes is not the expected one");
        (Outcome::WrongBody, words)
    } else {
        (Outcome::Status, format!("status {status}"))
    }
}

/// What settings the first connection's server sent, as the record keeps them.
pub(crate) fn recorded(settings: &PeerSettings) -> bakeoff_record::PeerSettings {
    bakeoff_record::PeerSettings {
        max_concurrent_streams: settings.max_concurrent_streams,
        initial_window_bytes: settings.initial_window_size,
        frame_bytes_max: settings.max_frame_size,
        header_table_bytes: settings.header_table_size,
    }
}
