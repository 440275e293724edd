//! What was taken from a log and what was not, for people.

use super::Replay;
use super::log::{AccessLog, LeftOut};
use crate::file::{LogFormat, ReplayTable};
use crate::rules::Fault;

/// What a reader of a report should know: how much is replayed, and a note for each reason why
/// something is not.
pub(super) fn notes(
    workload: &str,
    replay: &ReplayTable,
    log: &AccessLog,
    list: &[Replay],
) -> Vec<String> {
    let times: u64 = list.iter().map(|one| one.times).sum();
    let host = match &log.host {
        Some(host) => format!(" to {}", host.escape_debug()),
        None => String::new(),
    };
    let mut notes = vec![format!(
        "{workload} replays {times} of {} in {}{host} as {}",
        counted(log.total(), unit(replay)),
        replay.file,
        counted(list.len() as u64, "different request")
    )];
    let reasons = reasons(replay, log);
    notes.extend(reasons.map(|reason| format!("{workload} leaves out {reason}")));
    notes
}

/// The fault of a log of which nothing is left.
pub(super) fn nothing(replay: &ReplayTable, log: &AccessLog) -> Fault {
    let reasons: Vec<String> = reasons(replay, log).collect();
    let only = |why: LeftOut| log.left_out.keys().eq([&why]);
    let fix = if log.total() == 0 {
        "name a log with requests in it"
    } else if only(LeftOut::NotUnderstood) {
        "write the `format` that it has"
    } else if log.host.is_none() && log.left_out.contains_key(&LeftOut::OtherHost) {
        "write the `host` as it stands there, or take it out"
    } else {
        "`answers = \"status\"` replays what no file answers, beside a server with its own content"
    };
    let why = match reasons.as_slice() {
        [] => "it is empty".to_owned(),
        reasons => reasons.join(", "),
    };
    Fault::new(
        format!("nothing in {} can be replayed: {why}", replay.file),
        fix,
    )
}

fn reasons(replay: &ReplayTable, log: &AccessLog) -> impl Iterator<Item = String> {
    let each = log.left_out.iter();
    each.map(move |(why, times)| reason(replay, log, *why, *times))
}

fn reason(replay: &ReplayTable, log: &AccessLog, why: LeftOut, times: u64) -> String {
    let requests = counted(times, "request");
    match why {
        LeftOut::NotUnderstood => {
            let first = log.first_not_understood.unwrap_or(0);
            let what = match replay.format {
                LogFormat::Combined => "no request in the combined format",
                LogFormat::Caddy => "no request in Caddy's format",
                LogFormat::Har => "no answered request by HTTP",
            };
            let unit = unit(replay);
            format!(
                "{} with {what}, the first is {unit} {first}",
                counted(times, unit)
            )
        }
        LeftOut::Unsafe => format!("{requests} that may change something (POST and such)"),
        LeftOut::OtherHost => {
            let key = match &log.host {
                Some(_) => "`host` chooses another",
                None => "none is to the `host` that is named",
            };
            format!("{requests} to other hosts: {key}")
        }
        LeftOut::NoTarget => format!("{requests} for what is no path of a site"),
        LeftOut::Status => {
            format!("{requests} whose answer no file gives (a redirect, a part, a refusal)")
        }
        LeftOut::Failed => format!("{requests} at which the server failed or the client gave up"),
        LeftOut::NoName => format!("{requests} for paths that no generated file can have"),
        LeftOut::Folder => format!("{requests} for paths that are folders of other files"),
        LeftOut::TooLarge => format!("{requests} for files above 64 MiB"),
        LeftOut::NoRoom => format!("{requests} for files beyond 256 MiB of all together"),
        LeftOut::Rare => format!(
            "{requests} that came less often than the {} most frequent: `requests` keeps more",
            replay.requests
        ),
        LeftOut::TooMany => format!("{requests} that came after 200000 different ones"),
    }
}

fn unit(replay: &ReplayTable) -> &'static str {
    match replay.format {
        LogFormat::Har => "entry",
        LogFormat::Combined | LogFormat::Caddy => "line",
    }
}

fn counted(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, noun) => format!("1 {noun}"),
        (count, "entry") => format!("{count} entries"),
        (count, noun) => format!("{count} {noun}s"),
    }
}
