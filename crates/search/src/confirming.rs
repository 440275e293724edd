//! What longer trials at one rate say about a goal: that the rate holds, that it does not, or that
//! the load engine spoiled them. Which rate is tried next is not decided here.

use bakeoff_plan::{CONFIRMING, Goal};

use crate::judged::Judged;
use crate::progress::Progress;
use crate::seen::Purpose;

/// Trials more than planned that a confirmation may take where the engine spoils some.
const CONFIRMING_MORE: u32 = 2;

/// Confirming trials of one goal at one rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Confirming {
    met: u32,
    missed: u32,
    all: u32,
    /// How many may miss the goal.
    tolerated: u32,
}

impl Confirming {
    pub(crate) fn of(progress: &Progress<'_>, goal: &Goal, rate_per_s: f64) -> Self {
        let none = Self {
            met: 0,
            missed: 0,
            all: 0,
            tolerated: (f64::from(CONFIRMING) * progress.search.exceed).floor() as u32,
        };
        let here = progress.judged(goal, Purpose::Confirm);
        let here = here.filter(|(trial, _)| trial.rate_per_s == rate_per_s);
        here.fold(none, |sum, (_, judged)| Self {
            met: sum.met + u32::from(judged == Judged::Meets),
            missed: sum.missed + u32::from(matches!(judged, Judged::Exceeds(_))),
            all: sum.all + 1,
            ..sum
        })
    }

    /// Whether the rate holds. Where others measured it before, those that miss the goal count
    /// too.
    pub(crate) fn is_enough(self, is_measured_before: bool) -> bool {
        let missed = if is_measured_before { self.missed } else { 0 };
        !self.is_missed() && self.met + missed >= CONFIRMING
    }

    /// Whether so many miss the goal that the rate does not hold.
    pub(crate) fn is_missed(self) -> bool {
        self.missed > self.tolerated
    }

    /// Whether the engine spoiled so many that the others say neither.
    pub(crate) fn is_spoiled(self) -> bool {
        !self.is_missed() && self.all >= CONFIRMING + CONFIRMING_MORE
    }
}

/// The lowest rate above `rate_per_s`, up to `most`, that does not hold in longer trials.
pub(crate) fn missed_above(
    progress: &Progress<'_>,
    goal: &Goal,
    rate_per_s: f64,
    most: f64,
) -> Option<f64> {
    let tried = progress.judged(goal, Purpose::Confirm);
    let tried = tried.map(|(trial, _)| trial.rate_per_s);
    tried
        .filter(|other| *other > rate_per_s && *other <= most)
        .filter(|other| Confirming::of(progress, goal, *other).is_missed())
        .reduce(f64::min)
}
