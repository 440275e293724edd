//! Bottlenecks that are suspected, put to the test: one resource is changed at a time, and the same
//! contender is measured with and without that in turns (method R35).
//!
//! An experiment has three arms: the contender as it is, the same once more, which shows how far
//! two equal ones are apart, and the changed one. Over six rounds each of the six orders of the
//! three comes once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bakeoff_plan::{
    Change, Contender, Content, Cpus, Load, Pinning, Plan, ServerChoice, Suspicion, Trial,
    Workload, control_name,
};
use bakeoff_record::{RecordFolder, TrialEnd, TrialRecord, disturbances};

use crate::campaign::CampaignEnd;
use crate::clock::Clock;
use crate::event::Event;
use crate::generators::{Generators, OwnEngine};
use crate::roles::{Roles, RolesError, RolesHere};
use crate::setting::Setting;
use crate::site::Site;
use crate::trial;
use crate::{ConductError, Left};

/// Rounds of an experiment.
pub const CONFIRM_ROUNDS: u32 = 6;
/// Longest window of one of its trials, seconds.
const WINDOW_MOST_S: f64 = 5.0;
/// Beyond the numbers of all experiments that a record can have.
const NUMBER_MOST: usize = 1_000_000;
/// Starting and stopping a server, seconds: a guess, for what is announced.
const OVERHEAD_S: f64 = 1.0;
/// Each order of three arms.
const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
    [0, 2, 1],
    [2, 0, 1],
    [1, 0, 2],
];
/// Variable of a server's templates and start command that sets its number of workers.
const WORKERS: &str = "worker_count";

/// An experiment, ready to be carried out.
#[derive(Debug, Clone)]
struct Experiment<'p> {
    /// Number from 1, as the ids of its trials say; another experiment never has it.
    number: usize,
    contender: &'p Contender,
    workload: &'p Workload,
    load: Load,
    change: Change,
    /// What the changed arm is, or why there can be none.
    changed: Result<Changed, String>,
}

impl Experiment<'_> {
    /// Whether a trial is of its changed arm.
    fn is_changed_in(&self, trial: &TrialRecord) -> bool {
        trial.contender == self.change.name_of(&self.contender.name)
            && trial.workload == self.workload.name
            && trial.load_label() == self.load.label()
    }
}

/// The number of the experiment that a trial is of: 1 of `e1-r1-...`.
fn number_of(trial: &TrialRecord) -> Option<usize> {
    let (number, _) = trial.id.strip_prefix('e')?.split_once('-')?;
    // A record comes from outside, and the next number is one more.
    number.parse().ok().filter(|it| *it < NUMBER_MOST)
}

/// The changed arm.
#[derive(Debug, Clone, PartialEq)]
struct Changed {
    contender: Contender,
    workload: Workload,
    pinning: Pinning,
}

/// Experiments of a plan.
#[derive(Debug, Clone)]
pub struct Experiments<'p> {
    plan: &'p Plan,
    /// Processors that the roles are divided from.
    allowed: Vec<usize>,
    all: Vec<Experiment<'p>>,
}

impl<'p> Experiments<'p> {
    /// One for each suspicion about a contender of the plan. `allowed` are the processors that this
    /// process could use before its rounds: since then its threads are on those of the engine.
    pub fn new(plan: &'p Plan, suspicions: &[Suspicion], allowed: Vec<usize>) -> Self {
        let all = suspicions
            .iter()
            .enumerate()
            .filter_map(|(index, one)| experiment(plan, one, index + 1, &allowed));
        Self {
            plan,
            all: all.collect(),
            allowed,
        }
    }

    /// The same with the numbers that they have in `earlier` trials, and above all of those where
    /// they have none. What is suspected may change between two runs: a place in the list that is
    /// now another experiment's would take over the trials of the one before.
    fn numbered(&self, earlier: &[TrialRecord]) -> Self {
        let mut all = self.all.clone();
        let numbers = earlier.iter().filter_map(number_of);
        let mut free = numbers.max().unwrap_or(0) + 1;
        let mut taken = BTreeSet::new();
        for one in &mut all {
            let known = earlier.iter().filter(|trial| one.is_changed_in(trial));
            let known = known.filter_map(number_of).find(|it| !taken.contains(it));
            one.number = known.unwrap_or(free);
            free = free.max(one.number + 1);
            taken.insert(one.number);
        }
        Self {
            plan: self.plan,
            allowed: self.allowed.clone(),
            all,
        }
    }

