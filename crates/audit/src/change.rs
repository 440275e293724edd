//! What an action costs those who are connected (a reload, an upgrade, a lost worker), over all
//! repetitions in all rounds, beside a load in which nothing was done.
//!
//! ```text
//! TrialRecord.actions ─► Repetition ─┬─► Cost of a contender, workload, load and action
//!              usage ─► Around ──────┘      └─► beside the same with `none`: Doubt
//! ```
//!
//! What was lost before an action is not its loss, and what this machine could not send is
//! nobody's. Both are doubts.

mod around;

use bakeoff_plan::{Action, Actions, Contender, Load, Workload, grouped};
use bakeoff_record::{
    ActionDone, ActionPart, ContenderKind, Lost, LostAt, Outcome, Record, TrialEnd, TrialRecord,
};
use bakeoff_stats::{Cell, cells, share_interval};
use serde::Serialize;

pub use around::Around;

use crate::check::{Check, Level};
use crate::code::Code;
use crate::judge::judge_trial;
use crate::overload::Spread;
use crate::subject::Ceilings;

/// Checks of the load engine: what it sent late, or could not carry, is no cost of an action.
const ENGINE: [Code; 3] = [Code::EngineBusy, Code::EngineKept, Code::SendLag];

/// What an action costs a contender at a workload and a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// Label of the same load without what is done in it.
    pub setting: String,
    /// What was done.
    pub action: Action,
    /// Requests due per second; null where no trial says.
    pub rate_per_s: Option<f64>,
    /// From one time to the next, seconds. Half of it before an action and half of it after it are
    /// its stretch.
    pub every_s: f64,
    /// Rounds that were planned.
    pub rounds_planned: u32,
    /// Rounds that count.
    pub rounds: usize,
    /// Actions that were carried out in them.
    pub actions: u64,
    /// Requests that were due around these.
    pub due: u64,
    /// Requests among them that got lost, at the action or after it.
    pub lost: u64,
    /// Their share with its interval of 95 %; null where none was due.
    pub lost_share: Option<Share>,
    /// The same by where they were and how they ended.
    pub lost_by: Vec<Lost>,
    /// The last line about a failure that the server wrote after the first action that lost any.
    pub said: Option<String>,
    /// The same for each action.
    pub lost_each: Option<Each>,
    /// Kept connections that the server closed, for each action.
    pub closed_each: Option<Each>,
    /// The same in the time before the action, which is as long.
    pub closed_before_each: Option<Each>,
    /// The longest time without an answer, seconds; a bound of null is beyond what was watched.
    pub gap_s: Option<Spread>,
    /// Latency of requests due in the second before the action.
    pub before: Answered,
    /// The same of the second after.
    pub after: Answered,
    /// How long the action took to carry out, seconds.
    pub took_s: Option<Spread>,
    /// When the new configuration answered first, seconds from the action.
    pub first_new_s: Option<Spread>,
    /// When the old one answered last, seconds from the action.
    pub last_old_s: Option<Spread>,
    /// Processes of the server; null where nobody watched them.
    pub processes: Option<Around>,
    /// Their resident memory, bytes; null where nobody watched them.
    pub memory_bytes: Option<Around>,
    /// Actions that could not be carried out, by why. They are not in any other number.
    pub failed: Vec<ActionsFailed>,
    /// Trials that do not count.
    pub left_out: Vec<LeftOut>,
    /// What takes away from the numbers.
    pub doubts: Vec<Doubt>,
    /// Each action that was carried out.
    pub repetitions: Vec<Repetition>,
}

/// A share that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// As it was counted.
    pub point: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A count for each action.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Each {
    /// On average.
    pub mean: f64,
    /// Least.
    pub least: u64,
    /// Most.
    pub most: u64,
}

impl Each {
    fn of(counts: impl Iterator<Item = u64> + Clone) -> Option<Self> {
        let (least, most) = (counts.clone().min()?, counts.clone().max()?);
        let n = counts.clone().count() as f64;
        Some(Self {
            mean: counts.sum::<u64>() as f64 / n,
            least,
            most,
        })
    }
}

