//! A plan carried out: trial after trial, each recorded before the next begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bakeoff_plan::{Plan, Trial};
use bakeoff_record::{
    ContenderKind, Histogram, LostHost, RecordFolder, TrialEnd, TrialRecord, Usage, Warning,
    disturbances, doubts,
};

use crate::ConductError;
use crate::event::Event;
use crate::find::Searches;
use crate::generators::{Generators, OwnEngine};
use crate::overload::Overloads;
use crate::roles::Roles;
use crate::rounds::{Rounds, Widest};
use crate::sequence::Sequence;
use crate::setting::Setting;
use crate::site::Site;
use crate::timed::{NextTimed, Timed};
use crate::trial::{self, Away, Carried};

/// How often a trial is begun whose host is lost before its load, and reached again each time.
const BEGINS: u32 = 3;

/// What a campaign needs besides its plan.
#[derive(Debug)]
pub struct Options {
    /// Set to end the running trial cleanly and keep those before it.
    pub stop: Arc<AtomicBool>,
    /// Trials of an earlier part of this campaign.
    pub earlier: Vec<TrialRecord>,
    /// Processors of the roles that are on this machine.
    pub roles: Roles,
    /// What weakens every trial, as its caller knows.
    pub warnings: Vec<Warning>,
    /// What carries out loads; `None` for the engine of this process.
    pub generators: Option<Box<dyn Generators>>,
}

/// How a campaign ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CampaignEnd {
    /// Every trial has its record.
    Complete,
    /// Somebody stopped it; what is missing can be run later.
    Interrupted,
    /// A host was lost and cannot be reached again, or was lost again and again before a load
    /// could begin: which, and why. What is missing can be run later.
    HostLost(String),
}

/// What those who judge records say of a campaign that goes on.
pub struct Rules<'a> {
    /// Asked after a round where the plan has a stopping rule.
    pub widest: Box<Widest<'a>>,
    /// Asked for each trial where time ends the plan.
    pub next: Box<NextTimed<'a>>,
}

impl Rules<'_> {
    /// Those of a plan that goes on for nobody's word.
    pub fn none() -> Self {
        Self {
            widest: Box::new(|_| Some(0.0)),
            next: Box::new(|_| None),
        }
    }
}

impl std::fmt::Debug for Rules<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Rules").finish_non_exhaustive()
    }
}

