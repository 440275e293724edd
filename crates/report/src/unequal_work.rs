//! Unequal work as it shows while a campaign runs, before the load of the trial that reveals it.

use std::collections::HashSet;

use bakeoff_audit::equivalences;
use bakeoff_plan::Plan;
use bakeoff_record::TrialRecord;

use crate::equal;

/// Trials of a campaign so far, and the unequal work that was reported of them.
#[derive(Debug)]
pub struct UnequalWork {
    plan: Plan,
    trials: Vec<TrialRecord>,
    reported: HashSet<(&'static str, [String; 2])>,
}

impl UnequalWork {
    /// For a campaign that begins, or goes on after the trials of `earlier`.
    pub fn new(plan: Plan, earlier: &[TrialRecord]) -> Self {
        let mut unequal = Self {
            plan,
            trials: earlier.to_vec(),
            reported: HashSet::new(),
        };
        // What an earlier part reported is not repeated.
        unequal.new_ones();
        unequal
    }

    /// Takes in a trial whose contender was observed, and gives what was not reported yet: each
    /// unequal fact once for each pair of contenders, with what to change; the report names all of
    /// the workloads.
    pub fn observed(&mut self, trial: &TrialRecord) -> Vec<String> {
        self.trials.push(trial.clone());
        self.new_ones()
    }

    fn new_ones(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for table in equivalences(&self.plan, &self.trials) {
            for one in &table.inequalities {
                let new = one.pairs.iter().map(|pair| (one.fact, pair.clone()));
                let count = self.reported.len();
                self.reported.extend(new);
                if self.reported.len() > count {
                    lines.push(equal::warning(&table, one));
                }
            }
        }
        lines
    }
}
