//! What the load engine would have measured of an invented server. It obeys the laws that the audit
//! checks: counts add up, and clients are busy all the time (Little's law).

use std::collections::BTreeMap;

use bakeoff_load::Noted;
use bakeoff_plan::{LoadModel, RateShape};
use bakeoff_record::{
    Balance, Bytes, Clients, Connections, DuePart, EngineSettings, EngineUsage, Histogram,
    InFlight, LoadResult, Negotiated, Observed, Outcome, OutcomeCounts, Requests, ScheduleKept,
    ThreadUsage,
};

use super::chance::Chance;
use super::changed::{Changed, LOST};
use super::open_loop::{Schedule, served};
use super::part::{Part, Shape};
use super::world::{Disturbed, Server};
use crate::spec::LoadOrder;

/// Parts of a window, at the least, and the longest of them, seconds.
const PARTS: f64 = 10.0;
const PART_S_MOST: f64 = 1.0;
/// Looks at what is in flight, at the most.
const LOOKS_MOST: f64 = 500.0;
/// How late the engine is, nanoseconds.
const LATE_NS: u64 = 20_000;
/// How long a connection takes, nanoseconds.
const CONNECT_NS: u64 = 61_000;
/// Bytes of an answer's head.
const HEAD_BYTES: u64 = 120;

/// The load of a trial.
#[derive(Debug)]
pub(super) struct Traffic {
    /// Length of the window, seconds.
    pub(super) length_s: f64,
    /// When the server dies, seconds from the start of the window.
    pub(super) dies_s: Option<f64>,
    /// Requests per second that the server could answer.
    pub(super) rate: f64,
    pub(super) clients: u64,
    parts: Vec<Part>,
    /// Requests of an open loop that ended after the window.
    late: u64,
    pub(super) machine: Disturbed,
    keeps_clients: bool,
    mean_s: f64,
    change: Changed,
    asked: Asked,
}

/// What of the load's order is in its result.
#[derive(Debug)]
struct Asked {
    load: bakeoff_plan::Load,
    shape: RateShape,
    seed: u64,
    threads: u32,
    url: String,
    body_bytes: u64,
    compares_bodies: bool,
    negotiated: Negotiated,
}

impl Asked {
    fn of(server: &Server, order: &LoadOrder<'_>, threads: u32) -> Self {
        let trial = order.trial;
        let first = trial.workload.requests.first();
        let protocol = trial.workload.protocol;
        let scheme = if protocol.is_secure() {
            "https"
        } else {
            "http"
        };
        Self {
            load: trial.load.clone(),
            shape: match &trial.ramp {
                None => RateShape::Level,
                Some(ramp) => RateShape::Steps {
                    then_per_s: ramp.then_per_s.clone(),
                },
            },
            seed: order.seed,
            threads,
            url: format!("{scheme}://{}{}", order.reached.address, first.path),
            body_bytes: server.fetched(first, protocol, 0).check.body_bytes,
            compares_bodies: trial.workload.compares_bodies(None),
            negotiated: server.negotiated(protocol),
        }
    }
}