/// Latency in a second, over all actions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Answered {
    /// The 99th percentile of each, milliseconds.
    pub p99_ms: Option<Spread>,
    /// The longest of each, milliseconds.
    pub max_ms: Option<Spread>,
}

/// Actions that could not be carried out for one reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionsFailed {
    /// Why.
    pub why: String,
    /// How many.
    pub actions: u64,
    /// Requests that got lost around them.
    pub lost: u64,
}

/// A trial that does not count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// Id in the record.
    pub trial: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Why.
    pub why: WhyLeftOut,
}

/// Why a trial does not count.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyLeftOut {
    /// It was not measured to its end.
    Ended(TrialEnd),
    /// Another attempt at it counts, as something disturbed its block.
    Repeated,
}

/// What takes away from the numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Doubt {
    /// No load without an action was measured beside it.
    NoControl,
    /// Requests got lost without an action: what it lost cannot be distinguished from them.
    ControlLoses {
        /// So many.
        lost: u64,
        /// Of so many.
        due: u64,
    },
    /// The new configuration gave no answer.
    NotTakenUp {
        /// After so many actions.
        actions: u64,
    },
    /// Requests got lost before the actions.
    LostBefore {
        /// So many.
        requests: u64,
    },
    /// Requests could not be sent: no file, port or memory on this side.
    Unsent {
        /// So many.
        requests: u64,
    },
    /// The load engine may be in the numbers.
    Engine {
        /// In so many rounds.
        rounds: usize,
        /// What says so, of the first of them.
        check: Check,
    },
    /// Something else on the machine disturbed trials.
    Disturbed {
        /// Their ids.
        trials: Vec<String>,
    },
}

/// An action that was carried out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repetition {
    /// Round, from 1.
    pub round: u32,
    /// When it began, seconds from the window's start.
    pub at_s: f64,
    /// Requests that got lost.
    pub lost: u64,
    /// Kept connections that the server closed.
    pub closed: u64,
    /// The longest time without an answer, seconds; null without any answer.
    pub gap_s: Option<f64>,
    /// The 99th percentile of latency in the second after it, milliseconds.
    pub p99_ms: Option<f64>,
    /// The longest of them, milliseconds.
    pub max_ms: Option<f64>,
    /// Answers by when they ended.
    #[serde(skip)]
    pub parts: Vec<ActionPart>,
}

/// The costs of a record: by workload, contender and load, each in the plan's order.
pub fn costs(record: &Record) -> Vec<Cost> {
    let cells = cells(record);
    let mut costs = Vec::new();
    for workload in &record.plan.workloads {
        for contender in &record.plan.contenders {
            for load in &record.plan.loads {
                let Some(actions) = &load.actions else {
                    continue;
                };
                let cell = cell_of(&cells, contender, workload, load);
                let judged = Judged::of(record, cell, actions);
                costs.push(judged.cost(contender, workload, load, record.plan.rounds));
            }
        }
    }
    doubt_beside(&mut costs);
    costs
}

fn cell_of<'c, 'r>(
    cells: &'c [Cell<'r>],
    contender: &Contender,
    workload: &Workload,
    load: &Load,
) -> Option<&'c Cell<'r>> {
    let label = load.label();
    cells.iter().find(|cell| {
        let key = &cell.key;
        cell.kind == ContenderKind::Contender
            && key.contender == contender.name
            && key.workload == workload.name
            && key.load == label
    })
}

/// Holds each cost against that of the same setting without an action.
fn doubt_beside(costs: &mut [Cost]) {
    let doubts = costs.iter().map(|cost| {
        let control = control(cost, costs).filter(|it| it.actions > 0);
        let Some(control) = control else {
            return Some(Doubt::NoControl);
        };
        let (lost, due) = (control.lost, control.due);
        (lost > 0).then_some(Doubt::ControlLoses { lost, due })
    });
    let doubts: Vec<Option<Doubt>> = doubts.collect();
    for (cost, doubt) in costs.iter_mut().zip(doubts) {
        if cost.action != Action::None && cost.actions > 0 {
            cost.doubts.splice(0..0, doubt);
        }
    }
}