    /// Trials, and about how long they take.
    pub fn expected(&self) -> Left {
        let possible = || self.all.iter().filter(|one| one.changed.is_ok());
        let one = |experiment: &Experiment<'_>| {
            let load = &experiment.load;
            load.warmup_s + load.duration_s + OVERHEAD_S + self.plan.rest.as_secs_f64()
        };
        let seconds: f64 = possible().map(one).sum::<f64>() * 3.0 * f64::from(CONFIRM_ROUNDS);
        Left {
            trials: possible().count() * 3 * CONFIRM_ROUNDS as usize,
            expected: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
        }
    }

    /// Who runs where in an arm.
    fn roles(&self, pinning: &Pinning) -> Result<Roles, RolesError> {
        Roles::divide_among(pinning, &self.allowed, RolesHere::ALL)
    }

    /// Every trial, round by round, with the processors of its arm.
    fn trials(&self) -> Vec<(Trial, Pinning)> {
        let rounds = (1..).zip(ORDERS);
        let mut trials: Vec<(Trial, Pinning)> = Vec::new();
        for (round, order) in rounds {
            for experiment in &self.all {
                for arm in order {
                    let index = trials.len();
                    trials.extend(self.trial(experiment, arm, round, index));
                }
            }
        }
        trials
    }

    fn trial(
        &self,
        experiment: &Experiment<'_>,
        arm: usize,
        round: u32,
        index: usize,
    ) -> Option<(Trial, Pinning)> {
        let changed = experiment.changed.as_ref().ok()?;
        let is_changed = arm == 2;
        let (mut contender, workload, pinning) = if is_changed {
            (
                changed.contender.clone(),
                &changed.workload,
                &changed.pinning,
            )
        } else {
            (
                experiment.contender.clone(),
                experiment.workload,
                &self.plan.pinning,
            )
        };
        contender.name = match arm {
            0 => contender.name,
            1 => control_name(&contender.name),
            _ => experiment.change.name_of(&contender.name),
        };
        let label = experiment.load.label();
        let trial = Trial {
            index,
            round,
            attempt: 1,
            id: format!(
                "e{}-r{round}-{}-{}-{label}",
                experiment.number, contender.name, workload.name
            ),
            is_control: arm == 1,
            contender,
            workload: workload.clone(),
            load: experiment.load.clone(),
            load_name: None,
            ramp: None,
        };
        Some((trial, pinning.clone()))
    }

    /// A record for each experiment that cannot be made: why.
    fn impossible(&self, roles: &Roles, clock: &Clock) -> Vec<TrialRecord> {
        let all = self.all.iter().filter_map(|experiment| {
            let reason = experiment.changed.as_ref().err()?;
            let name = experiment.change.name_of(&experiment.contender.name);
            let (number, workload) = (experiment.number, &experiment.workload.name);
            let id = format!("e{number}-{name}-{workload}-{}", experiment.load.label());
            Some(TrialRecord {
                started_at: clock.timestamp().to_string(),
                pinned: roles.pinned.clone(),
                end: TrialEnd::Skipped {
                    reason: reason.clone(),
                    fix: String::new(),
                },
                ..TrialRecord::begun(&id, &name, workload, experiment.load.clone())
            })
        });
        all.collect()
    }
}

/// What experiments are made with.
#[derive(Debug)]
pub struct Means<'s> {
    /// Where servers are started: this machine, or an invented one.
    pub site: &'s mut dyn Site,
    /// What carries out loads; `None` for the engine of this process.
    pub generators: Option<Box<dyn Generators>>,
    /// Set to end the running trial cleanly and keep those before it.
    pub stop: Arc<AtomicBool>,
}

/// Carries out what is missing of experiments, and calls `on_event` with what happens. `earlier`
/// are their trials so far.
///
/// # Errors
/// When nothing can be recorded or the processors asked for are not there.
pub fn confirm(
    experiments: &Experiments<'_>,
    folder: &mut RecordFolder,
    means: &mut Means<'_>,
    earlier: &[TrialRecord],
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<CampaignEnd, ConductError> {
    let plan = experiments.plan;
    let experiments = experiments.numbered(earlier);
    let is_known = |id: &str| {
        let mut earlier = earlier.iter();
        earlier.any(|one| one.id == id && one.end != TrialEnd::Interrupted)
    };
    let clock = means.site.clock();
    for record in experiments.impossible(&experiments.roles(&plan.pinning)?, &clock) {
        if !is_known(&record.id) {
            folder.append(&record)?;
        }
    }
    let all = experiments.trials();
    let missing: Vec<_> = all.iter().filter(|(it, _)| !is_known(&it.id)).collect();
    let expected = experiments.expected().expected;
    on_event(Event::Began {
        trials: all.len(),
        recorded: all.len() - missing.len(),
        expected,
        may_add: Left::default(),
    });
    for (index, (trial, pinning)) in missing.iter().enumerate() {
        if means.stop.load(Ordering::Relaxed) {
            return Ok(CampaignEnd::Interrupted);
        }
        let left = missing.len() - index;
        on_event(Event::Trial {
            number: all.len() - left + 1,
            trials: all.len(),
            id: &trial.id,
            what: (&trial.contender.name, &trial.workload.name),
            left: expected.mul_f64(left as f64 / all.len().max(1) as f64),
        });
        let roles = experiments.roles(pinning)?;
        means.site.divide_anew(&roles);
        let own = OwnEngine::of(&roles);
        let setting = Setting {
            site: &*means.site,
            roles: &roles,
            generators: means.generators.as_deref().unwrap_or(&own),
            seed: plan.seed,
            stop: &means.stop,
        };
        let logs = folder.logs_of(&trial.id);
        let mut record = trial::carry_out(&setting, trial, &logs, on_event)?.record;
        record.disturbed = disturbances(&record);
        folder.append(&record)?;
        on_event(Event::Ended(&record));
        clock.rest(plan.rest, &means.stop);
    }
    Ok(CampaignEnd::Complete)
}

fn experiment<'p>(
    plan: &'p Plan,
    suspicion: &Suspicion,
    number: usize,
    allowed: &[usize],
) -> Option<Experiment<'p>> {
    let contender = plan
        .contenders
        .iter()
        .find(|it| it.name == suspicion.contender)?;
    let workload = plan
        .workloads
        .iter()
        .find(|it| it.name == suspicion.workload)?;
    let load = plan.loads.iter().find(|it| it.label() == suspicion.load)?;
    let load = Load {
        duration_s: load.duration_s.min(WINDOW_MOST_S),
        ..load.clone()
    };
    let changed = changed(plan, contender, workload, suspicion, allowed);
    Some(Experiment {
        number,
        contender,
        workload,
        load,
        change: suspicion.change,
        changed,
    })
}

