//! Whether the answers were the right ones, and all of them came (family C).

use bakeoff_plan::Changing;
use bakeoff_record::{Outcome, Step, TreeTick, When};
use bakeoff_stats::server_tree;

use crate::check::{Check, Level};
use crate::code::Code;
use crate::ended::workers_ended;
use crate::figures::{count, thousandths};
use crate::limits::{BODY_SENT_SHARE, FAILED_SHARE, RECOVERY_S, UNSEEN_FAILURES, WORKER_SHARE};
use crate::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(failed_share(subject));
    checks.push(wrong_body(subject));
    checks.push(bodies_compared(subject));
    checks.extend(body_bytes(subject));
    checks.push(answers(subject, Code::AnswerBefore, When::Before));
    checks.push(answers(subject, Code::AnswerAfter, When::After));
    checks.push(server_alive(subject));
    checks.extend(server_restarted(subject));
    checks.push(recovered(subject));
}

fn failed_share(subject: &Subject<'_>) -> Check {
    let (outcomes, requests) = (&subject.result.outcomes, &subject.result.requests);
    let (completed, asked) = (outcomes.completed(), requests.asked());
    if completed == 0 {
        let text = match requests.due {
            // Requests from before the window may have ended in it.
            Some(due) => format!(
                "none of {} requests that were due in the window ended",
                count(due)
            ),
            None => format!(
                "no request ended in the window, and {} had no answer when it closed",
                count(requests.in_flight_at_end)
            ),
        };
        return Check::new(Code::FailedShare, Level::Invalid, text);
    }
    let share = requests.error_share().unwrap_or(0.0);
    let text = match outcomes
        .iter()
        .filter(|(kind, _)| *kind != Outcome::Ok)
        .max_by_key(|o| o.1)
    {
        Some((kind, n)) if n > 0 => format!(
            "{} of {} requests failed ({} %), most as {} ({}); latencies are of the {} that \
             came out ok",
            count(asked.saturating_sub(requests.ok)),
            count(asked),
            thousandths(share),
            kind.name(),
            count(n),
            count(outcomes.of(Outcome::Ok)),
        ),
        _ if asked > requests.ok => format!(
            "{} of {} due requests had no answer ({} %)",
            count(asked - requests.ok),
            count(asked),
            thousandths(share),
        ),
        _ => format!("none of {} requests failed{}", count(asked), unseen(asked)),
    };
    Check::passed(Code::FailedShare, text)
        .worse_if(share >= FAILED_SHARE, Level::Suspect, "")
        .figures(share, FAILED_SHARE)
}

/// The share of failures that so few requests could hide: where `3 / n` of all fail, none of n does
/// in one case of twenty.
fn unseen(asked: u64) -> String {
    match UNSEEN_FAILURES / asked.max(1) as f64 {
        share if share < 2.0 * FAILED_SHARE => String::new(),
        share => format!(
            "; so few do not show a share below {} %",
            thousandths(share.min(1.0))
        ),
    }
}

fn wrong_body(subject: &Subject<'_>) -> Check {
    let wrong = subject.result.outcomes.of(Outcome::WrongBody);
    let (level, text) = match wrong {
        0 => (Level::Passed, "no wrong body was seen".into()),
        _ => (
            Level::Invalid,
            format!("{wrong} responses had the right status and another body"),
        ),
    };
    Check::new(Code::WrongBody, level, text).figures(wrong as f64, 0.0)
}

fn bodies_compared(subject: &Subject<'_>) -> Check {
    let (compared, ok) = (subject.result.bodies_checked, subject.result.requests.ok);
    if compared > 0 || ok == 0 {
        let text = format!("{compared} bodies were compared byte by byte, the rest by length");
        return Check::passed(Code::BodiesCompared, text);
    }
    if subject.changing.is_some() {
        let text = "the body changes from answer to answer, so status and length were compared";
        return Check::note(Code::BodiesCompared, text);
    }
    if subject.compares_bodies == Some(false) {
        let text = "the plan says of no body what it is, so statuses were compared";
        return Check::note(Code::BodiesCompared, text);
    }
    let text = "no body was compared byte by byte during the window";
    Check::not_run(Code::BodiesCompared, text)
}

/// Bytes of bodies against the length that the answer had before the load; where one thing alone
/// is asked for.
fn body_bytes(subject: &Subject<'_>) -> Option<Check> {
    if let Some(changing) = subject.changing {
        return changing_bytes(subject, changing);
    }
    let answers = subject.trial.answers.iter();
    let mut lengths = answers.map(|answer| answer.body_bytes);
    let length = lengths.next().filter(|length| *length > 0)?;
    let ok = subject.result.requests.ok;
    // Several requests have several lengths, which are not weighed here.
    if lengths.any(|other| other != length) || subject.result.urls.len() > 1 || ok == 0 {
        return None;
    }
    let share = subject.result.bytes.body as f64 / (ok as f64 * length as f64);
    let text = format!(
        "bodies of {} bytes came for {} right answers of {} bytes each",
        count(subject.result.bytes.body),
        count(ok),
        count(length)
    );
    let is_short = share < BODY_SENT_SHARE;
    let check = Check::passed(Code::BodyBytes, text);
    let check = check.worse_if(is_short, Level::Invalid, ": bytes are missing");
    Some(check.figures(share, BODY_SENT_SHARE))
}

