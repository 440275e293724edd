//! The trials of a campaign that time ends, as its rules choose them.

use std::time::Duration;

use bakeoff_plan::{Plan, Trial};
use bakeoff_record::{Disturbance, TrialEnd, TrialRecord};

use crate::sequence::{Left, Sequence, at_found_rate};

/// The next trial of a campaign that time ends, after those recorded; `None` where it is over.
pub type NextTimed<'a> = dyn FnMut(&[TrialRecord]) -> Option<Trial> + 'a;

/// A campaign that goes on until everything is decided, or its time is over.
pub(crate) struct Timed<'a> {
    plan: &'a Plan,
    next: &'a mut NextTimed<'a>,
}

impl<'a> Timed<'a> {
    /// The trials of `plan`; `next` says which is next.
    pub(crate) fn new(plan: &'a Plan, next: &'a mut NextTimed<'a>) -> Self {
        Self { plan, next }
    }
}

impl Sequence for Timed<'_> {
    fn next(&mut self, recorded: &[TrialRecord]) -> Option<Trial> {
        Some(at_found_rate((self.next)(recorded)?, recorded))
    }

    /// No block is repeated: there is another round, or no time for one.
    fn seen_later(&self, _recorded: &[TrialRecord]) -> Vec<(usize, Disturbance)> {
        Vec::new()
    }

    /// The time that is left, and as many trials as it has room for.
    fn left(&self, recorded: &[TrialRecord]) -> Left {
        let time = |trial: &TrialRecord| {
            let took = Duration::try_from_secs_f64(trial.took_s()).unwrap_or(Duration::ZERO);
            took + self.plan.rest
        };
        let ended = recorded
            .iter()
            .filter(|trial| trial.end != TrialEnd::Interrupted);
        let took: Duration = ended.clone().map(time).sum();
        let now = self.plan.budget.map_or(Duration::ZERO, |budget| budget.now);
        let left = now.saturating_sub(took);
        let planned = bakeoff_plan::trials(self.plan);
        let round: Duration = planned
            .iter()
            .map(|trial| bakeoff_plan::expected(self.plan, trial))
            .sum();
        let each = (round.as_secs_f64() / planned.len().max(1) as f64).max(0.1);
        Left {
            trials: (left.as_secs_f64() / each) as usize,
            expected: left,
        }
    }
}
