//! One load by itself, without a campaign around it: what weakens its numbers.

mod together;

use bakeoff_record::{KEPT_DISTURBED_SHARE, LoadResult, Outcome, Warning, engine_kept_share};

use crate::checks::working;
use crate::limits::{ENGINE_BUSY_INVALID, ENGINE_WINDOW_S_MIN, STARTED_SHARE, send_lag_allowed_ns};

pub use together::LoadHosts;

/// What weakens the numbers of a load, with what to do about it; what the engine itself said of an
/// old result comes first.
pub fn judge_load(result: &LoadResult) -> Vec<Warning> {
    let mut warnings = result.warnings.clone();
    let found = [
        saturated(result),
        kept(result),
        behind(result),
        unsent(result),
        streams_unused(result),
        local_limit(result),
        without_page(result),
    ];
    for warning in found.into_iter().flatten() {
        if warnings.iter().all(|known| known.code != warning.code) {
            warnings.push(warning);
        }
    }
    warnings
}

/// The warnings of a load that have a hint: what to do about them. When each is given stands in the
/// reference.
pub(crate) const HINTS: [(&str, &str); 8] = [
    (
        "generator-saturated",
        "give the engine more threads and cores, or ask for less; the server may do more",
    ),
    (
        "engine-kept",
        "end what else runs on this machine, or pin the engine to a processor of its own",
    ),
    (
        "schedule-behind",
        "give the engine more threads and cores, or less slack; the delay is in the latency",
    ),
    (
        "schedule-unsent",
        "the server did not take the rate with so many clients; its capacity is lower",
    ),
    (
        "streams-unused",
        "ask for as many clients instead, or give the server HTTP/2 (ALPN h2)",
    ),
    (
        "local-limit",
        "no file or port left: run `bakeoff doctor`; no route or no permission: look at the \
               address and the firewall",
    ),
    (
        "no-page",
        "what was measured is no page: give the load the URL to which a redirect leads, \
               leave out the headers that ask for a 304, or give --expect-status if that answer \
               is what you measure",
    ),
    (
        "generators-agree",
        "look for what slows that host, or lies between it and the server",
    ),
];

/// A warning with its hint, if it has one.
fn warning(code: &str, text: String) -> Warning {
    let known = HINTS.iter().find(|known| known.0 == code);
    Warning {
        code: code.to_owned(),
        text,
        hint: known.map_or("", |known| known.1).to_owned(),
    }
}

fn saturated(result: &LoadResult) -> Option<Warning> {
    let busiest = working(result).filter(|share| *share > ENGINE_BUSY_INVALID)?;
    (result.measured_s >= ENGINE_WINDOW_S_MIN).then(|| {
        let text = format!(
            "an engine thread worked {:.0} % of the time",
            busiest * 100.0
        );
        warning("generator-saturated", text)
    })
}

fn kept(result: &LoadResult) -> Option<Warning> {
    let share = engine_kept_share(result).filter(|share| *share > KEPT_DISTURBED_SHARE)?;
    (result.measured_s >= ENGINE_WINDOW_S_MIN).then(|| {
        let text = format!(
            "an engine thread was kept from its processor {:.0} % of the time",
            share * 100.0
        );
        warning("engine-kept", text)
    })
}

/// What waited for a client or its connection is the server's doing.
fn behind(result: &LoadResult) -> Option<Warning> {
    let slip = result.schedule.as_ref()?.slip.quantile(0.99)? as f64;
    let latency = result.latency_bounds(0.99).map(|bounds| bounds.low);
    (result.load.model.is_open() && slip > send_lag_allowed_ns(latency)).then(|| {
        let text = format!(
            "1 % of the requests that did not wait for the server were begun {:.2} ms late or more",
            slip / 1e6
        );
        warning("schedule-behind", text)
    })
}

fn unsent(result: &LoadResult) -> Option<Warning> {
    let requests = &result.requests;
    let planned = requests.planned?;
    ((requests.started as f64) < planned as f64 * STARTED_SHARE).then(|| {
        let text = format!(
            "{} of {planned} planned requests were begun",
            requests.started
        );
        warning("schedule-unsent", text)
    })
}

fn streams_unused(result: &LoadResult) -> Option<Warning> {
    let streams = result.load.streams;
    (streams > 1 && result.negotiated.protocol == "h1").then(|| {
        let text = format!(
            "{streams} streams were asked for, and the server agreed on HTTP/1.1: each connection \
             carried one request at a time"
        );
        warning("streams-unused", text)
    })
}

pub(crate) fn local_limit(result: &LoadResult) -> Option<Warning> {
    let failed = result.outcomes.of(Outcome::Local);
    let sample = result.error_samples.get(Outcome::Local.name());
    (failed > 0).then(|| {
        let text = format!(
            "{failed} requests could not be sent for a reason on this side, such as: {}",
            sample.map_or("unknown", String::as_str),
        );
        warning("local-limit", text)
    })
}

/// An answer that sends the client elsewhere is `ok`, and not what the client asked for.
fn without_page(result: &LoadResult) -> Option<Warning> {
    let missing = result.pages_missing();
    let said = result
        .observed
        .said
        .iter()
        .find(|said| said.has_no_page())?;
    let status = said.status;
    let to = said.target().map(|target| format!(" to {target}"));
    (missing > 0).then(|| {
        let completed = result.requests.completed;
        let what = if said.is_redirect() {
            "were redirects"
        } else {
            "had no page"
        };
        let to = to.unwrap_or_default();
        let text = format!("{missing} of {completed} answers {what} ({status}{to})");
        warning("no-page", text)
    })
}
