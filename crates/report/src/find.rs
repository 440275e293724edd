//! What a search found, in every format: which rates each contender carries, how they compare, and
//! the latency on the way there.
//!
//! A search is no campaign of rounds: its trials differ in their rates. So it has a view and a
//! document of its own, which the formats walk like the other one.

mod document;
mod picture;
pub(crate) mod view;

use bakeoff_search::quests;

use crate::document::Document;
use crate::machine;
use crate::own::{OwnReport, was_interrupted};
use crate::redaction::Redacted;
pub use crate::words::bounds::BoundsTrust;
use crate::words::find as sentence;

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
    // In its curves too, where every bound is known.
    let goes_on = all.iter().any(|quest| quest.progress.next().is_some());
    if was_interrupted(record) && goes_on {
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

impl OwnReport for FindReport {
    fn draw(&self, _: bool) -> Document {
        document::draw(self)
    }

    fn table(&self) -> &'static str {
        "found"
    }

    fn pictures(&self) -> (&'static str, String) {
        ("curve", picture::pictures(self))
    }

    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    fn answer(&self) -> &[String] {
        &self.answer
    }

    fn measured(&self) -> [usize; 2] {
        [self.contenders.len(), 0]
    }

    fn why_not_valid(&self, strict: bool) -> Option<String> {
        self.not_valid(strict)
    }
}
