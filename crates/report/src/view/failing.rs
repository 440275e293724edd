//! Contenders that did not do their work: more rounds or a quieter machine would tell no more of
//! them. A script that lets pass what cannot be decided takes this as the difference.

use bakeoff_audit::{Check, Code, Level};

use super::cell::Cell;

/// What a contender answers for, whatever the machine does.
const WORK: [Code; 7] = [
    Code::FailedShare,
    Code::WrongBody,
    Code::AnswerBefore,
    Code::AnswerAfter,
    Code::ServerAlive,
    Code::ServerRestarted,
    Code::RoundsComplete,
];

/// A sentence for each contender's cell that was not measured, or that such a check weakens.
pub(super) fn failing(cells: &[Cell]) -> Vec<String> {
    let cells = cells.iter().filter(|cell| cell.is_contender());
    let failing = cells.filter_map(|cell| {
        let is_lost = cell.rounds.measured == 0;
        let is_bad = |check: &&Check| check.level >= Level::Suspect && WORK.contains(&check.code);
        let mut checks = cell.verdict.checks.iter();
        let check = checks.find(|check| is_lost || is_bad(check))?;
        let (name, workload, load) = (&cell.contender, &cell.workload, &cell.load);
        Some(format!("{name} at {workload}, {load}: {}.", check.text))
    });
    failing.collect()
}
