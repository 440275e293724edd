//! What `bakeoff load` prints: one document of `bakeoff.load/1`, or the same for eyes.
//!
//! It draws one window of one load and judges nothing; the tool's own warnings are passed on.

use std::fmt::Write as _;

use bakeoff_plan::{Arrival, LoadModel};
use bakeoff_record::{EarlyData, Histogram, LoadResult, Outcome, QuicLedger, UrlResult};
use serde_json::{Value, json};

use crate::number::{bytes, count, counted, digits, milliseconds, percent, plain, whole};

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
    json!({
        "schema": LOAD_SCHEMA,
        "url": result.url,
        "load": load_of(result),
        "measured_s": result.measured_s,
        "requests": result.requests,
        "outcomes": result.outcomes,
        "status": result.status,
        "rate_per_s": {
            "ok": per_second(result.requests.ok, result.measured_s),
            "completed": per_second(result.requests.completed, result.measured_s),
        },
        "latency_ns": distribution(&result.latency),
        "service_ns": distribution(&result.service),
        "first_byte_ns": distribution(&result.first_byte),
        "error_latency_ns": distribution_or_null(&result.error_latency()),
        "error_latencies_ns": by_outcome(result),
        "latency_with_unended_ns": with_unended(result),
        "connect_ns": distribution_or_null(&result.connect),
        "handshake_ns": distribution_or_null(&result.handshake),
        "send_lag_ns": distribution_or_null(&result.send_lag),
        "blocked_ns": distribution_or_null(&result.blocked),
        "header_bytes": result.header_bytes,
        "requests_per_ended_connection": distribution_or_null(&result.carried),
        "bytes": result.bytes,
        "bodies_checked": result.bodies_checked,
        "urls": result.urls.iter().map(url_of).collect::<Vec<_>>(),
        "connections": result.connections,
        "quic": result.quic.as_ref().map(quic_of),
        "negotiated": result.negotiated,
        "engine": engine_of(result),
        "intervals": result.intervals.iter().map(|interval| json!({
            "start_s": interval.start_s,
            "length_s": interval.length_s,
            "ok": interval.ok,
            "errors": interval.errors,
            "p50_ns": interval.latency.supported_quantile(0.5),
            "p99_ns": interval.latency.supported_quantile(0.99),
            "max_ns": interval.latency.max(),
        })).collect::<Vec<_>>(),
        "error_samples": result.error_samples,
        "warnings": result.warnings,
    })
}

/// The result for a terminal or a log, without colour.
pub fn load_text(result: &LoadResult) -> String {
    let mut text = String::new();
    heading(&mut text, result);
    requests(&mut text, result);
    latencies(&mut text, result);
    outcomes(&mut text, result);
    transport(&mut text, result);
    for warning in &result.warnings {
        let (code, words) = (plain(&warning.code), plain(&warning.text));
        let _ = writeln!(text, "warning      {code}: {words}");
        let _ = writeln!(text, "             {}", plain(&warning.hint));
    }
    text
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
    let (model, rate, arrival, seed) = match &result.load.model {
        LoadModel::Closed { .. } => ("closed", None, None, None),
        LoadModel::Open {
            rate_per_s,
            arrival,
            ..
        } => ("open", Some(*rate_per_s), Some(arrival), Some(result.seed)),
    };
    json!({
        "model": model,
        "clients": result.load.clients(),
        "streams": result.load.streams,
        "threads": result.threads,
        "rate_per_s": rate,
        "arrival": arrival,
        "shape": result.shape,
        "seed": seed,
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

/// A length that records of old do not tell, and of which 0 is none.
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
    })
}

fn engine_ns_per_request(result: &LoadResult) -> Option<f64> {
    let cpu_s = result.engine.cpu_user_s + result.engine.cpu_system_s;
    (result.requests.completed > 0).then(|| cpu_s * 1e9 / result.requests.completed as f64)
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
    value
}

fn distribution_or_null(histogram: &Histogram) -> Value {
    if histogram.count() == 0 {
        Value::Null
    } else {
        distribution(histogram)
    }
}

