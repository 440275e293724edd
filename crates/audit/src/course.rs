//! Which trial is next in a campaign that time ends.

use bakeoff_plan::{Group, Plan, Trial};
use bakeoff_record::{Record, TrialRecord};

use crate::comparisons::{Left, Settled, group_of, left};
use crate::gate::{Gates, left_of_gates};
use crate::judged::{equivalences_of, judge, judged_cells};

/// Chooses trial after trial. Who is measured in a group of blocks is decided by what was recorded
/// before it, and by nothing else: a campaign that was interrupted goes on with the same trials.
#[derive(Debug, Clone, Default)]
pub struct Course {
    left: Left,
    /// The group that `left` is for.
    group: Option<Group>,
    /// What the campaign is to decide; every comparison where there is none.
    gates: Gates,
    /// What needs no more rounds, and was not asked for yet.
    news: Vec<Settled>,
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
        let gates = self.gates.clone();
        self.next(plan, recorded, |group| {
            let mut record = read()?;
            let plan = record.plan.clone();
            record.trials.retain(|trial| group_of(&plan, trial) < group);
            if !gates.is_empty() {
                return Some(left_of_gates(&record, &judge(&record), &gates, group));
            }
            let cells = judged_cells(&record);
            let equivalence = equivalences_of(&record);
            Some(left(&record, &cells, &equivalence, Some(group)))
        })
    }

    /// What has been settled since this was asked last.
    pub fn settled(&mut self) -> Vec<Settled> {
        std::mem::take(&mut self.news)
    }

    /// The same, where `left_before` says who has left before a group.
    pub(crate) fn next(
        &mut self,
        plan: &Plan,
        recorded: &[TrialRecord],
        mut left_before: impl FnMut(Group) -> Option<Left>,
    ) -> Option<Trial> {
        loop {
            let next = self.left.next(plan, recorded)?;
            if self.group == Some(next.group()) {
                return Some(next);
            }
            let left = left_before(next.group())?;
            let before = std::mem::replace(&mut self.left, left);
            self.news.extend(self.left.settled_since(&before, plan));
            self.group = Some(next.group());
        }
    }
}
