//! Trials without a result, with reason and fix, once for all cells that share the reason.

use bakeoff_audit::Verdict;
use bakeoff_record::TrialEnd;
use schemars::JsonSchema;
use serde::Serialize;

use crate::view::trial::Trial;

/// Trials of one contender that ended without a result in the same way and in the same rounds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Lost {
    /// Contender's name.
    pub contender: String,
    /// Its cells that this concerns, in the plan's order.
    pub cells: Vec<LostCell>,
    /// Their rounds.
    pub rounds: Vec<u32>,
    /// Their verdict.
    pub verdict: Verdict,
    /// Reason and, where there is one, fix.
    pub text: String,
    /// What the server itself said.
    pub message: Option<String>,
}

/// A cell of the contender.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LostCell {
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
}

/// What is lost among `trials`, which come cell by cell.
pub(super) fn draw(trials: &[Trial]) -> Vec<Lost> {
    let lost = trials
        .iter()
        .filter(|trial| trial.end != TrialEnd::Measured);
    let rounds_of_cells = merged(lost.map(one), |known, new| {
        let alike = known.cells == new.cells && ended_alike(known, new);
        if alike {
            known.rounds.extend(&new.rounds);
        }
        alike
    });
    merged(rounds_of_cells.into_iter(), |known, new| {
        let alike = known.rounds == new.rounds && ended_alike(known, new);
        if alike {
            known.cells.extend_from_slice(&new.cells);
        }
        alike
    })
}

/// What each takes into one before it, or else a place of its own.
fn merged(all: impl Iterator<Item = Lost>, takes: impl Fn(&mut Lost, &Lost) -> bool) -> Vec<Lost> {
    let mut kept: Vec<Lost> = Vec::new();
    for new in all {
        if !kept.iter_mut().any(|known| takes(known, &new)) {
            kept.push(new);
        }
    }
    kept
}

fn one(trial: &Trial) -> Lost {
    let checks = trial.checks.iter();
    let texts: Vec<&str> = checks.map(|check| check.text.as_str()).collect();
    Lost {
        contender: trial.contender.clone(),
        cells: vec![LostCell {
            workload: trial.workload.clone(),
            load: trial.load.clone(),
        }],
        rounds: vec![trial.round],
        verdict: trial.verdict,
        text: texts.join("; "),
        message: match &trial.end {
            TrialEnd::Failed { message, .. } => message.clone(),
            _ => None,
        },
    }
}

fn ended_alike(left: &Lost, right: &Lost) -> bool {
    let key = |one: &Lost| (one.verdict, one.contender.clone(), one.text.clone());
    key(left) == key(right) && left.message == right.message
}
