//! What an action costs those who are connected, in every format: requests that got lost,
//! connections that were closed, the longest time without an answer, and a picture of each.

mod document;
mod picture;

use bakeoff_audit::change::{Cost, costs};
use bakeoff_plan::{Action, Question};
use serde::Serialize;

use crate::document::Document;
use crate::machine;
use crate::own::{OwnReport, answered};
use crate::redaction::Redacted;
use crate::view::Tone;
use crate::words::change as sentence;

/// Version of the document.
pub const CHANGE_SCHEMA: &str = "bakeoff.change/1";

/// What actions cost, `bakeoff.change/1`: fields may be added, a hole is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeReport {
    /// [`CHANGE_SCHEMA`].
    pub schema: &'static str,
    /// The plan's name.
    pub name: String,
    /// The plan's description.
    pub description: String,
    /// The machine, on one line.
    pub machine: String,
    /// The answer in sentences: one for each contender and action.
    pub answer: Vec<String>,
    /// How to take each of them.
    #[serde(skip)]
    pub tones: Vec<Tone>,
    /// What takes away from it, in sentences.
    pub weakened_by: Vec<String>,
    /// The costs by workload, contender and load, in the plan's order.
    pub costs: Vec<Cost>,
}

/// Draws what actions cost; `None` of a record without them.
pub fn change_view(redacted: &Redacted) -> Option<ChangeReport> {
    let record = redacted.record();
    if record.plan.question() != Question::Change {
        return None;
    }
    let costs = costs(record);
    let answer = sentence::answer(&costs);
    let (tones, answer) = answered(record, answer);
    Some(ChangeReport {
        schema: CHANGE_SCHEMA,
        name: record.plan.name.clone(),
        description: record.plan.description.clone(),
        machine: machine::on_one_line(&record.machine),
        answer,
        tones,
        weakened_by: sentence::weakened_by(&costs),
        costs,
    })
}

impl OwnReport for ChangeReport {
    fn draw(&self, _: bool) -> Document {
        document::draw(self)
    }

    fn table(&self) -> &'static str {
        "costs"
    }

    fn pictures(&self) -> (&'static str, String) {
        ("answer", picture::pictures(&self.costs))
    }

    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    fn answer(&self) -> &[String] {
        &self.answer
    }

    fn measured(&self) -> [usize; 2] {
        let measured = self.costs.iter().filter(|cost| cost.actions > 0).count();
        [measured, self.costs.len() - measured]
    }

    fn why_not_valid(&self, strict: bool) -> Option<String> {
        let of =
            |cost: &Cost, why: &str| Some(format!("{}: {why}", sentence::named(cost, &self.costs)));
        let never_ran = |cost: &&Cost| {
            let mut own = self.costs.iter();
            !own.any(|it| it.contender == cost.contender && it.actions > 0)
        };
        let mut asked = self.costs.iter().filter(|it| it.action != Action::None);
        let mut untold = self.costs.iter().filter(never_ran);
        let first = untold.next().or_else(|| {
            let first = asked.next()?;
            let all = std::iter::once(first).chain(asked);
            all.clone().all(sentence::tells_nothing).then_some(first)
        });
        if let Some(cost) = first {
            return of(cost, &sentence::untold(cost));
        }
        let mut weak = self.costs.iter().filter(|_| strict);
        weak.find_map(|cost| {
            let why = sentence::weak(cost).into_iter().next()?;
            of(cost, &format!("{why}, as --strict asks"))
        })
    }
}
