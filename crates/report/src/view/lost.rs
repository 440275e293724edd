//! Trials without a result, with reason and mend.

use bakeoff_audit::Verdict;
use bakeoff_record::TrialEnd;
use serde::Serialize;

use crate::view::trial::Trial;

/// Trials of one cell that ended without a result in the same way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lost {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// Their rounds.
    pub rounds: Vec<u32>,
    /// What they came to.
    pub verdict: Verdict,
    /// Reason and, where there is one, mend.
    pub text: String,
    /// The server's own words.
    pub words: Option<String>,
}

pub(super) fn draw(trials: &[Trial]) -> Vec<Lost> {
    let mut all: Vec<Lost> = Vec::new();
    for trial in trials
        .iter()
        .filter(|trial| trial.end != TrialEnd::Measured)
    {
        let texts: Vec<&str> = trial
            .checks
            .iter()
            .map(|check| check.text.as_str())
            .collect();
        let words = match &trial.end {
            TrialEnd::Failed { words, .. } => words.clone(),
            _ => None,
        };
        let one = Lost {
            contender: trial.contender.clone(),
            workload: trial.workload.clone(),
            load: trial.load.clone(),
            rounds: vec![trial.round],
            verdict: trial.verdict,
            text: texts.join("; "),
            words,
        };
        match all.iter_mut().find(|known| alike(known, &one)) {
            Some(known) => known.rounds.push(trial.round),
            None => all.push(one),
        }
    }
    all
}

fn alike(left: &Lost, right: &Lost) -> bool {
    let key = |one: &Lost| {
        let cell = (
            one.contender.clone(),
            one.workload.clone(),
            one.load.clone(),
        );
        (cell, one.verdict, one.text.clone(), one.words.clone())
    };
    key(left) == key(right)
}
