//! Failures that a trial is too short to show.
//!
//! A server that fails one request in a hundred at any rate has none in most trials of fifty
//! requests. The slower the rate, the fewer requests a trial has, so the search would end at a rate
//! at which failures are not seen, and call it a capacity.

use bakeoff_plan::Goal;

use crate::judged::{Judged, Why};
use crate::progress::{Progress, of_servers};

/// Failures to expect of a trial, so that in one of twenty searches of a hundred trials one of them
/// shows none: -ln (0.05 / 100).
const EXPECTED_LEAST: f64 = 7.6;

/// Why a rate that its trials call a lower bound is none: every trial above it that missed the goal
/// missed it by failures, and so many of them would not be seen in trials as short as its own.
pub(crate) fn unseen(progress: &Progress<'_>, goal: &Goal, rate_per_s: f64) -> Option<String> {
    let all = || of_servers(progress, goal);
    let (mut failed, mut due) = (0, 0);
    for (trial, judged) in all().filter(|(trial, _)| trial.rate_per_s > rate_per_s) {
        match (judged, trial.measured()) {
            (Judged::Exceeds(Why::Failures), Some(measured)) => {
                failed += measured.failed();
                due += measured.due;
            }
            // It ends there by something else, too.
            (Judged::Exceeds(_), _) => return None,
            (Judged::Meets | Judged::Limited, _) => {}
        }
    }
    let here =
        all().filter(|(trial, judged)| trial.rate_per_s == rate_per_s && *judged == Judged::Meets);
    let longest = here.filter_map(|(trial, _)| Some(trial.measured()?.due));
    let Some(longest) = longest.max() else {
        let why = "its longer trials missed it by failures, as those at all higher rates did";
        return (failed > 0).then(|| why.to_owned());
    };
    let share = failed as f64 / due.max(1) as f64;
    let is_unseen = failed > 0 && longest as f64 * share < EXPECTED_LEAST;
    is_unseen.then(|| {
        format!(
            "a trial of {longest} requests is too short to show the {:.2} % that failed at higher \
             rates; give it a longer --duration",
            share * 100.0
        )
    })
}
