//! One contender at one workload and load: estimates, counts, verdict, bottleneck.

use std::collections::BTreeMap;

use bakeoff_audit::{Bottleneck, Ceilings, Check, Judgement, Level, bottleneck};
use bakeoff_record::{ContenderKind, OutcomeCounts, Record};
use bakeoff_stats::{Cell as Trials, Estimate, Measure};
use serde::Serialize;

use super::h2load::H2load;
use super::vegeta::{self, Vegeta};

/// One contender at one workload and load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Contender's name.
    pub contender: String,
    /// What it is to the campaign.
    pub kind: ContenderKind,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// Rounds in the record.
    pub rounds: usize,
    /// Rounds whose window was measured.
    pub rounds_measured: usize,
    /// Estimates over the measured rounds by the name of their measure; null where there is none.
    pub estimates: BTreeMap<&'static str, Option<Estimate>>,
    /// Why an estimate is null, by the name of its measure.
    pub missing: BTreeMap<&'static str, String>,
    /// Whether the rate is only known to be at least what it says (R10, R34).
    pub rate_is_lower_bound: bool,
    /// Requests that ended, all rounds together.
    pub completed: u64,
    /// Of them those that did not come out `ok`.
    pub errors: u64,
    /// Their share, 0 to 1; null when none ended.
    pub error_share: Option<f64>,
    /// Requests by outcome, all rounds together; outcomes that did not occur are left out.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Responses by status, all rounds together.
    pub status: BTreeMap<u16, u64>,
    /// First error of each kind in words.
    pub error_samples: BTreeMap<String, String>,
    /// The figures that h2load would give; left out unless it was measured over HTTP/2 or 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h2load: Option<H2load>,
    /// The figures that Vegeta would give; left out unless it was measured in an open loop of
    /// equal gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vegeta: Option<Vegeta>,
    /// Whether the numbers can be believed, and why.
    pub verdict: Verdict,
    /// Numbers of the report's notes that concern this cell.
    pub notes: Vec<usize>,
    /// What held the rate down; null when nothing was measured.
    pub bottleneck: Option<Bottleneck>,
}

/// Whether the numbers can be believed, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// In a word.
    pub verdict: bakeoff_audit::Verdict,
    /// Every check, worst first.
    pub checks: Vec<Check>,
}

impl Cell {
    /// The estimate of a measure, if there is one.
    pub fn estimate(&self, measure: Measure) -> Option<&Estimate> {
        self.estimates.get(measure.name())?.as_ref()
    }

    /// Whether this is what is compared, not a reference.
    pub fn is_contender(&self) -> bool {
        self.kind == ContenderKind::Contender
    }
}

pub(super) fn draw(
    record: &Record,
    trials: &Trials<'_>,
    judgement: Judgement,
    ceilings: Ceilings,
) -> Cell {
    let totals = Totals::of(trials);
    let (estimates, missing) = estimates(trials, &judgement);
    let at_least = ["generator-ceiling", "backend-bound"];
    let mut cell = Cell {
        contender: trials.key.contender.clone(),
        kind: trials.kind,
        workload: trials.key.workload.clone(),
        load: trials.key.load.clone(),
        rounds: trials.trials.len(),
        rounds_measured: trials.measured().count(),
        estimates,
        missing,
        rate_is_lower_bound: judgement
            .checks
            .iter()
            .any(|check| at_least.contains(&check.code) && check.level == Level::Suspect),
        completed: totals.outcomes.completed(),
        errors: totals.outcomes.errors(),
        error_share: match totals.outcomes.completed() {
            0 => None,
            completed => Some(totals.outcomes.errors() as f64 / completed as f64),
        },
        outcomes: totals
            .outcomes
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(outcome, n)| (outcome.name(), n))
            .collect(),
        status: totals.status,
        error_samples: totals.error_samples,
        h2load: super::h2load::draw(record, trials),
        vegeta: None,
        bottleneck: bottleneck(record, trials, ceilings),
        verdict: Verdict {
            verdict: judgement.verdict,
            checks: judgement.checks,
        },
        notes: Vec::new(),
    };
    vegeta::add(record, trials, &mut cell);
    cell
}

type Estimates = BTreeMap<&'static str, Option<Estimate>>;

/// Estimates of every measure. What rests on timing is withheld from an invalid cell; the values
/// of its trials stay in the document, for whoever looks for the fault.
fn estimates(
    trials: &Trials<'_>,
    judgement: &Judgement,
) -> (Estimates, BTreeMap<&'static str, String>) {
    let mut estimates = BTreeMap::new();
    let mut missing = BTreeMap::new();
    let invalid = judgement
        .checks
        .iter()
        .find(|check| check.level == Level::Invalid);
    for measure in Measure::ALL {
        let name = measure.name();
        let value = match (trials.estimate(measure), invalid) {
            (Ok(_), Some(check)) if measure.rests_on_timing() => {
                Err(format!("withheld: {}", check.text))
            }
            (estimate, _) => estimate.map_err(String::from),
        };
        match value {
            Ok(estimate) => {
                estimates.insert(name, Some(estimate));
            }
            Err(reason) => {
                estimates.insert(name, None);
                missing.insert(name, reason);
            }
        }
    }
    (estimates, missing)
}

/// Counts of all measured rounds together.
#[derive(Default)]
struct Totals {
    outcomes: OutcomeCounts,
    status: BTreeMap<u16, u64>,
    error_samples: BTreeMap<String, String>,
}

impl Totals {
    fn of(trials: &Trials<'_>) -> Self {
        let mut totals = Self::default();
        for result in trials.measured().filter_map(|trial| trial.result.as_ref()) {
            totals.outcomes.merge(&result.outcomes);
            for (status, n) in &result.status {
                *totals.status.entry(*status).or_default() += n;
            }
            for (kind, words) in &result.error_samples {
                totals
                    .error_samples
                    .entry(kind.clone())
                    .or_insert_with(|| words.clone());
            }
        }
        totals
    }
}
