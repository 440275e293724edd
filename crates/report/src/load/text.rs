//! The result of `bakeoff load` as text, for a terminal or a log: the answer, the numbers, and the
//! histogram.
//!
//! It arranges the numbers of a [`LoadResult`]. Warnings come from `audit`, and remarks from
//! `remarks.rs`.

use std::fmt::Write as _;

use bakeoff_plan::{Arrival, LoadModel, RateShape};
use bakeoff_record::{Bounds, EarlyData, Histogram, LoadResult, Outcome, QuicLedger, Requests};

use super::histogram::histogram;
use super::remarks::{
    NAMES, interrupted, is_unmeasured, line, opened, said, shortened, without_page, wrong_bodies,
};
use super::{engine_ns_per_request, per_second};
use crate::number::{bytes, count, counted, digits, milliseconds, percent, plain};
use crate::style::{WIDTH_LEAST, length};

/// Changes of a rate that are listed one by one.
const STEPS_MAX: usize = 6;

/// The result for a terminal with `columns` columns or, without them, for a log; without colour.
///
/// A narrow terminal shows fewer percentiles, and long lines are folded between words.
pub fn load_text(result: &LoadResult, columns: Option<usize>) -> String {
    let columns = columns.unwrap_or(usize::MAX).max(WIDTH_LEAST);
    let text = drawn(result, columns);
    let lines = text.lines().flat_map(|line| kept_within(line, columns));
    lines.map(|line| line + "\n").collect()
}

fn drawn(result: &LoadResult, columns: usize) -> String {
    let mut text = String::new();
    let warnings = bakeoff_audit::judge_load(result);
    answer(&mut text, result, warnings.len());
    heading(&mut text, result);
    requests(&mut text, result);
    latencies(&mut text, result, columns);
    histogram(&mut text, &result.latency);
    outcomes(&mut text, result);
    transport(&mut text, result);
    for warning in warnings {
        let (code, what) = (plain(&warning.code), plain(&warning.text));
        line(&mut text, "warning", &format!("{code}: {what}"));
        line(&mut text, "", &plain(&warning.hint));
    }
    text
}

/// A line in pieces of at most `columns` columns, broken at blanks behind the name of its row. A
/// word that is longer stays whole.
fn kept_within(line: &str, columns: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = line.to_owned();
    while length(&rest) > columns {
        let begins = rest.len() - rest.trim_start().len();
        let blanks = rest.char_indices().enumerate();
        let blanks = blanks.filter(|(_, (at, letter))| *letter == ' ' && *at > begins.max(NAMES));
        let blanks: Vec<(usize, usize)> = blanks.map(|(column, (at, _))| (column, at)).collect();
        let within = blanks.iter().rev().find(|(column, _)| *column <= columns);
        let Some((_, at)) = within.or(blanks.first()) else {
            break;
        };
        let behind = rest.split_off(*at);
        pieces.push(rest.trim_end().to_owned());
        rest = format!("{:NAMES$}  {}", "", behind.trim_start());
    }
    pieces.push(rest);
    pieces
}

/// The result as a sentence.
fn answer(text: &mut String, result: &LoadResult, warnings: usize) {
    let asked = &result.requests;
    let share = asked.error_share();
    let errors = result.outcomes.iter();
    let errors = errors.filter(|(outcome, n)| *outcome != Outcome::Ok && *n > 0);
    let unended = asked.unended.unwrap_or(0);
    let most = match errors.max_by_key(|(_, n)| *n) {
        Some((outcome, n)) if n > unended => format!(", most as {}", outcome.name()),
        _ if unended > 0 => ", most without an end".to_owned(),
        _ => String::new(),
    };
    text.push_str(&interrupted(result));
    if is_unmeasured(result) {
        text.push_str("nothing was measured");
    } else if asked.ok == 0 {
        let _ = write!(
            text,
            "no ok response to {}{most}",
            counted(asked.asked(), "request")
        );
    } else {
        let rate = per_second(asked.ok, result.measured_s).map_or("-".into(), digits);
        let fields = latency_fields(result);
        let _ = write!(text, "{rate} ok/s; latency p50 {} ms", fields[P50]);
        if fields[P99] != "-" {
            let _ = write!(text, ", p99 {} ms", fields[P99]);
        }
        let failed = share.filter(|share| *share > 0.0);
        let failed = failed.map(|share| format!("{} % failed{most}", percent(share)));
        let _ = write!(text, "; {}", failed.as_deref().unwrap_or("no errors"));
    }
    for remark in [wrong_bodies(result), without_page(result)]
        .iter()
        .flatten()
    {
        let _ = write!(text, "; {remark}");
    }
    if warnings > 0 {
        let _ = write!(text, "; {} below", counted(warnings as u64, "warning"));
    }
    text.push_str("\n\n");
}

