//! A stretch of time cut into equal parts, with what ended in each, in bounded memory.

use bakeoff_record::{Failed, Histogram, Interval, Outcome};

use crate::pulse::Added;
use crate::pulse::Live;

/// Parts at the most, an even number; beyond it they are joined in pairs.
pub(super) const PARTS_MAX: usize = 100;
/// The same of a load whose rate changes: what is looked for there is when something begins and
/// ends.
pub(super) const PARTS_MAX_SHAPED: usize = 600;

/// The part that is on, and those before it.
#[derive(Default)]
pub(super) struct Parts {
    /// Start of the stretch.
    origin: u64,
    /// Length of a part at first, nanoseconds.
    first_length: u64,
    /// Length of a part by now.
    length: u64,
    /// Start of the part that is on.
    start: u64,
    ok: u64,
    errors: u64,
    latency: Histogram,
    failed: Failed,
    /// Parts at the most.
    most: usize,
    /// What ended before the part that is on, as `ok` and otherwise.
    before: (u64, u64),
    done: Vec<Interval>,
    /// What the display knows of.
    pub(super) added: Added,
}

impl Parts {
    /// The stretch begins at `origin`, and has so many parts at the most.
    pub(super) fn new(origin: u64, length: u64, most: usize) -> Self {
        Self {
            most,
            origin,
            first_length: length,
            length,
            start: origin,
            ..Self::default()
        }
    }

    /// When the part that is on ends.
    pub(super) fn end(&self) -> u64 {
        match self.length {
            0 => u64::MAX,
            length => self.start.saturating_add(length),
        }
    }

    #[inline]
    pub(super) fn ok(&mut self, latency: u64) {
        self.ok += 1;
        self.latency.record(latency);
    }

    pub(super) fn error(&mut self, outcome: Outcome, status: Option<u16>, age: u64) {
        self.errors += 1;
        self.failed.count(outcome, status, age);
        self.added.failed(outcome);
    }

    /// Adds to the live counters what has ended since the last time.
    pub(super) fn show(&mut self, live: &Live, now: u64) {
        let ended = self.ended_since_start();
        self.added.add_to(live, now, ended, &self.latency);
    }

    /// What has ended since the start, as `ok` and otherwise.
    fn ended_since_start(&self) -> (u64, u64) {
        (self.before.0 + self.ok, self.before.1 + self.errors)
    }

    /// Ends the part that is on at `end`. What ended in the moment in which one began and the
    /// stretch ended is of the part before it.
    pub(super) fn finish(&mut self, end: u64) {
        let part = Interval {
            start_s: (self.start - self.origin) as f64 / 1e9,
            length_s: end.saturating_sub(self.start) as f64 / 1e9,
            ok: self.ok,
            errors: self.errors,
            latency: self.latency.trimmed(),
            failed: self.failed.take(),
        };
        match self.done.last_mut() {
            _ if end > self.start => self.done.push(part),
            Some(last) if part.ok + part.errors > 0 => last.add(&part),
            _ => return,
        }
        self.added.part_over(&self.latency);
        self.latency.clear();
        self.before = self.ended_since_start();
        (self.ok, self.errors, self.start) = (0, 0, end);
        if self.done.len() == self.most {
            Interval::join(&mut self.done);
            self.length *= 2;
        }
    }

    /// Ends the stretch and begins another one at `origin`, with parts of the first length again.
    /// Returns the parts.
    pub(super) fn restart(&mut self, origin: u64) -> Vec<Interval> {
        self.finish(origin);
        let done = std::mem::take(&mut self.done);
        (self.origin, self.start, self.length) = (origin, origin, self.first_length);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// As many seconds with an answer each, in parts of a second.
    fn seconds(count: u64) -> Vec<Interval> {
        let mut parts = Parts::new(SECOND, SECOND, PARTS_MAX);
        let end = SECOND + count * SECOND;
        while parts.start < end {
            parts.ok(5_000_000);
            let middle = parts.start + SECOND;
            if middle >= parts.end() {
                parts.finish(parts.end());
            } else {
                parts.start = middle.min(parts.end());
            }
        }
        parts.restart(end)
    }

    #[test]
    fn hours_take_as_many_parts_as_minutes() {
        let parts = seconds(99);
        assert_eq!(parts.len(), 99);
        assert!(parts.iter().all(|part| part.length_s == 1.0));
        let mut parts = Parts::new(0, SECOND, PARTS_MAX);
        for _ in 0..1_000 {
            parts.ok(7);
            parts.finish(parts.end());
        }
        let parts = parts.restart(u64::MAX);
        assert!(parts.len() < PARTS_MAX, "{}", parts.len());
        assert!(parts[0].length_s > 1.0);
        for (index, part) in parts.iter().enumerate().take(parts.len() - 1) {
            assert_eq!(part.start_s, index as f64 * parts[0].length_s);
        }
        let counted: u64 = parts.iter().map(|part| part.latency.count()).sum();
        assert_eq!(counted, 1_000);
    }

    #[test]
    fn what_ends_in_the_moment_of_an_edge_is_counted() {
        let mut parts = Parts::new(0, SECOND, PARTS_MAX);
        parts.ok(1);
        parts.finish(SECOND);
        parts.ok(2);
        parts.error(Outcome::Refused, None, 3);
        parts.finish(SECOND);
        let parts = parts.restart(SECOND);
        assert_eq!(parts.len(), 1);
        assert_eq!((parts[0].ok, parts[0].errors), (2, 1));
        assert_eq!((parts[0].length_s, parts[0].latency.count()), (1.0, 2));
        let failed = parts[0].failed.as_ref().unwrap();
        assert_eq!(failed.outcomes[&Outcome::Refused], 1);
    }

    #[test]
    fn threads_add_up_whatever_length_each_came_to() {
        let mut fine = seconds(99);
        let coarse = seconds(60);
        Interval::merge(&mut fine, coarse);
        assert_eq!(fine.iter().map(|part| part.ok).sum::<u64>(), 159);
        let mut joined = seconds(99);
        Interval::join(&mut joined);
        Interval::merge(&mut joined, seconds(99));
        assert_eq!(joined.len(), 50);
        assert_eq!(joined.iter().map(|part| part.ok).sum::<u64>(), 198);
    }
}
