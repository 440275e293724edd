//! What `bakeoff load` prints: one document of `bakeoff.load/1`, or the same for eyes in `text`.
//!
//! It draws one window of one load and judges nothing: the audit says what weakens its numbers.

use bakeoff_record::{
    Bounds, Histogram, Interval, LoadResult, Observed, QuicLedger, Said, UrlResult,
};
use serde_json::{Value, json};

mod compare;
mod csv;
mod histogram;
mod remarks;
mod text;

pub use compare::{LoadDocument, compare_loads};
pub use csv::load_csv;
pub use text::load_text;

/// Version of the document.
pub const LOAD_SCHEMA: &str = "bakeoff.load/1";

/// Quantiles of a latency distribution by their names in the document.
const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
];

/// The result as the document that scripts rely on. A quantile with fewer than ten requests
/// beyond it is null.
pub fn load_json(result: &LoadResult) -> Value {
    let schedule = result.schedule.as_ref();
    let interrupted = result.observed.interrupted.as_ref();
    let kept = |histogram: Option<&Histogram>| histogram.map(distribution_or_null);
    json!({
        "schema": LOAD_SCHEMA,
        "url": result.url,
        "load": load_of(result),
        "measured_s": result.measured_s,
        "interrupted": interrupted.is_some(),
        "planned_s": interrupted.and_then(|it| it.planned_s),
        "cut_off": interrupted.map_or(0, |it| it.cut_off),
        "requests": result.requests,
        "balance": result.balance,
        "due_parts": schedule.map(|schedule| &schedule.parts),
        "outcomes": result.outcomes,
        "status": result.status,
        "rate_per_s": {
            "ok": per_second(result.requests.ok, result.measured_s),
            "completed": per_second(result.requests.completed, result.measured_s),
        },
        "latency_ns": bounded(result),
        "service_ns": distribution(&result.service),
        "first_byte_ns": distribution(&result.first_byte),
        "error_latency_ns": distribution_or_null(&result.error_latency()),
        "error_latencies_ns": by_outcome(result),
        "latency_with_unended_ns": with_unended(result),
        "connect_ns": distribution_or_null(&result.connect),
        "handshake_ns": distribution_or_null(&result.handshake),
        "send_lag_ns": distribution_or_null(&result.send_lag),
        "slip_ns": kept(schedule.map(|schedule| &schedule.slip)),
        "wait_ns": kept(schedule.map(|schedule| &schedule.wait)),
        "blocked_ns": distribution_or_null(&result.blocked),
        "header_bytes": result.header_bytes,
        "requests_per_ended_connection": distribution_or_null(&result.carried),
        "bytes": result.bytes,
        "bodies_checked": result.bodies_checked,
        "bodies_wrong": result.observed.bodies_wrong,
        "urls": result.urls.iter().map(url_of).collect::<Vec<_>>(),
        "connections": result.connections,
        "quic": result.quic.as_ref().map(quic_of),
        "negotiated": result.negotiated,
        "engine": engine_of(result),
        "settings": result.settings,
        "observed": observed_of(&result.observed),
        "warmup_intervals": result.warmup.iter().map(interval_of).collect::<Vec<_>>(),
        "intervals": result.intervals.iter().map(interval_of).collect::<Vec<_>>(),
        "error_samples": result.error_samples,
        "warnings": bakeoff_audit::judge_load(result),
    })
}

/// Latencies of `ok` responses, and beside each quantile that requests without an end move the
/// bounds that it lies between with them; `high` is null where it has none.
fn bounded(result: &LoadResult) -> Value {
    let mut document = distribution(&result.latency);
    if result.at_least.count() == 0 {
        return document;
    }
    let all = result.latency_with_unended();
    let mut bounds = serde_json::Map::new();
    for (name, q) in QUANTILES {
        let known = all.supported_quantile(q);
        let own = result.latency.quantile(q);
        let bounded = known.and_then(|_| result.latency_bounds(q));
        let moved = |bounds: &Bounds| Some(bounds.low) != own || bounds.high != own;
        if let Some(moved) = bounded.filter(moved) {
            bounds.insert(name.to_owned(), json!(moved));
        }
    }
    document["bounds"] = Value::Object(bounds);
    document
}

fn interval_of(interval: &Interval) -> Value {
    json!({
        "start_s": interval.start_s,
        "length_s": interval.length_s,
        "ok": interval.ok,
        "errors": interval.errors,
        "p50_ns": interval.latency.supported_quantile(0.5),
        "p99_ns": interval.latency.supported_quantile(0.99),
        "max_ns": interval.latency.max(),
    })
}

/// What the engine observed beside requests; the samples of single values stay in records.
fn observed_of(observed: &Observed) -> Value {
    json!({
        "in_flight": observed.in_flight,
        "clients": observed.clients,
        "set_up": observed.set_up,
        "engine_lag_ns": distribution_or_null(&observed.engine_lag),
        "closed_early_after_ns": distribution_or_null(&observed.closed_early_after),
        "unasked": observed.unasked,
        "opening_s": observed.opening_s,
        "addresses": observed.addresses,
        "said": observed.said.iter().map(said_of).collect::<Vec<_>>(),
    })
}