fn heading(text: &mut String, result: &LoadResult) {
    let mut clients = counted(u64::from(result.load.clients()), "client");
    if result.load.streams > 1 {
        let _ = write!(clients, " with {} streams each", result.load.streams);
    }
    let threads = counted(u64::from(result.threads), "thread");
    let how = match &result.load.model {
        LoadModel::Open {
            rate_per_s,
            arrival,
            ..
        } => {
            let gaps = match arrival {
                Arrival::Constant => "constant",
                Arrival::Poisson => "Poisson",
            };
            let rates = rates(*rate_per_s, &result.shape);
            format!("open loop, {rates}, {gaps} gaps, {clients}")
        }
        _ => format!("closed loop, {clients}"),
    };
    let seconds = digits(result.measured_s);
    let others = match result.urls.len() {
        0 | 1 => String::new(),
        all => format!(" and {} more", count(all as u64 - 1)),
    };
    let _ = writeln!(
        text,
        "{}{others}\n{how}, {threads}, {seconds} s measured\n",
        shortened(&plain(&result.url))
    );
}

/// The rate of an open loop, with what it changes to.
fn rates(from_per_s: f64, shape: &RateShape) -> String {
    let from = digits(from_per_s);
    match shape {
        RateShape::Level => format!("{from} requests/s"),
        RateShape::Ramp { to_per_s } => format!("{from} to {} requests/s", digits(*to_per_s)),
        RateShape::Steps { then_per_s } if then_per_s.len() > STEPS_MAX => {
            let last = then_per_s.last().copied().map_or("-".into(), digits);
            let steps = count(then_per_s.len() as u64 + 1);
            format!("{from} to {last} requests/s in {steps} steps")
        }
        RateShape::Steps { then_per_s } => {
            let then = then_per_s.iter().map(|rate| digits(*rate));
            let all: Vec<String> = std::iter::once(from).chain(then).collect();
            format!("{} requests/s", all.join(" then "))
        }
    }
}

fn requests(text: &mut String, result: &LoadResult) {
    let asked = &result.requests;
    let planned = asked.planned;
    let planned = planned.map_or(String::new(), |n| format!("{} planned, ", count(n)));
    let [started, completed, in_flight] =
        [asked.started, asked.completed, asked.in_flight_at_end].map(count);
    let said = format!(
        "{planned}{started} started = {completed} completed + {in_flight} in flight at the end"
    );
    line(text, "requests", &said);
    if let Some(due) = asked.due {
        success(text, due, asked);
    }
    let cut_off = result.observed.interrupted.as_ref().map(|it| it.cut_off);
    if let Some(cut_off) = cut_off.filter(|cut_off| *cut_off > 0) {
        let more = counted(cut_off, "more request");
        let said = format!("{more} due shortly before the interruption, and in no other count");
        line(text, "", &said);
    }
    let rate = |requests| per_second(requests, result.measured_s).map_or("-".into(), digits);
    let (ok, completed) = (rate(asked.ok), rate(asked.completed));
    line(
        text,
        "rate",
        &format!("{ok} ok/s, {completed} completed/s\n"),
    );
}

/// The outcomes of the requests due: in an open loop one that had no end is no success either.
fn success(text: &mut String, due: u64, asked: &Requests) {
    let share = asked.error_share();
    let share = share.map_or("-".into(), |share| percent(1.0 - share));
    let (ok, due) = (count(asked.ok), count(due));
    line(text, "success", &format!("{share} %: {ok} ok of {due} due"));
    if let Some(unended) = asked.unended.filter(|unended| *unended > 0) {
        let unended = counted(unended, "request");
        let said = format!("{unended} had no end: never sent, or no answer when given up");
        line(text, "", &said);
    }
}

