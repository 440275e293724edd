//! How a server was before its load went beyond the capacity: in the first step, or where it was
//! not well there, in the closed loop that showed the capacity.

use super::series::{ClosedLoop, PARTS_LEAST, Part, SHARE, Series, Step};
use super::unsaid::{Ill, Unsaid};
use crate::figures::milliseconds;

/// How much longer than usual half of the answers must take to have queued, and by how much.
const QUEUE_FACTOR: f64 = 4.0;
const QUEUE_NS: f64 = 10e6;

/// What was usual before: the second half of the first step, or where requests failed or queued
/// there already, the closed loop that showed the capacity.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Before {
    /// The median of its parts' p99, nanoseconds; of the closed loop the mean of its answers.
    pub(super) p99_ns: f64,
    /// The highest of its parts' p99, nanoseconds; of the closed loop the same as that.
    pub(super) p99_max_ns: f64,
    /// How the first step was ill.
    ill: Option<Ill>,
}

impl Before {
    /// `None` where too little of the first step was seen, or requests failed there already, and no
    /// closed loop shows that they need not.
    pub(super) fn of(series: &Series) -> Option<Self> {
        let first = series.steps.first()?;
        let parts = series.parts_of(first);
        let parts = &parts[parts.len() / 2..];
        if parts.len() < PARTS_LEAST {
            return None;
        }
        let failed = failed_share(parts);
        if failed > SHARE {
            series.closed_loop.filter(|it| it.failed <= SHARE)?;
            return Self::of_closed_loop(series, |_, shown| Ill::Failed(failed, shown.failed));
        }
        let mut known: Vec<u64> = parts.iter().filter_map(|part| part.p99_ns).collect();
        known.sort_unstable();
        let usual = Self {
            p99_ns: *known.get(known.len() / 2)? as f64,
            p99_max_ns: *known.last()? as f64,
            ill: None,
        };
        let p50_ns = median_p50_ns(parts)?;
        let closed = Self::of_closed_loop(series, |mean_ns, _| Ill::Queued(p50_ns, mean_ns));
        let closed = closed.filter(|closed| p50_ns >= closed.slow_ns());
        Some(closed.unwrap_or(usual))
    }

    fn of_closed_loop(series: &Series, ill: impl Fn(f64, ClosedLoop) -> Ill) -> Option<Self> {
        let mean_ns = series.closed_loop_mean_ns()?;
        Some(Self {
            p99_ns: mean_ns,
            p99_max_ns: mean_ns,
            ill: Some(ill(mean_ns, series.closed_loop?)),
        })
    }

    /// Whether all was well in the first step, so that a server can be as well as that again.
    pub(super) fn is_well(&self) -> bool {
        self.ill.is_none()
    }

    /// The steps that show what the server does with too much, with their places: those between
    /// the first and the last, and the first where the server was not well there.
    pub(super) fn steps_beyond<'s>(
        &self,
        series: &'s Series,
    ) -> impl Iterator<Item = (usize, &'s Step)> + use<'s> {
        let back = series.steps.len().saturating_sub(1);
        let steps = series.steps.iter().enumerate();
        steps.take(back).skip(usize::from(self.is_well()))
    }

    /// The median from which answers take so much longer that they have queued.
    pub(super) fn slow_ns(&self) -> f64 {
        (self.p99_ns * QUEUE_FACTOR).max(self.p99_ns + QUEUE_NS)
    }

    /// What answers took, as a part of a sentence.
    pub(super) fn text(&self) -> String {
        let usual = milliseconds(self.p99_ns);
        if self.is_well() {
            format!("99 % within {usual}")
        } else {
            format!("{usual} on average in the closed loop")
        }
    }

    /// What cannot be said of a server that was not well at the first step, nor at the last.
    pub(super) fn unsaid(&self, series: &Series) -> Option<Unsaid> {
        let (share, shown) = (series.steps.first()?.share, series.closed_loop?);
        Some(Unsaid::NeverWell(share, self.ill?, shown.at_a_time))
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
