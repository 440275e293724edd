//! The answer alone as Markdown, for the summary of a CI job's step.

use crate::document::{Extent, draw};
use crate::markdown::{escaped, section};
use crate::view::Report;

/// Sections of the answer.
const ANSWER: [&str; 3] = ["findings", "ratios", "trust"];

/// The answer as Markdown: findings, ratios, and how far to trust them; with `full` every finding
/// and column.
pub fn summary(report: &Report, full: bool) -> String {
    let extent = match full {
        true => Extent::Full,
        false => Extent::Short,
    };
    let document = draw(report);
    let mut out = format!("### {}\n", escaped(&document.title));
    let sections = document.sections.iter();
    for one in sections.filter(|section| ANSWER.contains(&section.name)) {
        section(&mut out, one, extent);
    }
    out
}