fn latencies(text: &mut String, result: &LoadResult, columns: usize) {
    let names = [
        "min", "p50", "mean", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max",
    ];
    let shown = shown_within(columns);
    row(text, "ms", &shown, names.map(str::to_owned));
    let errors = result.error_latency();
    let (none, schedule) = (Histogram::new(), result.schedule.as_ref());
    let (slip, wait) = schedule.map_or((&none, &none), |kept| (&kept.slip, &kept.wait));
    let rows = [
        ("latency", &result.latency),
        ("service", &result.service),
        ("first byte", &result.first_byte),
        ("connect", &result.connect),
        ("send lag", &result.send_lag),
        ("slip", slip),
        ("wait", wait),
        ("blocked", &result.blocked),
        ("handshake", &result.handshake),
        ("errors", &errors),
    ];
    for (name, histogram) in rows {
        if name == "latency" {
            row(text, name, &shown, latency_fields(result));
        } else if histogram.count() > 0 {
            row(text, name, &shown, fields(histogram));
        }
    }
    for (name, histogram) in rows {
        if let Some(beyond) = Some(histogram.over_range()).filter(|n| *n > 0) {
            let values = counted(beyond, "value");
            let said = format!("{name}: {values} over 73 minutes, beyond the range of percentiles");
            line(text, "", &said);
        }
    }
    if result.latency.count() == 0 {
        line(text, "", "no response came out ok, so there is no latency");
    } else if matches!(result.load.model, LoadModel::Closed { .. }) {
        line(
            text,
            "",
            "closed loop: latency and service time are the same",
        );
    }
    let mut fields = latency_fields(result).into_iter();
    if fields.any(|field| field.starts_with('>')) {
        let unended = counted(result.at_least.count(), "request");
        let said = format!(">=: {unended} had no end, so these percentiles are at least as long");
        line(text, "", &said);
    }
    text.push('\n');
}

/// Columns of two of them among all.
const P50: usize = 1;
const P99: usize = 6;
/// Columns that a narrow terminal does without, the first ones first; median, p99 and maximum stay.
const LEFT_OUT: [usize; 7] = [3, 5, 8, 0, 2, 4, 7];
/// Width of a column.
const COLUMN: usize = 9;

/// The columns for which there is room.
fn shown_within(columns: usize) -> Vec<usize> {
    let room = columns.saturating_sub(NAMES) / COLUMN;
    let out = LEFT_OUT.len().min(10_usize.saturating_sub(room));
    (0..10)
        .filter(|column| !LEFT_OUT[..out].contains(column))
        .collect()
}

/// Percentiles of a row, in the order of its columns.
const PERCENTILES: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// The latencies, where a percentile that requests without an end could move is a lower bound.
fn latency_fields(result: &LoadResult) -> [String; 10] {
    let all = result.latency_with_unended();
    with_percentiles(&result.latency, |q| {
        all.supported_quantile(q)?;
        let bounds = result.latency_bounds(q)?;
        let Some(known) = bounds.value() else {
            // That it took some time is known of every request.
            let low = milliseconds(bounds.low as f64);
            return Some(format!(">= {low}")).filter(|_| low != "0.000");
        };
        // A step to the next bucket is none: in a closed loop latency stays the service time.
        let high = Some(known);
        let own = result.latency.supported_quantile(q);
        let own = own.filter(|low| Bounds { low: *low, high }.value().is_some());
        Some(milliseconds(own.unwrap_or(known) as f64))
    })
}

fn fields(histogram: &Histogram) -> [String; 10] {
    with_percentiles(histogram, |q| {
        let ns = histogram.supported_quantile(q)?;
        Some(milliseconds(ns as f64))
    })
}

fn with_percentiles(
    histogram: &Histogram,
    percentile: impl Fn(f64) -> Option<String>,
) -> [String; 10] {
    let [p50, p75, p90, p95, p99, p99_9, p99_99] = PERCENTILES.map(percentile);
    let exact = |ns: Option<f64>| ns.map(milliseconds);
    let ends = [histogram.min(), histogram.max()].map(|ns| exact(ns.map(|ns| ns as f64)));
    let [min, max] = ends;
    let mean = exact(histogram.mean());
    let fields = [min, p50, mean, p75, p90, p95, p99, p99_9, p99_99, max];
    fields.map(|field| field.unwrap_or("-".into()))
}

