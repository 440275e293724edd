//! What a search found, in every format: which rates each contender carries, how they compare, and
//! the latency on the way there.
//!
//! A search is no campaign of rounds: its trials differ in their rates. So it has a view and a
//! document of its own, which the formats walk like the other one.

mod document;
mod picture;
pub(crate) mod view;

use bakeoff_record::TrialEnd;
use bakeoff_search::quests;

use crate::document::Extent;
use crate::redaction::Redacted;
use crate::safe::json_safe;
use crate::text::TextOptions;
pub use crate::words::bounds::BoundsTrust;
use crate::words::find as sentence;
use crate::{csv, html, machine, markdown, text};

pub use view::{
    CurveRow, Disturbed, FIND_SCHEMA, FindReport, FoundRow, GoalFacts, QuantileRow, Servers,
    TrialRow,
};

/// Draws what a search found; `None` of a record without one.
pub fn find_view(redacted: &Redacted) -> Option<FindReport> {
    let record = redacted.record();
    if !record.plan.is_search() {
        return None;
    }
    let all = quests(&record.plan, &record.trials);
    let contenders = view::rows(&all, &record.trials);
    let mut answer = sentence::answer(&contenders);
    let mut trials = record.trials.iter();
    let is_interrupted = trials.any(|it| it.end == TrialEnd::Interrupted);
    // In its curves too, where every bound is known.
    let goes_on = all.iter().any(|quest| quest.progress.next().is_some());
    if is_interrupted && goes_on {
        answer.push("The search was interrupted, and can go on.".to_owned());
    }
    Some(FindReport {
        schema: FIND_SCHEMA,
        name: record.plan.name.clone(),
        description: record.plan.description.clone(),
        machine: machine::on_one_line(&record.machine),
        answer,
        contenders,
    })
}

/// The search as text: the answer, the tables, and with `full` every trial.
pub fn find_text(report: &FindReport, options: TextOptions<'_>) -> String {
    let extent = Extent::of(options.full);
    text::plain(&document::draw(report), extent, options)
}

/// The same as Markdown.
pub fn find_markdown(report: &FindReport, full: bool) -> String {
    let extent = Extent::of(full);
    markdown::plain(&document::draw(report), extent)
}

/// One line for each contender and goal.
pub fn find_csv(report: &FindReport) -> String {
    csv::tables(&document::draw(report), "found")
}

/// A page that loads nothing from anywhere.
pub fn find_html(report: &FindReport) -> String {
    let picture = picture::pictures(report);
    html::plain(&document::draw(report), ("curve", &picture)) + "</html>\n"
}

/// One document, `bakeoff.find/1`.
pub fn find_json(report: &FindReport) -> String {
    let text = serde_json::to_string_pretty(report);
    json_safe(&text.expect("the view model has only text keys and numbers")) + "\n"
}
