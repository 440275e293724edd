//! Limits of the server's own configuration that are below what the load needs (R34).

use bakeoff_record::{OwnLimits, TrialRecord};

use crate::check::Check;
use crate::code::Code;
use crate::figures::count;
use crate::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    let found = own_limit(subject.trial, subject.proxied == Some(true));
    checks.extend(found.map(|text| Check::note(Code::ServerLimit, text)));
}

/// The limit of the server's own configuration that is below what its load needs, as a sentence.
pub fn own_limit(trial: &TrialRecord, proxied: bool) -> Option<String> {
    let limits = OwnLimits::of(trial.server.as_ref()?);
    connections(trial, &limits, proxied).or_else(|| requests(trial, &limits))
}

/// Each client holds a connection, and through a proxy another one to the upstream.
fn connections(trial: &TrialRecord, limits: &OwnLimits, proxied: bool) -> Option<String> {
    let (each, said) = limits.connections.as_ref()?;
    let crew = trial.work.as_ref().and_then(|work| work.crew.as_ref());
    let workers = match crew {
        _ if !limits.is_for_each_worker => 1,
        Some(crew) => u64::from(crew.loops.max(crew.listening).max(1)),
        // How many there are is not known.
        None => return None,
    };
    let clients = u64::from(trial.load.clients());
    let upstream = proxied && limits.is_for_each_worker;
    let (needed, through) = if upstream {
        (2 * clients, " through a proxy")
    } else {
        (clients, "")
    };
    let held = each.saturating_mul(workers);
    let who = match workers {
        1 => "it".to_owned(),
        workers => format!("{} workers", count(workers)),
    };
    (needed > held).then(|| {
        format!(
            "{said} lets {who} hold {} connections at once, and {} clients{through} need {}",
            count(held),
            count(clients),
            count(needed)
        )
    })
}

fn requests(trial: &TrialRecord, limits: &OwnLimits) -> Option<String> {
    let statuses = &trial.result.as_ref()?.status;
    let (said, status, answers) = statuses.iter().find_map(|(status, answers)| {
        let said = limits.refusing(*status)?;
        (*answers > 0).then_some((said, *status, *answers))
    })?;
    Some(format!(
        "{said} limits how often it is asked: {} requests were answered with {status}",
        count(answers)
    ))
}