fn row(text: &mut String, name: &str, shown: &[usize], fields: [String; 10]) {
    let _ = write!(text, "{name:<NAMES$}");
    for column in shown {
        // A space of its own, for a field that is wider than its column.
        let _ = write!(text, " {:>8}", fields[*column]);
    }
    text.push('\n');
}

fn outcomes(text: &mut String, result: &LoadResult) {
    let completed = result.outcomes.completed();
    for (outcome, n) in result.outcomes.iter() {
        if n == 0 && outcome != Outcome::Ok {
            continue;
        }
        let share = percent(n as f64 / completed.max(1) as f64);
        let sample = result.error_samples.get(outcome.name());
        let sample = sample.map_or(String::new(), |said| format!("   {}", plain(said)));
        let label = if outcome == Outcome::Ok {
            "outcomes"
        } else {
            ""
        };
        let (name, n) = (outcome.name(), count(n));
        line(
            text,
            label,
            &format!("{name:<16}{n:>14}{share:>9} %{sample}"),
        );
        if outcome == Outcome::WrongBody && wrong_bodies(result).is_some() {
            let each = result.settings.body_check_one_in;
            let said = format!("one body in {each} is compared; --check-every-body compares all");
            line(text, "", &said);
        }
        if outcome == Outcome::ClosedEarly {
            closed_early(text, &result.observed.closed_early_after);
        }
    }
    let statuses = result.status.iter();
    let statuses = statuses.map(|(status, n)| format!("{status}: {}", count(*n)));
    let statuses: Vec<String> = statuses.collect();
    if !statuses.is_empty() {
        line(text, "status", &statuses.join(", "));
    }
    text.push_str(&said(result));
}

/// When the server closed: at once, or after it had kept an idle connection for a time.
fn closed_early(text: &mut String, after: &Histogram) {
    if let Some(median) = after.quantile(0.5) {
        let (ms, of) = (milliseconds(median as f64), count(after.count()));
        let said = format!("closed {ms} ms after the connect or the last answer (median of {of})");
        line(text, "", &said);
    }
}

/// What was agreed with the server, and what HTTP/2 did with it.
fn multiplexed(text: &mut String, result: &LoadResult) {
    let (agreed, links) = (&result.negotiated, &result.connections);
    let layers = [&agreed.tls_version, &agreed.cipher, &agreed.group];
    let layers = layers.into_iter().flatten().map(|name| plain(name));
    let protocol = match agreed.protocol.as_str() {
        "" => "none: no connection was ready".to_owned(),
        name => plain(name),
    };
    let parts: Vec<String> = std::iter::once(protocol).chain(layers).collect();
    let saved = result.header_bytes.and_then(|bytes| bytes.saved_share());
    let saved = saved.map_or(String::new(), |share| {
        format!("; {} % of the header bytes saved", percent(share))
    });
    line(text, "protocol", &(parts.join(", ") + &saved));
    if links.goaways > 0 {
        let [ended, went_on] = [links.goaways, links.streams_withdrawn].map(count);
        let said =
            format!("{ended} connections ended by GOAWAY; {went_on} requests went on the next one");
        line(text, "", &said);
    }
}