fn heading(text: &mut String, result: &LoadResult) {
    let mut clients = counted(u64::from(result.load.clients()), "client");
    if result.load.streams > 1 {
        let _ = write!(clients, " with {} streams each", result.load.streams);
    }
    let threads = counted(u64::from(result.threads), "thread");
    let how = match &result.load.model {
        LoadModel::Closed { .. } => format!("closed loop, {clients}"),
        LoadModel::Open {
            rate_per_s,
            arrival,
            ..
        } => {
            let gaps = match arrival {
                Arrival::Constant => "constant",
                Arrival::Poisson => "Poisson",
            };
            format!(
                "open loop, {} requests/s, {gaps} gaps, {clients}",
                digits(*rate_per_s)
            )
        }
    };
    let seconds = digits(result.measured_s);
    let _ = writeln!(
        text,
        "{}\n{how}, {threads}, {seconds} s measured\n",
        plain(&result.url)
    );
}

fn requests(text: &mut String, result: &LoadResult) {
    let asked = &result.requests;
    let planned = match asked.planned {
        Some(planned) => format!("{} planned, ", count(planned)),
        None => String::new(),
    };
    let _ = writeln!(
        text,
        "requests     {planned}{} started = {} completed + {} in flight at the end",
        count(asked.started),
        count(asked.completed),
        count(asked.in_flight_at_end),
    );
    let rate = |requests| per_second(requests, result.measured_s).map_or("-".into(), whole);
    let _ = writeln!(
        text,
        "rate         {} ok/s, {} completed/s\n",
        rate(asked.ok),
        rate(asked.completed),
    );
}

fn latencies(text: &mut String, result: &LoadResult) {
    let names = [
        "min", "p50", "mean", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max",
    ];
    let _ = write!(text, "{:<13}", "ms");
    for name in names {
        let _ = write!(text, "{name:>9}");
    }
    text.push('\n');
    let errors = result.error_latency();
    let rows = [
        ("latency", &result.latency),
        ("service", &result.service),
        ("first byte", &result.first_byte),
        ("connect", &result.connect),
        ("send lag", &result.send_lag),
        ("blocked", &result.blocked),
        ("handshake", &result.handshake),
        ("errors", &errors),
    ];
    for (name, histogram) in rows {
        if histogram.count() > 0 || name == "latency" {
            latency_row(text, name, histogram);
        }
    }
    if result.latency.count() == 0 {
        text.push_str("             no response came out ok, so there is no latency\n");
    } else if matches!(result.load.model, LoadModel::Closed { .. }) {
        text.push_str("             closed loop: latency and service time are the same\n");
    }
    text.push('\n');
}

fn latency_row(text: &mut String, name: &str, histogram: &Histogram) {
    let at = |q: f64| histogram.supported_quantile(q).map(|ns| ns as f64);
    let exact = |ns: Option<u64>| ns.map(|ns| ns as f64);
    let cells = [
        exact(histogram.min()),
        at(0.5),
        histogram.mean(),
        at(0.75),
        at(0.9),
        at(0.95),
        at(0.99),
        at(0.999),
        at(0.9999),
        exact(histogram.max()),
    ];
    let _ = write!(text, "{name:<13}");
    for cell in cells {
        let _ = write!(text, "{:>9}", cell.map_or("-".into(), milliseconds));
    }
    text.push('\n');
}

fn outcomes(text: &mut String, result: &LoadResult) {
    let completed = result.outcomes.completed();
    for (outcome, n) in result.outcomes.iter() {
        if n == 0 && outcome != Outcome::Ok {
            continue;
        }
        let share = if completed == 0 {
            0.0
        } else {
            n as f64 / completed as f64
        };
        let sample = result.error_samples.get(outcome.name());
        let sample = sample.map_or(String::new(), |words| format!("   {}", plain(words)));
        let label = if outcome == Outcome::Ok {
            "outcomes"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "{label:<13}{:<16}{:>14}{:>9} %{sample}",
            outcome.name(),
            count(n),
            percent(share),
        );
    }
    let statuses: Vec<String> = result
        .status
        .iter()
        .map(|(status, n)| format!("{status}: {}", count(*n)))
        .collect();
    if !statuses.is_empty() {
        let _ = writeln!(text, "status       {}", statuses.join(", "));
    }
}

