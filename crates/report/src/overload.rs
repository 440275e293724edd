//! What servers do beyond their capacity, in every format: classes, goodput, recovery, and a
//! picture of each over time.
//!
//! Like a search, an overload is no campaign of rounds to be compared, and has a view and a
//! document of its own.

mod document;
mod picture;
mod sparks;
pub(crate) mod view;

use bakeoff_record::TrialEnd;

use crate::document::Extent;
use crate::redaction::Redacted;
use crate::safe::json_safe;
use crate::text::TextOptions;
use crate::view::Tone;
use crate::words::overload as sentence;
use crate::{csv, html, machine, markdown, text};

pub use view::{OVERLOAD_SCHEMA, OverloadReport, OverloadRow};

/// Draws what servers did beyond their capacity; `None` of a record without it.
pub fn overload_view(redacted: &Redacted) -> Option<OverloadReport> {
    let record = redacted.record();
    if !record.plan.is_overload() {
        return None;
    }
    let contenders = view::rows(record);
    let mut answer = sentence::answer(&contenders);
    let mut trials = record.trials.iter();
    if trials.any(|it| it.end == TrialEnd::Interrupted) {
        answer.push((Tone::Good, "It was interrupted, and can go on.".to_owned()));
    }
    let (tones, answer) = answer.into_iter().unzip();
    Some(OverloadReport {
        schema: OVERLOAD_SCHEMA,
        name: record.plan.name.clone(),
        description: record.plan.description.clone(),
        machine: machine::on_one_line(&record.machine),
        answer,
        tones,
        contenders,
    })
}

/// The overload as text: the answer, the tables, what each server did over time, and with `full`
/// every step of every round.
pub fn overload_text(report: &OverloadReport, options: TextOptions<'_>) -> String {
    let extent = Extent::of(options.full);
    text::plain(&document::draw(report, true), extent, options)
}

/// The same as Markdown.
pub fn overload_markdown(report: &OverloadReport, full: bool) -> String {
    let extent = Extent::of(full);
    markdown::plain(&document::draw(report, true), extent)
}

/// One line for each step of each round.
pub fn overload_csv(report: &OverloadReport) -> String {
    csv::tables(&document::draw(report, false), "steps")
}

/// A page that loads nothing from anywhere, with a picture for each contender.
pub fn overload_html(report: &OverloadReport) -> String {
    let pictures: String = report.contenders.iter().map(picture::draw).collect();
    html::plain(&document::draw(report, false), ("answer", &pictures)) + "</html>\n"
}

/// One document, `bakeoff.overload/1`.
pub fn overload_json(report: &OverloadReport) -> String {
    let text = serde_json::to_string_pretty(report);
    json_safe(&text.expect("the view model has only text keys and numbers")) + "\n"
}
