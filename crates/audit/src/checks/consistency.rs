//! Laws that counts and times must obey whatever the server does (family F).

use bakeoff_plan::LoadModel;
use bakeoff_record::Histogram;

use crate::check::{Check, Level};
use crate::limits::{LITTLE_SHARE, ORIGIN_SHARE};
use crate::subject::Subject;
use crate::words::count;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(counts(subject));
    if let LoadModel::Closed { clients } = subject.result.load.model {
        checks.push(little(subject, f64::from(clients)));
    }
    if subject.proxied && subject.is_contender() {
        checks.push(origin_asked(subject));
    }
}

fn counts(subject: &Subject<'_>) -> Check {
    let name = ("counts-add-up", "R32");
    let requests = &subject.result.requests;
    let outcomes = &subject.result.outcomes;
    let ends = requests.completed == outcomes.completed();
    let starts = requests.started == requests.completed + requests.in_flight_at_end;
    let latencies = requests.ok == subject.result.latency.count();
    if ends && starts && latencies {
        let text = "started = completed + in flight, completed = sum of outcomes, one latency \
                    for each ok response";
        return Check::plain(name, Level::Passed, text);
    }
    let text = format!(
        "counts contradict each other: {} started, {} completed, {} in flight, {} outcomes, {} \
         ok, {} latencies",
        requests.started,
        requests.completed,
        requests.in_flight_at_end,
        outcomes.completed(),
        requests.ok,
        subject.result.latency.count()
    );
    Check::plain(name, Level::Invalid, text)
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
    let text = format!(
        "rate x latency = {in_flight:.1} requests in flight for {clients:.0} clients ({:.1} % \
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
    let edge = f64::from(subject.result.load.clients());
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
