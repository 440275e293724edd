//! The verdicts of a report as a JUnit file: a test case for each contender, workload and load.

use bakeoff_audit::{Level, Verdict};

use crate::view::{Cell, Report};
use crate::xml::{Case, CaseResult, junit as drawn};

/// The verdicts as a JUnit file. What is not valid is a failure, what did not run is skipped; how
/// two contenders compare is in the JUnit file of `bakeoff compare`.
pub fn junit(report: &Report) -> String {
    drawn("bakeoff", &report.campaign.name, &cases(report), &[])
}

/// Failures and errors of the JUnit file.
pub fn junit_failures(report: &Report) -> usize {
    let is_bad =
        |case: &&Case| matches!(case.result, CaseResult::Failure(..) | CaseResult::Error(..));
    cases(report).iter().filter(is_bad).count()
}

fn cases(report: &Report) -> Vec<Case> {
    let cells = report.cells.iter().filter(|cell| cell.is_contender());
    cells.map(case).collect()
}

fn case(cell: &Cell) -> Case {
    let verdict = cell.verdict.verdict;
    let weak = cell.verdict.checks.iter();
    let weak = weak.filter(|check| check.level > Level::Note);
    let texts: Vec<&str> = weak.map(|check| check.text.as_str()).collect();
    let message = format!("{}: {}", verdict.name(), texts.join("; "));
    Case {
        class: format!("{}.{}", cell.workload, cell.load),
        name: cell.contender.clone(),
        result: match verdict {
            Verdict::Valid => CaseResult::Passed(None),
            Verdict::Failed => CaseResult::Error(verdict.name(), message),
            Verdict::Unsupported | Verdict::Skipped => CaseResult::Skipped(message),
            Verdict::Suspect | Verdict::Invalid => CaseResult::Failure(verdict.name(), message),
        },
    }
}
