//! Whether the load engine itself is in the numbers (family B).

use bakeoff_plan::LoadModel;
use bakeoff_record::{DuePart, LoadResult, Outcome};
use bakeoff_stats::{server_tree, window_cores};

use crate::check::{Check, Level};
use crate::limits::{
    CEILING_SHARE, ENDED_SHARE_INVALID, ENDED_SHARE_SUSPECT, ENGINE_BUSY_INVALID,
    ENGINE_BUSY_SUSPECT, SEND_LAG_NS, SEND_LAG_SHARE, SERVER_SATURATED, STARTED_SHARE,
    STARTED_SHARE_PER_SECOND,
};
use crate::subject::Subject;
use crate::words::{count, rate};

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(local(subject));
    if subject.is_contender() {
        checks.push(busy(subject));
    }
    match subject.result.load.model {
        LoadModel::Closed { .. } if subject.is_contender() => checks.push(ceiling(subject)),
        LoadModel::Closed { .. } | LoadModel::OpenShare { .. } => {}
        LoadModel::Open { .. } => {
            checks.push(started(subject));
            checks.extend(unended(subject));
            checks.push(send_lag(subject));
        }
    }
}

fn local(subject: &Subject<'_>) -> Check {
    let failed = subject.result.outcomes.of(Outcome::Local);
    let level = if failed == 0 {
        Level::Passed
    } else {
        Level::Invalid
    };
    let text = match failed {
        0 => "the engine never lacked a file, port or memory".into(),
        _ => format!("{failed} requests could not be sent: no file, port or memory on this side"),
    };
    Check::new(("local-errors", "R11"), level, (failed as f64, 0.0), text)
}

/// The busiest thread of the engine.
///
/// Beyond the upper limit the engine set the pace, unless the server had no processor time left
/// either: two saturated neighbours with a processor each are what a closed loop on one machine
/// comes to, and which of them was slower is for the ceiling (R10) to say.
fn busy(subject: &Subject<'_>) -> Check {
    let name = ("engine-busy", "R13");
    let Some(share) = busiest(subject.result) else {
        return Check::not_run(name, "the engine did not report its threads' CPU time");
    };
    let percent = share * 100.0;
    let server = server_tree(&subject.trial.usage);
    let server_share =
        window_cores(subject.trial, server).map(|cores| cores / subject.server_cpus() as f64);
    if share <= ENGINE_BUSY_SUSPECT {
        let text = format!("the engine's busiest thread used {percent:.0} % of a processor");
        return Check::new(name, Level::Passed, (share, ENGINE_BUSY_SUSPECT), text);
    }
    match server_share {
        Some(server) if server > SERVER_SATURATED => Check::new(
            name,
            Level::Suspect,
            (share, ENGINE_BUSY_SUSPECT),
            format!(
                "the engine's busiest thread used {percent:.0} % of a processor while the server \
                 used {:.0} % of its own: common when both share one machine; the engine's delays \
                 are in the latencies",
                server * 100.0
            ),
        ),
        _ if share > ENGINE_BUSY_INVALID => Check::new(
            name,
            Level::Invalid,
            (share, ENGINE_BUSY_INVALID),
            format!(
                "the engine's busiest thread used {percent:.0} % of a processor and the server \
                 was not saturated: the engine set the pace"
            ),
        ),
        _ => Check::new(
            name,
            Level::Suspect,
            (share, ENGINE_BUSY_SUSPECT),
            format!(
                "the engine's busiest thread used {percent:.0} % of a processor: its delays may \
                 be in the latencies"
            ),
        ),
    }
}

fn ceiling(subject: &Subject<'_>) -> Check {
    let name = ("generator-ceiling", "R10");
    let Some(ceiling) = subject.ceilings.yardstick.filter(|rate| *rate > 0.0) else {
        let text = "the yardstick was not measured at this workload and load, so how fast the \
                    engine can be here is unknown";
        return Check::not_run(name, text);
    };
    let share = subject.rate() / ceiling;
    let (level, text) = if share > CEILING_SHARE {
        let text = format!(
            ">= {} requests/s, generator-limited: {:.0} % of the yardstick's {}",
            rate(subject.rate()),
            share * 100.0,
            rate(ceiling)
        );
        (Level::Suspect, text)
    } else {
        let percent = share * 100.0;
        (
            Level::Passed,
            format!(
                "{percent:.0} % of the yardstick's {} requests/s",
                rate(ceiling)
            ),
        )
    };
    Check::new(name, level, (share, CEILING_SHARE), text)
}

