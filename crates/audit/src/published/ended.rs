//! How many of a row's requests ended and failed, from whichever figures say it.
//!
//! Counts may be of one run or of all that a row sums up; rates are of one. The two are added only
//! where they are of the same.

use bakeoff_published::{Figure, Row};

use super::length::{Length, all_per_s, counted, runs};

/// Requests of a row: those of all runs, where it sums several up and counts them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    /// Those that ended, right or not; at least so many, if they are not all.
    pub(super) requests: Option<f64>,
    /// Whether failed ones are among them. Where only right answers are known, nothing says how
    /// many ended.
    pub(super) are_all: bool,
    /// Those that failed; at least so many, where a row of several runs counts those of one or all.
    pub(super) failed: Option<f64>,
}

impl Ended {
    pub(super) fn new(row: &Row, length: &Length) -> Self {
        let counts = &row.counts;
        let by_rate = |rate: Option<Figure>| Some(rate?.value * length.seconds?);
        let known = |requests: f64, are_all: bool, failed: Option<f64>| Self {
            requests: Some(requests),
            are_all,
            failed: failed.or_else(|| Some(requests * counts.failed_share?)),
        };
        if let Some(requests) = counted(row) {
            let failed = known(requests, true, counts.failed);
            let by_right = || failed_by_right(row, length);
            return Self {
                failed: failed.failed.or_else(by_right),
                ..failed
            };
        }
        // From here on requests are those of one run.
        let failed = counts.failed.map(|failed| failed / runs(row));
        let failed = failed.or_else(|| by_rate(counts.failed_per_s));
        if let Some(requests) = by_rate(all_per_s(counts)) {
            return known(requests, true, failed);
        }
        let Some(ok) = counts.ok.or_else(|| by_rate(counts.ok_per_s)) else {
            return Self {
                requests: None,
                are_all: false,
                failed,
            };
        };
        let by_share = || Some(ok / (1.0 - counts.failed_share?));
        match (by_share().filter(|all| all.is_finite()), failed) {
            (Some(requests), _) => known(requests, true, failed),
            (None, Some(failed)) => known(ok + failed, runs(row) <= 1.0, Some(failed)),
            (None, None) => known(ok, false, None),
        }
    }
}

/// Requests that are missing among the right ones. What rounding the rate and the length explains
/// is no failure.
fn failed_by_right(row: &Row, length: &Length) -> Option<f64> {
    let counts = &row.counts;
    let all = counts.ended?;
    if let Some(ok) = counts.ok {
        return Some((all - ok).max(0.0));
    }
    // Where the row has the rate of all, the two rates are compared, of which no length is a part.
    if length.rate.is_some() {
        return None;
    }
    let (right, seconds) = (counts.ok_per_s?, length.seconds?);
    let of_one_run = all * length.run_share?;
    let longest_s = seconds + row.load.duration_step_s / 2.0;
    let is_apart = right.high() * longest_s < of_one_run;
    let share = 1.0 - right.value * seconds / of_one_run;
    Some(if is_apart { all * share.max(0.0) } else { 0.0 })
}
