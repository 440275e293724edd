//! Requests of the window noted one by one: evenly spread ones, so many at the most.
//!
//! All room is taken before the load. When it is used up, every second note is let go, and from
//! then on half as many are made: whatever the length of a load, its log is spread over all of it.

use bakeoff_record::Outcome;

use super::{Answer, Failure, Ledger};
use crate::flights::Flight;

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
    /// How it ended.
    pub outcome: Outcome,
    /// The status of a whole answer.
    pub status: Option<u16>,
    /// Bytes of the body of a right answer.
    pub body_bytes: u64,
}

/// The notes of one thread.
#[derive(Debug)]
pub(crate) struct Log {
    notes: Vec<Logged>,
    most: usize,
    /// One request in so many is noted.
    every: u64,
    seen: u64,
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

    /// Takes a note, if it is one of those that are kept.
    fn put(&mut self, one: Logged) {
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

    pub(super) fn notes(self) -> Vec<Logged> {
        self.notes
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
                outcome: Outcome::Ok,
                status: Some(200),
                body_bytes: 0,
            });
        }
        assert_eq!(log.notes.capacity(), room);
        let found: Vec<u64> = log.notes().iter().map(|it| it.done_ns).collect();
        assert_eq!(found, [0, 16, 32, 48, 64, 80, 96]);
    }
}
