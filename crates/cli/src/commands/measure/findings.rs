//! What is found before the first trial: contenders that cannot be measured as the plan asks, and
//! those that answer wrongly.

use bakeoff_conduct::Finding;
use bakeoff_plan::{Plan, grouped};
use bakeoff_record::TrialEnd;
use bakeoff_report::Redaction;

use crate::display::step_name;
use crate::{exit, output};

/// A rejected configuration ends the campaign before it begins; what is not installed or not
/// possible is reported and becomes a skipped trial.
pub(crate) fn refuse_what_cannot_run(
    plan: &Plan,
    findings: &[Finding],
    redaction: &Redaction,
) -> anyhow::Result<()> {
    print(findings, redaction)?;
    let pairs = plan.contenders.len() * plan.workloads.len();
    if !findings.is_empty() && findings.len() == pairs {
        return Err(exit::usage(
            "no contender of the plan can be measured here; see above",
        ));
    }
    Ok(())
}

/// Prints what is not installed or not possible, each contender's workloads together.
///
/// # Errors
/// What is rejected or missing from the plan itself.
pub(crate) fn print(findings: &[Finding], redaction: &Redaction) -> anyhow::Result<()> {
    let is_rejected = |finding: &&Finding| matches!(finding.end, TrialEnd::Failed { .. });
    let (rejected, impossible): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(is_rejected);
    for line in lines(&impossible) {
        output::note(&redaction.line(&line));
    }
    if rejected.is_empty() {
        return Ok(());
    }
    let rejected = below("some contenders cannot be started:", &lines(&rejected));
    Err(exit::usage(redaction.line(&rejected)))
}

/// Prints what is wrong with the first answers, all contenders together.
pub(super) fn print_wrong(findings: &[Finding], redaction: &Redaction) {
    let findings: Vec<&Finding> = findings.iter().collect();
    let lines = lines(&findings);
    if !lines.is_empty() {
        let text = below("wrong before the first round:", &lines);
        output::note(&redaction.line(&text));
    }
}

/// What became of each contender, with the server's own message below it. Workloads for which that
/// is the same share a line.
fn lines(findings: &[&Finding]) -> Vec<String> {
    let grouped = by_reason(findings).into_iter();
    let lines = grouped.filter_map(|(first, workloads)| {
        let who = match &workloads[..] {
            [workload] => format!("{}, workload {workload}", first.contender),
            several => format!("{}, workloads {}", first.contender, several.join(", ")),
        };
        match &first.end {
            TrialEnd::Failed {
                step,
                cause,
                message,
            } => {
                let line = format!("{who}: failed at {}: {cause}", step_name(*step));
                let message = message.iter().flat_map(|message| message.lines());
                let message: Vec<String> = message.map(|line| format!("  {line}")).collect();
                Some(below(&line, &message))
            }
            TrialEnd::Skipped { reason, fix } => Some(format!("skipped: {who}: {reason}; {fix}")),
            TrialEnd::Unsupported { reason } => Some(format!("unsupported: {who}: {reason}")),
            TrialEnd::Measured | TrialEnd::Interrupted => None,
        }
    });
    lines.collect()
}

/// A line with others below it, which are indented.
fn below(first: &str, others: &[String]) -> String {
    let mut text = first.to_owned();
    for line in others.iter().flat_map(|other| other.lines()) {
        text.push_str("\n  ");
        text.push_str(line);
    }
    text
}

/// Findings of a contender that end in the same way: the first, and the workloads of all.
fn by_reason<'a>(findings: &[&'a Finding]) -> Vec<(&'a Finding, Vec<&'a str>)> {
    let by_end = findings
        .iter()
        .map(|one| ((&one.contender, &one.end), *one));
    let groups = grouped(by_end).into_iter();
    let with_workloads = |(_, all): (_, Vec<&'a Finding>)| {
        (
            all[0],
            all.iter().map(|one| one.workload.as_str()).collect(),
        )
    };
    groups.map(with_workloads).collect()
}
