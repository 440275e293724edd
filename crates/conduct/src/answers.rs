//! Answers outside the window: asked for before and after the load, compared, and recorded.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bakeoff_plan::{Encoding, Request, Trial};
use bakeoff_record::{Step, TrialEnd, TrialRecord, Warning, When};
use bakeoff_stage::Fetched;

use crate::setting::Setting;
use crate::site::Staged;
use crate::spec::Encoded;

/// Most requests of a list that are asked for. From a longer list this many are chosen evenly.
const ASKED_MAX: usize = 64;
/// One request outside the window may take this long.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How long answers are waited for after the load, in timeouts of the load.
const RECOVERY_TIMEOUTS: f64 = 3.0;
/// Pause between two requests for an answer that did not come.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Asks before the load. A wrong answer ends the trial.
pub(crate) fn check_before(
    trial: &Trial,
    contestant: &mut dyn Staged,
    record: &mut TrialRecord,
) -> Result<Encoded, TrialEnd> {
    let mut encoded = Encoded::new();
    for (index, request) in chosen(&trial.workload.requests, true) {
        let asked = (index, request);
        let body = check_answer(
            trial,
            asked,
            contestant,
            record,
            (When::Before, ANSWER_LIMIT),
        )?;
        if let Some(answer) = record.answers.last().filter(|answer| !answer.right) {
            return Err(TrialEnd::failed(
                Step::Start,
                format!(
                    "the answer to `{}` is wrong: status {} and {} bytes, expected {}",
                    request.name(),
                    answer.status,
                    answer.body_bytes,
                    expected_text(request)
                ),
            ));
        }
        if is_kept(request) {
            encoded.insert(index, body);
        }
    }
    Ok(encoded)
}

/// Asks after the load, each request until its answer comes. A server that is busy with what the
/// load left it answers late, or not in this time: that is reported, and takes away nothing that
/// was measured before. A wrong answer is in the record, for the judge.
pub(crate) fn check_after(
    trial: &Trial,
    contestant: &mut dyn Staged,
    record: &mut TrialRecord,
    setting: &Setting<'_>,
) -> Option<TrialEnd> {
    let clock = setting.site.clock();
    let end = clock.now() + Duration::from_secs_f64(trial.load.timeout_s * RECOVERY_TIMEOUTS);
    for asked in chosen(&trial.workload.requests, false) {
        loop {
            let left = end.saturating_duration_since(clock.now());
            let within = left.clamp(ASK_AGAIN, ANSWER_LIMIT);
            let answered = check_answer(trial, asked, contestant, record, (When::After, within));
            let Err(failed) = answered else {
                break;
            };
            if contestant.strayed().is_some() {
                // What was measured was the work of another process.
                record.result = None;
                return Some(failed);
            }
            if let Some(status) = contestant.died() {
                return Some(TrialEnd::Failed {
                    step: Step::CheckAgain,
                    cause: format!("the server died after the load: {status}"),
                    message: Some(contestant.log_tail()),
                });
            }
            // Each request would fail at once, and say nothing about the server.
            if let Some(cause) = contestant.lost() {
                return Some(TrialEnd::failed(Step::CheckAgain, cause));
            }
            if setting.stop.load(Ordering::Relaxed) {
                return Some(failed);
            }
            if clock.now() >= end {
                record.warnings.push(no_answer(failed));
                return None;
            }
            clock.sleep(ASK_AGAIN);
        }
    }
    None
}

fn no_answer(failed: TrialEnd) -> Warning {
    let cause = match failed {
        TrialEnd::Failed { cause, .. } => cause,
        other => format!("{other:?}"),
    };
    Warning {
        code: "no-answer-after".to_owned(),
        text: format!("the server lives and gave no answer after the load: {cause}"),
        hint: "its log is beside the record; a smaller load may leave it less to work off"
            .to_owned(),
    }
}

/// Fetches one answer, records what came, and gives back its body as sent.
fn check_answer(
    trial: &Trial,
    (index, request): (usize, &Request),
    contestant: &mut dyn Staged,
    record: &mut TrialRecord,
    (when, within): (When, Duration),
) -> Result<Vec<u8>, TrialEnd> {
    let protocol = trial.workload.protocol;
    let asked = trial.workload.first_variant(index, request);
    let fetched = contestant.fetch(&asked, protocol, when, within);
    let Fetched {
        check: mut answer,
        body,
    } = fetched?;
    answer.request = request.name();
    if let Some(facts) = record.server.as_mut() {
        let header = answer.header("server").map(str::to_owned);
        facts.server_header = facts.server_header.take().or(header);
    }
    record.answers.push(answer);
    Ok(body)
}

/// The requests that are asked for, each with its position. Before the load an encoded answer is
/// always asked for: in the load it is compared with what came here.
pub(crate) fn chosen(
    requests: &[Request],
    before: bool,
) -> impl Iterator<Item = (usize, &Request)> {
    let count = requests.len();
    let evenly = move |index: usize| {
        // The first of each of `ASKED_MAX` equal parts.
        count <= ASKED_MAX || index == 0 || {
            let part = |index: usize| index * ASKED_MAX / count;
            part(index) != part(index - 1)
        }
    };
    let needed = move |request: &Request| before && is_kept(request);
    let each = requests.iter().enumerate();
    each.filter(move |(index, request)| evenly(*index) || needed(request))
}

/// Whether the body that comes before the load is what bodies of the load are compared with: only
/// there its bytes on the wire are known.
fn is_kept(request: &Request) -> bool {
    let expect = &request.expect;
    let sent = expect.sent();
    expect.encoding != Encoding::Identity || sent.is_some_and(|sent| sent.sha256.is_some())
}

fn expected_text(request: &Request) -> String {
    let expect = &request.expect;
    match expect.body_bytes() {
        Some(body) => format!("status {} and {} bytes", expect.status, body.len()),
        None => {
            let sent = expect.sent().cloned().unwrap_or_default();
            format!("status {} and {sent}", expect.status)
        }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::parse_workload;

    use super::*;

    /// How many of `count` requests are asked for, before and after; every tenth is compressed.
    #[track_caller]
    fn check(count: usize, gzip: bool, before: usize, after: usize) {
        let mut text = "name = \"list\"\n".to_owned();
        for index in 0..count {
            text += &format!("[[request]]\npath = \"/{index}\"\nexpect.text = \"\"\n");
            if gzip && index % 10 == 0 {
                text += "headers = [\"Accept-Encoding: gzip\"]\nexpect.encoding = \"gzip\"\n";
            }
        }
        let requests = parse_workload(&text, "list").unwrap().requests;
        let asked = |before| chosen(&requests, before).map(|(index, _)| index);
        assert_eq!(asked(true).count(), before, "{count}");
        assert_eq!(asked(false).count(), after, "{count}");
        assert_eq!(asked(false).next(), Some(0));
        if count > ASKED_MAX {
            let asked: Vec<usize> = asked(false).collect();
            let gap = count.div_ceil(ASKED_MAX);
            assert!(asked.windows(2).all(|pair| pair[1] - pair[0] <= gap));
        }
    }

    #[test]
    fn short_lists_are_asked_whole_and_long_ones_evenly() {
        check(1, false, 1, 1);
        check(64, false, 64, 64);
        check(65, false, 64, 64);
        check(1000, false, 64, 64);
        check(20, true, 20, 20);
        // 100 are compressed, 64 are chosen evenly, and 8 are both.
        check(1000, true, 156, 64);
    }
}
