//! What an action costs those who are connected, in every format: requests that got lost,
//! connections that were closed, the longest time without an answer, and a picture of each.

mod document;
mod picture;

use bakeoff_audit::change::{Cost, costs};
use bakeoff_plan::{Action, Question};

use crate::document::Section;
use crate::own::{Answered, OwnRow, answered};
use crate::redaction::Redacted;
use crate::words::change as sentence;

/// Version of the document.
pub const CHANGE_SCHEMA: &str = "bakeoff.change/1";

/// What actions cost. Its rows are by workload, contender and load, in the plan's order.
pub type ChangeReport = Answered<Cost>;

/// Draws what actions cost; `None` of a record without them.
pub fn change_view(redacted: &Redacted) -> Option<ChangeReport> {
    let record = redacted.record();
    if record.plan.question() != Question::Change {
        return None;
    }
    let costs = costs(record);
    Some(answered(record, sentence::answer(&costs), costs))
}

impl OwnRow for Cost {
    const SCHEMA: &'static str = CHANGE_SCHEMA;
    const ROWS: &'static str = "costs";
    const TABLE: &'static str = "costs";

    fn sections(report: &ChangeReport, _: bool) -> Vec<Section> {
        document::sections(report)
    }

    fn pictures(report: &ChangeReport) -> (&'static str, String) {
        ("answer", picture::pictures(&report.rows))
    }

    fn weakened_by(rows: &[Self]) -> Option<Vec<String>> {
        Some(sentence::weakened_by(rows))
    }

    fn is_measured(&self) -> bool {
        self.actions > 0
    }

    fn why_not_valid(costs: &[Self], strict: bool) -> Option<String> {
        let of = |cost: &Cost, why: &str| Some(format!("{}: {why}", sentence::named(cost, costs)));
        let never_ran = |cost: &&Cost| {
            let mut own = costs.iter();
            !own.any(|it| it.contender == cost.contender && it.actions > 0)
        };
        let mut asked = costs.iter().filter(|it| it.action != Action::None);
        let mut untold = costs.iter().filter(never_ran);
        let first = untold.next().or_else(|| {
            let first = asked.next()?;
            let all = std::iter::once(first).chain(asked);
            all.clone().all(sentence::tells_nothing).then_some(first)
        });
        if let Some(cost) = first {
            return of(cost, &sentence::untold(cost));
        }
        let mut weak = costs.iter().filter(|_| strict);
        weak.find_map(|cost| {
            let why = sentence::weak(cost).into_iter().next()?;
            of(cost, &format!("{why}, as --strict asks"))
        })
    }
}
