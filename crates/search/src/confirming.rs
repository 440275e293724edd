//! What longer trials at one rate say about a goal: that the rate holds, that it does not, or that
//! the load engine spoiled them; and which rate they try next.

use bakeoff_plan::{CONFIRMING, Goal};
use bakeoff_record::Histogram;

use crate::bounds::{Bounds, readable};
use crate::judged::{Judged, Why, is_above, is_late_or_busy};
use crate::progress::Progress;
use crate::seen::{Measured, Purpose};

/// Trials more than planned that a confirmation may take where the engine spoils some.
const CONFIRMING_MORE: u32 = 2;
/// How often a lower bound that was not confirmed is lowered: by the width that the bounds may
/// have, then by about twice as much each time, and so to 74 % of it with a width of 2 %.
const LOWERINGS: u32 = 4;

/// Share by which a rate of four digits may be off.
const ROUNDING: f64 = 1e-3;
/// Of the width, what the rate is lowered by first.
const NEARLY: f64 = 0.99;

/// Confirming trials of one goal at one rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Confirming {
    met: u32,
    missed: u32,
    /// Those that missed it in something else than the latency.
    failed: u32,
    all: u32,
    /// How many may miss the goal, where its latency does not decide.
    tolerated: u32,
    /// Whether the latencies of all of them together meet the objective; `None` where the goal has
    /// none.
    meet_together: Option<bool>,
}

impl Confirming {
    pub(crate) fn of(progress: &Progress<'_>, goal: &Goal, rate_per_s: f64) -> Self {
        let mut sum = Self {
            met: 0,
            missed: 0,
            failed: 0,
            all: 0,
            tolerated: (f64::from(CONFIRMING) * progress.search.exceed).floor() as u32,
            meet_together: None,
        };
        let mut latency = Histogram::new();
        let here = progress.judged(goal, Purpose::Confirm);
        for (trial, judged) in here.filter(|(trial, _)| trial.rate_per_s == rate_per_s) {
            let own = trial.measured().and_then(|it| latency_of(goal, it, judged));
            let is_missed = matches!(judged, Judged::Exceeds(_));
            sum.all += 1;
            sum.met += u32::from(judged == Judged::Meets);
            sum.missed += u32::from(is_missed);
            match own {
                Some(own) => latency.merge(own),
                None => sum.failed += u32::from(is_missed),
            }
        }
        let objective = goal.objective.as_ref();
        sum.meet_together = objective.map(|it| !is_above(it, latency.quantile(it.quantile())));
        sum
    }

    /// Trials that say something of the server.
    fn said(self) -> u32 {
        self.met + self.missed
    }

    /// Whether the rate holds.
    pub(crate) fn is_enough(self) -> bool {
        !self.is_missed() && self.said() >= CONFIRMING
    }

    /// Whether the rate does not hold.
    ///
    /// The p99 of one trial near the objective is above it as often as not, so that counting such
    /// trials says little. The requests of all of them together say more: of 100 simulated searches
    /// of one server the lower bounds had a standard deviation of 1.1 %, and of 1.3 % where two
    /// trials of three decided.
    pub(crate) fn is_missed(self) -> bool {
        match self.meet_together {
            _ if self.failed > self.tolerated => true,
            Some(meet) => self.said() >= CONFIRMING && !meet,
            None => self.missed > self.tolerated,
        }
    }

    /// Fresh servers behind a rate as a lower bound.
    pub(crate) fn behind_lower(self) -> usize {
        let held = if self.is_enough() {
            self.said()
        } else {
            self.met
        };
        held as usize
    }

    /// Fresh servers behind a rate as an upper bound.
    pub(crate) fn behind_upper(self) -> usize {
        let missed = if self.is_missed() {
            self.said()
        } else {
            self.missed
        };
        missed as usize
    }

    /// Whether the engine spoiled so many that those that may still be made cannot be enough.
    pub(crate) fn is_spoiled(self) -> bool {
        !self.is_missed() && self.all - self.said() > CONFIRMING_MORE
    }
}

