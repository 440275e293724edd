//! The order of an overload: the capacity of each contender, then the ramp beyond it and back, as
//! often as there are rounds, then the ladder of closed loops.
//!
//! The contenders take turns, and begin with another one in each round, so that what is slow about
//! the machine for some minutes is slow for all of them. Every trial has a fresh server. Which
//! trials a record lacks is worked out from the record alone.

use std::collections::HashSet;
use std::time::Duration;

use bakeoff_plan::{
    Connect, Contender, Load, LoadModel, Overload, Plan, Purpose, Ramp, TRIAL_OVERHEAD, Trial,
    Workload,
};
use bakeoff_record::{Disturbance, TrialEnd, TrialRecord};

use crate::sequence::{Left, Sequence};

/// Length of the closed loop that shows a capacity beside that of a step, and its limits, seconds.
const CLOSED_SHARE: f64 = 0.25;
const CLOSED_S: (f64, f64) = (2.0, 10.0);
/// Such trials of a contender, at the most: where one is lost or disturbed, another is made.
const CLOSED_TRIALS: u32 = 3;
/// How long a client of a closed loop waits, seconds, as in any other plan: thousands of them wait
/// for each other.
const CLOSED_TIMEOUT_S: f64 = 10.0;

/// The overloads of a plan.
#[derive(Debug)]
pub struct Overloads<'p> {
    plan: &'p Plan,
    /// Ids of trials without a right answer that were made before this was begun or resumed.
    lost_before: HashSet<String>,
}

/// One contender at one workload under one overload.
#[derive(Debug, Clone, Copy)]
struct Cell<'p> {
    contender: &'p Contender,
    workload: &'p Workload,
    load: &'p Load,
    overload: &'p Overload,
    lost_before: &'p HashSet<String>,
}

impl<'p> Overloads<'p> {
    /// The overloads of `plan`, after the trials of an `earlier` part of them. Contenders that
    /// showed no capacity in it are asked again: a host may be back.
    pub fn new(plan: &'p Plan, earlier: &[TrialRecord]) -> Self {
        let ended = earlier.iter().filter(|it| it.end != TrialEnd::Interrupted);
        let lost = ended.filter(|trial| trial.ok_per_s().is_none());
        Self {
            plan,
            lost_before: lost.map(|trial| trial.id.clone()).collect(),
        }
    }

    /// Its cells, those of a workload and an overload together: the contenders take turns.
    fn groups(&self) -> Vec<Vec<Cell<'_>>> {
        let mut groups = Vec::new();
        for workload in &self.plan.workloads {
            for load in &self.plan.loads {
                let Some(overload) = load.overload() else {
                    continue;
                };
                let cell = |contender| Cell {
                    contender,
                    workload,
                    load,
                    overload,
                    lost_before: &self.lost_before,
                };
                groups.push(self.plan.contenders.iter().map(cell).collect());
            }
        }
        groups
    }

    /// Trials that are missing, in order, as far as they are known: a ramp is known once the
    /// capacity is.
    fn missing(&self, recorded: &[TrialRecord]) -> Vec<Trial> {
        let ended = recorded.iter();
        let ended = ended.filter(|it| it.end != TrialEnd::Interrupted);
        let ended: HashSet<&str> = ended.map(|it| it.id.as_str()).collect();
        let groups = self.groups();
        let all = groups
            .iter()
            .flat_map(|cells| self.planned(cells, recorded));
        let missing = all.filter(|trial| !ended.contains(trial.id.as_str()));
        missing.collect()
    }

    /// The trials of cells that take turns.
    fn planned(&self, cells: &[Cell<'_>], recorded: &[TrialRecord]) -> Vec<Trial> {
        let capacities = cells
            .iter()
            .filter_map(|cell| cell.capacity_trial(recorded));
        let mut trials: Vec<Trial> = capacities.collect();
        trials.sort_by_key(|trial| trial.attempt);
        let turns = |round: u32| {
            let first = (round - 1) as usize % cells.len().max(1);
            let (before, from) = cells.split_at(first);
            from.iter().chain(before).collect::<Vec<_>>()
        };
        for round in 1..=self.plan.rounds {
            let ramps = turns(round).into_iter();
            trials.extend(ramps.filter_map(|cell| cell.ramp_trial(round, recorded)));
        }
        let rungs = cells.first().map(|cell| cell.overload.ladder.as_slice());
        for round in 1..=self.plan.rounds {
            for clients in rungs.unwrap_or_default() {
                let rungs = turns(round).into_iter();
                trials.extend(rungs.map(|cell| cell.rung_trial(round, *clients)));
            }
        }
        trials
    }
}

impl Sequence for Overloads<'_> {
    fn next(&mut self, recorded: &[TrialRecord]) -> Option<Trial> {
        let next = self.missing(recorded).into_iter().next()?;
        Some(Trial {
            index: recorded.len(),
            ..next
        })
    }

    fn seen_later(&self, _: &[TrialRecord]) -> Vec<(usize, Disturbance)> {
        Vec::new()
    }

    fn left(&self, recorded: &[TrialRecord]) -> Left {
        let missing = self.missing(recorded);
        let rests = self.plan.rest + TRIAL_OVERHEAD;
        let known = missing.iter().map(|trial| length(&trial.load) + rests);
        // Ramps whose capacity is still to be shown.
        let cells = self.groups().into_iter().flatten();
        let unknown: Vec<Duration> = cells
            .filter(|cell| cell.is_open(recorded))
            .map(|cell| length(&cell.ramp_load(1.0).0) + rests)
            .collect();
        let rounds = self.plan.rounds;
        let ahead: Duration = unknown.iter().sum();
        Left {
            trials: missing.len() + unknown.len() * rounds as usize,
            expected: known.sum::<Duration>() + ahead.saturating_mul(rounds),
        }
    }
}

