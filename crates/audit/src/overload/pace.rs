//! How soon a server answers that it is too busy.
//!
//! The record holds the times of all that failed in a part together, not by how it failed. So the
//! median of the answers 429 and 5xx lies between two bounds, and where these do not agree it is
//! not known.

use super::before::Before;
use super::series::{Kind, SHARE, Series, Step};
use super::unsaid::Unsaid;

/// A quick answer that the server is too busy takes at most this many times what 99 % of the
/// answers before took, or at most this time where that is longer.
const QUICK_FACTOR: f64 = 2.0;
const QUICK_NS: f64 = 10e6;

/// How soon half of the answers 429 and 5xx come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pace {
    /// As quick as what was usual, or quicker than right answers: within so many nanoseconds.
    Quick(f64),
    /// Later.
    Late,
    /// Too many requests failed in other ways.
    Unknown,
}

/// How soon the answers 429 and 5xx of a step come.
pub(super) fn pace(step: &Step, before: &Before) -> Pace {
    let quick_ns = QUICK_NS.max(QUICK_FACTOR * before.p99_ns);
    let is_quick = |ns: u64| ns as f64 <= quick_ns || step.p50_ns.is_some_and(|p50| ns <= p50);
    match step.busy_p50_ns {
        Some((_, most)) if is_quick(most) => Pace::Quick(most as f64),
        Some((least, _)) if !is_quick(least) => Pace::Late,
        Some(_) | None => Pace::Unknown,
    }
}

/// Why it cannot be said whether the server sheds.
pub(super) fn unsaid(series: &Series, before: &Before) -> Option<Unsaid> {
    let steps = before.steps_beyond(series).map(|(_, step)| step);
    let unknown =
        steps.filter(|it| it.share_of(Kind::Busy) >= SHARE && pace(it, before) == Pace::Unknown);
    let shares: Vec<f64> = unknown.map(|step| step.share).collect();
    (!shares.is_empty()).then_some(Unsaid::Pace(shares))
}