/// The same of a contender without an action.
pub fn control<'c>(cost: &Cost, costs: &'c [Cost]) -> Option<&'c Cost> {
    let key = |it: &Cost| [&it.contender, &it.workload, &it.setting].map(String::clone);
    let mut controls = costs.iter().filter(|other| other.action == Action::None);
    controls.find(|other| key(other) == key(cost))
}

/// What a load is besides what is done, and how often: two of one setting can be held against each
/// other.
fn setting(load: &Load) -> String {
    let kept = load.actions.as_ref().map_or(1.0, |actions| actions.kept);
    let plain = Load {
        actions: None,
        ..load.clone()
    };
    format!("{}-kept{}", plain.label(), (kept * 100.0).round())
}

/// The trials of a load, and those of them that count.
struct Judged<'r> {
    asked: &'r Actions,
    counted: Vec<&'r TrialRecord>,
    left_out: Vec<LeftOut>,
    engine: Vec<Check>,
    around: around::Readings,
}

impl<'r> Judged<'r> {
    fn of(record: &Record, cell: Option<&Cell<'r>>, asked: &'r Actions) -> Self {
        let trials = cell.map_or(&[][..], |cell| &cell.trials);
        let aside = cell.map_or(&[][..], |cell| &cell.set_aside);
        let is_measured =
            |trial: &&TrialRecord| trial.end == TrialEnd::Measured && trial.result.is_some();
        let (counted, ended): (Vec<&TrialRecord>, Vec<&TrialRecord>) =
            trials.iter().copied().partition(is_measured);
        let left_out = |trial: &TrialRecord, why| LeftOut {
            trial: trial.id.clone(),
            attempt: trial.attempt,
            why,
        };
        let ended = ended
            .iter()
            .map(|it| left_out(it, WhyLeftOut::Ended(it.end.clone())));
        let repeated = aside.iter().map(|it| left_out(it, WhyLeftOut::Repeated));
        let checks = counted.iter().flat_map(|trial| {
            let judgement = judge_trial(record, trial, Ceilings::default());
            let mut checks = judgement.checks.into_iter();
            checks.find(|it| ENGINE.contains(&it.code) && it.level >= Level::Suspect)
        });
        Self {
            asked,
            engine: checks.collect(),
            around: around::Readings::of(&counted, asked.every.as_secs_f64()),
            left_out: ended.chain(repeated).collect(),
            counted,
        }
    }

