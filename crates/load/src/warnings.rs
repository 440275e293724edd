//! What weakens a load's numbers, as far as the engine sees it.

use bakeoff_plan::LoadModel;
use bakeoff_record::{Outcome, Requests, Warning};

use crate::ledger::Counts;
use crate::spec::{LoadSpec, Speaking};
use crate::tls::Agreed;

/// Share of a core above which an engine thread is said to be saturated (R13).
const SATURATED: f64 = 0.9;
/// Shortest window in which that says something, seconds.
const SATURATED_S_MIN: f64 = 0.1;
/// Send lag at the 99th percentile above which the schedule was not kept (R9).
const LAG_NS_MAX: u64 = 1_000_000;

pub(crate) fn warnings(
    spec: &LoadSpec,
    requests: &Requests,
    counts: &Counts,
    busy_share: &[f64],
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |code: &str, text: String, hint: &str| {
        warnings.push(Warning {
            code: code.to_owned(),
            text,
            hint: hint.to_owned(),
        });
    };
    let busiest = busy_share.iter().copied().fold(0.0, f64::max);
    let measured_s = counts.clock.measured_ns as f64 / 1e9;
    if busiest > SATURATED && measured_s >= SATURATED_S_MIN {
        warn(
            "generator-saturated",
            format!(
                "an engine thread was busy for {:.0} % of the time",
                busiest * 100.0
            ),
            "give the engine more threads and cores, or ask for less; the server may do more",
        );
    }
    // What waited because no connection was free is the server's doing.
    let slip = counts.schedule.slip.quantile(0.99).unwrap_or(0);
    if matches!(spec.load.model, LoadModel::Open { .. }) && slip > LAG_NS_MAX {
        warn(
            "schedule-behind",
            format!(
                "1 % of the requests that found a connection free were sent {:.1} ms late or more",
                slip as f64 / 1e6
            ),
            "give the engine more threads and cores, or less slack; the delay is in the latency",
        );
    }
    if let Some(planned) = requests.planned
        && (requests.started as f64) < planned as f64 * 0.99
    {
        warn(
            "schedule-unsent",
            format!(
                "{} of {planned} planned requests were begun",
                requests.started
            ),
            "the server did not take the rate with so many clients; its capacity is lower",
        );
    }
    let chose_h1 = |agreed: &Agreed| agreed.alpn.as_deref() != Some("h2");
    if spec.load.streams > 1
        && matches!(spec.speaking, Speaking::Auto { .. })
        && counts.links.agreed.as_ref().is_some_and(chose_h1)
    {
        warn(
            "streams-unused",
            format!(
                "{} streams were asked for, and the server agreed on HTTP/1.1: each connection \
                 carried one request at a time",
                spec.load.streams
            ),
            "ask for as many clients instead, or give the server HTTP/2 (ALPN h2)",
        );
    }
    let sample = counts.requests.error_samples.get(Outcome::Local.name());
    if counts.requests.outcomes.of(Outcome::Local) > 0 {
        warn(
            "local-limit",
            format!(
                "{} requests could not be sent for a reason on this side, such as: {}",
                counts.requests.outcomes.of(Outcome::Local),
                sample.map_or("unknown", String::as_str),
            ),
            "no file or port left: run `bakeoff doctor`; no route or no permission: look at the \
             address and the firewall",
        );
    }
    warnings
}
