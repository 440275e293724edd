//! A simulated server behind a simulated engine, in simulated time.

use bakeoff_plan::Random;
use bakeoff_record::Histogram;

use super::WARMUP_S;
use crate::progress::Step;
use crate::seen::{Came, Engine, Measured, Seen, Slip, fitted};

/// What a simulated server and its machine are like.
pub(super) struct Sim {
    /// Seconds that the next request takes, at a rate.
    pub(super) service: fn(&mut Random, f64) -> f64,
    /// Share of requests that fail.
    pub(super) fails: f64,
    /// How much faster or slower a start is than another, as a share.
    pub(super) noise: f64,
    /// Rate from which the engine is too busy.
    pub(super) engine_per_s: f64,
    /// Times in which the engine neither sends nor reads, and how long they are at the most: per
    /// second, and in seconds.
    pub(super) pauses: Option<(f64, f64)>,
    /// Share of the trials that something disturbs, and then they are ten times slower.
    pub(super) disturbed: f64,
    /// Times in which every request takes longer, as on a virtual machine beside others.
    pub(super) slow: Option<Slow>,
    /// Times in which the server does nothing, such as those of a garbage collector: from one to
    /// the next, and how long each is, seconds.
    pub(super) stalls: Option<(f64, f64)>,
    /// What some starts of the server are like.
    pub(super) other_start: Option<OtherStart>,
    pub(super) random: Random,
}

/// Starts that are unlike the others, as with another layout of memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct OtherStart {
    /// Share of them.
    pub(super) share: f64,
    /// How many times as long each request occupies the server.
    pub(super) slowness: f64,
    /// How much later each answer comes, seconds.
    pub(super) later_s: f64,
}

/// Episodes of slowness.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slow {
    /// From one to the next, mean, seconds.
    pub(super) apart_s: f64,
    /// How long each is, seconds.
    pub(super) length_s: f64,
    /// How much longer a request takes in one, as a share.
    pub(super) by: f64,
}

impl Sim {
    pub(super) fn new(seed: u64, service: fn(&mut Random, f64) -> f64) -> Self {
        Self {
            service,
            fails: 0.0,
            noise: 0.0,
            engine_per_s: f64::INFINITY,
            pauses: None,
            disturbed: 0.0,
            slow: None,
            stalls: None,
            other_start: None,
            random: Random::new(seed),
        }
    }

    /// One trial: requests are served one after the other, in the order of their arrival.
    pub(super) fn trial(&mut self, step: &Step, number: usize) -> Seen {
        let rate_per_s = step.rate_per_s.unwrap_or(0.0);
        let is_disturbed = self.random.unit() < self.disturbed;
        let speed = 1.0 + self.noise * (2.0 * self.random.unit() - 1.0);
        let mut slowness = if is_disturbed { 10.0 } else { 1.0 } / speed;
        let random = &mut self.random;
        let other = self.other_start.filter(|it| random.unit() < it.share);
        slowness *= other.map_or(1.0, |it| it.slowness);
        let mut measured = if rate_per_s > 0.0 {
            self.open(rate_per_s, step.length_s, slowness)
        } else {
            self.closed(step.length_s, slowness)
        };
        if let Some(later_s) = other.map(|it| it.later_s) {
            measured.latency = later(&measured.latency, later_s);
        }
        Seen {
            id: format!("n{number}"),
            purpose: step.purpose,
            rate_per_s,
            length_s: step.length_s,
            took_s: step.length_s + WARMUP_S + 0.6,
            is_disturbed,
            came: Came::Measured(measured),
        }
    }

    fn closed(&mut self, length_s: f64, slowness: f64) -> Measured {
        let (mut now, mut due, mut ok) = (0.0, 0, 0);
        while now < length_s {
            now += (self.service)(&mut self.random, 0.0) * slowness;
            due += 1;
            ok += u64::from(self.random.unit() > self.fails);
        }
        Measured {
            due,
            ok,
            wrong: due - ok,
            latency: Histogram::new(),
            punctual: None,
            backlog: None,
            engine: Engine::default(),
            places: Box::default(),
        }
    }

