//! The order of a search: which contender is asked next, and at which rate.
//!
//! Rates are chosen in the crate `search`, from the record alone; here they become trials. The
//! contenders take turns, so that what is slow about the machine for some minutes is slow for all
//! of them, and those that have their bounds wait with their curves for the others. Every trial
//! has a fresh server and a schedule of its own.

use std::time::Duration;

use bakeoff_plan::{
    Connect, Contender, Load, LoadModel, Plan, Search, ServerChoice, Trial, Workload,
    why_no_references,
};
use bakeoff_record::{Disturbance, TrialRecord};
use bakeoff_search::{CLOSED_S, Purpose, Quest, Step, quests, sought, yardstick};

use crate::sequence::{Left, Sequence};

/// More than the trials that come before a curve.
const TRIALS_BEFORE: f64 = 1e6;

/// The searches of a plan.
#[derive(Debug)]
pub struct Searches<'p> {
    plan: &'p Plan,
    /// How many trials each search had when it was begun or resumed.
    before: Vec<usize>,
}

impl<'p> Searches<'p> {
    /// The searches of `plan`, whose rates are sought, after the trials of an `earlier` part of
    /// them. Contenders that were given up in it are asked again: a host may be back.
    pub(crate) fn new(plan: &'p Plan, earlier: &[TrialRecord]) -> Self {
        let before = quests(plan, earlier).iter().map(Quest::ended).collect();
        Self { plan, before }
    }

    fn quests(&self, recorded: &[TrialRecord]) -> Vec<Quest<'p>> {
        let all = quests(self.plan, recorded).into_iter().zip(&self.before);
        all.map(|(quest, before)| quest.resumed_after(*before))
            .collect()
    }

    /// The null server in a closed loop, once for each workload that it can answer: what it does,
    /// nobody is measured beyond.
    fn reference(&self, recorded: &[TrialRecord]) -> Option<Trial> {
        let wanted = sought(self.plan).filter(|(workload, _)| {
            self.plan.references.yardstick && why_no_references(workload).is_none()
        });
        let mut missing =
            wanted.filter(|(workload, load)| yardstick(recorded, workload, load).next().is_none());
        let (workload, load) = missing.next()?;
        let contender = Contender::plain("yardstick", ServerChoice::Yardstick);
        let step = Step::closed(CLOSED_S);
        trial(&contender, workload, load, &step, (1, recorded.len()))
    }
}

impl Sequence for Searches<'_> {
    fn next(&mut self, recorded: &[TrialRecord]) -> Option<Trial> {
        if let Some(reference) = self.reference(recorded) {
            return Some(reference);
        }
        let all = self.quests(recorded);
        let open = all
            .iter()
            .filter_map(|quest| Some((quest, quest.progress.next()?)));
        let (quest, step) = open.min_by(|left, right| turn(left).total_cmp(&turn(right)))?;
        let number = (quest.ended() + 1, recorded.len());
        trial(quest.contender, quest.workload, quest.load, &step, number)
    }

    fn seen_later(&self, _: &[TrialRecord]) -> Vec<(usize, Disturbance)> {
        Vec::new()
    }

    fn left(&self, recorded: &[TrialRecord]) -> Left {
        let reference = Left {
            trials: usize::from(self.reference(recorded).is_some()),
            expected: Duration::ZERO,
        };
        let all = self.quests(recorded);
        all.iter().map(of_quest).fold(reference, |sum, left| Left {
            trials: sum.trials + left.trials,
            expected: sum.expected.saturating_add(left.expected),
        })
    }
}

/// Place in the order of turns: the lowest goes first. Bounds come before curves, so that the
/// contenders' latencies at one share of their rates are measured one after the other.
fn turn((quest, step): &(&Quest<'_>, Step)) -> f64 {
    match step.purpose {
        Purpose::Curve { percent } => TRIALS_BEFORE + percent,
        Purpose::Closed | Purpose::Search | Purpose::Confirm => quest.ended() as f64,
    }
}

/// What is left at the most: a search ends before its budget where its bounds are found.
fn of_quest(quest: &Quest<'_>) -> Left {
    let (trials, seconds) = quest.progress.left();
    Left {
        trials,
        expected: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
    }
}

/// A step of a search as a trial: the `number`th of its contender, at a place in the campaign.
fn trial(
    contender: &Contender,
    workload: &Workload,
    load: &Load,
    step: &Step,
    (number, index): (usize, usize),
) -> Option<Trial> {
    let label = load.label();
    let search = load.search()?;
    // The number is the round, too: it gives each trial a schedule of its own, and contenders the
    // same one at the same number.
    let round = u32::try_from(number).unwrap_or(u32::MAX);
    Some(Trial {
        index,
        round,
        attempt: 1,
        id: format!("n{number}-{}-{}-{label}", contender.name, workload.name),
        contender: contender.clone(),
        is_control: false,
        workload: workload.clone(),
        load: load_of(load, search, step),
        load_name: Some(step.purpose.load_name(&label)),
        ramp: None,
    })
}

fn load_of(load: &Load, search: &Search, step: &Step) -> Load {
    Load {
        model: match step.rate_per_s {
            None => LoadModel::Closed {
                clients: search.clients,
            },
            Some(rate_per_s) => LoadModel::Open {
                rate_per_s,
                arrival: search.arrival,
                clients: search.clients,
            },
        },
        duration_s: step.length_s,
        connect: Connect::First,
        ..load.clone()
    }
}

#[cfg(test)]
mod tests;
