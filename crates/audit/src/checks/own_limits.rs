//! Limits of the server's own configuration that are below what the load needs (R34).

use bakeoff_plan::{Limits, Workload};
use bakeoff_record::{OwnLimits, THROTTLED_SHARE, TrialRecord};

use crate::check::Check;
use crate::code::Code;
use crate::figures::count;
use crate::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    let found = own_limit(subject.trial, subject.workload);
    let held = subject
        .limited_share()
        .filter(|share| *share > THROTTLED_SHARE);
    let held = held.map(|share| limited_text(subject, share));
    let all = found.into_iter().chain(held).chain(killed(subject.trial));
    checks.extend(all.map(|text| Check::note(Code::ServerLimit, text)));
}

/// That the kernel held a server back for a limit of the plan's, or of a compose file's.
pub(crate) fn limited_text(subject: &Subject<'_>, share: f64) -> String {
    let cpus = subject.limits().and_then(|limits| limits.cpus);
    let limit = cpus.map_or("a limit of its CPU time".to_owned(), |cpus| {
        let only = Limits {
            cpus: Some(cpus),
            memory_bytes: None,
        };
        format!("its limit of {only}")
    });
    format!(
        "{limit} held it back for {:.0} % of the window",
        share * 100.0
    )
}

/// That the kernel ended processes of a server for a limit of its memory.
fn killed(trial: &TrialRecord) -> Option<String> {
    let kills = trial.usage.memory_kills();
    let limits = trial.server.as_ref().and_then(|server| server.limits);
    let limits = limits.filter(|it| it.memory_bytes.is_some());
    let limit = limits.map_or(String::new(), |it| format!(" of {}", it.of_memory()));
    (kills > 0).then(|| {
        let noun = if kills == 1 { "process" } else { "processes" };
        format!(
            "it reached the limit{limit} of its memory, and the kernel ended {} {noun} of it",
            count(kills)
        )
    })
}

/// The limit of the server's own configuration that is below what its load needs, as a sentence.
pub fn own_limit(trial: &TrialRecord, workload: Option<&Workload>) -> Option<String> {
    let limits = OwnLimits::of(trial.server.as_ref()?);
    let proxied = workload.is_some_and(|workload| workload.proxied);
    connections(trial, &limits, proxied).or_else(|| requests(trial, &limits, workload?))
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

fn requests(trial: &TrialRecord, limits: &OwnLimits, workload: &Workload) -> Option<String> {
    let statuses = &trial.result.as_ref()?.status;
    let (said, status, answers) = statuses.iter().find_map(|(status, answers)| {
        let mut asked = workload.requests.iter();
        let said = asked.find_map(|request| limits.refusing(*status, &request.path))?;
        (*answers > 0).then_some((said, *status, *answers))
    })?;
    Some(format!(
        "{said} limits how often it is asked: {} requests were answered with {status}",
        count(answers)
    ))
}
