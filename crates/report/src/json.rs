//! The view model as one JSON document, `bakeoff.report/1`.

use crate::safe::json_safe;
use crate::view::Report;

/// The report as JSON on one line: most of it is series, which no one reads by eye.
pub fn json(report: &Report) -> String {
    let text = serde_json::to_string(report);
    json_safe(&text.expect("the view model has only text keys and numbers"))
}
