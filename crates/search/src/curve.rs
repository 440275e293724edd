//! The latency curve: which point is measured next, and the result of each.

use bakeoff_plan::Search;

use crate::bounds::readable;
use crate::confirming::kept;
use crate::judged::is_late_or_busy;
use crate::progress::{LOST_MAX, Progress, Step};
use crate::seen::{Came, Measured, Purpose, Seen};

/// Trials of a point, at the most: what is lost or disturbed is measured again once.
const TRIALS_OF_POINT: usize = 2;
/// Quantiles of every curve, percent.
const QUANTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Latency at a share of the lower bound.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    /// Percent of the lower bound.
    pub percent: f64,
    /// Rate offered, requests per second.
    pub rate_per_s: f64,
    /// Requests that were due; `None` where nothing was measured.
    pub count: Option<u64>,
    /// Quantiles in percent, with the latency of each in nanoseconds where there are enough
    /// requests for it.
    pub latency_ns: Vec<(f64, Option<u64>)>,
    /// Share of the requests due that did not come out right.
    pub failed_share: Option<f64>,
    /// Why nothing was measured, or what weakens it.
    pub why: Option<String>,
}

/// A trial of a point.
#[derive(Debug, Clone, Copy)]
struct Tried<'p> {
    trial: &'p Seen,
    is_set_aside: bool,
    /// Whether it was made before the search was resumed.
    is_earlier: bool,
}

/// The next point to measure, where the budget has room for it.
pub(crate) fn next(progress: &Progress<'_>) -> Option<Step> {
    let is_open = |point: &(f64, f64)| {
        let tried = tried(progress, *point);
        let is_measured = |it: &Tried<'_>| it.trial.measured().is_some() && !it.is_set_aside;
        let counts = |it: &&Tried<'_>| !(it.is_earlier && matches!(it.trial.came, Came::Lost(_)));
        !tried.iter().any(is_measured) && tried.iter().filter(counts).count() < TRIALS_OF_POINT
    };
    let (percent, rate_per_s) = points(progress).into_iter().find(is_open)?;
    let step = Step {
        purpose: Purpose::Curve { percent },
        rate_per_s: Some(rate_per_s),
        length_s: progress.load.duration_s,
    };
    progress.may_take(&step, false).then_some(step)
}

/// The curve as far as it was begun, by rising rate. Where its own trials lowered the bound and
/// none was made at shares of the new one, it is that of the bound before.
pub(crate) fn curve(progress: &Progress<'_>) -> Vec<CurvePoint> {
    let mut points = points(progress);
    let is_begun = |point: &(f64, f64)| !tried(progress, *point).is_empty();
    if !points.iter().any(is_begun) {
        points = made(progress);
    }
    let percents = percents(progress.search);
    let points = points.into_iter();
    let mut curve: Vec<CurvePoint> = points
        .map(|point| came_to(progress, point, &percents))
        .collect();
    curve.sort_by(|left, right| left.rate_per_s.total_cmp(&right.rate_per_s));
    curve
}

/// The rate that the curve's shares are of: the first goal's that has one.
pub(crate) fn whole(progress: &Progress<'_>) -> Option<f64> {
    let mut goals = progress.search.goals.iter();
    goals.find_map(|goal| kept(progress, goal, progress.bounds(goal)).bounds.lower)
}

/// Every point in the search's order: its share in percent, and its rate.
fn points(progress: &Progress<'_>) -> Vec<(f64, f64)> {
    let Some(whole) = whole(progress) else {
        return Vec::new();
    };
    let shares = progress.search.curve.iter().map(|share| percent_of(*share));
    shares
        .map(|percent| (percent, readable(whole * percent / 100.0).max(0.001)))
        .collect()
}

/// The points of the last bound that trials were made at shares of.
fn made(progress: &Progress<'_>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for trial in progress.trials.iter().rev() {
        let Purpose::Curve { percent } = trial.purpose else {
            continue;
        };
        if points.iter().all(|(known, _)| *known != percent) {
            points.push((percent, trial.rate_per_s));
        }
    }
    points
}

/// The trials of a point. Those at the same share of another bound, found before, are none.
fn tried<'p>(progress: &'p Progress<'_>, (percent, rate_per_s): (f64, f64)) -> Vec<Tried<'p>> {
    let trials = progress.trials.iter().zip(&progress.set_aside).enumerate();
    let own = trials.filter(|(_, (trial, _))| {
        trial.purpose == Purpose::Curve { percent } && trial.rate_per_s == rate_per_s
    });
    own.map(|(index, (trial, is_set_aside))| Tried {
        trial,
        is_set_aside: *is_set_aside,
        is_earlier: index < progress.resumed_at,
    })
    .collect()
}

fn came_to(progress: &Progress<'_>, point: (f64, f64), percents: &[f64]) -> CurvePoint {
    let tried = tried(progress, point);
    let measured = tried.iter().filter(|it| it.trial.measured().is_some());
    let best = measured.min_by_key(|it| (it.is_set_aside, it.trial.is_disturbed));
    let measured = best.and_then(|it| it.trial.measured());
    let died = tried.iter().filter(|it| it.trial.came == Came::Died);
    let why = match (died.count(), best) {
        (0, None) => Some(why_none(progress, &tried)),
        (0, Some(best)) if best.trial.is_disturbed => {
            Some("something else on the machine disturbed it".to_owned())
        }
        (0, Some(best)) => why_weak(progress, best.trial),
        (died, _) => Some(format!(
            "the server ended in {died} of {} trials",
            tried.len()
        )),
    };
    let quantile = |percent: &f64| {
        let share = percent / 100.0;
        let latency = measured.map(|measured| &measured.latency);
        // Of fewer requests it would be one of the slowest few.
        let latency = latency.filter(|it| it.count() as f64 * (1.0 - share) >= 3.68);
        (*percent, latency.and_then(|it| it.quantile(share)))
    };
    CurvePoint {
        percent: point.0,
        rate_per_s: point.1,
        count: measured.map(|measured| measured.due),
        latency_ns: percents.iter().map(quantile).collect(),
        failed_share: measured.and_then(Measured::failed_share),
        why,
    }
}

/// Why nothing was measured at a point at which the server did not end.
fn why_none(progress: &Progress<'_>, tried: &[Tried<'_>]) -> String {
    let lost = tried.iter().rev().find_map(|it| match &it.trial.came {
        Came::Lost(why) => Some(why.clone()),
        Came::Measured(_) | Came::Died => None,
    });
    lost.unwrap_or_else(|| match (progress.gave_up(), progress.further()) {
        (Some(why), _) => format!("the last {LOST_MAX} trials did not come to their load: {why}"),
        (None, Some(_)) => "not measured yet".to_owned(),
        (None, None) => "time ended before it".to_owned(),
    })
}

/// What weakens a trial that nothing else disturbed.
fn why_weak(progress: &Progress<'_>, trial: &Seen) -> Option<String> {
    let goal = progress.search.goals.first()?;
    let measured = trial.measured()?;
    is_late_or_busy(goal, measured).then(|| "the load engine was too late or too busy".to_owned())
}

/// Quantiles of the curve, percent: the usual ones and those of the goals.
fn percents(search: &Search) -> Vec<f64> {
    let objectives = search.goals.iter().filter_map(|goal| goal.objective);
    let asked = objectives.map(|objective| objective.percent);
    let mut percents: Vec<f64> = QUANTILES.into_iter().chain(asked).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    percents
}

/// A share in percent, without what the binary fraction adds.
fn percent_of(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}