/// Their mean length against the lengths that were seen, where the body changes.
fn changing_bytes(subject: &Subject<'_>, changing: &Changing) -> Option<Check> {
    let [least, most] = changing.bytes?;
    let ok = Some(subject.result.requests.ok).filter(|ok| *ok > 0)?;
    let mean = subject.result.bytes.body as f64 / ok as f64;
    let text = format!(
        "bodies have {} bytes in the mean, and the first answers had {} to {}",
        count(mean.round() as u64),
        count(least),
        count(most)
    );
    let check = Check::passed(Code::BodyBytes, text);
    Some(check.worse_if(!changing.may_have(mean), Level::Invalid, ""))
}

fn answers(subject: &Subject<'_>, code: Code, side: When) -> Check {
    let when = side.name();
    let answers = subject.trial.answers.iter();
    let found: Vec<_> = answers.filter(|answer| answer.when == side).collect();
    if found.is_empty() {
        return Check::not_run(code, format!("no answer was compared {when} the window"));
    }
    match found.iter().find(|answer| !answer.right) {
        None => {
            let text = match found.len() {
                1 => format!("the answer {when} the window is right"),
                several => format!("{several} answers {when} the window are right"),
            };
            Check::passed(code, text)
        }
        Some(wrong) => {
            let text = format!(
                "the answer to {} {when} the window is wrong: status {}, {} bytes",
                wrong.request, wrong.status, wrong.body_bytes
            );
            Check::new(code, Level::Invalid, text)
        }
    }
}

fn server_alive(subject: &Subject<'_>) -> Check {
    let tree = server_tree(&subject.trial.usage);
    let ticks = tree.map(|tree| tree.in_window(subject.result.measured_s));
    let ticks: Vec<&TreeTick> = ticks.into_iter().flatten().collect();
    if ticks.is_empty() {
        let text = "the server's processes were not watched in the window";
        let work = subject.trial.work.as_ref();
        let text = match work.and_then(|work| work.unknown.get("crew")) {
            Some(why) => format!("{text}: {why}"),
            None => text.to_owned(),
        };
        return Check::not_run(Code::ServerAlive, text);
    }
    match ticks.iter().find(|tick| tick.processes == 0) {
        None => Check::passed(Code::ServerAlive, "the server's processes lived to the end"),
        Some(tick) => {
            let text = format!(
                "the server had no process left {:.1} s into the window",
                tick.at_s
            );
            Check::new(Code::ServerAlive, Level::Invalid, text)
        }
    }
}

/// Whether processes that did the server's work ended, and took requests with them. Where that was
/// not watched at all, `server-alive` says so.
fn server_restarted(subject: &Subject<'_>) -> Option<Check> {
    let code = Code::ServerRestarted;
    let tree = server_tree(&subject.trial.usage)?;
    if tree.in_window(subject.result.measured_s).count() <= 1 {
        return None;
    }
    let Some(ended) = workers_ended(tree, subject.result) else {
        let text = "the record does not say whether processes of the server ended";
        return Some(Check::not_run(code, text));
    };
    // The one that did most of those that lost requests; of the others only where there is none.
    let worst = ended.iter().max_by(|one, other| {
        let by_loss = one.is_abrupt.cmp(&other.is_abrupt);
        by_loss.then(one.share.total_cmp(&other.share))
    });
    let Some(worst) = worst else {
        let text = "no process that did the server's work ended";
        return Some(Check::passed(code, text));
    };
    let when = format!(
        "{} ended {:.1} s into the window",
        worst.what(),
        worst.gone_s
    );
    let check = if worst.is_abrupt {
        let text = format!(
            "{when} with the loss of {}: the server crashed, or was started again",
            worst.lost()
        );
        Check::new(code, Level::Invalid, text)
    } else {
        let text = format!("{when}, and the requests on their way were not lost");
        Check::note(code, text)
    };
    Some(check.figures(worst.share, WORKER_SHARE))
}

/// What a load beyond capacity leaves in a server's queues is worked off before the next answer.
fn recovered(subject: &Subject<'_>) -> Check {
    let mut steps = subject.trial.steps.iter();
    let Some(asked) = steps.find(|one| one.step == Step::CheckAgain) else {
        return Check::not_run(
            Code::Recovered,
            "the server was not asked again after the load",
        );
    };
    let answered = subject
        .trial
        .answers
        .iter()
        .any(|one| one.when == When::After);
    let check = if answered && asked.took_s <= RECOVERY_S {
        Check::passed(
            Code::Recovered,
            "the server answered at once after the load",
        )
    } else {
        let text = if answered {
            format!(
                "slow to recover: the first answer after the load took {:.1} s",
                asked.took_s
            )
        } else {
            format!(
                "slow to recover: the server lived and gave no answer for {:.1} s after the load",
                asked.took_s
            )
        };
        Check::note(Code::Recovered, text)
    };
    check.figures(asked.took_s, RECOVERY_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_so_few_requests_do_not_show_is_said() {
        let few = unseen(3_000);
        assert_eq!(few, "; so few do not show a share below 0.100 %");
        assert_eq!(unseen(200_000), "");
        assert!(unseen(1).ends_with("below 100.000 %"), "{}", unseen(1));
    }
}