    fn open(&mut self, rate_per_s: f64, length_s: f64, slowness: f64) -> Measured {
        let end = WARMUP_S + length_s;
        let passed = self.requests(rate_per_s, end, slowness);
        let (mut due, mut ok) = (0, 0);
        let (mut latency, mut punctual) = (Histogram::new(), Histogram::new());
        let mut slip = Histogram::new();
        // What waits at the end of each tenth of the window.
        let mut waiting = [0.0_f64; 11];
        for each in &passed {
            for (tenth, waiting) in waiting.iter_mut().enumerate() {
                let looked_at = WARMUP_S + length_s * tenth as f64 / 10.0;
                let is_open = each.due <= looked_at && each.read > looked_at;
                *waiting += f64::from(u8::from(is_open));
            }
            if each.due < WARMUP_S {
                continue;
            }
            due += 1;
            slip.record(((each.sent - each.due) * 1e9) as u64);
            if self.random.unit() > self.fails {
                ok += 1;
                let taken = each.read - each.due;
                latency.record((taken * 1e9) as u64);
                punctual.record(((taken - each.late).max(0.0) * 1e9) as u64);
            }
        }
        let line = waiting.iter().enumerate();
        let points: Vec<_> = line
            .map(|(tenth, waiting)| (length_s * tenth as f64 / 10.0, *waiting))
            .collect();
        let busy = if rate_per_s > self.engine_per_s {
            0.97
        } else {
            0.3
        };
        Measured {
            due,
            ok,
            wrong: due - ok,
            latency: latency.trimmed(),
            punctual: self.pauses.map(|_| Box::new(punctual.trimmed())),
            backlog: fitted(&points),
            engine: Engine {
                busy: Some(busy),
                slip: slip.quantile(0.99).map(|p99_ns| Slip {
                    p99_ns,
                    max_ns: slip.max().unwrap_or(0),
                }),
                ..Engine::default()
            },
            places: Box::default(),
        }
    }

    /// Every request that is due before `end`, through an engine that pauses.
    fn requests(&mut self, rate_per_s: f64, end: f64, slowness: f64) -> Vec<Passed> {
        let pauses = self.pauses_until(end);
        let episodes = self.episodes_until(end);
        let stalls = self.stalls_until(end);
        let (mut at, mut free_at) = (0.0, 0.0_f64);
        let mut all: Vec<Passed> = Vec::new();
        loop {
            at -= self.random.unit().ln() / rate_per_s;
            if at >= end {
                break;
            }
            let sent = after_pause(&pauses, at);
            let service = (self.service)(&mut self.random, rate_per_s) * slowness;
            let begun = after_pause(&stalls, free_at.max(sent));
            let is_slow = after_pause(&episodes, begun) > begun;
            let by = self.slow.filter(|_| is_slow).map_or(0.0, |slow| slow.by);
            free_at = begun + service * (1.0 + by);
            all.push(Passed {
                due: at,
                sent,
                read: after_pause(&pauses, free_at),
                late: 0.0,
            });
        }
        // How late it was at the most since nothing was in flight, when each one is read.
        let (mut late, mut sent) = (0.0_f64, 0);
        for index in 0..all.len() {
            if index > 0 && all[index - 1].read <= all[index].sent {
                (late, sent) = (0.0, index);
            }
            while let Some(next) = all.get(sent).filter(|it| it.sent <= all[index].read) {
                late = late.max(next.sent - next.due);
                sent += 1;
            }
            all[index].late = late;
        }
        all
    }

    /// Episodes of slowness as (start, end), in order and apart. They do not begin with the trial.
    fn episodes_until(&mut self, end: f64) -> Vec<(f64, f64)> {
        let Some(slow) = self.slow else {
            return Vec::new();
        };
        let (mut at, mut all) = (-10.0 * slow.apart_s, Vec::new());
        while at < end {
            at -= self.random.unit().ln() * (slow.apart_s - slow.length_s);
            all.push((at, at + slow.length_s));
            at += slow.length_s;
        }
        all
    }

    /// Times in which the server does nothing as (start, end), in order and apart.
    fn stalls_until(&mut self, end: f64) -> Vec<(f64, f64)> {
        let Some((apart_s, length_s)) = self.stalls else {
            return Vec::new();
        };
        let first = apart_s * self.random.unit();
        let starts = (0..).map(|number| first + apart_s * f64::from(number));
        let starts = starts.take_while(|start| *start < end);
        starts.map(|start| (start, start + length_s)).collect()
    }

    /// Pauses as (start, end), in order and apart.
    fn pauses_until(&mut self, end: f64) -> Vec<(f64, f64)> {
        let Some((per_s, longest_s)) = self.pauses else {
            return Vec::new();
        };
        let (mut at, mut all) = (0.0, Vec::new());
        while at < end {
            at -= self.random.unit().ln() / per_s;
            let length_s = self.random.unit() * longest_s;
            all.push((at, at + length_s));
            at += length_s;
        }
        all
    }
}

/// A request on its way: when it was due, sent and its answer read, seconds, and by how much the
/// engine was late.
struct Passed {
    due: f64,
    sent: f64,
    read: f64,
    late: f64,
}

/// The same latencies, each so much longer.
fn later(latency: &Histogram, by_s: f64) -> Histogram {
    let mut all = Histogram::new();
    for (ns, times) in latency.buckets() {
        all.record_n(ns + (by_s * 1e9) as u64, times);
    }
    all.trimmed()
}

/// When something that comes at a time is seen.
fn after_pause(pauses: &[(f64, f64)], at: f64) -> f64 {
    let next = pauses.partition_point(|(start, _)| *start <= at);
    let last = next.checked_sub(1).map(|last| pauses[last].1);
    last.map_or(at, |end| at.max(end))
}
