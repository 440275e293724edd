//! One contender at one workload and load: estimates, counts, verdict, bottleneck.

use std::collections::BTreeMap;

use bakeoff_audit::{Bottleneck, Check, JudgedCell, Verdicts, Withheld};
use bakeoff_record::{ContenderKind, OutcomeCounts, Record, Requests};
use bakeoff_stats::{Cell as Trials, Estimate, Metric, Missing};
use schemars::JsonSchema;
use serde::Serialize;

use super::h2load::H2load;
use super::vegeta::{self, Vegeta};

/// One contender at one workload and load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    #[schemars(with = "BTreeMap<String, Option<Estimate>>")]
    pub estimates: BTreeMap<Metric, Option<Estimate>>,
    /// Why an estimate is null, by the name of its measure.
    #[schemars(with = "BTreeMap<String, String>")]
    pub missing: BTreeMap<Metric, String>,
    /// What an estimate is at least, where it is null because requests without an end could move
    /// it; by the name of its measure.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub at_least: BTreeMap<Metric, f64>,
    /// Whether the rate is only known to be at least what it says (R10, R34).
    pub rate_is_lower_bound: bool,
    /// Requests that ended.
    pub completed: u64,
    /// Those of them that did not come out `ok`.
    pub errors: u64,
    /// Share of the requests asked for that did not come out `ok`, 0 to 1: in an open loop of
    /// those due, else of those that ended. A round in which none ended failed whole, and weighs as
    /// much as the others on average. Null when no round was measured. There is no other error
    /// share of a cell, and no estimate of it.
    pub error_share: Option<f64>,
    /// Requests due in the windows of all rounds; in an open loop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// Those of them that had no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unended: Option<u64>,
    /// Latencies beyond the range of a histogram, 73 minutes; they count as that long.
    #[serde(skip_serializing_if = "is_zero")]
    pub over_range: u64,
    /// Requests by outcome; outcomes that did not occur are left out.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Responses by status.
    pub status: BTreeMap<u16, u64>,
    /// First error message of each kind.
    pub error_samples: BTreeMap<String, String>,
    /// The figures that h2load would give; left out unless it was measured over HTTP/2 or 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h2load: Option<H2load>,
    /// The figures that Vegeta would give; left out unless it was measured in an open loop of
    /// equal gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vegeta: Option<Vegeta>,
    /// Whether each number can be believed.
    pub verdicts: Verdicts,
    /// The worst of them, and why.
    pub verdict: Verdict,
    /// Numbers of the report's notes that concern this cell.
    pub notes: Vec<usize>,
    /// What held the rate down; null when nothing was measured.
    pub bottleneck: Option<Bottleneck>,
}

/// Whether the numbers can be believed, and why.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The verdict in a word.
    pub verdict: bakeoff_audit::Verdict,
    /// Every check, worst first.
    pub checks: Vec<Check>,
}

impl Cell {
    /// The estimate of a metric, if there is one.
    pub fn estimate(&self, metric: Metric) -> Option<&Estimate> {
        self.estimates.get(&metric)?.as_ref()
    }

    /// What the value of a metric is at least, where that is all that is known of it.
    pub fn at_least(&self, metric: Metric) -> Option<f64> {
        self.at_least.get(&metric).copied()
    }

    /// Whether this is what is compared, not a reference.
    pub fn is_contender(&self) -> bool {
        self.kind == ContenderKind::Contender
    }
}

pub(super) fn draw(record: &Record, judged: &JudgedCell<'_>) -> Cell {
    let (trials, judgement) = (&judged.cell, judged.judgement.clone());
    let totals = Totals::of(trials);
    let occurred = totals.outcomes.iter().filter(|(_, n)| *n > 0);
    let mut cell = Cell {
        contender: trials.key.contender.clone(),
        kind: trials.kind,
        workload: trials.key.workload.clone(),
        load: trials.key.load.clone(),
        rounds: trials.trials.len(),
        rounds_measured: trials.measured().count(),
        estimates: BTreeMap::new(),
        missing: BTreeMap::new(),
        at_least: BTreeMap::new(),
        rate_is_lower_bound: judged.rate_bound.is_some(),
        completed: totals.outcomes.completed(),
        errors: totals.outcomes.errors(),
        error_share: trials.error_share(),
        due: totals.due,
        unended: totals.unended,
        over_range: totals.over_range,
        outcomes: occurred.map(|(outcome, n)| (outcome.name(), n)).collect(),
        status: totals.status,
        error_samples: totals.error_samples,
        h2load: super::h2load::draw(record, trials),
        vegeta: None,
        bottleneck: judged.bottleneck.clone(),
        verdicts: judgement.verdicts,
        verdict: Verdict {
            verdict: judgement.verdict,
            checks: judgement.checks,
        },
        notes: Vec::new(),
    };
    estimate(judged, &mut cell);
    let known = |measure: Metric| {
        let why = || cell.missing.get(&measure).cloned();
        let estimate = cell.estimate(measure).map(|estimate| estimate.point);
        estimate.ok_or_else(|| why().unwrap_or_default())
    };
    cell.vegeta = vegeta::draw(record, trials, (&cell.status, &totals.outcomes), &known);
    cell
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Estimates of every measure. What is withheld stays in the values of the trials, for whoever
/// looks for the fault.
fn estimate(judged: &JudgedCell<'_>, cell: &mut Cell) {
    // The error share is pooled over rounds, and has one meaning in every format.
    let estimated = Metric::ALL
        .into_iter()
        .filter(|one| *one != Metric::ErrorShare);
    for metric in estimated {
        let estimate = match judged.estimate(metric) {
            Ok(estimate) => Some(estimate),
            Err(withheld) => {
                if let Withheld::Missing(Missing::AtLeast { bound, .. }) = withheld {
                    cell.at_least.insert(metric, bound);
                }
                cell.missing.insert(metric, withheld.to_string());
                None
            }
        };
        cell.estimates.insert(metric, estimate);
    }
}

/// Counts of all measured rounds together.
#[derive(Default)]
struct Totals {
    due: Option<u64>,
    unended: Option<u64>,
    over_range: u64,
    outcomes: OutcomeCounts,
    status: BTreeMap<u16, u64>,
    error_samples: BTreeMap<String, String>,
}

impl Totals {
    fn of(trials: &Trials<'_>) -> Self {
        let mut totals = Self::default();
        for result in trials.measured().filter_map(|trial| trial.result.as_ref()) {
            totals.count(&result.requests);
            totals.over_range += result.latency.over_range();
            totals.outcomes.merge(&result.outcomes);
            for (status, n) in &result.status {
                *totals.status.entry(*status).or_default() += n;
            }
            for (kind, text) in &result.error_samples {
                totals
                    .error_samples
                    .entry(kind.clone())
                    .or_insert_with(|| text.clone());
            }
        }
        totals
    }

    /// Adds what an open loop asked for.
    fn count(&mut self, requests: &Requests) {
        let sum = |mine: Option<u64>, theirs: Option<u64>| match (mine, theirs) {
            (None, theirs) => theirs,
            (mine, theirs) => mine.map(|mine| mine + theirs.unwrap_or(0)),
        };
        self.due = sum(self.due, requests.due);
        self.unended = sum(self.unended, requests.unended);
    }
}