impl Traffic {
    /// The load on a server.
    pub(super) fn new(server: &Server, order: &LoadOrder<'_>, threads: u32) -> Self {
        let trial = order.trial;
        let mut chance = Chance::of(order.seed, &trial.id);
        let losses = server.change.losses(&trial.load);
        let mut shape = Shape {
            rate: server.rate * (1.0 + server.noise * chance.normal()).max(0.01),
            mean_s: server.latency.mean_ms / 1e3,
            latency: server.latency,
            beyond: server.beyond,
            failing: server.failing.clone(),
        };
        if !losses.is_empty() {
            shape.failing.entry(LOST).or_default();
        }
        let load = &trial.load;
        let places = f64::from(load.clients()) * f64::from(load.streams);
        let (parts, late, crash_s) = match &load.model {
            LoadModel::Open { rate_per_s, .. } => {
                let of_ramp = trial.ramp.iter().flat_map(|ramp| &ramp.then_per_s);
                let rates: Vec<f64> = [*rate_per_s].iter().chain(of_ramp).copied().collect();
                let length_s = length_s(order, *rate_per_s);
                let wanted = trial.ramp.as_ref().map(|ramp| ramp.part.as_secs_f64());
                let (parts, part_s) = parts_of(length_s, wanted);
                let schedule = Schedule {
                    rates: &rates,
                    parts,
                    part_s,
                    timeout_s: load.timeout_s,
                    places,
                    most: load.requests.unwrap_or(u64::MAX),
                    losses: &losses,
                };
                let served = served(&shape, &schedule);
                (served.parts, served.late, served.dies_s)
            }
            _ => {
                let length_s = length_s(order, shape.rate);
                let parts = closed(&shape, places, length_s, load.timeout_s, &mut chance);
                (parts, 0, None)
            }
        };
        let dies_s = [server.fate.dies_s, crash_s].into_iter().flatten();
        Self {
            length_s: parts.iter().map(|part| part.length_s).sum(),
            dies_s: dies_s.reduce(f64::min),
            rate: shape.rate,
            clients: u64::from(load.clients()),
            parts,
            late,
            machine: server.machine,
            keeps_clients: server.work.keeps_clients,
            mean_s: shape.mean_s,
            change: server.change.clone(),
            asked: Asked::of(server, order, threads),
        }
    }

    /// Requests that ended so long after the start of the window, as `ok` and otherwise.
    pub(super) fn ended_by(&self, at_s: f64) -> (u64, u64) {
        self.parts.iter().fold((0, 0), |(ok, errors), part| {
            let share = ((at_s - part.start_s) / part.length_s).clamp(0.0, 1.0);
            let of = |number: u64| (number as f64 * share).round() as u64;
            (ok + of(part.ok), errors + of(part.errors))
        })
    }

    /// What the engine noted of requests until then.
    pub(super) fn noted(&self, until_s: f64) -> Noted {
        let until_s = until_s.min(self.length_s);
        self.change.noted(&self.asked.load, self.mean_s, until_s)
    }

    /// Share of its rate that the server is asked for, in each part: when it begins, and the share.
    pub(super) fn load_by_part(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.parts.iter().map(|part| {
            let served = (part.ok + part.errors) as f64 / part.length_s;
            (part.start_s + part.length_s, (served / self.rate).min(1.0))
        })
    }

    /// What the engine saw in the window, or in as much of it as was over by then.
    pub(super) fn result(&self, until_s: f64) -> LoadResult {
        let is_over = |part: &&Part| part.start_s + part.length_s <= until_s + 1e-6;
        let parts: Vec<&Part> = self.parts.iter().filter(is_over).collect();
        let measured_s = until_s.min(self.length_s);
        let asked = &self.asked;
        let sum = |of: fn(&Part) -> &Histogram| {
            let mut all = Histogram::new();
            parts.iter().for_each(|part| all.merge(of(part)));
            all.trimmed()
        };
        let (outcomes, status, error_latencies) = ends(&parts);
        let completed = outcomes.completed();
        let ok = outcomes.of(Outcome::Ok);
        let (requests, balance) = self.requests(&parts, &outcomes);
        let service = sum(|part| &part.service);
        let schedule = requests.due.map(|_| kept(&parts));
        LoadResult {
            shape: asked.shape.clone(),
            url: asked.url.clone(),
            threads: asked.threads,
            seed: asked.seed,
            requests,
            balance,
            send_lag: schedule
                .as_ref()
                .map_or_else(Histogram::new, |it| it.slip.clone()),
            schedule,
            status,
            latency: sum(|part| &part.latency),
            first_byte: service.clone(),
            service,
            error_latencies,
            connect: times(CONNECT_NS, self.clients),
            handshake: match asked.negotiated.tls_version {
                None => Histogram::new().trimmed(),
                Some(_) => times(CONNECT_NS * 20, self.clients),
            },
            bytes: Bytes {
                read: ok * (asked.body_bytes + HEAD_BYTES),
                written: completed * HEAD_BYTES,
                body: ok * asked.body_bytes,
            },
            connections: self.connections(&outcomes),
            negotiated: asked.negotiated.clone(),
            engine: self.engine(measured_s),
            intervals: parts.iter().map(|part| part.interval()).collect(),
            observed: self.observed(&parts, measured_s, ok),
            settings: EngineSettings {
                connect: asked.load.connect.name().to_owned(),
                gather: true,
                waiting: "nap".to_owned(),
                slack_s: 0.0,
                retry_pause_s: 0.1,
                ramp_gap_s: 0.0,
                body_check_one_in: 16,
            },
            bodies_checked: if asked.compares_bodies { ok / 16 } else { 0 },
            outcomes,
            ..LoadResult::empty(asked.load.clone(), measured_s)
        }
    }

