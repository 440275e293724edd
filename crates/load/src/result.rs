//! The result of a load, from what its threads counted.

use bakeoff_plan::Connect;
use bakeoff_record::{
    Bytes, Clients, EngineSettings, EngineUsage, Histogram, Interrupted, LoadResult, Negotiated,
    Observed, Outcome, Requests, ScheduleKept, ThreadUsage, UrlResult,
};
use bakeoff_wire::h2::PeerSettings;

use crate::ledger::{Counts, ObservedCounts};
use crate::spec::{BodyCheck, LoadSpec, Waiting};
use crate::usage::rss_bytes_max;

/// What the threads of a load counted, merged, and what each used.
pub(crate) struct Merged {
    pub(crate) counts: Counts,
    pub(crate) busy_share: Vec<f64>,
    pub(crate) threads: Vec<ThreadUsage>,
}

impl Merged {
    /// Merges what each thread counted; there is at least one.
    pub(crate) fn of(threads: Vec<Counts>) -> Self {
        let mut merged = Self {
            counts: Counts::default(),
            busy_share: Vec::new(),
            threads: Vec::new(),
        };
        for counts in threads {
            let (clock, meter, cpu) = (&counts.clock, &counts.meter, counts.clock.cpu);
            merged.busy_share.push(clock.busy_share(meter.waited_ns));
            merged.threads.push(ThreadUsage {
                cpu_s: cpu.user_s + cpu.system_s,
                kept_s: cpu.kept_s,
                longest_turn_s: meter.longest_turn_ns as f64 / 1e9,
            });
            merged.counts.merge(counts);
        }
        merged
    }

    /// The result of the load that `spec` asked for.
    pub(crate) fn result(mut self, spec: &LoadSpec) -> LoadResult {
        let is_closed_loop = !spec.load.model.is_open();
        if is_closed_loop {
            self.sum_latencies();
        }
        let requests = self.requests(spec);
        let clients = clients(spec, &self.counts);
        let is_h3 = spec.speaking.is_h3();
        let balance = self.counts.clock.balance;
        debug_assert!(balance.holds(), "requests got lost: {balance:?}");
        let engine = self.engine();
        let kept = (!is_closed_loop).then(|| self.schedule_kept());
        let Counts {
            requests: counted,
            schedule,
            links,
            clock,
            meter,
            observed,
        } = self.counts;
        LoadResult {
            load: spec.load.clone(),
            shape: spec.shape.clone(),
            url: spec.target.url.clone(),
            threads: engine.threads.len() as u32,
            seed: spec.seed,
            measured_s: clock.measured_ns as f64 / 1e9,
            requests,
            balance,
            schedule: kept,
            outcomes: counted.outcomes,
            status: counted.status,
            latency: counted.latency,
            service: counted.service,
            first_byte: counted.first_byte,
            error_latencies: counted.error_latencies,
            at_least: counted.at_least,
            connect: links.connect,
            handshake: links.handshake,
            send_lag: schedule.send_lag,
            blocked: schedule.blocked,
            carried: links.carried,
            bytes: Bytes {
                read: meter.bytes_read,
                written: meter.bytes_written,
                body: counted.body_bytes,
            },
            header_bytes: (is_h3 || links.peer_settings.is_some()).then_some(links.header_bytes),
            quic: is_h3.then_some(links.quic),
            connections: links.connections,
            negotiated: negotiated(links.protocol, links.agreed, links.peer_settings),
            engine,
            intervals: clock.intervals,
            warmup: clock.warmup,
            observed: Observed {
                clients,
                engine_lag: meter.engine_lag,
                closed_early_after: links.closed_early_after,
                interrupted: clock.grace_ns.map(|_| Interrupted {
                    planned_s: spec.count.is_none().then_some(spec.load.duration_s),
                    cut_off: schedule.cut_off,
                }),
                ..seen(observed, spec)
            },
            settings: settings(spec),
            bodies_checked: counted.bodies_checked,
            urls: urls(spec, counted.urls),
            // What weakens the numbers is for whoever judges the result to say.
            warnings: Vec::new(),
            error_samples: counted.error_samples,
        }
    }

    /// What the engine itself used.
    fn engine(&mut self) -> EngineUsage {
        let cpu = self.counts.clock.cpu;
        EngineUsage {
            cpu_user_s: cpu.user_s,
            cpu_system_s: cpu.system_s,
            rss_bytes_max: rss_bytes_max(),
            busy_share: std::mem::take(&mut self.busy_share),
            threads: std::mem::take(&mut self.threads),
        }
    }

