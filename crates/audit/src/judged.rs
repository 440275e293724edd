//! A judged record: the one entry for everything that shows one.

use bakeoff_record::{Record, TrialRecord};
use bakeoff_stats::{Cell, Number, cells};

use crate::attribution::{bottleneck, idle_server};
use crate::cell::JudgedCell;
use crate::check::{Check, Level};
use crate::checks::knee;
use crate::code::Code;
use crate::comparisons::{Compared, Floor, compare};
use crate::conclusion::Comparison;
use crate::enough::rounds_enough;
use crate::equivalence::{Equivalence, equivalences};
use crate::findings::{self, Finding};
use crate::judge::{judge_cell, judge_trial};
use crate::subject::ReferenceRates;
use crate::trust::{self, Trust};
use crate::verdict::Judgement;

/// Everything that is decided about a record.
#[derive(Debug, Clone)]
pub struct Judged<'r> {
    /// The cells, by workload, load and contender; references after contenders.
    pub cells: Vec<JudgedCell<'r>>,
    /// Pairs of contenders, by every metric.
    pub comparisons: Vec<Comparison>,
    /// What two runs of one server differed by.
    pub floors: Vec<Floor>,
    /// Whether a campaign that time ends has time for another trial that may decide something.
    pub goes_on: bool,
    /// Whether contenders do equal work, by workload.
    pub equivalence: Vec<Equivalence>,
    /// Sentences that hold over several cells, most important first.
    pub findings: Vec<Finding>,
    /// How far it can be trusted.
    pub trust: Trust,
    /// The number of rounds with which the numbers that something passing spoiled would have enough
    /// of them.
    pub rounds_enough: Option<u32>,
}

/// Leaves out what nobody can do, since no round ever decides it; where there is nothing else, it
/// stays.
pub fn leave_out_unsupported<T>(all: &mut Vec<T>, is_unsupported: impl Fn(&T) -> bool) {
    if !all.iter().all(&is_unsupported) {
        all.retain(|one| !is_unsupported(one));
    }
}

/// Judges a record.
pub fn judge(record: &Record) -> Judged<'_> {
    let cells = judged_cells(record);
    let equivalence = equivalences_of(record);
    let Compared {
        comparisons,
        floors,
        goes_on,
    } = compare(record, &cells, &equivalence);
    let mut findings = findings::find(&comparisons, &cells);
    let trust = trust::weigh(record, &cells, (&comparisons, &floors), &findings);
    for finding in &mut findings {
        finding.hold_against(&trust);
    }
    Judged {
        rounds_enough: rounds_enough(record, &cells),
        cells,
        comparisons,
        floors,
        goes_on,
        equivalence,
        findings,
        trust,
    }
}

/// The cells of a record with what can be believed of each.
pub(crate) fn judged_cells(record: &Record) -> Vec<JudgedCell<'_>> {
    let groups = cells(record);
    let references = ReferenceRates::of(&groups);
    let one = |cell: &Cell<'_>| knee::check(cell, &groups);
    let knees: Vec<Option<Check>> = groups.iter().map(one).collect();
    let groups = groups.into_iter().zip(knees);
    let judged = groups.map(|(cell, knee)| judged_cell(record, cell, &references, knee));
    judged.collect()
}

/// Whether the contenders of a record do equal work, by workload.
pub(crate) fn equivalences_of(record: &Record) -> Vec<Equivalence> {
    equivalences(&record.plan, &record.trials)
}

fn judged_cell<'r>(
    record: &'r Record,
    cell: Cell<'r>,
    references: &ReferenceRates,
    knee: Option<Check>,
) -> JudgedCell<'r> {
    let judge = |trial: &&'r TrialRecord| {
        let judgement = judge_trial(record, trial, references.ceilings(trial));
        (*trial, judgement)
    };
    let mut trials: Vec<(&'r TrialRecord, Judgement)> = cell.trials.iter().map(judge).collect();
    let mut judgement = judge_cell(record, &cell, &trials);
    judgement.add(knee);
    trials.extend(cell.set_aside.iter().map(judge));
    let mut judged = JudgedCell {
        rate_bound: rate_bound(&judgement),
        cell,
        judgement,
        trials,
        bottleneck: None,
        idle_server: None,
    };
    let usable = judged.usable(Number::Rate);
    judged.bottleneck = bottleneck(record, &judged.cell, &usable, references);
    // A bound says it by itself.
    if judged.rate_bound.is_none() {
        judged.idle_server = idle_server(record, &usable, references);
    }
    judged
}

/// A rate near the rate of a reference, or of an engine that was full, says "at least".
fn rate_bound(judgement: &Judgement) -> Option<Code> {
    let limits = [Code::GeneratorCeiling, Code::BackendBound, Code::EngineBusy];
    let reached = |code: &Code| {
        let check = judgement.check(*code);
        check.is_some_and(|check| check.of(Number::Rate) == Level::Suspect)
    };
    limits.into_iter().find(reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(all: &[i32], expected: &[i32]) {
        let mut left = all.to_vec();
        leave_out_unsupported(&mut left, |one| *one < 0);
        assert_eq!(left, expected);
    }

    #[test]
    fn what_nobody_can_do_stays_only_where_there_is_nothing_else() {
        check(&[1, -1, 2], &[1, 2]);
        check(&[-1, -2], &[-1, -2]);
        check(&[], &[]);
    }
}
