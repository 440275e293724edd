//! What servers do beyond their capacity, in every format: classes, goodput, recovery, and a
//! picture of each over time.
//!
//! Like a search, an overload is no campaign of rounds to be compared, and has a view and a
//! document of its own.

mod document;
mod picture;
mod sparks;
pub(crate) mod view;

use crate::document::Document;
use crate::machine;
use crate::own::{OwnReport, answered};
use crate::redaction::Redacted;
use crate::words::overload as sentence;

pub use view::{OVERLOAD_SCHEMA, OverloadReport, OverloadRow};

/// Draws what servers did beyond their capacity; `None` of a record without it.
pub fn overload_view(redacted: &Redacted) -> Option<OverloadReport> {
    let record = redacted.record();
    if !record.plan.is_overload() {
        return None;
    }
    let contenders = view::rows(record);
    let answer = sentence::answer(&contenders);
    let (tones, answer) = answered(record, answer);
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

impl OwnReport for OverloadReport {
    fn draw(&self, in_characters: bool) -> Document {
        document::draw(self, in_characters)
    }

    fn table(&self) -> &'static str {
        "steps"
    }

    fn pictures(&self) -> (&'static str, String) {
        (
            "answer",
            self.contenders.iter().map(picture::draw).collect(),
        )
    }

    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    fn answer(&self) -> &[String] {
        &self.answer
    }

    fn measured(&self) -> [usize; 2] {
        let lost = self.contenders.iter().filter(|row| row.lost.is_some());
        let lost = lost.count();
        [self.contenders.len() - lost, lost]
    }

    fn why_not_valid(&self, strict: bool) -> Option<String> {
        self.not_valid(strict)
    }
}