/// What was agreed with the server, and what HTTP/2 did with it.
fn multiplexed(text: &mut String, result: &LoadResult) {
    let (agreed, links) = (&result.negotiated, &result.connections);
    let layers = [&agreed.tls_version, &agreed.cipher, &agreed.group];
    let layers = layers.into_iter().flatten().map(|name| plain(name));
    let words: Vec<String> = std::iter::once(plain(&agreed.protocol))
        .chain(layers)
        .collect();
    let saved = result.header_bytes.and_then(|bytes| bytes.saved_share());
    let saved = saved.map_or(String::new(), |share| {
        format!("; {} % of the header bytes saved", percent(share))
    });
    let _ = writeln!(text, "protocol     {}{saved}", words.join(", "));
    if links.goaways > 0 {
        let _ = writeln!(
            text,
            "             {} connections ended by GOAWAY; {} requests went on the next one",
            count(links.goaways),
            count(links.streams_withdrawn),
        );
    }
}

/// What QUIC did.
fn quic(text: &mut String, quic: &QuicLedger) {
    let median = quic.rtt.quantile(0.5).map(|ns| milliseconds(ns as f64));
    let lost = quic.lost_share().map_or("-".into(), percent);
    let _ = writeln!(
        text,
        "quic         {} ms RTT, {lost} % of {} packets lost, {} and {} datagrams a call out, in",
        median.unwrap_or("-".into()),
        count(quic.packets_sent),
        per_call(quic.datagrams_sent, quic.send_calls),
        per_call(quic.datagrams_received, quic.receive_calls),
    );
    if quic.payload_announced_bytes > 0 {
        let _ = writeln!(
            text,
            "             datagrams of up to {} bytes allowed, {} received, {} sent",
            count(u64::from(quic.payload_announced_bytes)),
            count(u64::from(quic.datagram_received_bytes_max)),
            count(u64::from(quic.datagram_sent_bytes_max)),
        );
    }
    let early = quic.early_data;
    if early != EarlyData::default() {
        let _ = writeln!(
            text,
            "             {} requests sent early; {} handshakes took them, {} not; {} sent again",
            count(early.requests),
            count(early.accepted),
            count(early.rejected),
            count(early.sent_again),
        );
    }
    let closes: Vec<String> = quic
        .closes
        .iter()
        .map(|(kind, n)| format!("{} {}", count(*n), kind.name()))
        .collect();
    if !closes.is_empty() {
        let _ = writeln!(
            text,
            "             connections ended by {}",
            closes.join(", ")
        );
    }
}

fn per_call(datagrams: u64, calls: u64) -> String {
    if calls == 0 {
        "-".to_owned()
    } else {
        digits(datagrams as f64 / calls as f64)
    }
}

fn transport(text: &mut String, result: &LoadResult) {
    let (moved, links, engine) = (&result.bytes, &result.connections, &result.engine);
    let _ = writeln!(
        text,
        "bytes        {} read ({} of bodies), {} written",
        bytes(moved.read as f64),
        bytes(moved.body as f64),
        bytes(moved.written as f64),
    );
    let _ = writeln!(
        text,
        "connections  {} opened, {} failed, {} closed by the server, {} requests on a used one",
        count(links.opened),
        count(links.failed),
        count(links.closed_by_server),
        count(links.reused),
    );
    multiplexed(text, result);
    if let Some(ledger) = &result.quic {
        quic(text, ledger);
    }
    let busy: Vec<String> = engine
        .busy_share
        .iter()
        .map(|share| percent(*share))
        .collect();
    let each = engine_ns_per_request(result).map_or("-".into(), |ns| digits(ns / 1e3));
    let _ = writeln!(
        text,
        "engine       {each} µs CPU a request, threads busy {} %, {} memory",
        if busy.is_empty() {
            "-".into()
        } else {
            busy.join(" ")
        },
        bytes(engine.rss_bytes_max as f64),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ledger: &QuicLedger, line: Option<&str>, lengths: [Option<u32>; 3]) {
        let mut text = String::new();
        quic(&mut text, ledger);
        let told = text.lines().find(|line| line.contains("datagrams of"));
        assert_eq!(told.map(str::trim), line);
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
    fn lengths_of_datagrams_are_told_where_they_are_known() {
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
