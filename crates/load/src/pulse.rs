//! What a display shows of a running load: what ended, the time that this covers, and latencies
//! on a coarse scale.
//!
//! Each engine thread adds its part ten times a second, from what it counts anyway, so a request
//! costs nothing more. Latencies are only added once somebody asks for them. Nothing here waits,
//! and no result is made of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bakeoff_record::{Histogram, Outcome, OutcomeCounts};

/// Buckets per power of two: the middle of a bucket is off by at most 1.1 %.
const PER_OCTAVE: usize = 32;
/// Powers of two of nanoseconds: 2^42 ns are 73 minutes; what is longer is in the last bucket.
const OCTAVES: usize = 42;
const BUCKETS: usize = OCTAVES * PER_OCTAVE;

/// Requests that ended since the start, warm-up included; about 100 ms old.
#[derive(Debug, Default)]
pub struct Live {
    ok: AtomicU64,
    errors: AtomicU64,
    /// The longest that a request of the window took that ended, nanoseconds.
    longest_ns: AtomicU64,
    /// The time that they cover, and latencies.
    pulse: Pulse,
}

/// Time and latencies that go with the live counters; written and read without locks.
#[derive(Debug)]
pub(crate) struct Pulse {
    is_wanted: AtomicBool,
    /// Threads that have added something.
    threads: AtomicU64,
    /// Time that they cover, added up.
    covered_ns: AtomicU64,
    latencies: Box<[AtomicU64]>,
    /// Requests that did not end as `ok`, by outcome.
    failed: [AtomicU64; Outcome::ALL.len()],
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            is_wanted: AtomicBool::default(),
            threads: AtomicU64::default(),
            covered_ns: AtomicU64::default(),
            latencies: (0..BUCKETS).map(|_| AtomicU64::default()).collect(),
            failed: Default::default(),
        }
    }
}

impl Live {
    /// Requests that ended as `ok`.
    pub fn ok(&self) -> u64 {
        self.ok.load(Ordering::Relaxed)
    }

    /// Requests that ended otherwise.
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// A request took so long to its end.
    pub(crate) fn took(&self, ns: u64) {
        self.longest_ns.fetch_max(ns, Ordering::Relaxed);
    }

    /// The longest that a request took that ended, nanoseconds; about 100 ms old.
    pub(crate) fn longest_ns(&self) -> u64 {
        self.longest_ns.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, ok: u64, errors: u64) {
        self.ok.fetch_add(ok, Ordering::Relaxed);
        self.errors.fetch_add(errors, Ordering::Relaxed);
    }

    /// Asks the engine's threads for latencies from now on.
    pub fn want_latencies(&self) {
        self.pulse.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Requests that ended otherwise than as `ok`, by outcome, since the start.
    pub fn failed(&self) -> OutcomeCounts {
        let mut counts = OutcomeCounts::default();
        for (outcome, failed) in Outcome::ALL.into_iter().zip(&self.pulse.failed) {
            counts.add_many(outcome, failed.load(Ordering::Relaxed));
        }
        counts
    }

    /// All that has been added until now.
    pub fn reading(&self) -> Reading {
        let pulse = &self.pulse;
        let threads = pulse.threads.load(Ordering::Relaxed).max(1);
        let covered_ns = pulse.covered_ns.load(Ordering::Relaxed) / threads;
        let latencies = pulse.latencies.iter();
        Reading {
            ok: self.ok(),
            errors: self.errors(),
            covered_s: covered_ns as f64 / 1e9,
            latencies: latencies.map(|n| n.load(Ordering::Relaxed)).collect(),
        }
    }
}

/// What was known of a running load at one moment, or between two.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Requests that ended as `ok`.
    pub ok: u64,
    /// Requests that ended otherwise.
    pub errors: u64,
    /// Time in which they ended, seconds. It is the engine's: no thread adds its part at the
    /// moment at which somebody reads.
    pub covered_s: f64,
    /// Latencies of `ok` responses on the coarse scale; empty before any.
    latencies: Vec<u64>,
}

impl Reading {
    /// What has come since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier
            .latencies
            .iter()
            .copied()
            .chain(std::iter::repeat(0));
        let pairs = self.latencies.iter().zip(before);
        Self {
            ok: self.ok.saturating_sub(earlier.ok),
            errors: self.errors.saturating_sub(earlier.errors),
            covered_s: (self.covered_s - earlier.covered_s).max(0.0),
            latencies: pairs.map(|(now, then)| now.saturating_sub(then)).collect(),
        }
    }

    /// Adds so many `ok` responses of one latency.
    pub fn add_ok(&mut self, latency_ns: u64, times: u64) {
        self.ok += times;
        self.latencies.resize(BUCKETS, 0);
        self.latencies[bucket_of(latency_ns)] += times;
    }

    /// `ok` responses with a latency. Counts are added one by one, so that for a moment it may
    /// differ from [`ok`](Self::ok).
    pub fn latencies(&self) -> u64 {
        self.latencies.iter().sum()
    }

    /// Latency that the share `q` (0 to 1) of the `ok` responses does not exceed, to 1.1 %.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let count = self.latencies();
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        let index = self.latencies.iter().position(|n| {
            seen += n;
            seen >= rank
        });
        index.map(bucket_middle)
    }
}

/// What one thread has added so far.
#[derive(Debug, Default)]
pub(crate) struct Added {
    /// When it added last.
    at: Option<u64>,
    ended: (u64, u64),
    /// Requests that did not end as `ok` since it added last.
    failed: OutcomeCounts,
    /// Latencies of parts of the load that are over, by bucket; empty until they are wanted.
    before: Vec<u64>,
    /// Latencies that were added, by bucket.
    latencies: Vec<u64>,
}

