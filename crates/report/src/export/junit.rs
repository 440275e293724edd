//! The verdicts of a report as a JUnit file: a test case for each contender, workload and load.

use bakeoff_audit::{Level, Verdict};

use crate::view::{Cell, Report};
use crate::xml::escaped;

/// The verdicts as a JUnit file. What is not valid is a failure, what did not run is skipped; how
/// two contenders compare is in the JUnit file of `bakeoff compare`.
pub fn junit(report: &Report) -> String {
    let cells: Vec<&Cell> = report
        .cells
        .iter()
        .filter(|cell| cell.is_contender())
        .collect();
    let count = |wanted: fn(Verdict) -> bool| {
        let verdicts = cells.iter().map(|cell| cell.verdict.verdict);
        verdicts.filter(|verdict| wanted(*verdict)).count()
    };
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        cells.len(),
        count(is_weak),
        count(|verdict| verdict == Verdict::Failed)
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!(
        "<testsuites name=\"bakeoff\" {counts} time=\"0\">\n"
    ));
    out.push_str(&format!(
        "  <testsuite name=\"{}\" {counts} skipped=\"{}\" time=\"0\">\n",
        escaped(&report.campaign.name),
        count(is_skipped)
    ));
    cells.iter().for_each(|cell| out.push_str(&case(cell)));
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Failures and errors of the JUnit file.
pub fn junit_failures(report: &Report) -> usize {
    let cells = report.cells.iter().filter(|cell| cell.is_contender());
    let verdicts = cells.map(|cell| cell.verdict.verdict);
    verdicts
        .filter(|verdict| is_weak(*verdict) || *verdict == Verdict::Failed)
        .count()
}

fn is_weak(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Suspect | Verdict::Invalid)
}

fn is_skipped(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Unsupported | Verdict::Skipped)
}

fn case(cell: &Cell) -> String {
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"0\"",
        escaped(&format!("{}.{}", cell.workload, cell.load)),
        escaped(&cell.contender)
    );
    let verdict = cell.verdict.verdict;
    let weak = cell.verdict.checks.iter();
    let weak = weak.filter(|check| check.level > Level::Note);
    let texts: Vec<String> = weak.map(|check| check.text.clone()).collect();
    let message = escaped(&format!("{}: {}", verdict.name(), texts.join("; ")));
    let tag = match verdict {
        Verdict::Valid => return format!("{head}/>\n"),
        Verdict::Failed => "error",
        one if is_skipped(one) => {
            return format!("{head}>\n      <skipped message=\"{message}\"/>\n    </testcase>\n");
        }
        _ => "failure",
    };
    let kind = verdict.name();
    format!("{head}>\n      <{tag} type=\"{kind}\" message=\"{message}\"/>\n    </testcase>\n")
}