/// Requests due in the window against those of them that were begun. Records written before
/// `due` existed only hold what was planned and what was begun in all.
fn started(subject: &Subject<'_>) -> Check {
    let name = ("schedule-kept", "R7");
    let requests = &subject.result.requests;
    let (asked, begun) = match requests.due {
        Some(due) => (due, requests.begun),
        None => (requests.planned.unwrap_or(0), requests.started),
    };
    if asked == 0 {
        let reason = "the engine did not say how many requests were due";
        return Check::not_run(name, reason);
    }
    let share = begun as f64 / asked as f64;
    let text = format!(
        "{} of {} due requests were begun ({:.2} %)",
        count(begun),
        count(asked),
        share * 100.0
    );
    if share < STARTED_SHARE {
        return Check::new(name, Level::Invalid, (share, STARTED_SHARE), text);
    }
    let schedule = subject.result.schedule.as_ref();
    let seconds = schedule.map(|kept| by_second(&kept.parts));
    let share_of = |part: &DuePart| part.begun as f64 / part.due as f64;
    let worst = seconds
        .into_iter()
        .flatten()
        .filter(|second| second.due > 0)
        .min_by(|left, right| share_of(left).total_cmp(&share_of(right)));
    match worst {
        Some(worst) if share_of(&worst) < STARTED_SHARE_PER_SECOND => {
            let text = format!(
                "{text}, but only {} of {} due from {:.1} s to {:.1} s",
                count(worst.begun),
                count(worst.due),
                worst.start_s,
                worst.start_s + worst.length_s
            );
            let figures = (share_of(&worst), STARTED_SHARE_PER_SECOND);
            Check::new(name, Level::Suspect, figures, text)
        }
        _ => Check::new(name, Level::Passed, (share, STARTED_SHARE), text),
    }
}

/// Parts joined to a second each; what is left at the end joins the last one.
fn by_second(parts: &[DuePart]) -> Vec<DuePart> {
    // Parts are tenths of seconds, whose sum may fall short of one by rounding.
    const SECOND: f64 = 0.999;
    let left_s = |from: usize| -> f64 { parts[from..].iter().map(|part| part.length_s).sum() };
    let mut seconds: Vec<DuePart> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        match seconds.last_mut() {
            Some(second) if second.length_s < SECOND || left_s(index) < SECOND => {
                second.length_s += part.length_s;
                second.due += part.due;
                second.begun += part.begun;
                second.ended += part.ended;
            }
            _ => seconds.push(*part),
        }
    }
    seconds
}

/// Requests due in the window that had no end, although they were waited for. A quantile cannot
/// tell how long they would have taken, so few of them weaken it and many leave nothing of it.
fn unended(subject: &Subject<'_>) -> Option<Check> {
    let requests = &subject.result.requests;
    let (due, unended) = (requests.due.filter(|due| *due > 0)?, requests.unended?);
    let share = due.saturating_sub(unended) as f64 / due as f64;
    let level = if share < ENDED_SHARE_INVALID {
        Level::Invalid
    } else if share < ENDED_SHARE_SUSPECT {
        Level::Suspect
    } else {
        Level::Passed
    };
    let limit = match level {
        Level::Invalid => ENDED_SHARE_INVALID,
        _ => ENDED_SHARE_SUSPECT,
    };
    let text = match unended {
        0 => format!("all of {} due requests ended", count(due)),
        _ => format!(
            "{} of {} due requests had no end ({:.2} %): never begun, or without an answer when \
             they were given up",
            count(unended),
            count(due),
            (1.0 - share) * 100.0
        ),
    };
    Some(Check::new(("unended", "R5"), level, (share, limit), text))
}

/// How late the engine was by itself: only requests that found a free connection count, because
/// for a connection it is the server that is waited for. Records written before the two were
/// told apart hold them together.
fn send_lag(subject: &Subject<'_>) -> Check {
    let name = ("send-lag", "R9");
    let result = subject.result;
    let (lag, words) = match &result.schedule {
        Some(kept) => (&kept.slip, "requests with a free connection"),
        None => (&result.send_lag, "requests"),
    };
    let Some(lag) = lag.quantile(0.99) else {
        let waited = result
            .schedule
            .as_ref()
            .is_some_and(|it| it.wait.count() > 0);
        let reason = match waited {
            true => "no request found a free connection, so the engine's own delay is not known",
            false => "the engine did not record when requests were really sent",
        };
        return Check::not_run(name, reason);
    };
    let latency = result.latency_bounds(0.99).map_or(0, |bounds| bounds.low) as f64;
    let (lag, limit) = (lag as f64, SEND_LAG_NS.max(SEND_LAG_SHARE * latency));
    let level = if lag <= limit {
        Level::Passed
    } else {
        Level::Suspect
    };
    let text = format!(
        "99 % of {words} were sent within {:.3} ms of their time; latency counts from the \
         intended time, so a lag is in it",
        lag / 1e6
    );
    Check::new(name, level, (lag, limit), text)
}

/// Largest busy share among the engine's threads.
pub(crate) fn busiest(result: &LoadResult) -> Option<f64> {
    result.engine.busy_share.iter().copied().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_to_seconds_and_nothing_is_left_over() {
        let check = |parts: u32, length_s: f64, expected: &[u64]| {
            let part = |index| DuePart {
                start_s: f64::from(index) * length_s,
                length_s,
                due: 1,
                begun: 1,
                ended: 1,
            };
            let parts: Vec<DuePart> = (0..parts).map(part).collect();
            let due: Vec<u64> = by_second(&parts).iter().map(|one| one.due).collect();
            assert_eq!(due, expected, "{} of {length_s} s", parts.len());
        };
        check(25, 0.1, &[10, 15]);
        check(3, 1.0, &[1, 1, 1]);
        check(4, 0.1, &[4]);
        check(0, 1.0, &[]);
    }
}
