//! Threads of the engine: started together, merged at the end.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bakeoff_plan::LoadModel;
use bakeoff_record::{
    EngineUsage, Histogram, LoadResult, Negotiated, Observed, Outcome, Requests, UrlResult, Warning,
};
use bakeoff_wire::h2::PeerSettings;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::LoadError;
use crate::clock::{instant, nanos, now};
use crate::control::Control;
use crate::limits::check_budget;
use crate::multiplex::recorded;
use crate::spec::{LoadSpec, Protocol};
use crate::tally::Counts;
use crate::tls::{Agreed, TlsSide};
use crate::usage::rss_bytes_max;
use crate::worker::{Share, Worker, schedule};

/// Share of a core above which an engine thread is said to be saturated (R13).
const SATURATED: f64 = 0.9;
/// Send lag at the 99th percentile above which the schedule was not kept (R9).
const LAG_NS_MAX: u64 = 1_000_000;

/// Carries out a load and returns what was seen; blocks until it has ended.
///
/// Ends early when [`Control::stop`] is called; what was measured until then is returned.
pub fn run(spec: &LoadSpec, control: &Control) -> Result<LoadResult, LoadError> {
    check_budget(spec)?;
    let host = spec.target.host_name();
    let tls = spec
        .tls
        .as_ref()
        .map(|settings| settings.side(host, spec.protocol))
        .transpose()?;
    let threads = spec.threads.clamp(1, spec.load.clients().max(1)) as usize;
    let barrier = Barrier::new(threads);
    let zero = AtomicU64::new(0);
    let counts: Vec<Result<Counts, LoadError>> = std::thread::scope(|scope| {
        let start = |thread| {
            let share = Share { thread, threads };
            let (barrier, zero, tls) = (&barrier, &zero, tls.clone());
            std::thread::Builder::new()
                .name(format!("engine-{thread}"))
                .spawn_scoped(scope, move || {
                    one_thread(spec, control, tls, share, barrier, zero)
                })
        };
        let handles: Vec<_> = (0..threads).map(start).collect();
        handles
            .into_iter()
            .map(|handle| match handle {
                Ok(handle) => handle.join().unwrap_or(Err(LoadError::Panicked)),
                Err(error) => Err(LoadError::Thread(error)),
            })
            .collect()
    });
    let mut merged = Counts::default();
    let mut busy_share = Vec::new();
    for counts in counts {
        let counts = counts?;
        busy_share.push(counts.busy_share());
        merged.merge(counts);
    }
    Ok(result(spec, merged, busy_share))
}

fn one_thread(
    spec: &LoadSpec,
    control: &Control,
    tls: Option<TlsSide>,
    share: Share,
    barrier: &Barrier,
    zero: &AtomicU64,
) -> Result<Counts, LoadError> {
    // Every thread must reach the barrier, whatever fails before it.
    let worker = prepare(spec, control, tls, share);
    if barrier.wait().is_leader() {
        let start = now();
        zero.store(start, Ordering::Release);
        let window = start + nanos(Duration::from_secs_f64(spec.load.warmup_s));
        let end = window + nanos(Duration::from_secs_f64(spec.load.duration_s));
        control.set_window(instant(window), instant(end));
    }
    barrier.wait();
    worker?
        .run(zero.load(Ordering::Acquire))
        .map_err(LoadError::Poll)
}

fn prepare<'a>(
    spec: &'a LoadSpec,
    control: &'a Control,
    tls: Option<TlsSide>,
    share: Share,
) -> Result<Worker<'a>, LoadError> {
    if !spec.pin.is_empty() {
        let cpu = spec.pin[share.thread % spec.pin.len()];
        let mut set = CpuSet::new();
        set.set(cpu);
        let pin = |errno: rustix::io::Errno| LoadError::Pin {
            cpus: vec![cpu],
            source: errno.into(),
        };
        sched_setaffinity(None, &set).map_err(pin)?;
    }
    // Timers of an ordinary thread fire up to 50 µs late; a schedule wants them on time.
    rustix::thread::set_current_timer_slack(std::num::NonZero::new(1)).ok();
    let mut worker = Worker::new(spec, control, tls, share).map_err(LoadError::Poll)?;
    worker.prepare().map_err(LoadError::Poll)?;
    Ok(worker)
}