/// How long a load takes.
fn length(load: &Load) -> Duration {
    let seconds = load.warmup_s + load.duration_s;
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

impl Cell<'_> {
    /// The next closed loop that shows the capacity; `None` where it was said or is shown, or
    /// enough were made.
    fn capacity_trial(&self, recorded: &[TrialRecord]) -> Option<Trial> {
        let clients = self.overload.closed_loop_clients()?;
        let is_sound = |it: &TrialRecord| it.ok_per_s().is_some() && !it.is_disturbed();
        let is_forbidden = |it: &TrialRecord| {
            matches!(
                it.end,
                TrialEnd::Skipped { .. } | TrialEnd::Unsupported { .. }
            )
        };
        let ended = || self.closed_loops(recorded);
        if ended().any(|it| is_sound(it) || is_forbidden(it)) {
            return None;
        }
        let attempt = u32::try_from(ended().count()).ok()?.checked_add(1)?;
        let of_now = |it: &&TrialRecord| !self.lost_before.contains(&it.id);
        let made = match self.capacity(recorded) {
            None => ended().filter(of_now).count(),
            Some(_) => ended().count(),
        };
        if made >= CLOSED_TRIALS as usize {
            return None;
        }
        let (least, most) = CLOSED_S;
        let length_s = match attempt {
            1 => (self.load.duration_s * CLOSED_SHARE).clamp(least, most),
            // A server that takes its time may have answered nothing in the first.
            _ => most,
        };
        let load = Load {
            duration_s: length_s,
            ..self.closed(clients)
        };
        let trial = self.trial(1, &Purpose::Capacity, load, None);
        Some(match attempt {
            1 => trial,
            _ => trial.again(attempt),
        })
    }

    fn ramp_trial(&self, round: u32, recorded: &[TrialRecord]) -> Option<Trial> {
        let capacity_per_s = self.capacity(recorded)?;
        let (load, ramp) = self.ramp_load(capacity_per_s);
        Some(self.trial(round, &Purpose::Ramp, load, Some(ramp)))
    }

    fn ramp_load(&self, capacity_per_s: f64) -> (Load, Ramp) {
        let overload = self.overload;
        let mut rates = overload.rates(capacity_per_s).into_iter();
        let first = rates.next().unwrap_or(capacity_per_s);
        let step_s = self.load.duration_s;
        let load = Load {
            model: LoadModel::Open {
                rate_per_s: first,
                arrival: overload.arrival,
                clients: overload.clients,
            },
            // The first step is the warm-up as well: what comes before the capacity is compared
            // with what comes after it, on the same server.
            warmup_s: 0.0,
            duration_s: step_s * overload.steps.len() as f64,
            connect: Connect::AsNeeded,
            ..self.load.clone()
        };
        let step = Duration::try_from_secs_f64(step_s).unwrap_or_default();
        (load, Ramp::new(rates.collect(), step))
    }

    fn rung_trial(&self, round: u32, clients: u32) -> Trial {
        let load = Load {
            duration_s: self.overload.rung.as_secs_f64(),
            ..self.closed(clients)
        };
        self.trial(round, &Purpose::Rung { clients }, load, None)
    }

    fn closed(&self, clients: u32) -> Load {
        Load {
            model: LoadModel::Closed { clients },
            connect: Connect::First,
            timeout_s: CLOSED_TIMEOUT_S,
            ..self.load.clone()
        }
    }

    /// The capacity that was said, or the most that a closed loop showed, requests per second.
    fn capacity(&self, recorded: &[TrialRecord]) -> Option<f64> {
        let said = self.overload.capacity_per_s;
        said.or_else(|| {
            let shown = self.closed_loops(recorded);
            let shown = shown.filter_map(TrialRecord::ok_per_s).reduce(f64::max);
            // A rate that reads like one that somebody chose.
            shown.map(|rate| if rate >= 100.0 { rate.round() } else { rate })
        })
    }

    /// Whether its capacity is still to be shown.
    fn is_open(&self, recorded: &[TrialRecord]) -> bool {
        self.capacity(recorded).is_none() && self.capacity_trial(recorded).is_some()
    }

    /// The closed loops that ended.
    fn closed_loops<'r>(
        &'r self,
        recorded: &'r [TrialRecord],
    ) -> impl Iterator<Item = &'r TrialRecord> {
        let name = Purpose::Capacity.load_name(&self.load.label());
        let ended = recorded.iter();
        let ended = ended.filter(|it| it.end != TrialEnd::Interrupted);
        ended.filter(move |it| {
            it.contender == self.contender.name
                && it.workload == self.workload.name
                && it.load_name.as_deref() == Some(name.as_str())
        })
    }

    fn trial(&self, round: u32, purpose: &Purpose, load: Load, ramp: Option<Ramp>) -> Trial {
        let name = purpose.load_name(&self.load.label());
        let (contender, workload) = (&self.contender.name, &self.workload.name);
        Trial {
            index: 0,
            round,
            attempt: 1,
            id: format!("r{round}-{contender}-{workload}-{name}"),
            contender: self.contender.clone(),
            is_control: false,
            workload: self.workload.clone(),
            load,
            load_name: Some(name),
            ramp,
        }
    }
}

#[cfg(test)]
mod tests;