/// The changed arm, or why there can be none, as a part of a sentence.
fn changed(
    plan: &Plan,
    contender: &Contender,
    workload: &Workload,
    suspicion: &Suspicion,
    allowed: &[usize],
) -> Result<Changed, String> {
    let mut changed = Changed {
        contender: contender.clone(),
        workload: workload.clone(),
        pinning: plan.pinning.clone(),
    };
    let is_ours = !matches!(contender.server, ServerChoice::Url(_));
    let is_program = matches!(contender.server, ServerChoice::Program { .. });
    match suspicion.change {
        Change::WorkerMore | Change::ProcessorLess if !is_ours => {
            return Err("it runs already, and nothing of it can be changed".to_owned());
        }
        Change::WorkerMore if !is_program => {
            return Err("how many workers a command starts is not known".to_owned());
        }
        Change::WorkerMore => {
            let workers = suspicion.workers.unwrap_or(1).saturating_add(1).to_string();
            changed
                .contender
                .overlays
                .retain(|(name, _)| name != WORKERS);
            changed
                .contender
                .overlays
                .push((WORKERS.to_owned(), workers));
        }
        Change::ProcessorLess => {
            let roles = Roles::divide_among(&plan.pinning, allowed, RolesHere::ALL)
                .map_err(|it| it.to_string())?;
            let mut own = roles.pinned.server;
            if own.is_empty() {
                own = allowed.to_vec();
            }
            own.pop();
            if own.is_empty() {
                return Err("its one processor cannot be taken away".to_owned());
            }
            changed.pinning.server = Cpus::List(own);
        }
        Change::HalfBody => halve(&mut changed.workload)?,
        Change::NullOrigin => {
            let demand = changed.workload.origin.take();
            demand.ok_or("the upstream does nothing but answer already")?;
        }
        Change::EngineThreadMore => {
            let roles = Roles::divide_among(&plan.pinning, allowed, RolesHere::ALL)
                .map_err(|it| it.to_string())?;
            let pinned = roles.pinned;
            let is_taken = |cpu: &usize| {
                [&pinned.server, &pinned.engine, &pinned.origin]
                    .iter()
                    .any(|it| it.contains(cpu))
            };
            let free = allowed.iter().find(|cpu| !is_taken(cpu));
            // Where one of them is not pinned, all processors are its too.
            let is_any = pinned.engine.is_empty() || pinned.server.is_empty();
            let free = free.filter(|_| !is_any);
            let free = free.ok_or("no processor is free for another engine thread")?;
            let mut engine = pinned.engine.clone();
            engine.push(*free);
            changed.pinning.engine = Cpus::List(engine);
        }
    }
    Ok(changed)
}

/// Makes every body that is served and expected half as long.
fn halve(workload: &mut Workload) -> Result<(), String> {
    let half = |content: &Content| match content {
        Content::Text(text) => {
            let end = (0..=text.len() / 2)
                .rev()
                .find(|at| text.is_char_boundary(*at));
            Content::Text(text[..end.unwrap_or(0)].to_owned())
        }
        Content::Generated { kind, bytes } => Content::Generated {
            kind: *kind,
            bytes: bytes / 2,
        },
    };
    let is_known = workload.requests.iter().all(|it| it.expect.body.is_some());
    if !is_known {
        return Err("what a right body is, is not known".to_owned());
    }
    for file in &mut workload.files {
        file.content = half(&file.content);
    }
    workload.requests = workload.requests.map(|request| {
        let mut request = request.clone();
        request.expect.body = request.expect.body.as_ref().map(half);
        request
    });
    Ok(())
}

#[cfg(test)]
mod tests;
