//! What is found before the first trial: contenders that cannot be measured as the plan asks.

use bakeoff_conduct::Finding;
use bakeoff_plan::Plan;
use bakeoff_record::TrialEnd;
use bakeoff_report::Redaction;

use crate::display::step_name;
use crate::{exit, output};

/// A rejected configuration ends the campaign before it begins; what is not installed or not
/// possible is told and becomes a skipped trial.
pub(crate) fn refuse_what_cannot_run(
    plan: &Plan,
    findings: &[Finding],
    redaction: &Redaction,
) -> anyhow::Result<()> {
    tell(findings, redaction)?;
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
pub(crate) fn tell(findings: &[Finding], redaction: &Redaction) -> anyhow::Result<()> {
    let note = |text: &str| output::note(&redaction.line(text));
    let mut rejected = String::new();
    for (first, workloads) in by_reason(findings) {
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
                let step = step_name(*step);
                rejected.push_str(&format!("\n  {who}: failed at {step}: {cause}"));
                for line in message.iter().flat_map(|message| message.lines()) {
                    rejected.push_str(&format!("\n    {line}"));
                }
            }
            TrialEnd::Skipped { reason, fix } => {
                note(&format!("skipped: {who}: {reason}; {fix}"));
            }
            TrialEnd::Unsupported { reason } => {
                note(&format!("unsupported: {who}: {reason}"));
            }
            TrialEnd::Measured | TrialEnd::Interrupted => {}
        }
    }
    if rejected.is_empty() {
        return Ok(());
    }
    Err(exit::usage(format!(
        "some contenders cannot be started:{}",
        redaction.line(&rejected)
    )))
}

/// Findings of a contender that end in the same way: the first, and the workloads of all.
pub(super) fn by_reason(findings: &[Finding]) -> Vec<(&Finding, Vec<&str>)> {
    let mut grouped: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for finding in findings {
        let key = (&finding.contender, &finding.end);
        match grouped
            .iter_mut()
            .find(|(first, _)| (&first.contender, &first.end) == key)
        {
            Some((_, workloads)) => workloads.push(&finding.workload),
            None => grouped.push((finding, vec![&finding.workload])),
        }
    }
    grouped
}