/// Latencies that are the server's own; `None` where others than these decide.
fn latency_of<'m>(goal: &Goal, measured: &'m Measured, judged: Judged) -> Option<&'m Histogram> {
    match judged {
        Judged::Meets => Some(&measured.latency),
        // Where the engine was late, it missed the goal without that lateness too.
        Judged::Exceeds(Why::Latency) if is_late_or_busy(goal, measured) => {
            measured.punctual.as_deref()
        }
        Judged::Exceeds(Why::Latency) => Some(&measured.latency),
        Judged::Exceeds(_) | Judged::Limited => None,
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
    /// The load engine spoiled so many trials at this rate that they say nothing.
    Spoiled {
        /// Requests per second.
        rate_per_s: f64,
    },
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
    let Some(mut rate_per_s) = lower.filter(|_| !search.confirm.is_zero()) else {
        return (Confirmed::NotAsked, tried);
    };
    let ended = loop {
        let here = Confirming::of(progress, goal, rate_per_s);
        if here.is_enough() {
            tried.held_per_s = Some(rate_per_s);
        } else if here.is_spoiled() {
            break match tried.held_per_s {
                Some(rate_per_s) => Confirmed::Yes { rate_per_s },
                None => Confirmed::Spoiled { rate_per_s },
            };
        } else if here.is_missed() {
            tried.missed_per_s = Some(rate_per_s);
        } else {
            let held_per_s = tried.held_per_s;
            break Confirmed::Missing {
                rate_per_s,
                held_per_s,
            };
        }
        rate_per_s = match (tried.next(search.width), tried.held_per_s) {
            (Some(next), _) => next,
            (None, Some(rate_per_s)) => break Confirmed::Yes { rate_per_s },
            (None, None) => break Confirmed::No { rate_per_s },
        };
    };
    (ended, tried)
}

/// What longer trials said so far.
#[derive(Debug, Clone, Copy, Default)]
struct Tried {
    /// The highest rate that holds.
    held_per_s: Option<f64>,
    /// The lowest that does not. It is above the other.
    missed_per_s: Option<f64>,
    /// How often the rate was lowered.
    lowerings: u32,
}

impl Tried {
    /// The rate that is tried next; `None` where the bounds are `width` apart, or as low as they
    /// are lowered.
    fn next(&mut self, width: f64) -> Option<f64> {
        let missed = self.missed_per_s?;
        let Some(held) = self.held_per_s else {
            // The square of the step before, so that halves of it come back to the width; a little
            // less than that, so that four digits do not make it more.
            let step = (1.0 - NEARLY * width).powi(1 << self.lowerings);
            self.lowerings += 1;
            let next = readable(missed * step);
            return (self.lowerings <= LOWERINGS && 0.0 < next && next < missed).then_some(next);
        };
        let middle = readable((held * missed).sqrt());
        let is_apart = held < missed * (1.0 - width) * (1.0 - ROUNDING);
        (is_apart && held < middle && middle < missed).then_some(middle)
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
    /// How the lower bound of the search fared in them.
    pub(crate) ended: Confirmed,
}

impl Kept {
    /// Whether the load engine spoiled the longer trials.
    pub(crate) fn is_spoiled(&self) -> bool {
        matches!(self.ended, Confirmed::Spoiled { .. })
    }
}

/// What longer trials leave of the `bounds` that a search found for a goal. A rate that they
/// refuted is no lower bound. Where the search ended before they confirmed a lower one, the highest
/// rate that the search itself found below all of them stands, not confirmed.
pub(crate) fn kept(progress: &Progress<'_>, goal: &Goal, bounds: Bounds) -> Kept {
    let (ended, tried) = tried(progress, goal);
    let missed = tried.missed_per_s;
    let (lower, confirmed) = match ended {
        Confirmed::Yes { rate_per_s } => (Some(rate_per_s), Some(true)),
        Confirmed::Spoiled { rate_per_s } => (Some(rate_per_s), Some(false)),
        // The lowest rate that longer trials tried was missed as well.
        Confirmed::No { .. } => (None, Some(false)),
        Confirmed::Missing { held_per_s, .. } => match (held_per_s, missed) {
            (Some(held), _) => (Some(held), Some(true)),
            (None, Some(missed)) => {
                let rates = progress.rates(goal);
                let below = rates.carried_below(progress.last_stage(), missed);
                (below, Some(false))
            }
            (None, None) => (bounds.lower, None),
        },
        Confirmed::NotAsked => (bounds.lower, None),
    };
    Kept {
        bounds: Bounds {
            lower,
            upper: missed.or(bounds.upper),
        },
        lowered_from_per_s: missed.and(bounds.lower),
        confirmed,
        ended,
    }
}