/// What QUIC did.
pub(super) fn quic(text: &mut String, quic: &QuicLedger) {
    let median = quic.rtt.quantile(0.5).map(|ns| milliseconds(ns as f64));
    let said = format!(
        "{} ms RTT, {} % of {} packets lost, {} and {} datagrams a call out, in",
        median.unwrap_or("-".into()),
        quic.lost_share().map_or("-".into(), percent),
        count(quic.packets_sent),
        per_call(quic.datagrams_sent, quic.send_calls),
        per_call(quic.datagrams_received, quic.receive_calls),
    );
    line(text, "quic", &said);
    if quic.payload_announced_bytes > 0 {
        let bytes = [
            quic.payload_announced_bytes,
            quic.datagram_received_bytes_max,
            quic.datagram_sent_bytes_max,
        ];
        let [allowed, received, sent] = bytes.map(|bytes| count(u64::from(bytes)));
        let said =
            format!("datagrams of up to {allowed} bytes allowed, {received} received, {sent} sent");
        line(text, "", &said);
    }
    let early = quic.early_data;
    if early != EarlyData::default() {
        let sent = [
            early.requests,
            early.accepted,
            early.rejected,
            early.sent_again,
        ];
        let [sent, taken, not, again] = sent.map(count);
        let said = format!(
            "{sent} requests sent early; {taken} handshakes took them, {not} not; {again} sent \
             again"
        );
        line(text, "", &said);
    }
    let closes = quic.closes.iter();
    let closes = closes.map(|(kind, n)| format!("{} {}", count(*n), kind.name()));
    let closes: Vec<String> = closes.collect();
    if !closes.is_empty() {
        let closes = closes.join(", ");
        line(text, "", &format!("connections ended by {closes}"));
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
    let [read, bodies, written] =
        [moved.read, moved.body, moved.written].map(|it| bytes(it as f64));
    // Requests of an open loop belong to the window in which they are due, and may end after it.
    let moved = match result.load.model {
        LoadModel::Closed { .. } => format!("{read} read ({bodies} of bodies), {written} written"),
        _ => format!(
            "{read} read and {written} written in the window; {bodies} in bodies of requests due \
             in it"
        ),
    };
    line(text, "bytes", &moved);
    let links = [
        links.opened,
        links.failed,
        links.closed_by_server,
        links.reused,
    ];
    let [opened, failed, closed, reused] = links.map(count);
    let said = format!(
        "{opened} opened, {failed} failed, {closed} closed by the server, {reused} requests on a \
         used one"
    );
    line(text, "connections", &said);
    text.push_str(&self::opened(result));
    if result.observed.unasked > 0 {
        let unasked = count(result.observed.unasked);
        let said =
            format!("{unasked} closed because the server sent bytes that nobody had asked for");
        line(text, "", &said);
    }
    multiplexed(text, result);
    if let Some(ledger) = &result.quic {
        quic(text, ledger);
    }
    let busy: Vec<String> = engine
        .busy_share
        .iter()
        .map(|share| percent(*share))
        .collect();
    let busy = if busy.is_empty() {
        "-".into()
    } else {
        busy.join(" ")
    };
    let each = engine_ns_per_request(result).map_or("-".into(), |ns| digits(ns / 1e3));
    let memory = bytes(engine.rss_bytes_max as f64);
    let said = format!("{each} µs CPU a request, threads busy {busy} %, {memory} memory");
    line(text, "engine", &said);
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Connect, Load};

    use super::*;

    #[test]
    fn lines_are_folded_between_words_behind_their_names() {
        let line = "warning      lag: one two three four five";
        assert_eq!(kept_within(line, 80), [line]);
        let folded = [
            "warning      lag: one two",
            "               three four",
            "               five",
        ];
        assert_eq!(kept_within(line, 25), folded);
        let long = "warning      averylongwordthatdoesnotfit";
        assert_eq!(kept_within(long, 20), [long]);
    }

    #[test]
    fn a_rate_that_changes_is_shown_with_its_changes() {
        let load = Load {
            model: LoadModel::Open {
                rate_per_s: 100.0,
                arrival: Arrival::Constant,
                clients: 2,
            },
            streams: 1,
            requests: None,
            warmup_s: 0.0,
            duration_s: 1.0,
            timeout_s: 1.0,
            connect: Connect::First,
            actions: None,
        };
        let mut result = LoadResult::empty(load, 1.0);
        let mut check = |shape, expected: &str| {
            result.shape = shape;
            let text = load_text(&result, None);
            let line = format!("open loop, {expected}, constant gaps, 2 clients");
            assert!(text.contains(&line), "{text}");
        };
        let steps = |then_per_s| RateShape::Steps { then_per_s };
        check(RateShape::Level, "100 requests/s");
        check(RateShape::Ramp { to_per_s: 2e3 }, "100 to 2,000 requests/s");
        check(
            steps(vec![200.0, 50.0]),
            "100 then 200 then 50.0 requests/s",
        );
        check(steps(vec![300.0; 19]), "100 to 300 requests/s in 20 steps");
    }

    #[test]
    fn median_p99_and_maximum_are_shown_however_narrow_it_is() {
        assert_eq!(shown_within(103), (0..10).collect::<Vec<_>>());
        assert_eq!(shown_within(80), [0, 1, 2, 4, 6, 7, 9]);
        assert_eq!(shown_within(24), [1, 6, 9]);
    }
}
