//! Conditions of `--fail-if` on a record or a load, as lines for a log.

use bakeoff_audit::{Condition, Held, Ruling, judge, leave_out_unsupported};
use bakeoff_record::LoadResult;

use crate::redaction::Redacted;
use crate::safe::plain;

/// The results of conditions, and a line for each that is not simply fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    /// `Breached` where one is met, else `CannotTell` where one is not decided.
    pub ruling: Ruling,
    /// Sentences for people.
    pub lines: Vec<String>,
}

/// Holds every contender of a record against the conditions.
pub fn conditions_of(redacted: &Redacted, conditions: &[Condition]) -> Conditions {
    let judged = judge(redacted.record());
    let cells = judged.cells.iter();
    let mut cells: Vec<_> = cells.filter(|one| one.is_contender()).collect();
    // What a contender cannot do meets no condition.
    leave_out_unsupported(&mut cells, |one| one.is_unsupported());
    let mut found = Vec::new();
    for condition in conditions {
        for cell in &cells {
            let load = cell.cell.trials.first().map(|trial| &trial.load.model);
            // In an open loop the rate is the one that was asked for.
            if load.is_none_or(|model| !condition.is_given_by(model)) {
                let key = &cell.cell.key;
                let place = format!("{}, {}, {}", key.contender, key.workload, key.load);
                found.push((condition, place, condition.of_cell(cell)));
            }
        }
    }
    drawn(conditions, &found)
}

/// Holds one load against the conditions.
pub fn conditions_of_load(result: &LoadResult, conditions: &[Condition]) -> Conditions {
    let one = |condition| {
        (
            condition,
            String::new(),
            Condition::of_load(condition, result),
        )
    };
    let found: Vec<_> = conditions.iter().map(one).collect();
    drawn(conditions, &found)
}

fn drawn(conditions: &[Condition], found: &[(&Condition, String, Held)]) -> Conditions {
    let rulings = found.iter().map(|(.., held)| held.ruling);
    let mut ruling = rulings.max().unwrap_or(Ruling::Passed);
    let mut lines = Vec::new();
    for wanted in [Ruling::Breached, Ruling::CannotTell] {
        for (condition, place, held) in found.iter().filter(|(.., it)| it.ruling == wanted) {
            let what = match wanted {
                Ruling::Breached => "breached",
                _ => "cannot tell",
            };
            let place = if place.is_empty() {
                String::new()
            } else {
                format!(" {place}:")
            };
            lines.push(plain(&format!("{what}: {condition}:{place} {}", held.text)));
        }
    }
    for condition in conditions {
        if found.iter().all(|(known, ..)| *known != condition) {
            ruling = ruling.max(Ruling::CannotTell);
            lines.push(format!(
                "cannot tell: {condition}: nothing was measured by it"
            ));
        }
    }
    Conditions { ruling, lines }
}
