//! How long a row was measured, and whether its requests, its rate and its duration fit each other.

use std::cmp::Ordering;

use bakeoff_published::{Counts, Figure, Row};

use super::rig::Rig;

/// How far a stated rate may be from requests over duration. Tools count the time between the first
/// and the last answer, or with the set-up, and that is within a few per cent of a run.
const RATE_APART: f64 = 0.05;

/// A row's requests, rate and duration, as far as they are figures of the same measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length {
    /// How long it was measured.
    pub(super) seconds: Option<f64>,
    /// The rate that the row states, if it is of all requests that ended.
    pub(super) rate: Option<Figure>,
    /// What part of the requests is of one run: rows that sum several up may count those of all.
    /// `None` if nothing says whether they do.
    pub(super) run_share: Option<f64>,
    /// What the three come to.
    pub(super) fit: Fit,
}

/// What requests, rate and duration of a row come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Fit {
    /// One of the three is not known.
    Unknown,
    /// They fit.
    Fits,
    /// They contradict each other.
    Differs {
        /// Requests that the row counts.
        requests: f64,
        /// The duration.
        seconds: f64,
        /// Whether the duration is a flag's.
        is_flag: bool,
    },
}

/// What a stated rate counts, where it fits.
struct Meant {
    run_share: f64,
    is_of_all: bool,
}

impl Length {
    pub(super) fn new(row: &Row, rig: &Rig) -> Self {
        let own = row.load.duration_s;
        let stated = all_per_s(&row.counts);
        let requests = counted(row);
        let has_counts = requests.or(row.counts.ok).is_some();
        let one_run = (runs(row) <= 1.0 || !has_counts).then_some(1.0);
        let known = |seconds, rate, run_share, fit| Self {
            seconds,
            rate,
            run_share,
            fit,
        };
        let (Some(requests), Some(rate)) = (requests, stated) else {
            return known(own.or(rig.duration_s), stated, one_run, Fit::Unknown);
        };
        // What the row's own figures come to.
        let implied = one_run
            .map(|_| requests / rate.value)
            .filter(|s| *s > 0.0 && s.is_finite());
        let Some(seconds) = own.or(rig.duration_s) else {
            return known(implied, stated, one_run, Fit::Unknown);
        };
        if let Some(meant) = meant(row, requests, rate, seconds) {
            let rate = stated.filter(|_| meant.is_of_all);
            return known(Some(seconds), rate, Some(meant.run_share), Fit::Fits);
        }
        let differs = Fit::Differs {
            requests,
            seconds,
            is_flag: own.is_none(),
        };
        // A figure of the file counts more than a flag.
        known(own.or(implied), stated, one_run, differs)
    }

    /// Whether nothing says if requests are of one run or of all that the row sums up.
    pub(super) fn are_runs_in_doubt(&self) -> bool {
        self.run_share.is_none() && self.rate.is_none()
    }
}

/// Requests a second that ended, by the row's rates alone: as it states, or the sum of right ones
/// and failures.
pub(super) fn all_per_s(counts: &Counts) -> Option<Figure> {
    let sum = || {
        let (ok, failed) = (counts.ok_per_s?, counts.failed_per_s?);
        Some(Figure {
            value: ok.value + failed.value,
            step: ok.step + failed.step,
        })
    };
    counts.rate_per_s.or_else(sum)
}

/// Requests that ended, by counts alone.
pub(super) fn counted(row: &Row) -> Option<f64> {
    let counts = &row.counts;
    counts
        .ended
        .or_else(|| Some(counts.ok? + counts.failed?))
        .or_else(|| Some(counts.ok? / (1.0 - counts.failed_share?)))
        .filter(|requests| requests.is_finite())
}

/// Repetitions that a row sums up; 1 where it does not say.
pub(super) fn runs(row: &Row) -> f64 {
    row.load.runs.filter(|runs| *runs >= 1.0).unwrap_or(1.0)
}

/// What the rate counts, if it fits the requests in `seconds`: all of them, the right ones alone,
/// or those of one run of several.
fn meant(row: &Row, requests: f64, rate: Figure, seconds: f64) -> Option<Meant> {
    let counts = &row.counts;
    let by_share = || Some(requests * (1.0 - counts.failed_share?));
    let by_failed = || Some((requests - counts.failed?).max(0.0));
    let by_rate = || Some(counts.ok_per_s?.value * seconds);
    let right = counts.ok.or_else(by_share).or_else(by_failed);
    let right = right.or_else(by_rate);
    let fits = |requests: f64| compare(row, rate, requests, seconds).is_eq();
    let shares = [1.0, 1.0 / runs(row)];
    let all = shares.map(|share| (requests * share, share, true));
    let right = shares.map(|share| (right.unwrap_or(requests) * share, share, false));
    let found = all.into_iter().chain(right).find(|(part, ..)| fits(*part));
    found.map(|(_, run_share, is_of_all)| Meant {
        run_share,
        is_of_all,
    })
}

/// Whether a rate is that of so many requests in so many seconds, or less, or more, beyond what
/// rounding explains.
pub(super) fn compare(row: &Row, rate: Figure, requests: f64, seconds: f64) -> Ordering {
    // A length that a flag gives is exact.
    let half = match row.load.duration_s {
        Some(_) => row.load.duration_step_s / 2.0,
        None => 0.0,
    };
    let least = requests / (seconds + half) * (1.0 - RATE_APART);
    // A length that may have been 0 allows any rate.
    let is_below =
        seconds <= half || rate.low() <= requests / (seconds - half) * (1.0 + RATE_APART);
    match (rate.high() >= least, is_below) {
        (false, _) => Ordering::Less,
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
    }
}
