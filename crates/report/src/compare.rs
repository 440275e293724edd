//! Compares two contenders, or two records: `bakeoff.compare/1`.
//!
//! `audit` decides what is worse by how much, and the result of a gate. Here it becomes a model
//! that scripts take as JSON, a document that text and Markdown walk, and a JUnit file.

mod draw;
mod junit;

use std::collections::BTreeMap;

use bakeoff_audit::{
    GateError, GateRow, Gates, Judged, Mismatch, Ruling, Worse, compare_contenders,
    compare_records, judge, mismatches, plan_mismatches, without_yardstick, worst_ruling,
};
use bakeoff_plan::{Plan, distinct};
use bakeoff_record::{ContenderKind, Machine, Record};
use bakeoff_stats::{Estimate, Metric};
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::Extent;
use crate::markdown::section as markdown_section;
use crate::redaction::{Redacted, Redaction};
use crate::safe::json_safe;
use crate::text::{TextOptions, plain as text_of};

pub use junit::compare_junit;

/// Version of the comparison as a document.
pub const COMPARE_SCHEMA: &str = "bakeoff.compare/1";

/// Two sides held against each other.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Compare {
    /// [`COMPARE_SCHEMA`].
    pub schema: &'static str,
    /// The result of all gates; `shown` where there is none.
    pub ruling: Ruling,
    /// The same as a sentence.
    pub text: String,
    /// What the other is held against.
    pub first: CompareSide,
    /// What is held against it.
    pub second: CompareSide,
    /// Whether both were measured in one campaign, round by round.
    pub paired: bool,
    /// Whether the records differ in something that makes numbers incomparable, and were compared
    /// all the same.
    pub forced: bool,
    /// What they differ in.
    pub differences: Vec<Mismatch>,
    /// What one of two records has and the other lacks, so that nothing is said of it: contenders,
    /// and workloads under a load of contenders that both have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<NotCompared>,
    /// How much worse each metric may become, as a share.
    pub gates: BTreeMap<&'static str, f64>,
    /// The rows, by workload, load, pair and metric.
    pub rows: Vec<CompareRow>,
}

/// One of the two sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CompareSide {
    /// Name of the record folder, without the folders that it is in; null where it is not known.
    pub record: Option<String>,
    /// When the campaign began, RFC 3339 in UTC.
    pub started_at: String,
    /// Its contenders that are compared.
    pub contenders: Vec<String>,
}

/// A contender that one of two records has alone, or that it alone has at a workload and load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotCompared {
    /// Its name.
    pub contender: String,
    /// The workload and the label of the load that it is at in this record alone; absent where the
    /// other lacks the contender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<ComparedAt>,
    /// The record that has it: `first` or `second`.
    pub only_in: &'static str,
}

/// A workload under a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedAt {
    /// The workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
}

impl NotCompared {
    pub(crate) fn text(&self) -> String {
        let at = self.at.as_ref();
        let at = at.map_or(String::new(), |at| {
            format!(" at {}, {},", at.workload, at.load)
        });
        let Self {
            contender, only_in, ..
        } = self;
        format!("{contender}{at} is in the {only_in} record alone")
    }
}

/// One metric of one pair at one workload and load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CompareRow {
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// The metric that they are compared by.
    pub metric: Metric,
    /// The contender that the other is held against.
    pub first: String,
    /// The other.
    pub second: String,
    /// Value of the first over its rounds; null where there is none or it is withheld.
    pub first_value: Option<CompareValue>,
    /// Value of the second.
    pub second_value: Option<CompareValue>,
    /// How much worse the second is, as a share; null where a number is not valid, unless ten
    /// rounds or more were undisturbed: then it is of those.
    pub worse: Option<Worse>,
    /// How much worse it may be, as a share; null where it has no gate.
    pub gate: Option<f64>,
    /// The result of the gate.
    pub ruling: Ruling,
    /// Rounds that would decide it; null where it is decided, or nothing is known of it.
    pub rounds_needed: Option<u32>,
    /// Why it cannot be decided, or what a breach rests on.
    pub reason: Option<String>,
}

/// A value over its rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CompareValue {
    /// The value with its interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// `>=` where it is only known to be at least that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<&'static str>,
}

/// Why two sides are not compared.
#[derive(Debug, Clone, PartialEq)]
pub enum CompareError {
    /// They cannot be.
    Gate(GateError),
    /// They should not be.
    Unlike(Vec<Mismatch>),
}

impl std::fmt::Display for CompareError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gate(error) => error.fmt(out),
            Self::Unlike(differences) => {
                out.write_str("the two records cannot be compared, because they differ in:")?;
                for one in differences {
                    write!(out, "\n  {}: {}", one.what, one.text)?;
                }
                out.write_str(
                    "\nmeasure both in one campaign, such as `bakeoff race A B`; --force compares \
                     them all the same, and says so",
                )
            }
        }
    }
}

