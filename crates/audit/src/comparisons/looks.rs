//! When a campaign that time ends was looked at, and who left it since.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use bakeoff_plan::{Group, LoadModel, Plan, Trial, next_timed};
use bakeoff_record::{ContenderKind, Record, TrialEnd, TrialRecord};
use bakeoff_stats::{Look, Metric, Spending};

use crate::conclusion::PairKey;

/// The looks at a metric, in order, at what comes before a group; at all where there is none. Where
/// rounds end a campaign there is one, at their end.
pub(super) fn of(record: &Record, metric: Metric, before: Option<Group>) -> Vec<Look> {
    match metric.is_tested() {
        true => of_gates(record, metric, before),
        false => vec![Look::ALL_ROUNDS],
    }
}

/// The looks at the gates of a metric, whether or not it is tested between all contenders.
pub(crate) fn of_gates(record: &Record, metric: Metric, before: Option<Group>) -> Vec<Look> {
    let Some(budget) = record.plan.budget else {
        return vec![Look::ALL_ROUNDS];
    };
    let spending = Spending {
        first_s: budget.first.as_secs_f64(),
        now_s: budget.now.as_secs_f64(),
        resumed: budget.resumed,
    };
    spending.looks(&ended(record, metric, before), before.is_none())
}

/// The rounds of a metric that are complete, each with the time of the campaign at its end, s.
fn ended(record: &Record, metric: Metric, before: Option<Group>) -> Vec<(u32, f64)> {
    // The last group of each round with a number of the metric.
    let mut last: BTreeMap<u32, Group> = BTreeMap::new();
    for trial in measured(&record.trials) {
        let model = model_of(&record.plan, trial);
        if trial.kind == ContenderKind::Contender && metric.fits(model) {
            let group = Group::of(trial.round, model);
            let known = last.entry(trial.round).or_insert(group);
            *known = group.max(*known);
        }
    }
    let complete = last
        .into_iter()
        .filter(|(_, group)| before.is_none_or(|before| *group < before));
    let time = |(round, group): (u32, Group)| {
        let until = measured(&record.trials);
        let until = until.filter(|trial| group_of(&record.plan, trial) <= group);
        (round, until.map(|trial| took_s(&record.plan, trial)).sum())
    };
    complete.map(time).collect()
}

fn measured(trials: &[TrialRecord]) -> impl Iterator<Item = &TrialRecord> {
    let ended = |trial: &&TrialRecord| trial.end != TrialEnd::Interrupted;
    trials.iter().filter(ended)
}

/// The time that a trial took, with the rest after it, s.
fn took_s(plan: &Plan, trial: &TrialRecord) -> f64 {
    match trial.end {
        TrialEnd::Skipped { .. } => trial.took_s(),
        _ => trial.took_s() + plan.rest.as_secs_f64(),
    }
}

/// The group that a trial belongs to by its load in the plan: one at a rate that was found was
/// asked for as a share.
pub(crate) fn group_of(plan: &Plan, trial: &TrialRecord) -> Group {
    Group::of(trial.round, model_of(plan, trial))
}

fn model_of<'r>(plan: &'r Plan, trial: &'r TrialRecord) -> &'r LoadModel {
    let label = trial.load_label();
    let planned = plan.loads.iter().find(|load| load.label() == label);
    planned.map_or(&trial.load.model, |load| &load.model)
}

/// A workload and load of which every contender was measured enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Name of the workload.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// The last round that it needed.
    pub round: u32,
}

/// The round after which each contender left a workload and load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Left(BTreeMap<(String, String, String), u32>);

impl Left {
    /// Whether a trial's contender is measured there in its round.
    fn stays(&self, trial: &Trial) -> bool {
        let place = (
            trial.workload.name.clone(),
            trial.load_label(),
            trial.contender.name.clone(),
        );
        self.0.get(&place).is_none_or(|round| trial.round <= *round)
    }

    /// The workloads and loads that all contenders of the plan left since `before`.
    pub(crate) fn settled_since(&self, before: &Self, plan: &Plan) -> Vec<Settled> {
        let mut settled = Vec::new();
        for workload in &plan.workloads {
            for load in &plan.loads {
                let left = |known: &Self| {
                    let rounds = plan.contenders.iter().map(|contender| {
                        let names = [&workload.name, &load.label(), &contender.name];
                        let [workload, load, contender] = names.map(Clone::clone);
                        known.0.get(&(workload, load, contender)).copied()
                    });
                    rounds.collect::<Option<Vec<u32>>>()?.into_iter().max()
                };
                if let (None, Some(round)) = (left(before), left(self)) {
                    settled.push(Settled {
                        workload: workload.name.clone(),
                        load: load.label(),
                        round,
                    });
                }
            }
        }
        settled
    }

