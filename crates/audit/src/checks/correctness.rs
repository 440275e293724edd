//! Whether the answers were the right ones, and all of them came (family C).

use bakeoff_record::{Outcome, Step, When};
use bakeoff_stats::server_tree;

use crate::check::{Check, Level};
use crate::limits::{FAILED_SHARE, RECOVERY_S};
use crate::subject::Subject;
use crate::words::count;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(failed_share(subject));
    checks.push(wrong_body(subject));
    checks.push(bodies_compared(subject));
    checks.push(answers(subject, When::Before));
    checks.push(answers(subject, When::After));
    checks.push(server_alive(subject));
    checks.push(recovered(subject));
}

fn failed_share(subject: &Subject<'_>) -> Check {
    let name = ("failed-share", "R17");
    let (outcomes, requests) = (&subject.result.outcomes, &subject.result.requests);
    let (completed, asked) = (outcomes.completed(), requests.asked());
    if completed == 0 {
        return Check::plain(name, Level::Invalid, "no request ended in the window");
    }
    let share = requests.error_share().unwrap_or(0.0);
    let level = if share < FAILED_SHARE {
        Level::Passed
    } else {
        Level::Suspect
    };
    let text = match outcomes
        .iter()
        .filter(|(kind, _)| *kind != Outcome::Ok)
        .max_by_key(|o| o.1)
    {
        Some((kind, n)) if n > 0 => format!(
            "{} of {} requests failed ({:.3} %), most as {} ({}); latencies are of the {} that \
             came out ok",
            count(asked.saturating_sub(requests.ok)),
            count(asked),
            share * 100.0,
            kind.name(),
            count(n),
            count(outcomes.of(Outcome::Ok)),
        ),
        _ if asked > requests.ok => format!(
            "{} of {} due requests had no answer ({:.3} %)",
            count(asked - requests.ok),
            count(asked),
            share * 100.0,
        ),
        _ => format!("none of {} requests failed", count(asked)),
    };
    Check::new(name, level, (share, FAILED_SHARE), text)
}

fn wrong_body(subject: &Subject<'_>) -> Check {
    let wrong = subject.result.outcomes.of(Outcome::WrongBody);
    let level = if wrong == 0 {
        Level::Passed
    } else {
        Level::Invalid
    };
    let text = match wrong {
        0 => "no wrong body was seen".into(),
        _ => format!("{wrong} responses had the right status and another body"),
    };
    Check::new(("wrong-body", "R15"), level, (wrong as f64, 0.0), text)
}

fn bodies_compared(subject: &Subject<'_>) -> Check {
    let name = ("bodies-compared", "R15");
    let (compared, ok) = (subject.result.bodies_checked, subject.result.requests.ok);
    if compared > 0 || ok == 0 {
        let text = format!("{compared} bodies were compared byte by byte, the rest by length");
        return Check::plain(name, Level::Passed, text);
    }
    Check::not_run(name, "no body was compared byte by byte during the window")
}

fn answers(subject: &Subject<'_>, when: When) -> Check {
    let name = match when {
        When::Before => ("answer-before", "R15"),
        When::After => ("answer-after", "R15"),
    };
    let side = when.name();
    let answers = subject.trial.answers.iter();
    let found: Vec<_> = answers.filter(|answer| answer.when == when).collect();
    if found.is_empty() {
        return Check::not_run(name, format!("no answer was compared {side} the window"));
    }
    match found.iter().find(|answer| !answer.right) {
        None => {
            let text = match found.len() {
                1 => format!("the answer {side} the window is right"),
                several => format!("{several} answers {side} the window are right"),
            };
            Check::plain(name, Level::Passed, text)
        }
        Some(wrong) => {
            let request = wrong.request.as_ref();
            let request = request
                .map(|name| format!(" to {name}"))
                .unwrap_or_default();
            let text = format!(
                "the answer{request} {side} the window is wrong: status {}, {} bytes",
                wrong.status, wrong.body_bytes
            );
            Check::plain(name, Level::Invalid, text)
        }
    }
}

fn server_alive(subject: &Subject<'_>) -> Check {
    let name = ("server-alive", "R38");
    let Some(tree) = server_tree(&subject.trial.usage).filter(|tree| !tree.ticks.is_empty()) else {
        return Check::not_run(name, "the probe did not watch the server's processes");
    };
    let window = 0.0..=subject.result.measured_s;
    let gone = tree
        .ticks
        .iter()
        .find(|tick| window.contains(&tick.at_s) && tick.processes == 0);
    match gone {
        None => Check::plain(
            name,
            Level::Passed,
            "the server's processes lived to the end",
        ),
        Some(tick) => Check::plain(
            name,
            Level::Invalid,
            format!(
                "the server had no process left {:.1} s into the window",
                tick.at_s
            ),
        ),
    }
}

/// What a load beyond capacity leaves in a server's queues is worked off before the next answer.
fn recovered(subject: &Subject<'_>) -> Check {
    let name = ("recovered", "R38");
    let mut steps = subject.trial.steps.iter();
    let Some(asked) = steps.find(|one| one.step == Step::CheckAgain) else {
        return Check::plain(name, Level::Passed, "nothing was asked after the load");
    };
    let figures = (asked.took_s, RECOVERY_S);
    let answered = subject
        .trial
        .answers
        .iter()
        .any(|one| one.when == When::After);
    if answered && asked.took_s <= RECOVERY_S {
        let text = "the server answered at once after the load";
        return Check::new(name, Level::Passed, figures, text.to_owned());
    }
    let text = match answered {
        true => format!(
            "slow to recover: the first answer after the load took {:.1} s",
            asked.took_s
        ),
        false => format!(
            "slow to recover: the server lived and gave no answer for {:.1} s after the load",
            asked.took_s
        ),
    };
    Check::new(name, Level::Note, figures, text)
}
