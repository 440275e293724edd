//! A comparison as a JUnit file: a test case for each gate.
//!
//! A breached gate is a failure, and one that cannot be decided an error, so that a CI system shows
//! both and distinguishes them. What has no gate is skipped. A contender or a workload of the
//! baseline that the other record lacks is an error too, because no gate can be decided for it.

use bakeoff_audit::Ruling;

use super::draw::{Whose, sentence};
use super::{Compare, CompareRow, NotCompared};
use crate::xml::escaped;

/// The comparison as a JUnit file.
pub fn compare_junit(compare: &Compare) -> String {
    let count = |ruling: Ruling| {
        let rows = compare.rows.iter();
        rows.filter(|row| row.ruling == ruling).count()
    };
    let (lacking, beside): (Vec<&NotCompared>, Vec<&NotCompared>) = compare
        .not_compared
        .iter()
        .partition(|one| !compare.gates.is_empty() && one.only_in == "first");
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        compare.rows.len() + lacking.len(),
        count(Ruling::Breached),
        count(Ruling::CannotTell) + lacking.len()
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!(
        "<testsuites name=\"bakeoff compare\" {counts} time=\"0\">\n"
    ));
    out.push_str(&format!(
        "  <testsuite name=\"{}\" {counts} skipped=\"{}\" time=\"0\">\n",
        escaped(&compare.text),
        count(Ruling::Shown)
    ));
    for row in &compare.rows {
        out.push_str(&case(row));
    }
    for one in lacking {
        out.push_str(&missing_case(one));
    }
    let differences = compare.differences.iter();
    let mut beside_gates: Vec<String> = differences
        .map(|one| format!("the records differ in {}: {}", one.what, one.text))
        .collect();
    beside_gates.extend(beside.into_iter().map(NotCompared::text));
    // The schemas of JUnit files allow one such element in a suite.
    if !beside_gates.is_empty() {
        let lines: Vec<String> = beside_gates.iter().map(|line| escaped(line)).collect();
        out.push_str(&format!(
            "    <system-err>{}</system-err>\n",
            lines.join("\n")
        ));
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// What the baseline has and was not measured again.
fn missing_case(one: &NotCompared) -> String {
    let class = match &one.at {
        Some(at) => escaped(&format!("{}.{}", at.workload, at.load)),
        None => "contenders".to_owned(),
    };
    format!(
        "    <testcase classname=\"{class}\" name=\"{}\" time=\"0\">\n      \
         <error type=\"cannot-tell\" message=\"{}\"/>\n    </testcase>\n",
        escaped(&one.contender),
        escaped(&one.text())
    )
}

fn case(row: &CompareRow) -> String {
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"0\"",
        escaped(&format!("{}.{}", row.workload, row.load)),
        escaped(&format!(
            "{}: {} against {}",
            row.metric.short_name(),
            row.second,
            row.first
        )),
    );
    let message = escaped(&sentence(row, Whose::Known));
    match row.ruling {
        Ruling::Passed => {
            format!("{head}>\n      <system-out>{message}</system-out>\n    </testcase>\n")
        }
        Ruling::Shown => {
            let why = match (&row.worse, &row.reason) {
                (None, Some(reason)) => format!("no gate; not comparable: {}", escaped(reason)),
                _ => "no gate".to_owned(),
            };
            format!("{head}>\n      <skipped message=\"{why}\"/>\n    </testcase>\n")
        }
        Ruling::Breached => format!(
            "{head}>\n      <failure type=\"gate-breached\" message=\"{message}\"/>\n    \
             </testcase>\n"
        ),
        Ruling::CannotTell => format!(
            "{head}>\n      <error type=\"cannot-tell\" message=\"{message}\"/>\n    </testcase>\n"
        ),
    }
}
