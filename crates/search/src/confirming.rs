//! What longer trials at one rate say about a goal: that the rate holds, that it does not, that
//! they disagree, or that the load engine spoiled them; and which rate they try next.
//!
//! A lower bound holds for what was seen: no full trial at or below it missed the goal. So a rate
//! holds where each of its longer trials meets it. A miss of any full trial at a lower rate, such
//! as one of the latency curve, sends them below that.

use bakeoff_plan::{CONFIRMING, Goal};

use crate::bounds::{Bounds, readable};
use crate::judged::Judged;
use crate::progress::Progress;
use crate::seen::Purpose;

/// Trials more than planned that a confirmation may take where the engine spoils some.
const CONFIRMING_MORE: u32 = 2;
/// How often a lower bound that was not confirmed is lowered: by the width that the bounds may
/// have, then by about twice as much each time, and so to 74 % of it with a width of 2 %.
const LOWERINGS: u32 = 4;

/// Share by which a rate of four digits may be off.
const ROUNDING: f64 = 1e-3;
/// How many times the width may lie between the highest rate that holds and the lowest that does
/// not: trials of one server disagree over about as much.
const DISAGREE: f64 = 2.0;
/// Of the width, what the rate is lowered by first.
const NEARLY: f64 = 0.99;

/// Confirming trials of one goal at one rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Confirming {
    met: u32,
    missed: u32,
    all: u32,
    /// How many may miss the goal before the rate is one that the server does not carry.
    tolerated: u32,
}

impl Confirming {
    pub(crate) fn of(progress: &Progress<'_>, goal: &Goal, rate_per_s: f64) -> Self {
        let mut sum = Self {
            met: 0,
            missed: 0,
            all: 0,
            tolerated: (f64::from(CONFIRMING) * progress.search.exceed).floor() as u32,
        };
        let here = progress.judged(goal, Purpose::Confirm);
        for (_, judged) in here.filter(|(trial, _)| trial.rate_per_s == rate_per_s) {
            sum.all += 1;
            sum.met += u32::from(judged == Judged::Meets);
            sum.missed += u32::from(matches!(judged, Judged::Exceeds(_)));
        }
        sum
    }

    /// Trials that say something of the server.
    fn said(self) -> u32 {
        self.met + self.missed
    }

    /// Whether the rate holds: each of its trials meets the goal, and they are enough.
    pub(crate) fn holds(self) -> bool {
        self.missed == 0 && self.met >= CONFIRMING
    }

    /// Whether the server does not carry the rate.
    pub(crate) fn is_missed(self) -> bool {
        self.missed > self.tolerated
    }

    /// Whether trials disagree, and no further one is made: the rate is neither bound.
    fn is_divided(self) -> bool {
        self.missed > 0 && (self.said() >= CONFIRMING || self.is_spoiled())
    }

    /// Whether the engine spoiled so many that those that may still be made cannot be enough.
    fn is_spoiled(self) -> bool {
        !self.is_missed() && self.all - self.said() > CONFIRMING_MORE
    }

    /// Fresh servers behind a rate as a lower bound.
    pub(crate) fn behind_lower(self) -> usize {
        self.met as usize
    }

    /// Fresh servers behind a rate as an upper bound.
    pub(crate) fn behind_upper(self) -> usize {
        self.missed as usize
    }
}

/// How a lower bound fared in longer trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Confirmed {
    /// A trial is missing.
    Missing {
        /// At this rate.
        rate_per_s: f64,
        /// The highest rate that holds so far.
        held_per_s: Option<f64>,
    },
    /// It holds at this rate.
    Yes {
        /// Requests per second.
        rate_per_s: f64,
    },
    /// It holds at none of the rates that were tried.
    No {
        /// The lowest of them.
        rate_per_s: f64,
    },
    /// The load engine spoiled so many trials that they say nothing.
    Spoiled,
    /// Nobody asked, or there is nothing to confirm.
    NotAsked,
}

/// How the lower bound of a goal fared. Where it does not hold, lower rates are tried, each further
/// below the one before than that was: a server that longer trials show to be slower than the
/// search did may be slower by much. From the first that holds, the rates halve the distance to the
/// lowest that did not.
pub(crate) fn confirmed(progress: &Progress<'_>, goal: &Goal) -> Confirmed {
    tried(progress, goal).0
}

