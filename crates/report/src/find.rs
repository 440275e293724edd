//! What a search found, in every format: which rates each contender carries, how they compare, and
//! the latency on the way there.
//!
//! A search is no campaign of rounds: its trials differ in their rates. So it has a view and a
//! document of its own, which the formats walk like the other one.

mod document;
mod picture;
mod sentence;
mod trust;
mod view;

pub(crate) use sentence::searches_apart;

use crate::document::Extent;
use crate::safe::json_safe;
use crate::text::TextOptions;
use crate::{csv, html, markdown, text};

pub use trust::BoundsTrust;
pub use view::{
    CurveRow, Disturbed, FIND_SCHEMA, FindReport, FoundRow, GoalFacts, QuantileRow, Servers,
    TrialRow, find_view,
};

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