    fn connections(&self, outcomes: &OutcomeCounts) -> Connections {
        let (completed, ok) = (outcomes.completed(), outcomes.of(Outcome::Ok));
        let (opened, reused) = if self.keeps_clients {
            (self.clients, ok)
        } else {
            (completed, 0)
        };
        let is_secure = self.asked.negotiated.tls_version.is_some();
        Connections {
            opened,
            failed: outcomes.of(Outcome::Refused),
            reused,
            handshakes_full: if is_secure { opened } else { 0 },
            ..Connections::default()
        }
    }

    /// In a closed loop as many are in flight when the window opens as when it closes; in an open
    /// one all are followed to their ends.
    fn requests(&self, parts: &[&Part], outcomes: &OutcomeCounts) -> (Requests, Balance) {
        let completed = outcomes.completed();
        let mut requests = Requests {
            completed,
            begun: completed,
            started: completed,
            ok: outcomes.of(Outcome::Ok),
            ..Requests::default()
        };
        if let LoadModel::Open { .. } = self.asked.load.model {
            // What was due in a window that was cut short has ended, or is not counted.
            let due = parts
                .iter()
                .map(|part| part.due)
                .sum::<u64>()
                .max(completed);
            requests.planned = Some(due);
            requests.due = Some(due);
            requests.unended = Some(due - completed);
            (requests.begun, requests.started) = (due, due);
            requests.in_flight_at_end = due - completed;
            let late = self.late.min(completed);
            let balance = Balance {
                carried_in: 0,
                begun: due,
                ended: completed - late,
                in_flight: due - completed + late,
            };
            return (requests, balance);
        }
        let busy = match self.asked.load.requests {
            Some(_) => 0,
            None => self.clients * u64::from(self.asked.load.streams),
        };
        requests.started += busy;
        (requests.carried_in, requests.in_flight_at_end) = (busy, busy);
        let balance = Balance {
            carried_in: busy,
            begun: completed,
            ended: completed,
            in_flight: busy,
        };
        (requests, balance)
    }

    fn engine(&self, measured_s: f64) -> EngineUsage {
        let Disturbed {
            engine_busy: busy,
            engine_kept: kept,
            ..
        } = self.machine;
        let threads = self.asked.threads as usize;
        let cpu_s = busy * measured_s;
        EngineUsage {
            cpu_user_s: cpu_s * threads as f64 * 0.3,
            cpu_system_s: cpu_s * threads as f64 * 0.7,
            rss_bytes_max: 14_200_000,
            busy_share: vec![busy; threads],
            threads: vec![
                ThreadUsage {
                    cpu_s,
                    kept_s: kept * measured_s,
                    longest_turn_s: 0.001,
                };
                threads
            ],
        }
    }

    /// What is seen beside requests, nothing of it out of the usual.
    fn observed(&self, parts: &[&Part], measured_s: f64, ok: u64) -> Observed {
        let mut step_s = 0.01;
        while measured_s / step_s > LOOKS_MOST {
            step_s *= 2.0;
        }
        let mut owed = 0.0;
        let looks = (measured_s / step_s).round() as u64;
        let counts = (0..looks).map(|look| {
            let at_s = look as f64 * step_s;
            let part = parts.iter().rfind(|part| part.start_s <= at_s + 1e-9);
            owed += part.map_or(0.0, |part| part.in_flight);
            let seen = owed.floor();
            owed -= seen;
            seen as u64
        });
        let each = ok / self.clients.max(1);
        Observed {
            in_flight: InFlight {
                step_s,
                counts: counts.collect(),
            },
            clients: Clients {
                count: self.clients,
                min: each.saturating_sub(each / 20),
                p5: each.saturating_sub(each / 50),
                median: each,
                max: each + each / 20,
                oldest_age_s: Some(0.000_1),
                ..Clients::default()
            },
            engine_lag: match self.asked.load.model {
                LoadModel::Closed { .. } => times(1_000, ok / 64),
                _ => Histogram::new().trimmed(),
            },
            ..Observed::default()
        }
    }
}

