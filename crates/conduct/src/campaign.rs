//! A plan carried out: trial after trial, each recorded before the next begins.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bakeoff_plan::{Plan, TRIAL_OVERHEAD, Trial, trials};
use bakeoff_record::{RecordFolder, TrialEnd, TrialRecord};
use bakeoff_stage::Stage;

use crate::ConductError;
use crate::event::Event;
use crate::roles::Roles;
use crate::trial::{self, Setting};

/// How often a rest looks whether somebody wants to stop.
const REST_PERIOD: Duration = Duration::from_millis(50);

/// What a campaign needs besides its plan.
#[derive(Debug)]
pub struct Options {
    /// The bakeoff program: keeper and built-in servers are parts of it.
    pub bakeoff: PathBuf,
    /// Set to end the running trial cleanly and keep those before it.
    pub stop: Arc<AtomicBool>,
    /// Trials of an earlier part of this campaign.
    pub earlier: Vec<TrialRecord>,
}

/// How a campaign ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignEnd {
    /// Every trial has its record.
    Complete,
    /// Somebody stopped it; what is missing can be run later.
    Interrupted,
}

/// Carries out what is missing of a plan, and tells `tell` what happens.
///
/// # Errors
/// When nothing can be recorded or the stage cannot be set up. Trials that fail are no error.
pub fn carry_out(
    plan: &Plan,
    folder: &mut RecordFolder,
    stage: &Stage,
    options: &Options,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<CampaignEnd, ConductError> {
    let roles = Roles::divide(&plan.pinning)?;
    roles.move_this_thread();
    let setting = Setting {
        stage,
        bakeoff: &options.bakeoff,
        roles: &roles,
        seed: plan.seed,
        stop: &options.stop,
    };
    let all = trials(plan);
    let recorded = recorded(&options.earlier);
    let missing: Vec<&Trial> = all
        .iter()
        .filter(|trial| !recorded.contains(trial.id.as_str()))
        .collect();
    tell(Event::Began {
        trials: all.len(),
        recorded: all.len() - missing.len(),
        expected: expected(&missing, plan.rest),
    });
    for (position, trial) in missing.iter().enumerate() {
        if options.stop.load(Ordering::Relaxed) {
            return Ok(CampaignEnd::Interrupted);
        }
        tell(Event::Trial {
            number: trial.index + 1,
            trials: all.len(),
            id: &trial.id,
            left: expected(&missing[position..], plan.rest),
        });
        let logs = folder.logs_of(&trial.id);
        let record = trial::carry_out(&setting, trial, &logs, tell)?;
        folder.append(&record)?;
        tell(Event::Ended(&record));
        if position + 1 < missing.len() && !matches!(record.end, TrialEnd::Skipped { .. }) {
            rest(plan.rest, &options.stop);
        }
    }
    let stopped = options.stop.load(Ordering::Relaxed);
    Ok(if stopped {
        CampaignEnd::Interrupted
    } else {
        CampaignEnd::Complete
    })
}

/// Ids that need not be run again: everything but what was interrupted.
fn recorded(earlier: &[TrialRecord]) -> HashSet<&str> {
    let ended = |trial: &&TrialRecord| trial.end != TrialEnd::Interrupted;
    earlier
        .iter()
        .filter(ended)
        .map(|trial| trial.id.as_str())
        .collect()
}

fn expected(missing: &[&Trial], rest: Duration) -> Duration {
    let seconds = |trial: &&Trial| trial.load.warmup_s + trial.load.duration_s;
    let load: f64 = missing.iter().map(seconds).sum();
    let count = u32::try_from(missing.len()).unwrap_or(u32::MAX);
    Duration::from_secs_f64(load) + (TRIAL_OVERHEAD + rest) * count
}

/// Sleeps, unless somebody wants to stop.
fn rest(length: Duration, stop: &AtomicBool) {
    let end = Instant::now() + length;
    while !stop.load(Ordering::Relaxed) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(REST_PERIOD));
    }
}
