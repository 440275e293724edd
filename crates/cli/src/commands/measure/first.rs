//! The first contact before a campaign: what is wrong with contenders is listed at once, and what
//! they answer goes into the plan where it leaves that open.

use bakeoff_conduct::{Finding, FirstAnswers, Site};
use bakeoff_plan::Plan;
use bakeoff_report::Redaction;
use bakeoff_stage::host;

use super::findings::print_wrong;
use super::not_asked;
use crate::exit;

/// Asks each contender once and returns the plan with what was left open, which its notes say. Of
/// one contender alone the first trial says as much, unless something is open.
///
/// # Errors
/// Exit code 4 where fewer than `least` contenders answer.
pub(super) fn look(
    plan: Plan,
    known: &[Finding],
    least: usize,
    site: &dyn Site,
    redaction: &Redaction,
) -> anyhow::Result<Plan> {
    let mut requests = plan
        .workloads
        .iter()
        .flat_map(|workload| workload.requests.iter());
    let is_open = requests.any(|request| request.expect.is_open());
    if plan.contenders.len() < 2 && least < 2 && !is_open {
        return Ok(plan);
    }
    let first = site.first_answers(&plan, known);
    if host::is_interrupted() {
        return Ok(plan);
    }
    let first = first.map_err(not_asked)?;
    let FirstAnswers { findings, plan, .. } = first;
    print_wrong(&findings, redaction);
    let all = [known, &findings].concat();
    let answers = |contender: &str| {
        let lost = all.iter().filter(|finding| finding.contender == contender);
        lost.count() < plan.workloads.len()
    };
    let contenders = plan.contenders.iter().map(|it| it.name.as_str());
    let (able, unable): (Vec<&str>, Vec<&str>) = contenders.partition(|name| answers(name));
    if able.len() >= least {
        return Ok(plan);
    }
    let able = match able.as_slice() {
        [] => "no contender answers".to_owned(),
        able => format!("only {} answers", able.join(", ")),
    };
    Err(exit::not_valid(format!(
        "nothing to compare: {able}; see above for {}",
        unable.join(", ")
    )))
}
