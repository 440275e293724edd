//! Checks to a verdict, for a trial and for a cell.

use bakeoff_record::{ContenderKind, Record, TrialEnd, TrialRecord};
use bakeoff_stats::Cell;
use serde::Serialize;

use crate::check::{Check, Level};
use crate::checks;
use crate::subject::{Ceilings, Subject};

/// Code of the only check of a trial that was not measured: how it ended.
pub const TRIAL_ENDED: &str = "trial-ended";

/// Whether the numbers can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every check passed.
    Valid,
    /// Shown, not ranked.
    Suspect,
    /// Withheld.
    Invalid,
    /// The server cannot do this workload.
    Unsupported,
    /// Not attempted, because this machine cannot carry it, or stopped by the user.
    Skipped,
    /// Something went wrong at a step.
    Failed,
}

impl Verdict {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }
}

/// A verdict with the checks that led to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// Whether the numbers can be believed.
    pub verdict: Verdict,
    /// The checks, worst first, else in their own order.
    pub checks: Vec<Check>,
}

/// Judges one trial.
pub fn judge_trial(record: &Record, trial: &TrialRecord, ceilings: Ceilings) -> Judgement {
    let ended = |verdict, text: &str| Judgement {
        verdict,
        checks: vec![Check::plain((TRIAL_ENDED, "R40"), Level::Suspect, text)],
    };
    match &trial.end {
        TrialEnd::Measured => match Subject::new(record, trial, ceilings) {
            Some(subject) => concluded(checks::all(&subject)),
            None => ended(
                Verdict::Failed,
                "the record holds no result of a measured trial",
            ),
        },
        TrialEnd::Failed { step, cause, .. } => ended(
            Verdict::Failed,
            &format!("failed at {}: {cause}", step_name(*step)),
        ),
        TrialEnd::Skipped { reason, fix } => ended(Verdict::Skipped, &format!("{reason}; {fix}")),
        TrialEnd::Unsupported { reason } => ended(Verdict::Unsupported, reason),
        TrialEnd::Interrupted => ended(Verdict::Skipped, "interrupted by the user"),
    }
}

/// Judges a cell by its trials: each check as bad as in its worst round, and the checks that only
/// several rounds can carry. Where no round was measured, the worst way to end is the verdict.
pub fn judge_cell(record: &Record, cell: &Cell<'_>, ceilings: Ceilings) -> Judgement {
    let (measured, lost): (Vec<&TrialRecord>, Vec<&TrialRecord>) = cell
        .trials
        .iter()
        .partition(|trial| trial.end == TrialEnd::Measured);
    let judge = |trial: &&TrialRecord| judge_trial(record, trial, ceilings);
    if measured.is_empty() {
        let worst = lost
            .iter()
            .map(judge)
            .max_by_key(|judgement| judgement.verdict);
        return worst.unwrap_or(Judgement {
            verdict: Verdict::Skipped,
            checks: Vec::new(),
        });
    }
    let rounds: Vec<Judgement> = measured.iter().map(judge).collect();
    let mut merged = merge(&rounds);
    merged.extend(checks::rounds::check(cell));
    let mut judgement = concluded(merged);
    if cell.kind != ContenderKind::Contender {
        // A reference is not ranked and saturates the engine on purpose.
        judgement
            .checks
            .retain(|check| check.code != "rounds-agree");
        judgement.verdict = verdict_of(&judgement.checks);
    }
    judgement
}

/// Name of a step as the record spells it.
fn step_name(step: bakeoff_record::Step) -> &'static str {
    use bakeoff_record::Step;
    match step {
        Step::Prepare => "prepare",
        Step::Origin => "origin",
        Step::CheckConfig => "check-config",
        Step::Start => "start",
        Step::Observe => "observe",
        Step::WarmUp => "warm-up",
        Step::Measure => "measure",
        Step::CheckAgain => "check-again",
        Step::Stop => "stop",
    }
}

fn concluded(mut checks: Vec<Check>) -> Judgement {
    checks.sort_by_key(|check| std::cmp::Reverse(check.level));
    Judgement {
        verdict: verdict_of(&checks),
        checks,
    }
}

fn verdict_of(checks: &[Check]) -> Verdict {
    match checks.iter().map(|check| check.level).max() {
        Some(Level::Invalid) => Verdict::Invalid,
        Some(Level::Suspect | Level::NotRun) => Verdict::Suspect,
        Some(Level::Passed | Level::Note) => Verdict::Valid,
        // Nothing was checked, so nothing is known.
        None => Verdict::Suspect,
    }
}

/// The checks of several rounds, each as in its worst round, with the number of rounds that were
/// as bad.
fn merge(rounds: &[Judgement]) -> Vec<Check> {
    let mut merged: Vec<(Check, usize)> = Vec::new();
    for check in rounds.iter().flat_map(|round| &round.checks) {
        let same = |known: &&mut (Check, usize)| {
            known.0.code == check.code && (check.code != "warning" || known.0.text == check.text)
        };
        match merged.iter_mut().find(same) {
            None => merged.push((check.clone(), 1)),
            Some((known, times)) if known.level == check.level => {
                *times += 1;
                if further(check, known) {
                    *known = check.clone();
                }
            }
            Some(known) if known.0.level < check.level => *known = (check.clone(), 1),
            Some(_) => {}
        }
    }
    let total = rounds.len();
    let finish = |(mut check, times): (Check, usize)| {
        if check.level >= Level::NotRun && total > 1 {
            check.text = format!("{} (in {times} of {total} rounds)", check.text);
        }
        check
    };
    merged.into_iter().map(finish).collect()
}

/// Whether the figure of `check` is further from its limit than that of `known`.
fn further(check: &Check, known: &Check) -> bool {
    let distance = |one: &Check| match (one.value, one.limit) {
        (Some(value), Some(limit)) => (value - limit).abs(),
        _ => 0.0,
    };
    check.level >= Level::Suspect && distance(check) > distance(known)
}
