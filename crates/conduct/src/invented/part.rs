//! What an invented server is in one trial, and what it answered in a part of the window.

use std::collections::BTreeMap;

use bakeoff_record::{Failed, Histogram, Interval, Outcome};

use super::changed::LOST;
use super::world::{Beyond, Latency};

/// Latencies in a part that are apart.
const LATENCIES: u64 = 100;

/// What a server is in one trial.
#[derive(Debug)]
pub(super) struct Shape {
    /// Requests per second that it can answer.
    pub(super) rate: f64,
    pub(super) mean_s: f64,
    pub(super) latency: Latency,
    pub(super) beyond: Beyond,
    pub(super) failing: BTreeMap<Outcome, f64>,
}

/// A part of the window.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) start_s: f64,
    pub(super) length_s: f64,
    /// Requests due in it; 0 in a closed loop.
    pub(super) due: u64,
    pub(super) ok: u64,
    pub(super) errors: u64,
    pub(super) failed: Option<Failed>,
    /// In flight on average.
    pub(super) in_flight: f64,
    /// Parts of failures that are not whole ones yet.
    pub(super) owed: BTreeMap<Outcome, f64>,
    pub(super) latency: Histogram,
    pub(super) service: Histogram,
}

impl Part {
    pub(super) fn new(start_s: f64, length_s: f64) -> Self {
        Self {
            start_s,
            length_s,
            ..Self::default()
        }
    }

    /// Counts right answers that took so long.
    pub(super) fn answer(&mut self, latency_s: f64, service_s: f64, number: u64) {
        self.ok += number;
        self.latency.record_n((latency_s * 1e9) as u64, number);
        self.service.record_n((service_s * 1e9) as u64, number);
    }

    /// Counts right answers that took so long on average.
    pub(super) fn spread(&mut self, shape: &Shape, mean_s: f64, number: u64) {
        let each = (0..LATENCIES).map(|at| shape.latency.relative(at));
        let mean = each.sum::<f64>() / LATENCIES as f64;
        for at in 0..LATENCIES {
            let some = (at + 1) * number / LATENCIES - at * number / LATENCIES;
            let latency_s = shape.latency.relative(at) / mean * mean_s;
            self.answer(latency_s, latency_s, some);
        }
    }

    pub(super) fn interval(&self) -> Interval {
        Interval {
            start_s: self.start_s,
            length_s: self.length_s,
            ok: self.ok,
            errors: self.errors,
            latency: self.latency.trimmed(),
            failed: self.failed.clone().map(|failed| Failed {
                latency: failed.latency.trimmed(),
                ..failed
            }),
        }
    }

    /// What actions lose in it.
    pub(super) fn owe(&mut self, losses: &[(f64, u64)]) {
        let within = self.start_s..self.start_s + self.length_s;
        let mine = losses.iter().filter(|(at_s, _)| within.contains(at_s));
        let lost: u64 = mine.map(|(_, lost)| lost).sum();
        if lost > 0 {
            *self.owed.entry(LOST).or_default() += lost as f64;
        }
    }

    /// Those of so many requests that fail for reasons of their own.
    pub(super) fn fail_shares(&mut self, shape: &Shape, number: u64, timeout_s: f64) -> u64 {
        let mut all = 0;
        let shares: BTreeMap<Outcome, f64> = shape.failing.clone();
        for (outcome, share) in shares {
            let owed = self.owed.entry(outcome).or_default();
            *owed += share * number as f64;
            let failing = owed.floor();
            *owed -= failing;
            let failing = (failing as u64).min(number - all);
            all += failing;
            let age_s = if outcome.is_timeout() {
                timeout_s
            } else {
                shape.mean_s
            };
            let status = (outcome == Outcome::Status).then_some(500);
            self.fail(outcome, status, age_s, failing);
        }
        all
    }

    /// Counts requests that failed.
    pub(super) fn fail(&mut self, outcome: Outcome, status: Option<u16>, age_s: f64, number: u64) {
        if number == 0 {
            return;
        }
        let failed = self.failed.get_or_insert_with(Failed::default);
        *failed.outcomes.entry(outcome).or_default() += number;
        if let Some(status) = status {
            *failed.status.entry(status).or_default() += number;
        }
        failed.latency.record_n((age_s * 1e9) as u64, number);
        self.errors += number;
    }
}

impl Latency {
    /// A latency relative to the median, the `at`th of equal shares.
    fn relative(&self, at: u64) -> f64 {
        let share = (at as f64 + 0.5) / LATENCIES as f64;
        // A logistic quantile is near enough to a normal one and needs no table.
        let normal = (share / (1.0 - share)).ln() * 0.55;
        let (slow, times) = self.slow;
        let longer = if share > 1.0 - slow { times } else { 1.0 };
        (self.spread * normal).exp() * longer
    }
}
