//! Whether the figures on how requests came out fit each other.

use bakeoff_published::{Figure, Row};

use super::{Outcome, Ruled, found};
use crate::published::code::Code;
use crate::published::derived::Subject;
use crate::published::length::{counted, runs};
use crate::published::sentence::{amount, percent, rate, time};

/// Share of the requests by which figures on them may differ: tools take what is in flight at the
/// end of a run for different things.
const COUNTS_APART: f64 = 0.01;
/// The same where one of them is a rate over a length: tools count other ends of a run.
const LENGTH_APART: f64 = 0.05;

/// What some figures of a row say of the share of its requests that failed.
struct Said {
    /// The share; more than one, or less than none, is impossible. Where the counts may be of one
    /// run or of all, the share for each of these.
    shares: Vec<f64>,
    /// How far rounding may have moved it.
    slack: f64,
    /// The figures: `1,200 right of 1,000 requests`.
    text: String,
}

/// R32: no more came out right, and no more failed, than ended; and all figures on that agree.
pub(super) fn counts_differ(subject: &Subject<'_>) -> Ruled {
    // Without a request, shares are of nothing.
    if subject.is_empty() {
        return Ok(Outcome::Passed);
    }
    let said = said(subject.row);
    if said.is_empty() {
        return Err("how many requests failed, or came out right");
    }
    for one in &said {
        let beyond = |share: f64| (share - 1.0).max(-share);
        let least = one.shares.iter().copied().map(beyond);
        let least = least.fold(f64::INFINITY, f64::min);
        if least > COUNTS_APART + one.slack {
            let text = format!("{}: that is impossible", one.text);
            return found(Code::CountsDiffer, least, COUNTS_APART, text);
        }
    }
    let pairs = said
        .iter()
        .enumerate()
        .flat_map(|(index, one)| said[index + 1..].iter().map(move |other| (one, other)));
    for (one, other) in pairs {
        let apart = apart(one, other);
        if apart > COUNTS_APART + one.slack + other.slack {
            let text = format!(
                "{} and {} contradict each other: they make {} and {} of the requests fail",
                one.text,
                other.text,
                percent(one.shares[0].clamp(0.0, 1.0)),
                percent(other.shares[0].clamp(0.0, 1.0))
            );
            return found(Code::CountsDiffer, apart, COUNTS_APART, text);
        }
    }
    Ok(Outcome::Passed)
}

/// How far apart two are at least.
fn apart(one: &Said, other: &Said) -> f64 {
    let all = one.shares.iter();
    let all = all.flat_map(|a| other.shares.iter().map(move |b| (a - b).abs()));
    all.fold(f64::INFINITY, f64::min)
}

/// Everything that a row says of how many of its requests failed.
fn said(row: &Row) -> Vec<Said> {
    let counts = &row.counts;
    let mut said = Vec::new();
    let mut add = |shares: Vec<f64>, slack: f64, text: String| {
        if shares.iter().all(|share| share.is_finite()) {
            said.push(Said {
                shares,
                slack,
                text,
            });
        }
    };
    if let Some(share) = counts.failed_share {
        add(vec![share], 0.0, format!("{} failed", percent(share)));
    }
    if let Some(share) = counts.ok_share {
        add(vec![1.0 - share], 0.0, format!("{} right", percent(share)));
    }
    let of = |ended: Option<f64>| ended.filter(|ended| *ended > 0.0);
    if let (Some(failed), Some(ended)) = (counts.failed, of(counts.ended)) {
        let text = format!("{} failed of {} requests", amount(failed), amount(ended));
        add(of_runs(row, failed / ended), 0.0, text);
    }
    if let (Some(ok), Some(ended)) = (counts.ok, of(counts.ended)) {
        let text = format!("{} right of {} requests", amount(ok), amount(ended));
        let shares = of_runs(row, ok / ended);
        add(shares.iter().map(|right| 1.0 - right).collect(), 0.0, text);
    }
    let both = counts.ok.zip(counts.failed);
    if let (Some((ok, failed)), None) = (both, counts.ended) {
        let text = format!("{} right and {} failed", amount(ok), amount(failed));
        add(of_runs(row, failed / (ok + failed)), 0.0, text);
    }
    if let (Some(ok), Some(all)) = (counts.ok_per_s, counts.rate_per_s) {
        let text = format!("{} right of {}", rate(ok.value), rate(all.value));
        add(vec![1.0 - ok.value / all.value], slack(ok, all), text);
    }
    if let (Some(failed), Some(all)) = (counts.failed_per_s, counts.rate_per_s) {
        let text = format!("{} failed of {}", rate(failed.value), rate(all.value));
        add(vec![failed.value / all.value], slack(failed, all), text);
    }
    let both = counts.ok_per_s.zip(counts.failed_per_s);
    if let (Some((ok, failed)), None) = (both, counts.rate_per_s) {
        let all = ok.value + failed.value;
        let text = format!("{} right and {} failed", rate(ok.value), rate(failed.value));
        add(
            vec![failed.value / all],
            (ok.step + failed.step) / all,
            text,
        );
    }
    by_length(row, &mut add);
    said
}

/// A rate of right answers, or of failures, beside the requests of a length of time.
fn by_length(row: &Row, add: &mut impl FnMut(Vec<f64>, f64, String)) {
    let (counts, load) = (&row.counts, &row.load);
    let ended = counted(row).filter(|ended| *ended > 0.0);
    let (Some(ended), Some(seconds)) = (ended, load.duration_s) else {
        return;
    };
    let share = |rate: Figure| rate.value * seconds / ended;
    let rounding = |rate: Figure| (rate.step * seconds + rate.value * load.duration_step_s) / ended;
    let said = |part: Figure, what: &str| {
        let (part, seconds) = (rate(part.value), time(seconds));
        format!("{part} {what} in {seconds} and {} requests", amount(ended))
    };
    // Right answers that are counted themselves are compared with their rate by `rate-differs`.
    if let Some(ok) = counts.ok_per_s.filter(|_| counts.ended.is_some()) {
        let right = of_runs(row, share(ok));
        let failed = right.iter().map(|right| 1.0 - right).collect();
        add(failed, LENGTH_APART + rounding(ok), said(ok, "right"));
    }
    if let Some(failed) = counts.failed_per_s {
        // The same part of fewer requests is less.
        let slack = LENGTH_APART * share(failed) + rounding(failed);
        add(of_runs(row, share(failed)), slack, said(failed, "failed"));
    }
}

/// How far rounding two rates may have moved the share of one in the other.
fn slack(part: Figure, whole: Figure) -> f64 {
    (part.step + whole.step) / whole.value
}

/// A share of counts; where a row sums runs up, one of the two may be of one run and the other of
/// all.
fn of_runs(row: &Row, share: f64) -> Vec<f64> {
    match runs(row) {
        1.0 => vec![share],
        runs => vec![share, share * runs, share / runs],
    }
}
