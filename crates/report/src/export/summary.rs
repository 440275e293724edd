//! The answer alone as Markdown, for the summary of a CI job's step.

use crate::document::{Extent, draw};
use crate::markdown::{escaped, section};
use crate::view::Report;

/// Sections of the answer, in the order of reading.
const ANSWER: [&str; 4] = ["findings", "ratios", "lost", "trust"];

/// The answer as Markdown: findings, ratios, what gave no numbers, and how far to trust them; with
/// `full` every finding and column.
pub fn summary(report: &Report, full: bool) -> String {
    let extent = if full { Extent::Full } else { Extent::Short };
    let document = draw(report);
    let mut out = format!("### {}\n", escaped(&document.title));
    // In this order, which is not that of the document.
    for one in ANSWER.iter().filter_map(|name| document.section(name)) {
        section(&mut out, one, extent);
    }
    out
}
