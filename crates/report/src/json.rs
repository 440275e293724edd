//! The view model as one JSON document, `bakeoff.report/1`.

use crate::view::Report;

/// The report as JSON, indented.
pub fn json(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("the view model has only text keys and numbers")
}