    /// How the schedule was kept.
    fn schedule_kept(&mut self) -> ScheduleKept {
        let schedule = &mut self.counts.schedule;
        ScheduleKept {
            slip: std::mem::take(&mut schedule.slip),
            wait: std::mem::take(&mut schedule.wait),
            punctual: std::mem::take(&mut schedule.punctual),
            parts: std::mem::take(&mut schedule.parts),
        }
    }

    /// In a closed loop latencies are counted by part alone, and service times are the same.
    fn sum_latencies(&mut self) {
        let mut latency = Histogram::new();
        for interval in &self.counts.clock.intervals {
            latency.merge(&interval.latency);
        }
        self.counts.requests.service = latency.clone();
        self.counts.requests.latency = latency;
    }

    fn requests(&self, spec: &LoadSpec) -> Requests {
        let (counted, schedule) = (&self.counts.requests, &self.counts.schedule);
        let balance = self.counts.clock.balance;
        let completed = counted.outcomes.completed();
        let (due, begun) = if spec.load.model.is_open() {
            (Some(schedule.due), schedule.begun)
        } else {
            (None, balance.begun)
        };
        Requests {
            planned: due,
            due,
            started: match due {
                None => balance.carried_in + balance.begun,
                Some(_) => begun,
            },
            carried_in: balance.carried_in,
            begun,
            completed,
            ok: counted.outcomes.of(Outcome::Ok),
            in_flight_at_end: self.counts.clock.in_flight_at_end,
            unended: due.map(|due| due.saturating_sub(completed)),
            shed: schedule.shed,
        }
    }
}

fn negotiated(
    protocol: Option<&'static str>,
    agreed: Option<crate::tls::Agreed>,
    settings: Option<PeerSettings>,
) -> Negotiated {
    let agreed = agreed.unwrap_or_default();
    let settings = settings.map(|settings| bakeoff_record::PeerSettings {
        max_concurrent_streams: settings.max_concurrent_streams,
        initial_window_bytes: settings.initial_window_size,
        frame_bytes_max: settings.max_frame_size,
        header_table_bytes: settings.header_table_size,
    });
    Negotiated {
        protocol: protocol.unwrap_or_default().to_owned(),
        settings,
        tls_version: agreed.version,
        cipher: agreed.cipher,
        group: agreed.group,
        alpn: agreed.alpn,
    }
}

/// What was observed beside requests, as far as it is kept as it was counted.
fn seen(observed: ObservedCounts, spec: &LoadSpec) -> Observed {
    let opening_s = observed.opening_ns as f64 / 1e9;
    Observed {
        opening_s: (opening_s > 1.0).then_some(opening_s),
        addresses: observed.addresses,
        said: observed.said.said(&spec.exchanges),
        in_flight: observed.in_flight,
        set_up: observed.set_up,
        send_gaps_ns: observed.send_gaps,
        latencies_ns: observed.latencies,
        bodies_wrong: observed.bodies_wrong,
        unasked: observed.unasked,
        ..Observed::default()
    }
}

/// How the answers were spread over clients. A part of a load keeps each client's figures, so that
/// they can be added up with those of the others.
fn clients(spec: &LoadSpec, counts: &Counts) -> Clients {
    let observed = &counts.observed;
    Clients::of(
        &observed.clients,
        counts.requests.latency.quantile(0.5).unwrap_or(0),
        counts.clock.measured_ns as f64 / 1e9,
        observed.oldest_age_ns.map(|ns| ns as f64 / 1e9),
        spec.threads.part.is_some(),
    )
}

fn settings(spec: &LoadSpec) -> EngineSettings {
    let (waiting, slack_s) = match spec.pacing.waiting {
        Waiting::Nap => ("nap", 0.0),
        Waiting::Spin => ("spin", 0.0),
        Waiting::Slack(slack) => ("slack", slack.as_secs_f64()),
    };
    let connect = if spec.connects_as_needed() {
        Connect::AsNeeded
    } else {
        Connect::First
    };
    EngineSettings {
        connect: connect.name().to_owned(),
        gather: spec.pacing.gather,
        waiting: waiting.to_owned(),
        slack_s,
        retry_pause_s: spec.connections.retry_pause.as_secs_f64(),
        ramp_gap_s: spec.connections.ramp_gap.as_secs_f64(),
        body_check_one_in: match spec.check {
            BodyCheck::All => 1,
            BodyCheck::OneIn(each) => each,
        },
    }
}

/// Gives what was counted for each request the request's name.
fn urls(spec: &LoadSpec, counted: Vec<UrlResult>) -> Vec<UrlResult> {
    let names = spec.requests().map(|exchange| exchange.name.clone());
    names
        .zip(counted)
        .map(|(url, result)| UrlResult { url, ..result })
        .collect()
}