/// How long the window is: the plan's time, or as long as its count takes.
fn length_s(order: &LoadOrder<'_>, rate: f64) -> f64 {
    let load = &order.trial.load;
    let by_count = load.requests.map(|requests| requests as f64 / rate);
    by_count.map_or(load.duration_s, |length| length.min(load.duration_s))
}

/// The parts of a window: how many, and how long they are.
fn parts_of(length_s: f64, wanted_s: Option<f64>) -> (u32, f64) {
    let part_s = wanted_s.unwrap_or((length_s / PARTS).min(PART_S_MOST));
    let parts = (length_s / part_s).round().max(1.0);
    (parts as u32, length_s / parts)
}

/// A closed loop: its clients wait for answers all the time.
fn closed(
    shape: &Shape,
    places: f64,
    length_s: f64,
    timeout_s: f64,
    chance: &mut Chance,
) -> Vec<Part> {
    let (number, part_s) = parts_of(length_s, None);
    let mut owed = 0.0;
    let mut parts = Vec::new();
    for at in 0..number {
        let mut part = Part::new(f64::from(at) * part_s, part_s);
        owed += shape.rate * part_s * (1.0 + 0.001 * chance.normal());
        let ended = owed.floor();
        owed -= ended;
        let mut busy_s = places * part_s;
        let mut ok = ended as u64;
        for (outcome, share) in &shape.failing {
            let failing = ((ended * share).round() as u64).min(ok);
            let age_s = match outcome {
                _ if outcome.is_timeout() => timeout_s,
                Outcome::Refused => 0.000_04,
                _ => places / shape.rate,
            };
            ok -= failing;
            busy_s -= age_s * failing as f64;
            let status = (*outcome == Outcome::Status).then_some(500);
            part.fail(*outcome, status, age_s, failing);
        }
        let mean_s = busy_s.max(0.0) / (ok.max(1) as f64);
        part.spread(shape, mean_s, ok);
        part.in_flight = places;
        parts.push(part);
    }
    parts
}

/// As many of one length.
fn times(length_ns: u64, number: u64) -> Histogram {
    let mut all = Histogram::new();
    all.record_n(length_ns, number);
    all.trimmed()
}

type Ends = (
    OutcomeCounts,
    BTreeMap<u16, u64>,
    BTreeMap<Outcome, Histogram>,
);

/// How the requests of all parts ended.
fn ends(parts: &[&Part]) -> Ends {
    let (mut outcomes, mut status) = (OutcomeCounts::default(), BTreeMap::new());
    let mut ages: BTreeMap<Outcome, Histogram> = BTreeMap::new();
    for part in parts {
        outcomes.add_many(Outcome::Ok, part.ok);
        if part.ok > 0 {
            *status.entry(200).or_default() += part.ok;
        }
        let Some(failed) = &part.failed else {
            continue;
        };
        for (outcome, number) in &failed.outcomes {
            outcomes.add_many(*outcome, *number);
            let mean = failed.latency.mean().unwrap_or(0.0) as u64;
            ages.entry(*outcome).or_default().record_n(mean, *number);
        }
        for (one, number) in &failed.status {
            *status.entry(*one).or_default() += number;
        }
    }
    let ages = ages
        .into_iter()
        .map(|(outcome, ages)| (outcome, ages.trimmed()));
    (outcomes, status, ages.collect())
}

/// How the schedule was kept: to the point.
fn kept(parts: &[&Part]) -> ScheduleKept {
    let due: u64 = parts.iter().map(|part| part.due).sum();
    ScheduleKept {
        slip: times(LATE_NS, due),
        parts: parts
            .iter()
            .map(|part| DuePart {
                start_s: part.start_s,
                length_s: part.length_s,
                due: part.due,
                begun: part.due,
                ended: part.due,
            })
            .collect(),
        ..ScheduleKept::default()
    }
}
