//! Contenders that did not do their work, and a campaign that was broken off: more rounds or a
//! quieter machine would tell no more of them. A script that lets pass what cannot be decided takes
//! this as the difference.

use std::collections::BTreeSet;

use bakeoff_audit::{Check, Code, Judged, Level, Verdict};
use bakeoff_record::TrialEnd;

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

/// A sentence for each contender's cell that was not measured, or that such a check weakens, and
/// one where trials were interrupted: a host was lost, or somebody stopped the campaign.
pub(super) fn failing(cells: &[Cell], judged: &Judged<'_>) -> Vec<String> {
    let of_contenders = || cells.iter().filter(|cell| cell.is_contender());
    // Where no contender can do a workload, that was known before, and none of them failed.
    let can_be_done: BTreeSet<(&str, &str)> = of_contenders()
        .filter(|cell| cell.verdict.verdict != Verdict::Unsupported)
        .map(place)
        .collect();
    let possible = of_contenders().filter(|cell| can_be_done.contains(&place(cell)));
    let failing = possible.filter_map(|cell| {
        let check = match cell.rounds_measured {
            0 => cell.verdict.checks.first(),
            _ => bad_work(cell).next(),
        };
        Some(of_cell(cell, check?))
    });
    failing.chain(broken_off(judged)).collect()
}

/// The sentence on a contender's cell that was measured and in which it did not do its work.
pub(crate) fn failing_at_work(cell: &Cell) -> Option<String> {
    // Rounds that are missing are reported with why they are.
    let check = bad_work(cell).find(|check| check.code != Code::RoundsComplete)?;
    let is_measured = cell.is_contender() && cell.rounds_measured > 0;
    is_measured.then(|| of_cell(cell, check))
}

fn bad_work(cell: &Cell) -> impl Iterator<Item = &Check> {
    let is_bad = |check: &&Check| check.level >= Level::Suspect && WORK.contains(&check.code);
    cell.verdict.checks.iter().filter(is_bad)
}

fn of_cell(cell: &Cell, check: &Check) -> String {
    let (name, workload, load) = (&cell.contender, &cell.workload, &cell.load);
    let mut checks = cell.verdict.checks.iter();
    let by = checks.find(|check| check.code == Code::ServerLimit);
    let by = by.map_or(String::new(), |by| format!("; {}", by.text));
    format!("{name} at {workload}, {load}: {}{by}.", check.text)
}

fn broken_off(judged: &Judged<'_>) -> Option<String> {
    let trials = judged.cells.iter().flat_map(|cell| &cell.trials);
    let interrupted = trials.filter(|(trial, _)| trial.end == TrialEnd::Interrupted);
    let them = match interrupted.count() {
        0 => return None,
        1 => "1 trial was".to_owned(),
        more => format!("{more} trials were"),
    };
    Some(format!(
        "The campaign was broken off: {them} interrupted, and `bakeoff run --resume` goes on with \
         it."
    ))
}

/// The workload and the load.
fn place(cell: &Cell) -> (&str, &str) {
    (&cell.workload, &cell.load)
}
