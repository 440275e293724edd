//! How a server was before its load went beyond the capacity: in the first step.

use super::classes::{PARTS_LEAST, SHARE};
use super::series::{Part, Series};
use crate::figures::{milliseconds, percent};

/// How much longer than usual half of the answers must take to have queued, and by how much.
const QUEUE_FACTOR: f64 = 4.0;
const QUEUE_NS: f64 = 10e6;

/// What was usual before: the second half of the first step, or where requests queued there
/// already, the closed loop that showed the capacity.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Before {
    /// The median of its parts' p99, nanoseconds; of the closed loop the mean of its answers.
    pub(super) p99_ns: f64,
    /// The highest of its parts' p99, nanoseconds; of the closed loop the same as that.
    pub(super) p99_max_ns: f64,
    /// What half of the answers of the first step took, nanoseconds, where requests queued there.
    queued_p50_ns: Option<f64>,
}

impl Before {
    /// `None` where requests failed in the first step already, or too little of it was seen.
    pub(super) fn of(series: &Series) -> Option<Self> {
        let first = series.steps.first()?;
        let parts = series.parts_of(first);
        let parts = &parts[parts.len() / 2..];
        if parts.len() < PARTS_LEAST || failed_share(parts) > SHARE {
            return None;
        }
        let mut known: Vec<u64> = parts.iter().filter_map(|part| part.p99_ns).collect();
        known.sort_unstable();
        let usual = Self {
            p99_ns: *known.get(known.len() / 2)? as f64,
            p99_max_ns: *known.last()? as f64,
            queued_p50_ns: None,
        };
        Some(Self::of_closed_loop(series, parts).unwrap_or(usual))
    }

    /// Where half of the answers in these parts, at a lower rate, took much longer than those of
    /// the closed loop. Such a server gives less with more connections.
    fn of_closed_loop(series: &Series, parts: &[Part]) -> Option<Self> {
        let p50_ns = median_p50_ns(parts)?;
        let mean_ns = series.closed_loop_mean_ns()?;
        let closed = Self {
            p99_ns: mean_ns,
            p99_max_ns: mean_ns,
            queued_p50_ns: Some(p50_ns),
        };
        (p50_ns >= closed.slow_ns()).then_some(closed)
    }

    /// Whether all was well in the first step, so that a server can be as well as that again.
    pub(super) fn is_well(&self) -> bool {
        self.queued_p50_ns.is_none()
    }

    /// The median from which answers take so much longer that they have queued.
    pub(super) fn slow_ns(&self) -> f64 {
        (self.p99_ns * QUEUE_FACTOR).max(self.p99_ns + QUEUE_NS)
    }

    /// What answers took, as a part of a sentence.
    pub(super) fn text(&self) -> String {
        let usual = milliseconds(self.p99_ns);
        match self.is_well() {
            true => format!("99 % within {usual}"),
            false => format!("{usual} on average in the closed loop"),
        }
    }

    /// What cannot be said of a server that was not well at the first step.
    pub(super) fn unsaid(&self, series: &Series) -> Option<String> {
        let (p50_ns, clients) = (self.queued_p50_ns?, series.closed_loop?);
        let share = series.steps.first()?.share;
        Some(format!(
            "whether it recovers: at {} of the capacity half of the answers took {} already, \
             and {} on average in the closed loop of {clients} requests at a time that showed the \
             capacity; it may give less with more of them, so take a lower --capacity",
            percent(share),
            milliseconds(p50_ns),
            milliseconds(self.p99_ns),
        ))
    }
}

/// Whether requests still fail, or half of the answers still take much longer than before.
pub(super) fn is_ill(parts: &[Part], before: &Before) -> bool {
    let is_slow = median_p50_ns(parts).is_none_or(|p50| p50 >= before.slow_ns());
    failed_share(parts) > SHARE || is_slow
}

/// The median of the medians of parts, nanoseconds; `None` where there was no answer.
pub(super) fn median_p50_ns(parts: &[Part]) -> Option<f64> {
    let mut known: Vec<u64> = parts.iter().filter_map(|it| it.p50_ns).collect();
    known.sort_unstable();
    known.get(known.len() / 2).map(|ns| *ns as f64)
}

/// Share of the requests due that failed.
pub(super) fn failed_share(parts: &[Part]) -> f64 {
    let due: u64 = parts.iter().map(|part| part.due).sum();
    let failed: u64 = parts.iter().map(|part| part.failed.sum()).sum();
    failed as f64 / due.max(1) as f64
}
