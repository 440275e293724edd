//! Contenders that did not do their work: more rounds or a quieter machine would tell no more of
//! them. A script that lets pass what cannot be decided takes this as the difference.

use bakeoff_audit::{Check, Code, Level, Verdict};

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
    let of_contenders = || cells.iter().filter(|cell| cell.is_contender());
    // Where no contender can do a workload, that was known before, and none of them failed.
    let can_be_done = |cell: &&Cell| {
        let place = |one: &Cell| (one.workload.clone(), one.load.clone());
        let mut alike = of_contenders().filter(|one| place(one) == place(cell));
        alike.any(|one| one.verdict.verdict != Verdict::Unsupported)
    };
    let failing = of_contenders().filter(can_be_done).filter_map(|cell| {
        let is_lost = cell.rounds.measured == 0;
        let is_bad = |check: &&Check| check.level >= Level::Suspect && WORK.contains(&check.code);
        let mut checks = cell.verdict.checks.iter();
        let check = checks.find(|check| is_lost || is_bad(check))?;
        let (name, workload, load) = (&cell.contender, &cell.workload, &cell.load);
        Some(format!("{name} at {workload}, {load}: {}.", check.text))
    });
    failing.collect()
}
