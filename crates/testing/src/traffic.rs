//! Made-up traffic that obeys Little's law.

use std::collections::BTreeMap;

use bakeoff_plan::{Load, RateShape};
use bakeoff_record::{
    Balance, Bytes, Clients, Connections, DuePart, EngineSettings, EngineUsage, Histogram,
    InFlight, Interval, LoadResult, Negotiated, Observed, Outcome, OutcomeCounts, Requests,
    ScheduleKept, ThreadUsage,
};

use super::MEASURED_S;

/// What one cell's traffic looks like.
pub struct Shape {
    /// Right answers per second.
    pub rate: f64,
    /// Spread of latencies: sigma of their logarithm.
    pub spread: f64,
    /// Processors that the server keeps busy.
    pub cores: f64,
    /// Resident memory of the server at the start, bytes.
    pub memory: f64,
    /// Growth of that memory under load, as a share.
    pub memory_growth: f64,
    /// Clients of the load.
    pub clients: u32,
    /// Requests in flight on average: all clients in a closed loop.
    pub in_flight: f64,
    /// Share of requests refused.
    pub refused_share: f64,
    /// Share of requests reset.
    pub reset_share: f64,
    /// Busy share of the engine's thread.
    pub engine_busy: f64,
}

impl Shape {
    /// The same server when it is asked for `rate_per_s` alone: answers take as long as they took
    /// one client, and some of them fail.
    pub fn slow_down(&mut self, rate_per_s: f64) {
        let failing = self.refused_share + self.reset_share;
        self.in_flight = f64::from(self.clients.min(10)) * rate_per_s / self.rate;
        self.cores *= rate_per_s / self.rate;
        self.rate = rate_per_s * (1.0 - failing);
    }
}

/// Makes the result one of an open loop that ended soon after its last request.
pub(crate) fn keep_time(result: &mut LoadResult, load: &Load) {
    drain(result);
    if load.requests == Some(result.requests.completed) {
        result.measured_s = MEASURED_S - 0.002 + 0.000_4;
    }
}

/// Makes the result one of an open loop whose requests were all begun on time and followed to
/// their end.
pub(crate) fn drain(result: &mut LoadResult) {
    let requests = &mut result.requests;
    let due = requests.completed;
    requests.planned = Some(due);
    requests.due = Some(due);
    (requests.started, requests.begun) = (due, due);
    (requests.in_flight_at_end, requests.unended) = (0, Some(0));
    let mut schedule = ScheduleKept::default();
    schedule.slip.record_n(20_000, due);
    let part = |interval: &Interval| {
        let ended = interval.ok + interval.errors;
        DuePart {
            start_s: interval.start_s,
            length_s: interval.length_s,
            due: ended,
            begun: ended,
            ended,
        }
    };
    schedule.parts = result.intervals.iter().map(part).collect();
    result.send_lag = schedule.slip.clone();
    result.schedule = Some(schedule);
}

/// Parts of the window.
const INTERVALS: u64 = 10;
/// Distinct latencies in each part.
const STEPS: u64 = 400;

/// The result of one window.
pub(crate) fn result(load: &Load, shape: &Shape, seed: u64) -> LoadResult {
    let intervals: Vec<Interval> = (0..INTERVALS)
        .map(|part| interval(shape, part, seed))
        .collect();
    let mut latency = Histogram::new();
    for part in &intervals {
        latency.merge(&part.latency);
    }
    // As in a record that was read: whole ones are 35 KB each, and are copied with the record.
    let latency = latency.trimmed();
    let nothing = || Histogram::new().trimmed();
    let ok = latency.count();
    let (outcomes, error_latencies) = outcomes(shape, ok);
    let completed = outcomes.completed();
    LoadResult {
        load: load.clone(),
        shape: RateShape::Level,
        url: "http://127.0.0.1:8080/".into(),
        threads: 1,
        seed,
        measured_s: MEASURED_S,
        requests: requests(&outcomes, u64::from(shape.clients)),
        balance: Balance {
            carried_in: u64::from(shape.clients),
            begun: completed,
            ended: completed,
            in_flight: u64::from(shape.clients),
        },
        schedule: None,
        status: BTreeMap::from([(200, ok)]),
        service: latency.clone(),
        first_byte: latency.clone(),
        latency,
        connect: connects(shape),
        handshake: nothing(),
        send_lag: nothing(),
        blocked: nothing(),
        carried: nothing(),
        quic: None,
        bytes: Bytes {
            read: ok * 150,
            written: completed * 70,
            body: ok * 13,
        },
        header_bytes: None,
        connections: Connections {
            opened: u64::from(shape.clients),
            failed: outcomes.of(Outcome::Refused),
            reused: ok,
            ..Connections::default()
        },
        negotiated: Negotiated {
            protocol: "h1".into(),
            ..Negotiated::default()
        },
        engine: engine(shape.engine_busy),
        warmup: Vec::new(),
        observed: observed(shape, ok),
        settings: EngineSettings::default(),
        intervals,
        bodies_checked: 64,
        urls: Vec::new(),
        warnings: Vec::new(),
        error_samples: samples(&outcomes),
        error_latencies,
        at_least: nothing(),
        outcomes,
    }
}