impl Added {
    /// A request ended in this outcome, which is not `ok`.
    pub(crate) fn failed(&mut self, outcome: Outcome) {
        self.failed.add(outcome);
    }

    /// A part of the load is over; its latencies will be forgotten.
    pub(crate) fn part_over(&mut self, part: &Histogram) {
        if !self.before.is_empty() {
            count(&mut self.before, part);
        }
    }

    /// Adds what has ended, as `ok` and otherwise, since the last time; `part` has the latencies
    /// of the part of the load that is on.
    pub(crate) fn add_to(&mut self, live: &Live, now: u64, ended: (u64, u64), part: &Histogram) {
        live.add(ended.0 - self.ended.0, ended.1 - self.ended.1);
        let (pulse, relaxed) = (&live.pulse, Ordering::Relaxed);
        if ended.1 > self.ended.1 {
            let failed = std::mem::take(&mut self.failed);
            for (shared, (_, times)) in pulse.failed.iter().zip(failed.iter()) {
                shared.fetch_add(times, relaxed);
            }
        }
        self.ended = ended;
        match self.at.replace(now) {
            Some(at) => pulse.covered_ns.fetch_add(now.saturating_sub(at), relaxed),
            None => pulse.threads.fetch_add(1, relaxed),
        };
        if !pulse.is_wanted.load(relaxed) {
            return;
        }
        if self.before.is_empty() {
            (self.before, self.latencies) = (vec![0; BUCKETS], vec![0; BUCKETS]);
        }
        let mut all = self.before.clone();
        count(&mut all, part);
        let both = all.iter().zip(&self.latencies);
        for (shared, (now, then)) in pulse.latencies.iter().zip(both) {
            if now > then {
                shared.fetch_add(now - then, relaxed);
            }
        }
        self.latencies = all;
    }
}

/// Adds a histogram's counts on the coarse scale.
fn count(buckets: &mut [u64], histogram: &Histogram) {
    for (middle, times) in histogram.buckets() {
        buckets[bucket_of(middle)] += times;
    }
    buckets[BUCKETS - 1] += histogram.over_range();
}

fn bucket_of(ns: u64) -> usize {
    let octaves = (ns.max(1) as f64).log2();
    ((octaves * PER_OCTAVE as f64) as usize).min(BUCKETS - 1)
}

fn bucket_middle(index: usize) -> u64 {
    ((index as f64 + 0.5) / PER_OCTAVE as f64).exp2() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_bucket_is_near_what_it_counts() {
        for bits in 6..OCTAVES {
            for value in [1_u64 << bits, (1 << bits) * 3 / 2, (2 << bits) - 1] {
                let off = bucket_middle(bucket_of(value)) as f64 / value as f64 - 1.0;
                assert!(off.abs() < 0.02, "{value}: {off}");
            }
        }
        assert_eq!(bucket_of(0), 0);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn failures_are_known_by_their_outcomes() {
        let (live, mut added) = (Live::default(), Added::default());
        let part = Histogram::new();
        added.failed(Outcome::Timeout);
        added.failed(Outcome::Reset);
        added.add_to(&live, SECOND, (0, 2), &part);
        added.failed(Outcome::Reset);
        added.add_to(&live, 2 * SECOND, (5, 3), &part);
        added.add_to(&live, 3 * SECOND, (9, 3), &part);
        let failed = live.failed();
        let counts = [Outcome::Timeout, Outcome::Reset, Outcome::Ok].map(|one| failed.of(one));
        assert_eq!((counts, failed.completed()), ([1, 2, 0], live.errors()));
    }

    #[test]
    fn what_is_added_over_parts_comes_once() {
        let (live, mut added) = (Live::default(), Added::default());
        live.want_latencies();
        let mut part = Histogram::new();
        added.add_to(&live, SECOND, (0, 0), &part);
        part.record_n(1_000_000, 90);
        added.add_to(&live, 2 * SECOND, (90, 1), &part);
        let middle = live.reading();
        part.record_n(50_000_000, 10);
        added.part_over(&part);
        part.clear();
        part.record_n(2_000_000, 100);
        added.add_to(&live, 4 * SECOND, (200, 3), &part);
        let all = live.reading();
        assert_eq!((all.ok, all.errors, all.latencies()), (200, 3, 200));
        assert_eq!(all.covered_s, 3.0);
        let last = all.since(&middle);
        assert_eq!((last.ok, last.errors, last.latencies()), (110, 2, 110));
        assert_eq!(last.covered_s, 2.0);
        let p50 = last.quantile_ns(0.5).unwrap();
        assert!(p50.abs_diff(2_000_000) < 40_000, "{p50}");
        let p99 = last.quantile_ns(0.99).unwrap();
        assert!(p99.abs_diff(50_000_000) < 1_000_000, "{p99}");
        assert_eq!(all.since(&all).quantile_ns(0.5), None);
    }

    #[test]
    fn nobody_pays_for_latencies_that_nobody_wants() {
        let (live, mut added) = (Live::default(), Added::default());
        let mut part = Histogram::new();
        part.record(7);
        added.add_to(&live, 0, (1, 0), &part);
        added.part_over(&part);
        assert!(added.before.is_empty());
        assert_eq!((live.reading().ok, live.reading().latencies()), (1, 0));
        assert_eq!(live.reading().quantile_ns(0.5), None);
    }

    #[test]
    fn threads_cover_the_same_time_together() {
        let live = Live::default();
        let part = Histogram::new();
        for mut added in [Added::default(), Added::default()] {
            added.add_to(&live, 0, (0, 0), &part);
            added.add_to(&live, SECOND, (500, 0), &part);
        }
        let reading = live.reading();
        assert_eq!((reading.ok, reading.covered_s), (1000, 1.0));
    }
}
