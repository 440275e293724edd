//! Requests of the window noted one by one: evenly spread ones, so many at the most, or all.
//!
//! All room is taken before the load. When it is used up, every second note is let go, and from
//! then on half as many are made: whatever the length of a load, its log is spread over all of it.
//! A log of all requests has room for them, and notes when servers closed connections, too.

use bakeoff_record::Outcome;

use super::{Answer, Failure, Ledger};
use crate::flight::{Flight, Origin};

/// A request that ended and belongs to the window. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logged {
    /// Which of the exchanges it is of.
    pub exchange: u32,
    /// When it ended, from the window's start.
    pub done_ns: u64,
    /// From when it was due, or was sent in a closed loop, to its end.
    pub latency_ns: u64,
    /// From when it was sent to its end; `None` where it was not.
    pub service_ns: Option<u64>,
    /// From when it was sent to the first byte of its answer.
    pub first_byte_ns: Option<u64>,
    /// Whether its connection had carried no other before it; false where it was not sent.
    pub is_first: bool,
    /// How it ended; as a timeout where it was no longer waited for.
    pub outcome: Outcome,
    /// The status of a whole answer.
    pub status: Option<u16>,
    /// Bytes of the body of a right answer.
    pub body_bytes: u64,
}

/// What was noted of a load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noted {
    /// Requests, in the order of their ends.
    pub requests: Vec<Logged>,
    /// When the server closed a connection that requests share, nanoseconds from the window's
    /// start, in order; only where every request is noted.
    pub closed_ns: Vec<u64>,
}

impl Noted {
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.requests.append(&mut other.requests);
        self.closed_ns.append(&mut other.closed_ns);
    }

    /// Puts what several threads noted in order.
    pub(crate) fn sorted(mut self) -> Self {
        self.requests.sort_unstable_by_key(|one| one.done_ns);
        self.closed_ns.sort_unstable();
        self
    }
}

/// The notes of one thread.
#[derive(Debug)]
pub(crate) struct Log {
    notes: Vec<Logged>,
    most: usize,
    /// One request in so many is noted.
    every: u64,
    seen: u64,
    /// When the server closed each connection, from the window's start; `None` where requests are
    /// only spread ones.
    closed_ns: Option<Vec<u64>>,
}

impl Log {
    /// Room for `most` notes; at least two.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(2);
        Self {
            notes: Vec::with_capacity(most),
            most,
            every: 1,
            seen: 0,
            closed_ns: None,
        }
    }

    /// Room for every request, of which there are `most` at the most, and for as many closes.
    pub(crate) fn of_all(most: usize) -> Self {
        Self {
            closed_ns: Some(Vec::new()),
            ..Self::new(most)
        }
    }

    /// Notes a request that ended `ok` in a window that began at `start`.
    pub(super) fn note(&mut self, flight: &Flight, answer: &Answer, start: u64) {
        let how = (Outcome::Ok, Some(answer.status), answer.body_bytes);
        self.put(logged(flight, start, answer.done, how));
    }

    /// Notes one that ended otherwise.
    pub(super) fn note_failure(&mut self, flight: &Flight, failure: &Failure<'_>, start: u64) {
        let how = (failure.end.outcome(), failure.status, 0);
        self.put(logged(flight, start, failure.done, how));
    }

    /// Notes one that was not waited for after `until`.
    fn note_unended(&mut self, origin: &Origin, until: u64, start: u64) {
        let how = (Outcome::Timeout, None, 0);
        self.put(logged(&Flight::new(*origin), start, until, how));
    }

    /// Notes that the server closed a connection.
    fn note_closed(&mut self, now: u64, start: u64) {
        let most = self.most;
        if let Some(closed_ns) = &mut self.closed_ns
            && let Some(at) = now.checked_sub(start)
            && closed_ns.len() < most
        {
            closed_ns.push(at);
        }
    }

    /// Takes a note, if it is one of those that are kept.
    fn put(&mut self, one: Logged) {
        if self.closed_ns.is_some() {
            if self.notes.len() < self.most {
                self.notes.push(one);
            }
            return;
        }
        let turn = self.seen;
        self.seen += 1;
        if self.notes.len() == self.most && turn.is_multiple_of(self.every) {
            let mut at = 0;
            self.notes.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every *= 2;
        }
        if turn.is_multiple_of(self.every) {
            self.notes.push(one);
        }
    }

    /// What was noted: requests, and when the server closed connections.
    pub(super) fn notes(self) -> Noted {
        Noted {
            requests: self.notes,
            closed_ns: self.closed_ns.unwrap_or_default(),
        }
    }
}

/// Keeps an `ok` answer by itself, where some still are.
#[cold]
pub(super) fn note_ok(ledger: &mut Ledger, flight: &Flight, answer: &Answer, latency: u64) {
    if ledger.samples_latencies {
        ledger.samples_latencies = ledger.counts.observed.sample(latency);
    }
    if let Some(log) = &mut ledger.log {
        log.note(flight, answer, ledger.window.start);
    }
    ledger.takes_notes = ledger.samples_latencies || ledger.log.is_some();
}

/// Notes a request of an open loop that had not ended when it was no longer waited for.
pub(super) fn note_unended(ledger: &mut Ledger, origin: &Origin, until: u64) {
    if let Some(log) = ledger.log.as_mut().filter(|_| ledger.is_open_loop) {
        log.note_unended(origin, until, ledger.window.start);
    }
}

/// The server has closed a connection, or said that it will.
#[cold]
pub(crate) fn closed_by_server(ledger: &mut Ledger, now: u64) {
    ledger.counts.links.connections.closed_by_server += 1;
    if let Some(log) = &mut ledger.log {
        log.note_closed(now, ledger.window.start);
    }
}

fn logged(
    flight: &Flight,
    start: u64,
    done: u64,
    (outcome, status, body_bytes): (Outcome, Option<u16>, u64),
) -> Logged {
    let is_sent = flight.sent > 0;
    let has_begun = is_sent && flight.first_byte > 0;
    Logged {
        exchange: flight.origin.exchange,
        done_ns: done.saturating_sub(start),
        latency_ns: done.saturating_sub(flight.origin.intended),
        service_ns: is_sent.then(|| done.saturating_sub(flight.sent)),
        first_byte_ns: has_begun.then(|| flight.first_byte.saturating_sub(flight.sent)),
        is_first: flight.origin.is_first,
        outcome,
        status,
        body_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_bounded_and_evenly_spread() {
        let mut log = Log::new(8);
        let room = log.notes.capacity();
        for number in 0..100 {
            log.put(Logged {
                exchange: 0,
                done_ns: number,
                latency_ns: 1,
                service_ns: None,
                first_byte_ns: None,
                is_first: false,
                outcome: Outcome::Ok,
                status: Some(200),
                body_bytes: 0,
            });
        }
        assert_eq!(log.notes.capacity(), room);
        let found: Vec<u64> = log.notes().requests.iter().map(|it| it.done_ns).collect();
        assert_eq!(found, [0, 16, 32, 48, 64, 80, 96]);
    }

    #[test]
    fn a_log_of_all_requests_thins_none_and_is_bounded() {
        let mut log = Log::of_all(3);
        for at in [5, 10, 12, 15, 20] {
            log.note_unended(&Origin::default(), at, 10);
            log.note_closed(at, 10);
        }
        let noted = log.notes();
        let found: Vec<u64> = noted.requests.iter().map(|it| it.latency_ns).collect();
        assert_eq!(found, [5, 10, 12]);
        assert_eq!(noted.closed_ns, [0, 2, 5], "not before the window");
    }
}
