//! What a search found, in every format: which rates each contender carries, how they compare, and
//! the latency on the way there.
//!
//! A search is no campaign of rounds: its trials differ in their rates. So it has a view and a
//! document of its own, which the formats walk like the other one.

mod document;
mod picture;
pub(crate) mod view;

use bakeoff_search::quests;

use crate::document::Section;
use crate::own::{Answered, OwnRow, was_interrupted};
use crate::redaction::Redacted;
use crate::view::Tone;
pub use crate::words::bounds::BoundsTrust;
use crate::words::find as sentence;

pub use view::{
    CurveRow, Disturbed, FIND_SCHEMA, FoundRow, GoalFacts, QuantileRow, Servers, TrialRow,
};

/// What a search found: what each carries, and who carries more. Its rows are by workload, search,
/// goal and contender, in the plan's order.
pub type FindReport = Answered<FoundRow>;

/// Draws what a search found; `None` of a record without one.
pub fn find_view(redacted: &Redacted) -> Option<FindReport> {
    let record = redacted.record();
    if !record.plan.is_search() {
        return None;
    }
    let all = quests(&record.plan, &record.trials);
    let rows = view::rows(&all, &record.trials);
    let is_weak =
        |row: &FoundRow| row.irregular.is_some() || row.behind.lowered_from_per_s.is_some();
    let tone = if rows.iter().any(is_weak) {
        Tone::Note
    } else {
        Tone::Good
    };
    let mut answer = sentence::answer(&rows);
    // In its curves too, where every bound is known.
    let goes_on = all.iter().any(|quest| quest.progress.next().is_some());
    if was_interrupted(record) && goes_on {
        answer.push("The search was interrupted, and can go on.".to_owned());
    }
    let answer = answer.into_iter().map(|line| (tone, line));
    Some(Answered::new(record, answer, rows))
}

impl OwnRow for FoundRow {
    const SCHEMA: &'static str = FIND_SCHEMA;
    const ROWS: &'static str = "contenders";
    const TABLE: &'static str = "found";

    fn sections(report: &FindReport, _: bool) -> Vec<Section> {
        document::sections(report)
    }

    fn pictures(report: &FindReport) -> (&'static str, String) {
        ("curve", picture::pictures(report))
    }

    fn is_measured(&self) -> bool {
        true
    }

    fn why_not_valid(rows: &[Self], strict: bool) -> Option<String> {
        view::not_valid(rows, strict)
    }

    fn flags_to_go_on(rows: &[Self]) -> Option<String> {
        view::flags_to_go_on(rows)
    }
}
