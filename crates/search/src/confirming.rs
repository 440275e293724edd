//! What longer trials at one rate say about a goal: that the rate holds, that it does not, or that
//! the load engine spoiled them. Which rate is tried next is not decided here.

use bakeoff_plan::{CONFIRMING, Goal};

use crate::bounds::Bounds;
use crate::judged::Judged;
use crate::progress::{Confirmed, Progress};
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

/// What longer trials leave of the bounds of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) bounds: Bounds,
    /// The lower bound of the search, where longer trials refuted it.
    pub(crate) lowered_from_per_s: Option<f64>,
    /// Whether they confirmed a lower bound; `None` where too few were made to say.
    pub(crate) confirmed: Option<bool>,
}

/// What longer trials leave of the `bounds` that a search found for a goal. A rate that they
/// refuted is no lower bound, also where the search ended before a lower one was confirmed.
pub(crate) fn kept(progress: &Progress<'_>, goal: &Goal, bounds: Bounds) -> Kept {
    let held = progress.confirmed(goal);
    let (rate_per_s, confirmed) = match held {
        Confirmed::Yes { rate_per_s } => (rate_per_s, Some(true)),
        Confirmed::Spoiled { rate_per_s } | Confirmed::No { rate_per_s } => {
            (rate_per_s, Some(false))
        }
        Confirmed::Missing { rate_per_s } => (rate_per_s, None),
        Confirmed::NotAsked => {
            return Kept {
                bounds,
                lowered_from_per_s: None,
                confirmed: None,
            };
        }
    };
    let refuted = bounds.lower.filter(|found| *found != rate_per_s);
    let missed = refuted.and_then(|found| missed_above(progress, goal, rate_per_s, found));
    let (lower, upper) = match held {
        // The lowest rate that longer trials tried was missed as well.
        Confirmed::No { .. } => (None, Some(rate_per_s)),
        Confirmed::Missing { .. } if refuted.is_some() => (None, missed.or(bounds.upper)),
        _ => (Some(rate_per_s), missed.or(bounds.upper)),
    };
    Kept {
        bounds: Bounds { lower, upper },
        lowered_from_per_s: match held {
            Confirmed::No { .. } => bounds.lower,
            _ => refuted,
        },
        confirmed: confirmed.or(refuted.map(|_| false)),
    }
}

/// The lowest rate above `rate_per_s`, up to `most`, that does not hold in longer trials.
fn missed_above(progress: &Progress<'_>, goal: &Goal, rate_per_s: f64, most: f64) -> Option<f64> {
    let tried = progress.judged(goal, Purpose::Confirm);
    let tried = tried.map(|(trial, _)| trial.rate_per_s);
    tried
        .filter(|other| *other > rate_per_s && *other <= most)
        .filter(|other| Confirming::of(progress, goal, *other).is_missed())
        .reduce(f64::min)
}
