//! Which trial is next in a campaign that time ends.

use bakeoff_plan::{Plan, Trial};
use bakeoff_record::{Record, TrialRecord};

use crate::comparisons::{Settled, Turns, group_of, left};
use crate::gate::{Gates, left_of_gates};
use crate::judged::{equivalences_of, judge, judged_cells};

/// Chooses trial after trial. Who is measured in a group of blocks is decided by what was recorded
/// before it, and by nothing else: a campaign that was interrupted goes on with the same trials.
#[derive(Debug, Clone, Default)]
pub struct Course {
    turns: Turns,
    /// What the campaign is to decide; every comparison where there is none.
    gates: Gates,
}

impl Course {
    /// A campaign that ends once these gates are decided.
    pub fn of_gates(gates: Gates) -> Self {
        Self {
            gates,
            ..Self::default()
        }
    }

    /// The next trial after those recorded; `None` where the campaign is over. `read` gives the
    /// record where the next group begins.
    pub fn next_trial(
        &mut self,
        plan: &Plan,
        recorded: &[TrialRecord],
        mut read: impl FnMut() -> Option<Record>,
    ) -> Option<Trial> {
        let gates = &self.gates;
        self.turns.next(plan, recorded, |group| {
            let mut record = read()?;
            let plan = record.plan.clone();
            record.trials.retain(|trial| group_of(&plan, trial) < group);
            if !gates.is_empty() {
                return Some(left_of_gates(&record, &judge(&record), gates, group));
            }
            let cells = judged_cells(&record);
            let equivalence = equivalences_of(&record);
            Some(left(&record, &cells, &equivalence, Some(group)))
        })
    }

    /// What has been settled since this was asked last.
    pub fn settled(&mut self) -> Vec<Settled> {
        std::mem::take(&mut self.turns.news)
    }
}
