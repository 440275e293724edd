//! Checks to a verdict, for a trial and for a cell.

use bakeoff_record::{Record, TrialEnd, TrialRecord};
use bakeoff_stats::Cell;

use crate::check::{Check, Level};
use crate::checks;
use crate::code::Code;
use crate::subject::{Ceilings, Subject};
use crate::verdict::{Judgement, Verdict};

/// Judges one trial.
pub fn judge_trial(record: &Record, trial: &TrialRecord, ceilings: Ceilings) -> Judgement {
    let ended = |verdict, text: &str| {
        Judgement::ended(verdict, Check::new(Code::TrialEnded, Level::Suspect, text))
    };
    match &trial.end {
        TrialEnd::Measured => match Subject::new(record, trial, ceilings) {
            Some(subject) => Judgement::of(checks::all(&subject)),
            None => ended(
                Verdict::Failed,
                "the record holds no result of a measured trial",
            ),
        },
        TrialEnd::Failed { step, cause, .. } => ended(
            Verdict::Failed,
            &format!("failed at {}: {cause}", step.name()),
        ),
        TrialEnd::Skipped { reason, fix } => ended(Verdict::Skipped, &format!("{reason}; {fix}")),
        TrialEnd::Unsupported { reason } => ended(Verdict::Unsupported, reason),
        TrialEnd::Interrupted => ended(
            Verdict::Skipped,
            &match trial.lost().first() {
                None => "interrupted by the user".to_owned(),
                Some(lost) => lost.to_string(),
            },
        ),
    }
}

/// Judges a cell by its judged trials. Where no round was measured, the worst way to end is the
/// verdict.
pub fn judge_cell(
    record: &Record,
    cell: &Cell<'_>,
    trials: &[(&TrialRecord, Judgement)],
) -> Judgement {
    let (measured, lost): (Vec<_>, Vec<_>) = trials
        .iter()
        .partition(|(trial, _)| trial.end == TrialEnd::Measured);
    if measured.is_empty() {
        let judgements = lost.into_iter().map(|(_, judgement)| judgement);
        let worst = judgements.max_by_key(|judgement| judgement.verdict);
        return worst.cloned().unwrap_or(Judgement::ended(
            Verdict::Skipped,
            Check::new(Code::TrialEnded, Level::Suspect, "no trial was begun"),
        ));
    }
    Judgement::of(checks::rounds::check(record, cell, &measured))
}