    /// Every action of a trial that counts, with its round.
    fn actions(&self) -> impl Iterator<Item = (u32, &'r ActionDone)> + Clone + '_ {
        let trials = self.counted.iter();
        trials.flat_map(|trial| trial.actions.iter().map(|done| (trial.round, done)))
    }

    fn doubts(&self) -> Vec<Doubt> {
        let lost = |is_wanted: fn(&Lost) -> bool| -> u64 {
            let lost = self.actions().flat_map(|(_, done)| &done.lost);
            let wanted = lost.filter(|it| is_wanted(it));
            wanted.map(|it| it.requests).sum()
        };
        let before = lost(|it| it.at == LostAt::Before && it.outcome != Outcome::Local);
        let unsent = lost(|it| it.outcome == Outcome::Local);
        let disturbed = self.counted.iter().filter(|trial| trial.is_disturbed());
        let disturbed: Vec<String> = disturbed.map(|trial| trial.id.clone()).collect();
        let engine = self.engine.first().map(|check| Doubt::Engine {
            rounds: self.engine.len(),
            check: check.clone(),
        });
        let is_missing = |(_, done): &(u32, &ActionDone)| {
            let taken_up = done.taken_up.filter(|_| done.failed.is_none());
            taken_up.is_some_and(|it| it.first_new_s.is_none())
        };
        let missing = self.actions().filter(is_missing).count() as u64;
        [
            (missing > 0).then_some(Doubt::NotTakenUp { actions: missing }),
            (before > 0).then_some(Doubt::LostBefore { requests: before }),
            (unsent > 0).then_some(Doubt::Unsent { requests: unsent }),
            engine,
            (!disturbed.is_empty()).then_some(Doubt::Disturbed { trials: disturbed }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn cost(
        self,
        contender: &Contender,
        workload: &Workload,
        load: &Load,
        rounds_planned: u32,
    ) -> Cost {
        let done = || self.actions().filter(|(_, one)| one.failed.is_none());
        let each = |count: fn(&ActionDone) -> u64| Each::of(done().map(|(_, one)| count(one)));
        let over = |value: fn(&ActionDone) -> Option<f64>| {
            Spread::of_times(done().filter_map(|(_, one)| value(one)).collect())
        };
        let said = done().find_map(|(_, one)| one.said.clone().filter(|_| lost_after(one) > 0));
        let due = done().map(|(_, one)| one.due).sum();
        let lost = done().map(|(_, one)| lost_after(one)).sum();
        Cost {
            contender: contender.name.clone(),
            workload: workload.name.clone(),
            load: load.label(),
            setting: setting(load),
            action: self.asked.action,
            rate_per_s: self
                .counted
                .first()
                .and_then(|it| it.load.model.rate_per_s()),
            every_s: self.asked.every.as_secs_f64(),
            rounds_planned,
            rounds: self.counted.len(),
            actions: done().count() as u64,
            due,
            lost,
            lost_share: share_interval(lost, due).map(|(low, high)| Share {
                point: lost as f64 / due as f64,
                low,
                high,
            }),
            lost_by: Lost::summed(
                done()
                    .flat_map(|(_, one)| &one.lost)
                    .filter(|it| is_after(it))
                    .copied(),
            ),
            said,
            lost_each: each(lost_after),
            closed_each: each(|one| one.closed),
            closed_before_each: each(|one| one.closed_before),
            gap_s: over(|one| Some(one.gap.map_or(f64::INFINITY, |gap| gap.length_s))),
            before: Answered {
                p99_ms: over(|one| one.before.p99_ms),
                max_ms: over(|one| one.before.max_ms),
            },
            after: Answered {
                p99_ms: over(|one| one.after.p99_ms),
                max_ms: over(|one| one.after.max_ms),
            },
            took_s: over(|one| Some(one.took_s)),
            first_new_s: over(|one| one.taken_up?.first_new_s),
            last_old_s: over(|one| one.taken_up?.last_old_s),
            processes: Around::of(&self.around.processes),
            memory_bytes: Around::of(&self.around.memory_bytes),
            failed: failed(self.actions().map(|(_, one)| one)),
            doubts: self.doubts(),
            repetitions: done().map(repetition).collect(),
            left_out: self.left_out,
        }
    }
}

/// Requests that an action may have lost.
fn lost_after(done: &ActionDone) -> u64 {
    let lost = done.lost.iter().filter(|it| is_after(it));
    lost.map(|it| it.requests).sum()
}

fn is_after(lost: &Lost) -> bool {
    lost.at != LostAt::Before && lost.outcome != Outcome::Local
}

fn failed<'r>(actions: impl Iterator<Item = &'r ActionDone>) -> Vec<ActionsFailed> {
    let failed = actions.filter_map(|done| Some((done.failed.clone()?, lost_after(done))));
    let all = grouped(failed).into_iter();
    all.map(|(why, lost)| ActionsFailed {
        why,
        actions: lost.len() as u64,
        lost: lost.iter().sum(),
    })
    .collect()
}

fn repetition((round, done): (u32, &ActionDone)) -> Repetition {
    Repetition {
        round,
        at_s: done.at_s,
        lost: lost_after(done),
        closed: done.closed,
        gap_s: done.gap.map(|gap| gap.length_s),
        p99_ms: done.after.p99_ms,
        max_ms: done.after.max_ms,
        parts: done.parts.clone(),
    }
}

#[cfg(test)]
mod tests;
