//! What servers did beyond their capacity, in every format: classes, goodput, recovery, and a
//! picture of each over time.
//!
//! Like a search, an overload is no campaign of rounds to be compared, and has a view and a
//! document of its own.

mod document;
mod picture;
mod sparks;
pub(crate) mod view;

use crate::document::Section;
use crate::own::{Answered, OwnRow, answered};
use crate::redaction::Redacted;
use crate::words::overload as sentence;

pub use view::{OVERLOAD_SCHEMA, OverloadRow};

/// What servers do beyond their capacity. Its rows are by workload, overload and contender, in the
/// plan's order.
pub type OverloadReport = Answered<OverloadRow>;

/// Draws what servers did beyond their capacity; `None` of a record without it.
pub fn overload_view(redacted: &Redacted) -> Option<OverloadReport> {
    let record = redacted.record();
    if !record.plan.is_overload() {
        return None;
    }
    let rows = view::rows(record);
    Some(answered(record, sentence::answer(&rows), rows))
}

impl OwnRow for OverloadRow {
    const SCHEMA: &'static str = OVERLOAD_SCHEMA;
    const ROWS: &'static str = "contenders";
    const TABLE: &'static str = "steps";

    fn sections(report: &OverloadReport, in_characters: bool) -> Vec<Section> {
        document::sections(report, in_characters)
    }

    fn pictures(report: &OverloadReport) -> (&'static str, String) {
        ("answer", report.rows.iter().map(picture::draw).collect())
    }

    fn is_measured(&self) -> bool {
        self.lost.is_none()
    }

    fn why_not_valid(rows: &[Self], strict: bool) -> Option<String> {
        view::not_valid(rows, strict)
    }
}