impl std::error::Error for CompareError {}

/// Holds each of `seconds` against `first`, all of one record.
///
/// # Errors
/// The record lacks one of them, or a gate fits none of its loads.
pub fn compare_within(
    redacted: &Redacted,
    first: &str,
    seconds: &[&str],
    gates: &Gates,
) -> Result<Compare, CompareError> {
    let record = redacted.record();
    let judged = judge(record);
    let rows = compare_contenders(record, &judged, first, seconds, gates);
    let rows = rows.map_err(CompareError::Gate)?;
    let side = |names: &[&str]| CompareSide {
        record: None,
        started_at: record.machine.started_at.clone(),
        contenders: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    Ok(drawn(
        rows,
        gates,
        Sides {
            first: side(&[first]),
            second: side(seconds),
            paired: true,
            differences: Vec::new(),
            not_compared: Vec::new(),
        },
    ))
}

/// Holds the contenders of `second` against those of `first`.
///
/// # Errors
/// They have nothing in common, a gate fits none of it, or, unless `force` is set, they differ in
/// what makes numbers incomparable.
pub fn compare_across(
    first: &Redacted,
    second: &Redacted,
    gates: &Gates,
    force: bool,
) -> Result<Compare, CompareError> {
    let records = (first.record(), second.record());
    let judged: (Judged<'_>, Judged<'_>) = (judge(records.0), judge(records.1));
    let rows = compare_records(&judged.0, &judged.1, gates).map_err(CompareError::Gate)?;
    let differences = mismatches((records.0, &judged.0), (records.1, &judged.1));
    let unknown =
        asked_unknown(first, &records.1.plan).chain(asked_unknown(second, &records.0.plan));
    let differences = with_unknown(differences, unknown);
    if !differences.is_empty() && !force {
        return Err(CompareError::Unlike(differences));
    }
    let side = |record: &Record, name: fn(&GateRow) -> &String| CompareSide {
        record: None,
        started_at: record.machine.started_at.clone(),
        contenders: distinct(rows.iter().map(|row| name(row).clone())),
    };
    let of_first = side(records.0, |row| &row.pair.first);
    let of_second = side(records.1, |row| &row.pair.second);
    let mut not_compared = Vec::new();
    for (redacted, judged, side, only_in) in [
        (first, &judged.0, &of_first, "first"),
        (second, &judged.1, &of_second, "second"),
    ] {
        not_compared.extend(alone(redacted, side, only_in));
        let at = rows.iter().map(|GateRow { pair, .. }| {
            let of_first = only_in == "first";
            let name = if of_first { &pair.first } else { &pair.second };
            [&pair.workload, &pair.load, name].map(String::as_str)
        });
        let at: Vec<[&str; 3]> = at.collect();
        not_compared.extend(alone_at(judged, side, &at, only_in));
    }
    let sides = Sides {
        not_compared,
        first: of_first,
        second: of_second,
        paired: false,
        differences,
    };
    Ok(drawn(rows, gates, sides))
}

/// What is known before a plan is measured on a machine for which its record could not be compared
/// with `baseline`.
pub fn baseline_mismatches(baseline: &Redacted, machine: &Machine, plan: &Plan) -> Vec<Mismatch> {
    let record = baseline.record();
    // The baseline's secrets are hidden, and equal ones get equal numbers.
    let plan = Redaction::of_plan(plan).plan(plan);
    let found = plan_mismatches((&record.machine, &record.plan), (machine, &plan));
    let mut found = with_unknown(found, asked_unknown(baseline, &plan));
    found.extend(without_yardstick(&plan, &record.plan));
    found
}

/// Workloads of a record that the other plan has too, and of which it does not say all that they
/// ask: it is a shared copy, and what is left out of one workload may differ from that of another.
fn asked_unknown<'r>(redacted: &'r Redacted, other: &'r Plan) -> impl Iterator<Item = &'r str> {
    let workloads = redacted.record().plan.workloads.iter();
    let names = workloads.map(|one| one.name.as_str());
    names.filter(|name| {
        let mut others = other.workloads.iter();
        redacted.asks(name).is_none() && others.any(|one| one.name == *name)
    })
}

/// The differences with a line for each workload that is not known in full, in place of the one
/// that it asks for something else.
fn with_unknown<'n>(
    mut found: Vec<Mismatch>,
    unknown: impl Iterator<Item = &'n str>,
) -> Vec<Mismatch> {
    for name in unknown {
        let (known, unknown) = (Mismatch::asks_otherwise(name), Mismatch::asks_unknown(name));
        found.retain(|one| *one != known && *one != unknown);
        found.push(unknown);
    }
    found
}

