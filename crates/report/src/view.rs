//! The one view model that every format is drawn from.
//!
//! Formats choose and arrange; they compute nothing. Scripts rely on the names of fields
//! (`bakeoff.report/1`); fields may be added. A missing value is null, with the reason in a field
//! next to it.

mod answer;
mod believe;
mod campaign;
mod cell;
mod changes;
mod comparison;
mod diff;
mod difference;
mod failing;
mod h2load;
mod late;
mod links;
mod longer;
mod lost;
mod no_finding;
mod published;
mod series;
mod trial;
mod vegeta;

use bakeoff_audit::{JudgedCell, judge};
use bakeoff_record::Record;
use bakeoff_stats::Cell as Trials;
use schemars::JsonSchema;
use serde::Serialize;

use crate::redaction::Redacted;

pub use answer::{Answer, RatioCell, RatioRow, RatioTable};
pub use bakeoff_audit::overload::OverloadClass;
pub use bakeoff_audit::{
    Class, Code, Conclusion, EqualFact, Equivalence, Evidence, FactRow, Finding, Floor, Grade,
    Inequality, Level, Limiter, Remedy, Tone, Trust, UnknownFact, Weakness,
};
pub use believe::{Note, Sentence};
pub use campaign::{
    Campaign, ContenderFacts, IntervalFacts, LoadFacts, TrialCounts, WorkloadFacts,
};
pub use cell::{Cell, Verdict};
pub use changes::ConfigChanges;
pub(crate) use comparison::sign;
pub use comparison::{Basis, Comparison};
pub use diff::ConfigDiff;
pub use difference::Difference;
pub(crate) use difference::MEASURES;
pub(crate) use failing::failing_at_work;
pub use h2load::{H2load, Spread};
pub use late::LATE_S;
pub use links::Link;
pub use lost::{Lost, LostCell};
pub use no_finding::NoFinding;
pub use published::{Holds, Published, PublishedRatio};
pub use series::{Curve, Processes, Throughput, Tree};
pub use trial::{Server, Text, Trial};
pub use vegeta::{Amount, Attacked, Duration, Latencies, Vegeta};

/// Version of the view model as a document.
pub const REPORT_SCHEMA: &str = "bakeoff.report/1";

/// Everything that a report shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// [`REPORT_SCHEMA`].
    pub schema: &'static str,
    /// What was run, and on what.
    pub campaign: Campaign,
    /// Which, by how much, how far to trust it, what comes next.
    pub answer: Answer,
    /// What to believe: sentences, most important first.
    pub summary: Vec<Sentence>,
    /// What did not pass, each kind once with the cells that it concerns.
    pub notes: Vec<Note>,
    /// Contender x workload x load, by workload, then load, then contender; references last.
    pub cells: Vec<Cell>,
    /// Pairs of contenders at the same workload and load.
    pub comparisons: Vec<Comparison>,
    /// What was published of the comparison that the plan repeats; null of other plans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// The same pairs in shares of one of them, for cells in Vegeta's form.
    pub differences: Vec<Difference>,
    /// Whether contenders do equal work, by workload: facts that differ and facts that do not.
    pub equivalence: Vec<Equivalence>,
    /// What configurations of contenders of one server say differently.
    pub diffs: Vec<ConfigDiff>,
    /// What was changed in contenders' own configurations for their trials.
    pub config_changes: Vec<ConfigChanges>,
    /// Trials without a result, those of one cell that ended alike together.
    pub lost: Vec<Lost>,
    /// Every trial, in the order of the cells and by round.
    pub trials: Vec<Trial>,
    /// Configuration texts, which trials name by position: most are the same from round to round.
    pub texts: Vec<String>,
}

/// Draws the view model from a record, whose secrets it hides. It copies the record; who owns one
/// makes it [`Redacted`] and takes [`view_of`].
pub fn view(record: &Record) -> Report {
    view_of(&Redacted::hidden(record.clone()))
}

/// Draws the view model. That it takes nothing but a [`Redacted`] record is what keeps secrets
/// out of every format.
pub fn view_of(redacted: &Redacted) -> Report {
    let record = redacted.record();
    let judged = judge(record);
    let groups: Vec<Trials<'_>> = judged.cells.iter().map(|one| one.cell.clone()).collect();
    let mut texts = Vec::new();
    let mut trials = Vec::new();
    let mut shown = Vec::new();
    let all = judged.cells.iter().map(|one| one.trials.len()).sum();
    for one in &judged.cells {
        shown.push(cell::draw(record, one));
        trials.extend(draw_trials(one, all, &mut texts));
    }
    let notes = believe::notes(&mut shown);
    let comparisons = comparison::draw(&judged.comparisons);
    let campaign = campaign::draw(record, &groups, &shown);
    let answer = answer::draw(record, &judged, &campaign, &shown);
    let differences = difference::draw(&judged.cells, &shown, &judged.comparisons);
    let equivalence = judged.equivalence;
    let summary = believe::summary(&shown, &notes, &equivalence);
    let lost = lost::draw(&trials);
    let cells = shown;
    let schema = REPORT_SCHEMA;
    Report {
        schema,
        campaign,
        answer,
        summary,
        notes,
        cells,
        published: published::draw(&record.plan.name, &judged.comparisons),
        comparisons,
        differences,
        equivalence,
        diffs: diff::draw(record),
        config_changes: changes::draw(record),
        lost,
        trials,
        texts,
    }
}

/// The trials of a cell. In a large campaign the round of the median rate, which charts over time
/// show, keeps its detail, and the others are thinned.
fn draw_trials(cell: &JudgedCell<'_>, all: usize, texts: &mut Vec<String>) -> Vec<Trial> {
    let median = series::median_round(&cell.cell);
    let trials = cell.trials.iter();
    trials
        .map(|(trial, judgement)| {
            let detail = series::Detail::of(all, median == Some(trial.id.as_str()));
            trial::draw(trial, judgement.clone(), detail, texts)
        })
        .collect()
}

/// Rounds to five significant digits, so that series stay short in a document.
fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powi(4 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