/// The same with what longer trials said of the rates on the way.
fn tried(progress: &Progress<'_>, goal: &Goal) -> (Confirmed, Tried) {
    let mut tried = Tried::default();
    let search = progress.search;
    let lower = progress.bounds(goal).lower;
    let Some(lower) = lower.filter(|_| !search.confirm.is_zero()) else {
        return (Confirmed::NotAsked, tried);
    };
    let beside = progress.missed_in_full(goal);
    let beside = beside.filter(|it| it.purpose != Purpose::Confirm && it.rate_per_s <= lower);
    tried.ceiling_per_s = beside.map(|it| it.rate_per_s).reduce(f64::min);
    let mut next = match tried.ceiling_per_s {
        None => Some(lower),
        Some(_) => tried.next(search.width),
    };
    while let Some(rate_per_s) = next {
        let here = Confirming::of(progress, goal, rate_per_s);
        if here.holds() {
            tried.held_per_s = Some(rate_per_s);
        } else if here.is_missed() || here.is_divided() {
            (tried.ceiling_per_s, tried.is_refuted) = (Some(rate_per_s), true);
            if here.is_missed() {
                tried.missed_per_s = Some(rate_per_s);
            }
        } else if !here.is_spoiled() {
            let held_per_s = tried.held_per_s;
            return (
                Confirmed::Missing {
                    rate_per_s,
                    held_per_s,
                },
                tried,
            );
        } else if tried.held_per_s.is_some() {
            break;
        } else {
            return (Confirmed::Spoiled, tried);
        }
        next = tried.next(search.width);
    }
    let ended = match (tried.held_per_s, tried.ceiling_per_s) {
        (Some(rate_per_s), _) => Confirmed::Yes { rate_per_s },
        (None, least) => Confirmed::No {
            rate_per_s: least.unwrap_or(lower),
        },
    };
    (ended, tried)
}

/// What trials said so far.
#[derive(Debug, Clone, Copy, Default)]
struct Tried {
    /// The highest rate that holds.
    held_per_s: Option<f64>,
    /// The lowest at which a trial missed. It is above the other.
    ceiling_per_s: Option<f64>,
    /// The lowest that longer trials show not to be carried.
    missed_per_s: Option<f64>,
    /// Whether longer trials were what missed it.
    is_refuted: bool,
    /// How often the rate was lowered.
    lowerings: u32,
}

impl Tried {
    /// The rate that is tried next; `None` where the bounds are `width` apart, or as low as they
    /// are lowered.
    fn next(&mut self, width: f64) -> Option<f64> {
        let ceiling = self.ceiling_per_s?;
        let Some(held) = self.held_per_s else {
            // The square of the step before, so that halves of it come back to the width; a little
            // less than that, so that four digits do not make it more.
            let step = (1.0 - NEARLY * width).powi(1 << self.lowerings);
            self.lowerings += 1;
            let next = readable(ceiling * step);
            return (self.lowerings <= LOWERINGS && 0.0 < next && next < ceiling).then_some(next);
        };
        let middle = readable((held * ceiling).sqrt());
        let is_apart = held < ceiling * (1.0 - DISAGREE * width) * (1.0 - ROUNDING);
        (is_apart && held < middle && middle < ceiling).then_some(middle)
    }
}

/// What longer trials leave of the bounds of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) bounds: Bounds,
    /// The lower bound of the search, where trials at or below it missed the goal.
    pub(crate) lowered_from_per_s: Option<f64>,
    /// Whether longer trials hold at a lower bound; `None` where too few were made to say.
    pub(crate) held: Option<bool>,
    /// How the lower bound of the search fared in them.
    pub(crate) ended: Confirmed,
}

impl Kept {
    /// Whether the load engine spoiled the longer trials.
    pub(crate) fn is_spoiled(&self) -> bool {
        self.ended == Confirmed::Spoiled
    }
}

/// What full trials leave of the `bounds` that a search found for a goal. Where it ended before
/// longer ones confirmed a lower bound, the highest rate stands that the search itself found below
/// all that missed, not confirmed.
pub(crate) fn kept(progress: &Progress<'_>, goal: &Goal, bounds: Bounds) -> Kept {
    let (ended, tried) = tried(progress, goal);
    let missed = progress.missed_in_full(goal).map(|it| it.rate_per_s);
    let most = missed.chain(bounds.upper).reduce(f64::min);
    let unconfirmed = || {
        let stage = progress.last_stage();
        progress.rates(goal).carried_below(stage, most)
    };
    let (lower, held) = match ended {
        Confirmed::Yes { rate_per_s } => (Some(rate_per_s), Some(true)),
        Confirmed::Missing {
            held_per_s: Some(held),
            ..
        } => (Some(held), Some(true)),
        Confirmed::Spoiled => (unconfirmed(), Some(false)),
        // The lowest rate that was tried was missed as well.
        Confirmed::No { .. } => (None, Some(false)),
        Confirmed::Missing { .. } => (unconfirmed(), tried.is_refuted.then_some(false)),
        Confirmed::NotAsked => (unconfirmed(), None),
    };
    Kept {
        bounds: Bounds {
            lower,
            upper: tried.missed_per_s.or(bounds.upper),
        },
        lowered_from_per_s: bounds.lower.filter(|_| lower != bounds.lower),
        held,
        ended,
    }
}
