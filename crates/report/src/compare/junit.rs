//! A comparison as a JUnit file: a test case for each gate.
//!
//! A breached gate is a failure, and one that cannot be decided an error, so that a CI system shows
//! both and distinguishes them. What has no gate is skipped. A contender or a workload of the
//! baseline that the other record lacks is an error too, because no gate can be decided for it.

use bakeoff_audit::Ruling;

use super::draw::{Whose, sentence};
use super::{Compare, CompareRow, NotCompared};
use crate::xml::{Case, CaseResult, junit};

/// The comparison as a JUnit file.
pub fn compare_junit(compare: &Compare) -> String {
    let (lacking, beside): (Vec<&NotCompared>, Vec<&NotCompared>) = compare
        .not_compared
        .iter()
        .partition(|one| !compare.gates.is_empty() && one.only_in == "first");
    let lacking = lacking.into_iter().map(missing_case);
    let cases: Vec<Case> = compare.rows.iter().map(case).chain(lacking).collect();
    let differences = compare.differences.iter();
    let differences =
        differences.map(|one| format!("the records differ in {}: {}", one.what, one.text));
    let beside = beside.into_iter().map(NotCompared::text);
    let beside: Vec<String> = differences.chain(beside).collect();
    junit("bakeoff compare", &compare.text, &cases, &beside)
}

/// What the baseline has and was not measured again.
fn missing_case(one: &NotCompared) -> Case {
    let at = one.at.as_ref();
    let class = at.map(|at| format!("{}.{}", at.workload, at.load));
    Case {
        class: class.unwrap_or_else(|| "contenders".to_owned()),
        name: one.contender.clone(),
        result: CaseResult::Error("cannot-tell", one.text()),
    }
}

fn case(row: &CompareRow) -> Case {
    let metric = row.metric.short_name();
    let message = sentence(row, Whose::Known);
    Case {
        class: format!("{}.{}", row.workload, row.load),
        name: format!("{metric}: {} against {}", row.second, row.first),
        result: match row.ruling {
            Ruling::Passed => CaseResult::Passed(Some(message)),
            Ruling::Shown => CaseResult::Skipped(match (&row.worse, &row.reason) {
                (None, Some(reason)) => format!("no gate; not comparable: {reason}"),
                _ => "no gate".to_owned(),
            }),
            Ruling::Breached => CaseResult::Failure("gate-breached", message),
            Ruling::CannotTell => CaseResult::Error("cannot-tell", message),
        },
    }
}
