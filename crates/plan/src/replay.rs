//! A log of requests becomes the weighted list of a workload, with files for the answers.
//!
//! What a log does not hold is not made up: bodies and headers of requests, parts of files, and
//! where a redirect leads. What cannot be replayed is counted and reported, by reason.

use std::collections::BTreeMap;

mod answers;
mod caddy;
mod combined;
mod har;
mod log;
mod page;
mod texts;

pub use log::AccessLog;
pub use page::{Page, PageRequest, is_redirect};

use crate::content::{Encoding, ServedFile};
use crate::error::PlanError;
use crate::file::{
    AnswersName, AnyBody, ExpectTable, LogFormat, ReplayTable, RequestTable, WorkloadFile,
    default_path,
};
use crate::replay::answers::Answers;
use crate::replay::log::{Kind, LeftOut};
use crate::request::{Request, Requests};
use crate::requests::{Surroundings, request};
use crate::rules::Fault;

/// Largest weight that a file may say.
const WEIGHT_MAX: u32 = 1_000_000_000;

/// What a workload with a `replay` is ready as.
pub(crate) struct Replayed {
    pub(crate) requests: Requests,
    /// The workload's own, and those that the log's answers need.
    pub(crate) files: Vec<ServedFile>,
    /// What was taken from the log, and what not.
    pub(crate) notes: Vec<String>,
}

/// A request as a log has it.
#[derive(Debug, PartialEq, Eq)]
struct Logged {
    method: String,
    target: String,
    /// Host that was asked, where the format has it.
    host: Option<String>,
    status: u16,
    /// Bytes of the answer's body.
    bytes: Option<u64>,
}

/// Reads the log that `replay` names.
pub(crate) fn replay(
    around: &Surroundings<'_>,
    table: &WorkloadFile,
    replay: &ReplayTable,
) -> Result<Replayed, PlanError> {
    contradictions(around, table, replay)?;
    let at = |key: &str| around.source.place(&format!("{}{key}", around.path));
    let path = around.folder.join(&replay.file);
    let opened = around.library.open(around.folder, &replay.file);
    let log = opened.and_then(|mut reader| {
        AccessLog::read(replay.format, replay.host.as_deref(), &mut *reader)
    });
    let mut log = log.map_err(|cause| {
        let problem = format!("failed to read {}: {cause}", path.display());
        Fault::new(problem, "name a log beside this file, not compressed").at(at("replay.file"))
    })?;
    let model = model(around, table)?;
    let answers = match (replay.answers, &table.expect) {
        (_, Some(_)) => Answers::This(model.expect.clone()),
        (AnswersName::Status, None) => Answers::Status,
        (AnswersName::Files, None) => Answers::Files,
    };
    let mut list = asked(&mut log, &answers, &model);
    keep_most_frequent(&mut log, &mut list, replay.requests as usize);
    let mut files = around.files.to_vec();
    if matches!(answers, Answers::Files) {
        answers::serve(&mut log, &mut list, &mut files);
    }
    let notes = texts::notes(&table.name, replay, &log, &list);
    let requests = list.into_iter().map(|one| one.request).collect();
    match Requests::new(requests) {
        Some(requests) => Ok(Replayed {
            requests,
            files,
            notes,
        }),
        None => Err(texts::nothing(replay, &log).at(at("replay.file"))),
    }
}

/// A request of the list, and what the log says of it.
struct Replay {
    request: Request,
    /// How often it came.
    times: u64,
    /// Bytes of its answers, each with how often it came.
    sizes: Vec<(u64, u64)>,
}

fn contradictions(
    around: &Surroundings<'_>,
    table: &WorkloadFile,
    replay: &ReplayTable,
) -> Result<(), PlanError> {
    let refuse = |key: &str, problem: &str, fix: &str| {
        Err(Fault::new(problem, fix).at(around.source.place(&format!("{}{key}", around.path))))
    };
    let said = [
        ("request", !table.request.is_empty()),
        ("method", table.method.is_some()),
        ("path", table.path.is_some()),
    ];
    if let Some((key, _)) = said.iter().find(|(_, said)| *said) {
        let problem = format!("`{key}` stands beside `replay`, which says what is asked");
        return refuse(key, &problem, "take one of them out");
    }
    if replay.host.is_some() && replay.format == LogFormat::Combined {
        let problem = "a log in this format does not say which host was asked";
        return refuse("replay.host", problem, "take `host` out");
    }
    if replay.answers == AnswersName::Status && table.expect.is_some() {
        let problem = "`answers` and `expect` contradict each other";
        return refuse("replay.answers", problem, "keep one of them");
    }
    if table.proxied && table.expect.is_none() {
        let problem = "the upstream behind the server has one answer, and a log has many";
        let fix = "add an `expect` table: every request of the log then expects this answer";
        return refuse("proxied", problem, fix);
    }
    Ok(())
}

/// A request with the headers and the answer that the workload's own keys say.
fn model(around: &Surroundings<'_>, table: &WorkloadFile) -> Result<Request, PlanError> {
    let any = ExpectTable {
        status: 200,
        encoding: Encoding::Identity,
        text: None,
        generated: None,
        file: None,
        body: Some(AnyBody::Any),
        bytes: None,
        sha256: None,
    };
    let one = RequestTable {
        method: "GET".to_owned(),
        path: default_path(),
        // What was logged was sent, braces and all.
        placeholders: false,
        headers: table.headers.clone().unwrap_or_default(),
        weight: 1,
        body: None,
        expect: Some(table.expect.clone().unwrap_or(any)),
    };
    request(around, around.path, &one)
}

/// What is asked for each kind of request in the log; what is the same is asked as one.
fn asked(log: &mut AccessLog, answers: &Answers, model: &Request) -> Vec<Replay> {
    let mut list: BTreeMap<(String, String, u16), Replay> = BTreeMap::new();
    for (kind, count) in std::mem::take(&mut log.kinds) {
        let request = match answers.request(&kind, model) {
            Ok(request) => request,
            Err(why) => {
                log.leave_out(why, count.times);
                continue;
            }
        };
        let Kind { method, target, .. } = kind;
        let one = list.entry((method, target, request.expect.status));
        let one = one.or_insert_with(|| Replay {
            request,
            times: 0,
            sizes: Vec::new(),
        });
        one.times += count.times;
        one.sizes.extend(count.sizes());
    }
    list.into_values().collect()
}

/// Puts the most frequent first, of equals by name, and leaves out all beyond so many.
fn keep_most_frequent(log: &mut AccessLog, list: &mut Vec<Replay>, most: usize) {
    list.sort_by(|one, other| {
        let by_name = || one.request.name().cmp(&other.request.name());
        other.times.cmp(&one.times).then_with(by_name)
    });
    for rare in list.drain(most.min(list.len())..) {
        log.leave_out(LeftOut::Rare, rare.times);
    }
    for one in list {
        one.request.weight = u32::try_from(one.times).unwrap_or(u32::MAX).min(WEIGHT_MAX);
    }
}