/// As many in flight when the window opens as when it closes.
fn requests(outcomes: &OutcomeCounts, in_flight: u64) -> Requests {
    let completed = outcomes.completed();
    Requests {
        planned: None,
        due: None,
        started: completed + in_flight,
        carried_in: in_flight,
        begun: completed,
        completed,
        ok: outcomes.of(Outcome::Ok),
        in_flight_at_end: in_flight,
        unended: None,
        shed: 0,
    }
}

/// What the engine saw beside requests, nothing of it out of the usual.
fn observed(shape: &Shape, ok: u64) -> Observed {
    let clients = u64::from(shape.clients);
    let each = ok / clients.max(1);
    let mut engine_lag = Histogram::new();
    engine_lag.record_n(1_000, ok / 64);
    let looks = (MEASURED_S / 0.05) as usize;
    Observed {
        in_flight: InFlight {
            step_s: 0.05,
            counts: vec![shape.in_flight.round() as u64; looks],
        },
        clients: Clients {
            count: clients,
            min: each.saturating_sub(3),
            p5: each.saturating_sub(2),
            median: each,
            max: each + 3,
            none: 0,
            waiting_long: 0,
            oldest_age_s: Some(0.000_1),
            ..Clients::default()
        },
        engine_lag: engine_lag.trimmed(),
        ..Observed::default()
    }
}

fn engine(busy: f64) -> EngineUsage {
    EngineUsage {
        cpu_user_s: busy * MEASURED_S * 0.3,
        cpu_system_s: busy * MEASURED_S * 0.7,
        rss_bytes_max: 14_200_000,
        busy_share: vec![busy],
        threads: vec![ThreadUsage {
            cpu_s: busy * MEASURED_S,
            kept_s: 0.002 * MEASURED_S,
            longest_turn_s: 0.001,
        }],
    }
}

/// One part of the window: latencies of a log-normal distribution with a hump at the end, scaled
/// so that all requests together fill the clients' time.
fn interval(shape: &Shape, part: u64, seed: u64) -> Interval {
    let length_s = MEASURED_S / INTERVALS as f64;
    // A given rate does not wobble.
    let given = shape.in_flight < f64::from(shape.clients);
    let wobble = if given { 0.0 } else { 0.02 };
    let wobble = 1.0 + wobble * ((part + seed % 7) as f64).sin();
    let ok = (shape.rate * length_s * wobble) as u64;
    let values: Vec<f64> = (0..STEPS)
        .map(|step| relative_latency(step, shape.spread))
        .collect();
    let mean = values.iter().sum::<f64>() / STEPS as f64;
    let busy_s = shape.in_flight * length_s * (1.0 - shape.reset_share);
    let scale_ns = busy_s * 1e9 / (ok as f64 * mean);
    let mut latency = Histogram::new();
    for (step, value) in values.iter().enumerate() {
        let extra = u64::from((step as u64) < ok % STEPS);
        latency.record_n((value * scale_ns) as u64, ok / STEPS + extra);
    }
    let failing = (shape.refused_share + shape.reset_share).min(0.99);
    let errors = (ok as f64 * failing / (1.0 - failing)) as u64;
    Interval {
        start_s: part as f64 * length_s,
        length_s,
        ok,
        errors,
        latency: latency.trimmed(),
        failed: None,
    }
}

/// A latency relative to the median, at the `step`-th of equal shares.
fn relative_latency(step: u64, spread: f64) -> f64 {
    let q = (step as f64 + 0.5) / STEPS as f64;
    // A logistic quantile is near enough to a normal one and needs no table.
    let z = (q / (1.0 - q)).ln() * 0.55;
    let hump = if q > 0.996 { 3.0 } else { 1.0 };
    (spread * z).exp() * hump
}

fn outcomes(shape: &Shape, ok: u64) -> (OutcomeCounts, BTreeMap<Outcome, Histogram>) {
    let mut counts = OutcomeCounts::default();
    let right = 1.0 - shape.refused_share - shape.reset_share;
    let refused = (ok as f64 * shape.refused_share / right) as u64;
    let reset = (ok as f64 * shape.reset_share / right) as u64;
    for (outcome, n) in [
        (Outcome::Ok, ok),
        (Outcome::Refused, refused),
        (Outcome::Reset, reset),
    ] {
        counts.add_many(outcome, n);
    }
    let mut latencies = BTreeMap::new();
    for (outcome, n, age_ns) in [
        (Outcome::Refused, refused, 40_000),
        (Outcome::Reset, reset, 900_000),
    ] {
        if n > 0 {
            let mut ages = Histogram::new();
            ages.record_n(age_ns, n);
            latencies.insert(outcome, ages.trimmed());
        }
    }
    (counts, latencies)
}

fn connects(shape: &Shape) -> Histogram {
    let mut connect = Histogram::new();
    connect.record_n(61_000, u64::from(shape.clients));
    connect.trimmed()
}

fn samples(outcomes: &OutcomeCounts) -> BTreeMap<String, String> {
    let words = [
        (
            Outcome::Refused,
            "connect: connection refused (os error 111)",
        ),
        (
            Outcome::Reset,
            "recv: connection reset by peer (os error 104)",
        ),
    ];
    let seen = words
        .into_iter()
        .filter(|(outcome, _)| outcomes.of(*outcome) > 0);
    seen.map(|(outcome, text)| (outcome.name().into(), text.into()))
        .collect()
}
