//! A judged record: the one entry for everything that shows one.

use bakeoff_plan::LoadModel;
use bakeoff_record::{Record, TrialRecord};
use bakeoff_stats::{Cell, Estimate, Metric, Missing, Number, cells};
use serde::Serialize;

use crate::attribution::{Bottleneck, bottleneck, idle_server};
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
use crate::verdict::Verdict;

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

/// A cell and what can be believed of it.
#[derive(Debug, Clone)]
pub struct JudgedCell<'r> {
    /// Its trials.
    pub cell: Cell<'r>,
    /// What can be believed.
    pub judgement: Judgement,
    /// Each trial with what can be believed of it, those set aside too.
    pub trials: Vec<(&'r TrialRecord, Judgement)>,
    /// What held the rate down; `None` when nothing was measured.
    pub bottleneck: Option<Bottleneck>,
    /// Whether the rate is a bound only.
    pub rate_bound: Option<RateBound>,
    /// That the server had time to spare in a closed loop, where it had.
    pub idle_server: Option<String>,
}

/// A rate that is a bound only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateBound {
    /// The server does this rate or more.
    AtLeast {
        /// The check that found it.
        why: Code,
    },
}

impl<'r> JudgedCell<'r> {
    /// The number that the cell is ranked by: the rate, or latency where the load gives the rate.
    pub(crate) fn ranked_by(&self) -> Number {
        let load = self.cell.trials.first().map(|trial| &trial.load.model);
        match load {
            Some(LoadModel::Closed { .. }) | None => Number::Rate,
            Some(_) => Number::Latency,
        }
    }

    /// Whether its load is at a share of the capacity, so that its rate was found in the campaign
    /// and another campaign finds another one.
    pub fn is_at_share(&self) -> bool {
        let mut trials = self.cell.trials.iter();
        trials.any(|trial| trial.load_name.is_some() || trial.load.model.is_share())
    }

    /// Whether the contender cannot do this workload, so that there is nothing to be measured.
    pub fn is_unsupported(&self) -> bool {
        self.judgement.verdicts.of(Number::Counts) == Verdict::Unsupported
    }

    /// What can be believed of each trial that counts.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &Judgement> {
        // Attempts that were set aside stand behind those that count.
        let counted = self.trials.iter().take(self.cell.trials.len());
        counted.map(|(_, judgement)| judgement)
    }

    /// The cell with those of its rounds whose number is neither withheld nor disturbed.
    pub fn usable(&self, number: Number) -> Cell<'r> {
        let is_usable = |trial: &&TrialRecord| {
            let mut judged = self.trials.iter();
            let found = judged.find(|(one, _)| std::ptr::eq(*one, *trial));
            found.is_some_and(|(_, judgement)| judgement.level(number) < Level::Disturbed)
        };
        let mut cell = self.cell.clone();
        cell.trials.retain(is_usable);
        cell
    }

    /// The value of a measure over the rounds that can be used for it.
    ///
    /// # Errors
    /// Says why there is none: what took it away, where the number is withheld.
    pub fn estimate(&self, measure: Metric) -> Result<Estimate, Withheld> {
        let number = measure.number();
        let known = self.cell.estimate(measure);
        if let Some(check) = self.withheld(number)
            && matches!(known, Ok(_) | Err(Missing::AtLeast { .. }))
        {
            return Err(Withheld::By(check.text.clone()));
        }
        self.usable(number)
            .estimate(measure)
            .map_err(Withheld::Missing)
    }

    fn withheld(&self, number: Number) -> Option<&Check> {
        let blame = self.judgement.blame(number)?;
        (blame.of(number) == Level::Invalid).then_some(blame)
    }
}

/// Leaves out what nobody can do, since no round ever decides it; where there is nothing else, it
/// stays.
pub fn leave_out_unsupported<T>(all: &mut Vec<T>, is_unsupported: impl Fn(&T) -> bool) {
    if !all.iter().all(&is_unsupported) {
        all.retain(|one| !is_unsupported(one));
    }
}

/// Why a cell has no estimate.
#[derive(Debug, Clone, PartialEq)]
pub enum Withheld {
    /// It is withheld: what was seen.
    By(String),
    /// There is none.
    Missing(Missing),
}

impl std::fmt::Display for Withheld {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::By(text) => write!(out, "withheld: {text}"),
            Self::Missing(missing) => missing.fmt(out),
        }
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
fn rate_bound(judgement: &Judgement) -> Option<RateBound> {
    let limits = [Code::GeneratorCeiling, Code::BackendBound, Code::EngineBusy];
    let reached = |code: &Code| {
        let check = judgement.check(*code);
        check.is_some_and(|check| check.of(Number::Rate) == Level::Suspect)
    };
    let why = limits.into_iter().find(reached)?;
    Some(RateBound::AtLeast { why })
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
