//! Which trial of a search is next: a closed loop, rates, longer trials at the lower bound, the
//! latency curve.

use crate::confirming::{Confirmed, confirmed};
use crate::curve;
use crate::progress::{CLOSED_S, Progress, Step, TRIALS_MAX, closed, cost_s};
use crate::seen::Purpose;

impl Progress<'_> {
    /// The next trial; `None` where the search has ended.
    pub fn next(&self) -> Option<Step> {
        self.further().filter(|_| self.gave_up().is_none())
    }

    /// The next trial of a contender that is not given up.
    pub(crate) fn further(&self) -> Option<Step> {
        if self.trials.len() >= TRIALS_MAX {
            return None;
        }
        let Some(closed_per_s) = self.closed_per_s() else {
            // A server that takes its time may have answered nothing in the first.
            let length_s = match closed(&self.trials).next() {
                None => CLOSED_S,
                Some(_) => CLOSED_S.max(self.load.duration_s),
            };
            return Some(Step::closed(length_s)).filter(|step| self.may_take(step, false));
        };
        let goals = self.search.goals.iter();
        let step = goals
            .filter_map(|goal| self.search_step(goal, closed_per_s))
            .find(|step| self.may_take(step, true));
        let step = step.or_else(|| confirm_step(self));
        step.or_else(|| curve::next(self))
    }

    /// About how many trials and seconds are left at the most.
    pub fn left(&self) -> (usize, f64) {
        let left_s = (self.budget_s - self.spent_s()).max(0.0);
        let Some(step) = self.next() else {
            return (0, 0.0);
        };
        let trials = (left_s / cost_s(self.load, self.load.duration_s)).ceil() as usize;
        (trials.max(1), left_s.max(cost_s(self.load, step.length_s)))
    }
}

fn confirm_step(progress: &Progress<'_>) -> Option<Step> {
    let mut goals = progress.search.goals.iter();
    let step = goals.find_map(|goal| match confirmed(progress, goal) {
        Confirmed::Missing { rate_per_s, .. } => Some(Step {
            purpose: Purpose::Confirm,
            rate_per_s: Some(rate_per_s),
            length_s: progress.search.confirm.as_secs_f64(),
        }),
        Confirmed::Yes { .. } | Confirmed::No { .. } | Confirmed::Spoiled | Confirmed::NotAsked => {
            None
        }
    });
    step.filter(|step| progress.may_take(step, false))
}
