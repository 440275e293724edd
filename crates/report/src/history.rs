//! Numbers over many records in the order of time: where they changed, in every format.
//!
//! A history joins only what two records have in common: machine, kernel, bakeoff, workload and
//! load. A record is reduced to what a history needs ([`HistoryRecord`]) before any is drawn, so
//! that a thousand of them fit into memory, and an index can keep them.

mod copies;
mod document;
mod extract;
mod picture;
mod view;

use crate::document::Extent;
use crate::safe::pretty_json;
use crate::text::TextOptions;
use crate::{csv, html, text};

pub use copies::set_copies_aside;
pub use extract::{EXTRACT_SCHEMA, HistoryCell, HistoryMetric, HistoryNumber, HistoryRecord};
pub use view::{HISTORY_SCHEMA, History, HistorySource, history_view};

/// The histories as text: the changes, then a line for each.
pub fn history_text(history: &History, options: TextOptions<'_>) -> String {
    text::plain(&document::draw(history), Extent::Short, options)
}

/// One line for each record's number.
pub fn history_csv(history: &History) -> String {
    csv::tables(&document::draw(history), "points")
}

/// A page with a picture of each history, which loads nothing from anywhere.
pub fn history_html(history: &History) -> String {
    let pictures = picture::pictures(history);
    html::plain(&document::draw(history), ("answer", &pictures)) + "</html>\n"
}

/// One document, `bakeoff.history/1`.
pub fn history_json(history: &History) -> String {
    pretty_json(history) + "\n"
}