/// Contenders of a record that are not among those compared.
fn alone(
    redacted: &Redacted,
    compared: &CompareSide,
    only_in: &'static str,
) -> impl Iterator<Item = NotCompared> {
    let names = contenders_of(redacted).into_iter();
    let lacking = names.filter(|name| !compared.contenders.contains(name));
    lacking.map(move |contender| NotCompared {
        contender,
        at: None,
        only_in,
    })
}

/// Workloads and loads at which a contender is compared nowhere, though it is elsewhere. What it
/// cannot do at all is left out, and so are loads at a share of the capacity, which no two records
/// are compared at. `at` names workload, load and contender of what is compared.
fn alone_at(
    judged: &Judged<'_>,
    compared: &CompareSide,
    at: &[[&str; 3]],
    only_in: &'static str,
) -> Vec<NotCompared> {
    let cells = judged.cells.iter();
    let cells = cells.filter(|cell| !cell.is_unsupported() && !cell.is_at_share());
    let keys = cells.map(|cell| &cell.cell.key);
    let lacking = keys.filter(|key| {
        compared.contenders.contains(&key.contender)
            && !at.contains(&[&key.workload, &key.load, &key.contender].map(String::as_str))
    });
    lacking
        .map(|key| NotCompared {
            contender: key.contender.clone(),
            at: Some(ComparedAt {
                workload: key.workload.clone(),
                load: key.load.clone(),
            }),
            only_in,
        })
        .collect()
}

/// Names of a record's contenders, in the plan's order, as they may be shown.
pub fn contenders_of(redacted: &Redacted) -> Vec<String> {
    let plan = &redacted.record().plan;
    let ran = |name: &str| {
        let mut trials = redacted.record().trials.iter();
        trials.any(|trial| trial.kind == ContenderKind::Contender && trial.contender == name)
    };
    let names = plan.contenders.iter().map(|one| one.name.clone());
    names.filter(|name| ran(name)).collect()
}

/// What is known of the two sides besides the rows.
struct Sides {
    first: CompareSide,
    second: CompareSide,
    paired: bool,
    differences: Vec<Mismatch>,
    not_compared: Vec<NotCompared>,
}

fn drawn(rows: Vec<GateRow>, gates: &Gates, sides: Sides) -> Compare {
    let ruling = if gates.is_empty() {
        // Without a gate it holds where any difference is known.
        if rows.iter().any(|row| row.worse.is_some()) {
            Ruling::Shown
        } else {
            Ruling::CannotTell
        }
    } else if sides.not_compared.iter().any(|it| it.only_in == "first") {
        // What the baseline has is to be held against, too.
        worst_ruling(&rows).max(Ruling::CannotTell)
    } else {
        worst_ruling(&rows)
    };
    let mut compare = Compare {
        schema: COMPARE_SCHEMA,
        ruling,
        text: String::new(),
        first: sides.first,
        second: sides.second,
        paired: sides.paired,
        forced: !sides.differences.is_empty(),
        differences: sides.differences,
        not_compared: sides.not_compared,
        gates: gates
            .iter()
            .map(|(metric, share)| (metric.short_name(), share))
            .collect(),
        rows: rows.into_iter().map(CompareRow::from).collect(),
    };
    compare.text = draw::answer(&compare);
    compare
}

impl From<GateRow> for CompareRow {
    fn from(row: GateRow) -> Self {
        let shown = |estimate, is_bound: bool| CompareValue {
            estimate,
            bound: is_bound.then_some(">="),
        };
        let [first, second] = row.at_least;
        Self {
            workload: row.pair.workload,
            load: row.pair.load,
            metric: row.metric,
            first: row.pair.first,
            second: row.pair.second,
            first_value: row.first.map(|one| shown(one, first)),
            second_value: row.second.map(|one| shown(one, second)),
            worse: row.worse,
            gate: row.gate,
            ruling: row.ruling,
            rounds_needed: row.rounds_needed,
            reason: row.reason,
        }
    }
}

/// The comparison as one JSON document on one line.
pub fn compare_json(compare: &Compare) -> String {
    let text = serde_json::to_string(compare);
    json_safe(&text.expect("the model has only text keys and numbers"))
}

/// The comparison for a terminal or a log.
pub fn compare_text(compare: &Compare, options: TextOptions<'_>) -> String {
    text_of(&draw::document(compare), Extent::Full, options)
}

/// The comparison as Markdown, to paste or for the summary of a CI job.
pub fn compare_markdown(compare: &Compare) -> String {
    let document = draw::document(compare);
    let mut out = String::new();
    for one in &document.sections {
        markdown_section(&mut out, one, Extent::Full);
    }
    out.trim_start().to_owned()
}
