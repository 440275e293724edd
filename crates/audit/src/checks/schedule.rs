//! Whether the requests of an open loop were sent when they were due and all ended, and whether a
//! load by count reached its count.

use bakeoff_record::DuePart;

use crate::check::{Check, Level};
use crate::checks::hosts::worst_generator;
use crate::code::Code;
use crate::figures::count;
use crate::limits::{
    ENDED_SHARE_INVALID, ENDED_SHARE_SUSPECT, QUEUE_GROWTH_SHARE, STARTED_SHARE,
    STARTED_SHARE_PER_SECOND, send_lag_allowed_ns,
};
use crate::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    if subject.result.load.model.is_open() {
        checks.push(started(subject));
        checks.extend(unended(subject));
        checks.push(worst_generator(subject, send_lag));
        checks.extend(queue_grows(subject));
    } else {
        checks.extend(count_reached(subject));
    }
}

/// The longest time of a load by count may end it before its count. The rate is one all the same,
/// but the load's label promises more requests than there were.
fn count_reached(subject: &Subject<'_>) -> Option<Check> {
    let wanted = subject.result.load.requests?;
    let came = subject.result.requests.completed;
    (came < wanted).then(|| {
        let text = format!(
            "its longest time ended the load with {} of {} requests; `duration` gives it more",
            count(came),
            count(wanted)
        );
        Check::new(Code::ScheduleKept, Level::Note, text).figures(came as f64, wanted as f64)
    })
}

/// Requests due in the window against those of them that were begun.
fn started(subject: &Subject<'_>) -> Check {
    let requests = &subject.result.requests;
    let (asked, begun) = (requests.due.unwrap_or(0), requests.begun);
    if asked == 0 {
        let reason = "the engine did not say how many requests were due";
        return Check::not_run(Code::ScheduleKept, reason);
    }
    let share = begun as f64 / asked as f64;
    let text = format!(
        "{} of {} due requests were begun ({:.2} %)",
        count(begun),
        count(asked),
        // Only all are 100 %.
        if begun < asked {
            (share * 100.0).min(99.99)
        } else {
            100.0
        }
    );
    if share < STARTED_SHARE {
        return Check::new(Code::ScheduleKept, Level::Invalid, text).figures(share, STARTED_SHARE);
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
            let worst_share = share_of(&worst);
            Check::new(Code::ScheduleKept, Level::Suspect, text)
                .figures(worst_share, STARTED_SHARE_PER_SECOND)
        }
        _ => Check::passed(Code::ScheduleKept, text).figures(share, STARTED_SHARE),
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
/// show how long they would have taken, so few of them weaken it and many leave nothing of it.
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
    Some(Check::new(Code::Unended, level, text).figures(share, limit))
}

/// How late the engine was by itself: requests that waited for the server to free a client do not
/// count, and the others only until they were begun, because for a connection it is the server that
/// is waited for.
fn send_lag(subject: &Subject<'_>) -> Check {
    let result = subject.result;
    let kept = result.schedule.as_ref();
    let Some(lag) = kept.and_then(|kept| kept.slip.quantile(0.99)) else {
        let waited = kept.is_some_and(|kept| kept.wait.count() > 0);
        let reason = if waited {
            "every request waited for the server, so the engine's own delay is not known"
        } else {
            "the engine did not record when requests were really sent"
        };
        return Check::not_run(Code::SendLag, reason);
    };
    let latency = result.latency_bounds(0.99).map(|bounds| bounds.low);
    let (lag, limit) = (lag as f64, send_lag_allowed_ns(latency));
    let (level, share) = match latency {
        _ if lag <= limit => (Level::Passed, String::new()),
        // What is late without a client is in the latency too, and may be more than all of it.
        Some(latency) if latency as f64 > lag => {
            let percent = lag / latency as f64 * 100.0;
            (Level::Suspect, format!(", {percent:.0} % of its p99"))
        }
        _ => (Level::Suspect, String::new()),
    };
    let text = format!(
        "99 % of requests that did not wait for the server were begun within {:.3} ms of their \
         time; latency counts from the intended time, so a lag is in it{share}",
        lag / 1e6
    );
    Check::new(Code::SendLag, level, text).figures(lag, limit)
}

/// More in flight when the window closes than when it opened: the server takes less than it is
/// given, and latencies grow for as long as the window is.
fn queue_grows(subject: &Subject<'_>) -> Option<Check> {
    let due = subject.result.requests.due.filter(|due| *due > 0)?;
    let counts = &subject.result.observed.in_flight.counts;
    // A tenth of the window at either end, so that one look decides nothing.
    let tenth = counts.len() / 10;
    if tenth == 0 {
        let text = "what was in flight over time is not known";
        return Some(Check::not_run(Code::QueueGrows, text));
    }
    let mean = |looks: &[u64]| looks.iter().sum::<u64>() as f64 / looks.len() as f64;
    let (before, after) = (
        mean(&counts[..tenth]),
        mean(&counts[counts.len() - tenth..]),
    );
    let share = (after - before) / due as f64;
    let text = format!(
        "{before:.0} requests were in flight when the window opened and {after:.0} when it closed"
    );
    if share > QUEUE_GROWTH_SHARE {
        let text = format!("{text}: the server takes less than it is given");
        let check = Check::new(Code::QueueGrows, Level::Suspect, text);
        return Some(check.figures(share, QUEUE_GROWTH_SHARE));
    }
    let check = behind_clients(subject, due);
    let passed = || Check::passed(Code::QueueGrows, text).figures(share, QUEUE_GROWTH_SHARE);
    Some(check.unwrap_or_else(passed))
}

/// The queue before clients that are all busy: what waits in it is not in flight, whose number
/// stays the clients'. Then fewer requests end in the window than are due in it. All that were sent
/// without a slip waited for a client; those that wait for their connection alone are in flight.
fn behind_clients(subject: &Subject<'_>, due: u64) -> Option<Check> {
    let result = subject.result;
    let slipped = result.schedule.as_ref()?.slip.count();
    let waited = result.send_lag.count().saturating_sub(slipped);
    let ended = result.balance.ended;
    let share = due.saturating_sub(ended) as f64 / due as f64;
    if waited <= due / 2 || share <= QUEUE_GROWTH_SHARE {
        return None;
    }
    let text = format!(
        "{} of the {} requests due ended within the window, and {} waited for a client: the server \
         takes less than it is given",
        count(ended),
        count(due),
        count(waited)
    );
    let check = Check::new(Code::QueueGrows, Level::Suspect, text);
    Some(check.figures(share, QUEUE_GROWTH_SHARE))
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