fn result(spec: &LoadSpec, mut counts: Counts, busy_share: Vec<f64>) -> LoadResult {
    let mut latency = Histogram::new();
    for interval in &counts.intervals {
        latency.merge(&interval.latency);
    }
    let is_closed_loop = matches!(spec.load.model, LoadModel::Closed { .. });
    if is_closed_loop {
        counts.service = latency.clone();
    }
    let completed = counts.outcomes.completed();
    let requests = Requests {
        planned: planned_requests(spec, &counts),
        due: None,
        started: completed + counts.in_flight_at_end,
        carried_in: 0,
        begun: 0,
        unended: None,
        completed,
        ok: counts.outcomes.of(Outcome::Ok),
        in_flight_at_end: counts.in_flight_at_end,
        shed: counts.shed,
    };
    let is_h3 = spec.protocol == Protocol::H3;
    let warnings = warnings(spec, &requests, &counts, &busy_share);
    LoadResult {
        load: spec.load.clone(),
        shape: spec.shape.clone(),
        url: spec.target.url.clone(),
        threads: busy_share.len() as u32,
        seed: spec.seed,
        measured_s: counts.measured_ns as f64 / 1e9,
        requests,
        balance: None,
        schedule: None,
        outcomes: counts.outcomes,
        status: counts.status,
        latency,
        service: counts.service,
        first_byte: counts.first_byte,
        error_latencies: counts.error_latencies,
        at_least: counts.at_least,
        connect: counts.connect,
        handshake: counts.handshake,
        send_lag: counts.send_lag,
        bytes: counts.bytes,
        header_bytes: (is_h3 || counts.peer_settings.is_some()).then_some(counts.header_bytes),
        blocked: counts.blocked,
        carried: counts.carried,
        quic: is_h3.then_some(counts.quic),
        connections: counts.connections,
        negotiated: negotiated(spec, counts.agreed, counts.peer_settings),
        engine: EngineUsage {
            cpu_user_s: counts.cpu.user_s,
            cpu_system_s: counts.cpu.system_s,
            rss_bytes_max: rss_bytes_max(),
            busy_share,
            threads: Vec::new(),
        },
        intervals: counts.intervals,
        warmup: Vec::new(),
        observed: Observed::default(),
        settings: None,
        bodies_checked: counts.bodies_checked,
        urls: urls(spec, counts.urls),
        warnings,
        error_samples: counts.error_samples,
    }
}

fn negotiated(
    spec: &LoadSpec,
    agreed: Option<Agreed>,
    settings: Option<PeerSettings>,
) -> Negotiated {
    let agreed = agreed.unwrap_or_default();
    let protocol = match settings {
        None if spec.protocol == Protocol::H3 => "h3",
        None => "h1",
        Some(_) if spec.tls.is_some() => "h2",
        Some(_) => "h2c",
    };
    Negotiated {
        protocol: protocol.to_owned(),
        settings: settings.as_ref().map(recorded),
        tls_version: agreed.version,
        cipher: agreed.cipher,
        group: agreed.group,
        alpn: agreed.alpn,
    }
}

/// Gives what was counted for each exchange the exchange's name.
fn urls(spec: &LoadSpec, counted: Vec<UrlResult>) -> Vec<UrlResult> {
    let names = spec.exchanges.iter().map(|exchange| exchange.name.clone());
    names
        .zip(counted)
        .map(|(url, result)| UrlResult { url, ..result })
        .collect()
}

/// Requests that the schedule held for the part of the window that was measured.
fn planned_requests(spec: &LoadSpec, counts: &Counts) -> Option<u64> {
    if matches!(spec.load.model, LoadModel::Closed { .. }) {
        return None;
    }
    let start = (spec.load.warmup_s * 1e9) as u64;
    let end = start + counts.measured_ns;
    let due = schedule(spec)
        .skip_while(|at| *at < start)
        .take_while(|at| *at < end);
    Some(due.count() as u64)
}

fn warnings(
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
    if busiest > SATURATED {
        warn(
            "generator-saturated",
            format!(
                "an engine thread was busy for {:.0} % of the time",
                busiest * 100.0
            ),
            "give the engine more threads and cores, or ask for less; the server may do more",
        );
    }
    let lag = counts.send_lag.quantile(0.99).unwrap_or(0);
    if matches!(spec.load.model, LoadModel::Open { .. }) && lag > LAG_NS_MAX {
        warn(
            "schedule-behind",
            format!(
                "1 % of the requests were sent {:.1} ms late or more",
                lag as f64 / 1e6
            ),
            "a slow server: more clients; a busy engine: more threads; the wait is in the latency",
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
        && spec.protocol == Protocol::Auto
        && counts.agreed.as_ref().is_some_and(chose_h1)
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
    if counts.outcomes.of(Outcome::Local) > 0 {
        warn(
            "local-limit",
            format!(
                "{} requests met a limit of this side",
                counts.outcomes.of(Outcome::Local)
            ),
            "see error_samples; usually open files or ephemeral ports: run `bakeoff doctor`",
        );
    }
    warnings
}