/// Carries out what is missing of a plan, and calls `on_event` with what happens.
///
/// # Errors
/// When nothing can be recorded or the stage cannot be set up. Trials that fail are no error.
pub fn carry_out(
    plan: &Plan,
    folder: &mut RecordFolder,
    site: &dyn Site,
    options: Options,
    mut rules: Rules<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<CampaignEnd, ConductError> {
    let roles = &options.roles;
    let clock = site.clock();
    if !clock.is_invented() {
        roles.move_this_thread();
    }
    let own = OwnEngine::of(roles);
    let setting = Setting {
        site,
        roles,
        generators: options.generators.as_deref().unwrap_or(&own),
        seed: plan.seed,
        stop: &options.stop,
    };
    let earlier: Vec<TrialRecord> = options.earlier.into_iter().map(kept).collect();
    let (mut rounds, mut timed, mut searches, mut overloads);
    let sequence: &mut dyn Sequence = if plan.is_search() {
        searches = Searches::new(plan, &earlier);
        &mut searches
    } else if plan.is_overload() {
        overloads = Overloads::new(plan, &earlier);
        &mut overloads
    } else if plan.has_fixed_rounds() {
        rounds = Rounds::new(plan, &mut *rules.widest);
        &mut rounds
    } else {
        timed = Timed::new(plan, &mut *rules.next);
        &mut timed
    };
    // The trials of a search and of an overload belong to no block: each has a rate of its own.
    let in_blocks = !plan.is_search() && !plan.is_overload();
    let mut campaign = Campaign {
        sequence,
        recorded: earlier,
        folder,
    };
    on_event(campaign.began());
    let mut block = None;
    let mut losses = Losses::default();
    while let Some(trial) = campaign.next()? {
        if options.stop.load(Ordering::Relaxed) {
            return Ok(CampaignEnd::Interrupted);
        }
        let this = Some(block_of(&trial));
        if in_blocks && block.is_some() && block != this {
            on_event(Event::BlockEnded);
        }
        block = this;
        on_event(campaign.begins(&trial));
        let logs = campaign.folder.logs_of(&trial.id);
        let Carried { mut record, away } = trial::carry_out(&setting, &trial, &logs, on_event)?;
        record.warnings.extend_from_slice(&options.warnings);
        let rests = !matches!(record.end, TrialEnd::Skipped { .. });
        campaign.keep(record, on_event)?;
        match losses.why_over(&trial.id, away) {
            Some(why) => return Ok(CampaignEnd::HostLost(why)),
            None if rests => clock.rest(plan.rest, &options.stop),
            None => {}
        }
    }
    if block.is_some() && in_blocks {
        on_event(Event::BlockEnded);
    }
    Ok(CampaignEnd::Complete)
}

/// The trial that was begun last, and how often it was left in a row.
#[derive(Debug, Default)]
struct Losses {
    id: String,
    times: u32,
}

impl Losses {
    /// Why the campaign does not go on after this trial, if that is so: the host of a trial that
    /// was left cannot be reached, or whatever it does before its load loses a host each time.
    fn why_over(&mut self, id: &str, away: Option<Away>) -> Option<String> {
        let is_again = self.id == id;
        id.clone_into(&mut self.id);
        self.times = match (&away, is_again) {
            (None, _) => 0,
            (Some(_), false) => 1,
            (Some(_), true) => self.times + 1,
        };
        match away? {
            Away::Unreached(LostHost { host, message, .. }) => Some(format!(
                "host {host} was lost and cannot be reached again: {message}"
            )),
            Away::Lost(lost) if self.times >= BEGINS => Some(format!(
                "a host was lost {BEGINS} times before the load of {id} could begin; the last \
                 time, {lost}"
            )),
            Away::Lost(_) => None,
        }
    }
}

/// What the trials of a block have in common.
fn block_of(trial: &Trial) -> (u32, u32, String, String) {
    let workload = trial.workload.name.clone();
    (trial.round, trial.attempt, workload, trial.load_label())
}

/// What was recorded and what comes next.
struct Campaign<'a, 's> {
    sequence: &'s mut dyn Sequence,
    /// Each trial once, without its long lists.
    recorded: Vec<TrialRecord>,
    folder: &'a mut RecordFolder,
}

impl Campaign<'_, '_> {
    /// The next trial, after what is known of earlier ones only now has been recorded.
    fn next(&mut self) -> Result<Option<Trial>, ConductError> {
        for (place, disturbance) in self.sequence.seen_later(&self.recorded) {
            let record = &mut self.recorded[place];
            record.disturbed.push(disturbance);
            self.folder.append(record)?;
        }
        Ok(self.sequence.next(&self.recorded))
    }

    fn began(&self) -> Event<'static> {
        let left = self.sequence.left(&self.recorded);
        let recorded = self.ended();
        Event::Began {
            trials: recorded + left.trials,
            recorded,
            expected: left.expected,
            may_add: self.sequence.may_add(&self.recorded),
        }
    }

    fn begins<'t>(&self, trial: &'t Trial) -> Event<'t> {
        let left = self.sequence.left(&self.recorded);
        let ended = self.ended();
        Event::Trial {
            number: ended + 1,
            trials: (ended + left.trials).max(ended + 1),
            id: &trial.id,
            what: (&trial.contender.name, &trial.workload.name),
            left: left.expected,
        }
    }

    /// Trials that need not be run again: everything but what was interrupted.
    fn ended(&self) -> usize {
        let ended = |trial: &&TrialRecord| trial.end != TrialEnd::Interrupted;
        self.recorded.iter().filter(ended).count()
    }

    /// Records a trial.
    fn keep(
        &mut self,
        mut record: TrialRecord,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), ConductError> {
        record.disturbed = disturbances(&record);
        record.doubted = doubts(&record);
        self.folder.append(&record)?;
        on_event(Event::Ended(&record));
        self.recorded.retain(|earlier| earlier.id != record.id);
        self.recorded.push(kept(record));
        Ok(())
    }
}

/// What a sequence needs of a trial: in a long campaign the rest of it would fill the memory. A
/// yardstick stays whole, because that it drifted may be recorded later. A trial whose rate was
/// found in the campaign keeps the latency, which a search goes by.
fn kept(mut record: TrialRecord) -> TrialRecord {
    if record.kind == ContenderKind::Yardstick {
        return record;
    }
    record.usage = Usage::default();
    let is_found = record.load_name.is_some();
    if let Some(result) = record.result.as_mut() {
        let nothing = Histogram::new().trimmed();
        let kept = is_found.then(|| (result.latency.trimmed(), result.at_least.trimmed()));
        for histogram in result.histograms_mut() {
            *histogram = nothing.clone();
        }
        match kept {
            Some((latency, at_least)) => {
                (result.latency, result.at_least) = (latency, at_least);
                for part in &mut result.intervals {
                    part.latency = nothing.clone();
                }
            }
            None => result.intervals = Vec::new(),
        }
        result.warmup = Vec::new();
        result.urls = Vec::new();
    }
    record
}

#[cfg(test)]
mod tests;