/// An answer in place of a page, with where it sent the client.
fn said_of(said: &Said) -> Value {
    json!({
        "url": said.url,
        "status": said.status,
        "reason": said.reason,
        "location": said.location,
        "target": said.target(),
        "body": said.body,
    })
}

/// Time until requests that did not come out `ok` ended, for each outcome that there was.
fn by_outcome(result: &LoadResult) -> Value {
    let each = result.error_latencies.iter();
    each.map(|(outcome, ages)| (outcome.name().to_owned(), distribution(ages)))
        .collect()
}

/// Latencies together with the ages of what had no end. A quantile is null where such an age is
/// at or below it: there it is only a lower bound.
fn with_unended(result: &LoadResult) -> Value {
    let all = result.latency_with_unended();
    let mut document = distribution(&all);
    let youngest = result.at_least.min();
    for (name, q) in QUANTILES {
        let value = all.quantile(q);
        if youngest.zip(value).is_some_and(|(age, value)| age <= value) {
            document[name] = Value::Null;
        }
    }
    document["at_least"] = json!(result.at_least.count());
    document
}

fn url_of(url: &UrlResult) -> Value {
    json!({
        "url": url.url,
        "outcomes": url.outcomes,
        "latency_ns": distribution(&url.latency.histogram()),
    })
}

fn load_of(result: &LoadResult) -> Value {
    let model = &result.load.model;
    let is_open = model.is_open();
    json!({
        "model": if is_open { "open" } else { "closed" },
        "clients": result.load.clients(),
        "streams": result.load.streams,
        "threads": result.threads,
        "rate_per_s": model.rate_per_s(),
        "arrival": model.arrival(),
        "shape": result.shape,
        "seed": is_open.then_some(result.seed),
    })
}

fn quic_of(quic: &QuicLedger) -> Value {
    json!({
        "rtt_ns": distribution_or_null(&quic.rtt),
        "packets_sent": quic.packets_sent,
        "packets_lost": quic.packets_lost,
        "congestion_events": quic.congestion_events,
        "datagrams_sent": quic.datagrams_sent,
        "datagrams_received": quic.datagrams_received,
        "send_calls": quic.send_calls,
        "receive_calls": quic.receive_calls,
        "payload_announced_bytes": known(quic.payload_announced_bytes),
        "datagram_received_bytes_max": known(quic.datagram_received_bytes_max),
        "datagram_sent_bytes_max": known(quic.datagram_sent_bytes_max),
        "retries": quic.retries,
        "early_data": quic.early_data,
        "closes": quic.closes,
    })
}

/// A length that records of old do not report, and of which 0 is none.
fn known(bytes: u32) -> Option<u32> {
    (bytes > 0).then_some(bytes)
}

fn engine_of(result: &LoadResult) -> Value {
    let engine = &result.engine;
    json!({
        "cpu_user_s": engine.cpu_user_s,
        "cpu_system_s": engine.cpu_system_s,
        "cpu_ns_per_request": engine_ns_per_request(result),
        "rss_bytes_max": engine.rss_bytes_max,
        "busy_share": engine.busy_share,
        "threads": engine.threads,
    })
}

fn engine_ns_per_request(result: &LoadResult) -> Option<f64> {
    let cpu_s = result.engine.cpu_user_s + result.engine.cpu_system_s;
    let ended = result.ended_in_window();
    (ended > 0).then(|| cpu_s * 1e9 / ended as f64)
}

fn per_second(requests: u64, measured_s: f64) -> Option<f64> {
    (measured_s > 0.0).then(|| requests as f64 / measured_s)
}

fn distribution(histogram: &Histogram) -> Value {
    let mut value = json!({
        "count": histogram.count(),
        "min": histogram.min(),
        "mean": histogram.mean(),
        "sd": histogram.sd(),
    });
    for (name, q) in QUANTILES {
        value[name] = json!(histogram.supported_quantile(q));
    }
    value["max"] = json!(histogram.max());
    if histogram.over_range() > 0 {
        value["over_range"] = json!(histogram.over_range());
    }
    value
}

fn distribution_or_null(histogram: &Histogram) -> Value {
    if histogram.count() == 0 {
        Value::Null
    } else {
        distribution(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ledger: &QuicLedger, line: Option<&str>, lengths: [Option<u32>; 3]) {
        let mut lines = String::new();
        text::quic(&mut lines, ledger);
        let reported = lines.lines().find(|line| line.contains("datagrams of"));
        assert_eq!(reported.map(str::trim), line);
        let json = quic_of(ledger);
        let names = [
            "payload_announced_bytes",
            "datagram_received_bytes_max",
            "datagram_sent_bytes_max",
        ];
        assert_eq!(
            names.map(|name| &json[name]),
            lengths.map(|n| json!(n)).each_ref()
        );
    }

    #[test]
    fn lengths_of_datagrams_are_reported_where_they_are_known() {
        let ledger = QuicLedger {
            payload_announced_bytes: 65_527,
            datagram_received_bytes_max: 65_500,
            datagram_sent_bytes_max: 1_452,
            ..QuicLedger::default()
        };
        let line = "datagrams of up to 65,527 bytes allowed, 65,500 received, 1,452 sent";
        check(
            &ledger,
            Some(line),
            [Some(65_527), Some(65_500), Some(1_452)],
        );
        check(&QuicLedger::default(), None, [None; 3]);
    }
}