    /// The next trial of the campaign from a group on; `None` where it is over.
    fn next(&self, plan: &Plan, from: Option<Group>, trials: &[TrialRecord]) -> Option<Trial> {
        let took: f64 = measured(trials).map(|trial| took_s(plan, trial)).sum();
        let ended: HashSet<&str> = measured(trials).map(|trial| trial.id.as_str()).collect();
        next_timed(
            plan,
            from,
            Duration::try_from_secs_f64(took).unwrap_or(Duration::MAX),
            &|trial| ended.contains(trial.id.as_str()),
            &|trial| self.stays(trial),
        )
    }

    /// Adds the contenders of these pairs all of whose pairs in a cell are settled. Each pair comes
    /// with the round of the look that settled it, 0 where no number of rounds would; `None` where
    /// it is open.
    pub(crate) fn add(&mut self, pairs: impl Iterator<Item = (PairKey, Option<u32>)>) {
        let mut of_place: BTreeMap<(String, String, String), Option<u32>> = BTreeMap::new();
        for (key, at) in pairs {
            for contender in [key.first, key.second] {
                let place = (key.workload.clone(), key.load.clone(), contender);
                let known = of_place.entry(place).or_insert(Some(0));
                *known = known.zip(at).map(|(known, at)| known.max(at));
            }
        }
        for (place, at) in of_place {
            if let Some(at) = at {
                // What no round decides is left after the first look.
                self.0.insert(place, at.max(bakeoff_stats::FIRST_LOOK));
            }
        }
    }
}

/// Trial after trial of a campaign, where who has left it is looked up group by group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns {
    left: Left,
    /// The group that `left` is for.
    group: Option<Group>,
    /// What needs no more rounds, and was not asked for yet.
    pub(crate) news: Vec<Settled>,
}

impl Turns {
    /// The next trial after those recorded; `None` where the campaign is over. `left_before` says
    /// who has left before a group.
    pub(crate) fn next(
        &mut self,
        plan: &Plan,
        recorded: &[TrialRecord],
        mut left_before: impl FnMut(Group) -> Option<Left>,
    ) -> Option<Trial> {
        // What a look decided may be open again once later rounds spoil a number. Whoever comes
        // back is measured from then on, and no group that is over is gone back to.
        let begun = recorded.iter().map(|trial| group_of(plan, trial)).max();
        if let (None, Some(begun)) = (self.group, begun) {
            self.begin(plan, begun, &mut left_before)?;
        }
        loop {
            let next = self.left.next(plan, self.group, recorded)?;
            if self.group == Some(next.group()) {
                return Some(next);
            }
            self.begin(plan, next.group(), &mut left_before)?;
        }
    }

    fn begin(
        &mut self,
        plan: &Plan,
        group: Group,
        left_before: &mut impl FnMut(Group) -> Option<Left>,
    ) -> Option<()> {
        let left = left_before(group)?;
        let before = std::mem::replace(&mut self.left, left);
        self.news.extend(self.left.settled_since(&before, plan));
        self.group = Some(group);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Builtin, parse};

    use super::*;

    /// A campaign once went to and fro between two groups for ever: what one of them had decided
    /// was open again in the other.
    #[test]
    fn what_is_open_again_leads_to_no_group_that_is_over() {
        let text = "name = \"p\"\nbudget = \"1m\"\nworkloads = [\"html-small\"]\n\
                    load = [{ clients = 4, duration = \"1s\" }]\n\
                    [[contender]]\nname = \"a\"\nserver = \"nginx\"\n\
                    [[contender]]\nname = \"b\"\nserver = \"caddy\"\n";
        let plan = parse(text, "p", std::path::Path::new("/"), &Builtin).unwrap();
        let place = |name: &str| ("html-small".to_owned(), "c4".to_owned(), name.to_owned());
        let decided = Left(BTreeMap::from([(place("a"), 0), (place("b"), 0)]));
        let mut asked = Vec::new();
        let mut turns = Turns::default();
        let next = turns.next(&plan, &[], |group| {
            let is_odd = asked.len() % 2 == 1;
            asked.push(group);
            Some(if is_odd {
                Left::default()
            } else {
                decided.clone()
            })
        });
        assert!(next.is_none_or(|next| asked.last() == Some(&next.group())));
        assert!(asked.is_sorted() && asked.len() < 1_000, "{asked:?}");
    }
}
