//! Laws that counts and times must obey whatever the server does (family F).

use bakeoff_plan::LoadModel;
use bakeoff_record::{Balance, Histogram, LoadResult};

use crate::check::{Check, Level};
use crate::limits::{LITTLE_SHARE, ORIGIN_SHARE, SET_UP_SHARE};
use crate::subject::Subject;
use crate::words::count;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(counts(subject));
    let load = &subject.result.load;
    if let LoadModel::Closed { clients } = load.model {
        // By count clients run out of requests one by one: the law speaks of a steady state.
        checks.push(match load.requests {
            None => little(subject, f64::from(clients) * f64::from(load.streams)),
            Some(_) => set_up(subject),
        });
    }
    if subject.proxied && subject.is_contender() {
        checks.push(origin_asked(subject));
    }
}

/// Counts that the engine keeps apart must agree: a request that got lost, or was counted twice,
/// shows as a sum that does not hold. Records written before the balance existed hold fewer.
fn counts(subject: &Subject<'_>) -> Check {
    let name = ("counts-add-up", "R32");
    let broken = broken_sums(subject.result);
    if broken.is_empty() {
        let text = "started = completed + in flight, completed = sum of outcomes, one latency \
                    for each ok response";
        let text = match subject.result.balance {
            Some(_) => format!("carried in + begun = ended + in flight, {text}"),
            None => text.to_owned(),
        };
        return Check::plain(name, Level::Passed, text);
    }
    let text = format!("counts contradict each other: {}", broken.join("; "));
    Check::plain(name, Level::Invalid, text)
}

/// Each sum that does not hold, with its figures.
fn broken_sums(result: &LoadResult) -> Vec<String> {
    let requests = &result.requests;
    let mut broken = Vec::new();
    let mut hold = |(left_words, left): (&str, u64), (right_words, right): (&str, u64)| {
        if left != right {
            let (left, right) = (count(left), count(right));
            broken.push(format!("{left} {left_words}, but {right} {right_words}"));
        }
    };
    let outcomes = result.outcomes.completed();
    hold(("completed", requests.completed), ("outcomes", outcomes));
    hold(
        ("started", requests.started),
        (
            "completed or in flight at the end",
            requests.completed + requests.in_flight_at_end,
        ),
    );
    hold(("ok", requests.ok), ("latencies", result.latency.count()));
    if let Some(balance) = result.balance {
        if matches!(result.load.model, LoadModel::Closed { .. }) {
            hold(
                ("started", requests.started),
                ("carried in or begun", requests.carried_in + requests.begun),
            );
        }
        if !balance.holds() {
            broken.push(imbalance(balance));
        }
    }
    broken
}

fn imbalance(balance: Balance) -> String {
    let entered = balance.carried_in + balance.begun;
    let left = balance.ended + balance.in_flight;
    let gap = match entered.checked_sub(left) {
        Some(lost) => format!("{} lost", count(lost)),
        None => format!("{} too many", count(left - entered)),
    };
    format!(
        "{} carried in + {} begun is not {} ended + {} in flight: {gap}",
        count(balance.carried_in),
        count(balance.begun),
        count(balance.ended),
        count(balance.in_flight)
    )
}

/// Little's law in a closed loop without think time: `N = X * R`, over all requests that ended.
/// What is missing from N is time that clients spent neither waiting nor sending.
fn little(subject: &Subject<'_>, clients: f64) -> Check {
    let name = ("little", "R31");
    let result = subject.result;
    let total_s = seconds(&result.latency) + seconds(&result.error_latency());
    if total_s <= 0.0 || result.measured_s <= 0.0 {
        return Check::not_run(name, "no request ended, so there is no time to add up");
    }
    let in_flight = total_s / result.measured_s;
    let gap = (clients - in_flight).abs() / clients;
    let tail_s = result.latency.quantile(0.99).unwrap_or(0) as f64 / 1e9;
    let limit = LITTLE_SHARE.max(2.0 * tail_s / result.measured_s);
    let level = if gap <= limit {
        Level::Passed
    } else {
        Level::Suspect
    };
    let who = match result.load.streams {
        1 => "clients",
        _ => "streams",
    };
    let text = format!(
        "rate x latency = {in_flight:.1} requests in flight for {clients:.0} {who} ({:.1} % \
         apart){}",
        gap * 100.0,
        if level == Level::Passed {
            ""
        } else {
            "; clients spent that share elsewhere"
        }
    );
    Check::new(name, level, (gap, limit), text)
}

/// A load by count has no warm-up: its window holds the set-up of its connections, and so does
/// its rate. The comparison of 2020 made 1,000 requests over 150 new connections.
fn set_up(subject: &Subject<'_>) -> Check {
    let name = ("set-up-counted", "R24");
    let result = subject.result;
    let half = |histogram: &Histogram| histogram.quantile(0.5).unwrap_or(0) as f64 / 1e9;
    let set_up_s = half(&result.connect) + half(&result.handshake);
    if result.measured_s <= 0.0 {
        return Check::not_run(name, "the window has no length");
    }
    let share = set_up_s / result.measured_s;
    let level = if share <= SET_UP_SHARE {
        Level::Passed
    } else {
        Level::Suspect
    };
    let text = format!(
        "the median of {} connections took {:.1} ms to be set up, {:.1} % of the time in which \
         all requests were made{}",
        count(result.connections.opened),
        set_up_s * 1e3,
        share * 100.0,
        if level == Level::Passed {
            ""
        } else {
            ": the rate is of setting up as much as of serving"
        }
    );
    Check::new(name, level, (share, SET_UP_SHARE), text)
}

fn seconds(histogram: &Histogram) -> f64 {
    histogram.mean().unwrap_or(0.0) * histogram.count() as f64 / 1e9
}

/// A plain proxy asks its upstream once for each request; what was in flight at either edge of
/// the window may be counted on one side only.
fn origin_asked(subject: &Subject<'_>) -> Check {
    let name = ("origin-asked", "R32");
    let Some(origin) = &subject.trial.origin else {
        return Check::not_run(name, "the upstream's requests were not counted");
    };
    let ok = subject.result.requests.ok as f64;
    let completed = subject.result.requests.completed as f64;
    let asked = origin.requests as f64;
    let load = &subject.result.load;
    let edge = f64::from(load.clients()) * f64::from(load.streams);
    let asked_n = count(origin.requests);
    let completed_n = count(subject.result.requests.completed);
    let share = if completed > 0.0 {
        asked / completed
    } else {
        0.0
    };
    let (level, text) = if asked < ok * (1.0 - ORIGIN_SHARE) - edge {
        let text = format!(
            "the upstream was asked for {asked_n} of {completed_n} requests: a cache answers"
        );
        (Level::Suspect, text)
    } else if asked > completed * (1.0 + ORIGIN_SHARE) + edge {
        let text = format!(
            "the upstream was asked {asked_n} times for {completed_n} requests: the proxy retries \
             or checks its health"
        );
        (Level::Suspect, text)
    } else {
        (
            Level::Passed,
            format!("the upstream was asked {asked_n} times for {completed_n} requests"),
        )
    };
    Check::new(name, level, (share, 1.0 - ORIGIN_SHARE), text)
}
