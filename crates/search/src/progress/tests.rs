//! Searches of simulated servers, in simulated time.

use std::time::Duration;

use bakeoff_plan::{Arrival, Random, goals};
use bakeoff_record::Histogram;
use proptest::prelude::*;

use super::*;
use crate::found::{Found, Irregular};
use crate::seen::{Engine, Measured, Slip, fitted};

const WARMUP_S: f64 = 1.0;

/// A search of full trials of 10 s, as a plan has it unless it says otherwise.
fn sought(slo: &[&str], errors_percent: &[f64]) -> Load {
    let objectives: Vec<_> = slo.iter().map(|text| text.parse().unwrap()).collect();
    let search = Search {
        goals: goals(&objectives, errors_percent),
        arrival: Arrival::Poisson,
        clients: 100,
        sum: Duration::from_secs(60),
        exceed: 0.5,
        width: 0.02,
        budget: Duration::from_secs(20 * 60),
        confirm: Duration::from_secs(30),
        curve: vec![0.25, 0.5, 0.75, 0.9],
    };
    Load::sought(
        search,
        Duration::from_secs(10),
        Duration::from_secs_f64(WARMUP_S),
    )
}

/// What a simulated server and its machine are like.
struct Sim {
    /// Seconds that the next request takes, at a rate.
    service: fn(&mut Random, f64) -> f64,
    /// Share of requests that fail.
    fails: f64,
    /// How much faster or slower a start is than another, as a share.
    noise: f64,
    /// Rate from which the engine is too busy.
    engine_per_s: f64,
    /// Times in which the engine neither sends nor reads, and how long they are at the most: per
    /// second, and in seconds.
    pauses: Option<(f64, f64)>,
    /// Share of the trials that something disturbs, and then they are ten times slower.
    disturbed: f64,
    random: Random,
}

impl Sim {
    fn new(seed: u64, service: fn(&mut Random, f64) -> f64) -> Self {
        Self {
            service,
            fails: 0.0,
            noise: 0.0,
            engine_per_s: f64::INFINITY,
            pauses: None,
            disturbed: 0.0,
            random: Random::new(seed),
        }
    }

    /// One trial: requests are served one after the other, in the order of their arrival.
    fn trial(&mut self, step: &Step, number: usize) -> Seen {
        let rate_per_s = step.rate_per_s().unwrap_or(0.0);
        let is_disturbed = self.random.unit() < self.disturbed;
        let speed = 1.0 + self.noise * (2.0 * self.random.unit() - 1.0);
        let slowness = if is_disturbed { 10.0 } else { 1.0 } / speed;
        let measured = match rate_per_s > 0.0 {
            true => self.open(rate_per_s, step.length_s(), slowness),
            false => self.closed(step.length_s(), slowness),
        };
        Seen {
            id: format!("n{number}"),
            purpose: step.purpose(),
            rate_per_s,
            length_s: step.length_s(),
            took_s: step.length_s() + WARMUP_S + 0.6,
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
        }
    }

    /// Every request that is due before `end`, through an engine that pauses.
    fn requests(&mut self, rate_per_s: f64, end: f64, slowness: f64) -> Vec<Passed> {
        let pauses = self.pauses_until(end);
        let (mut at, mut free_at) = (0.0, 0.0_f64);
        let mut all: Vec<Passed> = Vec::new();
        loop {
            at -= self.random.unit().ln() / rate_per_s;
            if at >= end {
                break;
            }
            let sent = after_pause(&pauses, at);
            let service = (self.service)(&mut self.random, rate_per_s) * slowness;
            free_at = free_at.max(sent) + service;
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

/// When something that comes at a time is seen.
fn after_pause(pauses: &[(f64, f64)], at: f64) -> f64 {
    let next = pauses.partition_point(|(start, _)| *start <= at);
    let last = next.checked_sub(1).map(|last| pauses[last].1);
    last.map_or(at, |end| at.max(end))
}

fn deterministic(_: &mut Random, _: f64) -> f64 {
    0.001
}

fn exponential(random: &mut Random, _: f64) -> f64 {
    -0.001 * random.unit().ln()
}

/// Carries a search out to its end.
fn run(load: &Load, budget: Budget, mut trial: impl FnMut(&Step, usize) -> Seen) -> Vec<Seen> {
    let mut trials = Vec::new();
    loop {
        let progress = Progress::new(load, trials.clone(), budget).unwrap();
        let Some(step) = progress.next() else {
            return trials;
        };
        assert!(trials.len() < TRIALS_MAX, "it ends");
        trials.push(trial(&step, trials.len()));
    }
}

const WHOLE: Budget = Budget { seconds: 1200.0 };

fn search(load: &Load, mut sim: Sim) -> Vec<Found> {
    let trials = run(load, WHOLE, |step, number| sim.trial(step, number));
    let spent_s: f64 = trials.iter().map(|trial| trial.took_s).sum();
    assert!(spent_s <= WHOLE.seconds, "{spent_s} s");
    Progress::new(load, trials, WHOLE).unwrap().found(None)
}

/// The bounds of a regular result, near enough, with fresh servers behind them.
fn bounds(found: &Found) -> (f64, f64) {
    assert_eq!(found.irregular, None, "{:?}", found.standing);
    let standing = found.standing;
    let (lower, upper) = (standing.lower_per_s.unwrap(), standing.upper_per_s.unwrap());
    assert!((upper - lower) / upper <= 0.0201, "{lower} to {upper}");
    let behind = (standing.lower_servers, standing.upper_servers);
    assert!(behind.0 >= 3, "{behind:?}");
    assert!(
        behind.1 >= 3 || found.lowered_from_per_s.is_some(),
        "{behind:?}"
    );
    (lower, upper)
}

/// Five searches of the same server; all bounds within `range`, and the lower ones no further apart
/// than `spread`, as a share.
fn five(load: &Load, range: std::ops::RangeInclusive<f64>, spread: f64, sim: impl Fn(u64) -> Sim) {
    let all = (1..=5).map(|seed| bounds(&search(load, sim(seed))[0]));
    let all: Vec<(f64, f64)> = all.collect();
    for (lower, upper) in &all {
        assert!(range.contains(lower) && range.contains(upper), "{all:?}");
    }
    let lowers = || all.iter().map(|(lower, _)| *lower);
    let (most, least) = lowers().fold((0.0, f64::MAX), |(most, least), lower| {
        (lower.max(most), lower.min(least))
    });
    assert!((most - least) / least <= spread, "{all:?}");
}

/// Of one worker with 1 ms a request and Poisson arrivals, 1 % wait for more than 10 ms at 77 % of
/// what it can do.
#[test]
fn the_knee_of_a_constant_service_time_is_found() {
    let load = sought(&["p99<10ms"], &[0.001]);
    five(&load, 730.0..=810.0, 0.05, |seed| {
        Sim::new(seed, deterministic)
    });
}

/// An engine that is kept from its processor for up to 6 ms, eight times a second: p99 of what it
/// sends late is beyond what a late engine is allowed. What it can say is not wrong, and there is
/// an upper bound.
#[test]
fn a_late_engine_says_less_and_nothing_wrong() {
    let load = sought(&["p99<10ms"], &[0.001]);
    for seed in 1..=5 {
        let late = Sim {
            pauses: Some((8.0, 0.006)),
            ..Sim::new(seed, deterministic)
        };
        let found = &search(&load, late)[0];
        let standing = found.standing;
        let (lower, upper) = (standing.lower_per_s.unwrap(), standing.upper_per_s.unwrap());
        assert!((690.0..=790.0).contains(&lower), "{lower} to {upper}");
        assert!((750.0..=850.0).contains(&upper), "{lower} to {upper}");
        let named = [None, Some(Irregular::GeneratorLimited)];
        assert!(named.contains(&found.irregular), "{:?}", found.irregular);
    }
}

/// The wait of an M/M/1 queue is exponential: ln(100) / (1000 - rate) is 10 ms at 539.5/s.
/// Its tail is heavier, and so the p99 of a trial differs more from that of another.
#[test]
fn the_knee_of_an_exponential_service_time_is_found() {
    let load = sought(&["p99<10ms"], &[0.001]);
    five(&load, 500.0..=575.0, 0.1, |seed| {
        Sim::new(seed, exponential)
    });
}

/// With 1 s allowed a trial ends before the latency shows that more comes in than goes out.
#[test]
fn a_queue_that_grows_counts_before_its_latency_does() {
    let load = sought(&["p99<1s"], &[0.001]);
    five(&load, 950.0..=1010.0, 0.05, |seed| {
        Sim::new(seed, deterministic)
    });
}

#[test]
fn starts_that_differ_by_some_percent_leave_bounds_that_hold() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let noisy = |seed| Sim {
        noise: 0.03,
        ..Sim::new(seed, deterministic)
    };
    five(&load, 720.0..=820.0, 0.05, noisy);
}

#[test]
fn disturbed_trials_are_set_aside() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let disturbed = |seed| Sim {
        disturbed: 0.15,
        ..Sim::new(seed, deterministic)
    };
    five(&load, 720.0..=820.0, 0.05, disturbed);
}

#[test]
fn a_server_that_fails_at_any_rate_has_a_capacity_where_that_is_allowed() {
    let load = sought(&["p99<10ms"], &[0.001, 2.0]);
    let sim = Sim {
        fails: 0.01,
        ..Sim::new(1, deterministic)
    };
    let found = search(&load, sim);
    assert_eq!(found[0].irregular, Some(Irregular::NoLower));
    assert_eq!(found[0].standing.lower_per_s, None);
    let (lower, upper) = bounds(&found[1]);
    assert!(lower > 720.0 && upper < 820.0, "{lower} to {upper}");
    let achieved = found[1].standing.achieved_per_s.unwrap();
    assert!(
        (0.98..0.995).contains(&(achieved / lower)),
        "{achieved} of {lower}"
    );
    assert_eq!(found[1].confirmed, Some(true));
}

#[test]
fn where_the_engine_ends_first_the_result_says_so() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let sim = Sim {
        engine_per_s: 600.0,
        ..Sim::new(1, |_, rate| if rate > 600.0 { 0.002 } else { 0.000_01 })
    };
    let mut trial = simulated_with_closed(sim, 1000.0);
    let trials = run(&load, WHOLE, &mut trial);
    let found = Progress::new(&load, trials, WHOLE).unwrap().found(None);
    assert_eq!(found[0].irregular, Some(Irregular::GeneratorLimited));
    assert_eq!(
        found[0].standing.upper_per_s, None,
        "nothing is known of the server there"
    );
    let lower = found[0].standing.lower_per_s.unwrap();
    assert!((580.0..=600.0).contains(&lower), "{lower}");
}

/// The closed loop of a server that is asked no faster than by so many.
fn simulated_with_closed(mut sim: Sim, closed_per_s: f64) -> impl FnMut(&Step, usize) -> Seen {
    move |step, number| {
        let mut seen = sim.trial(step, number);
        if let (Came::Measured(measured), Purpose::Closed) = (&mut seen.came, seen.purpose) {
            measured.ok = (closed_per_s * seen.length_s) as u64;
            measured.due = measured.ok;
        }
        seen
    }
}

#[test]
fn a_bound_near_the_null_servers_rate_may_be_the_engines() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut sim = Sim::new(1, deterministic);
    let trials = run(&load, WHOLE, |step, number| sim.trial(step, number));
    let progress = Progress::new(&load, trials, WHOLE).unwrap();
    let irregular = |yardstick| progress.found(Some(yardstick))[0].irregular;
    assert_eq!(irregular(900.0), Some(Irregular::GeneratorLimited));
    assert_eq!(irregular(1200.0), None);
    assert_eq!(
        irregular(400.0),
        None,
        "a server beyond it proves that it is no ceiling"
    );
}

/// Slow between 300 and 700 requests per second, and quick again above: the goal that allows that
/// looks there, and so shows it to the other one.
#[test]
fn a_rate_above_the_upper_bound_that_is_carried_is_an_inversion() {
    let load = sought(&["p99<10ms", "p99<100ms"], &[0.001]);
    let odd = |random: &mut Random, rate: f64| match rate {
        rate if (300.0..700.0).contains(&rate) && random.unit() < 0.02 => 0.013,
        _ => 0.001,
    };
    let found = search(&load, Sim::new(1, odd));
    let upper = found[0].standing.upper_per_s.unwrap();
    assert!((290.0..=310.0).contains(&upper), "{upper}");
    let above = found[1].standing.lower_per_s.unwrap();
    assert!(above > 900.0, "{above}");
    assert_eq!(found[0].irregular, Some(Irregular::Inversion));
    assert_eq!(found[1].irregular, None);
}

#[test]
fn a_budget_that_is_too_small_is_named_and_kept() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut sim = Sim::new(1, deterministic);
    let budget = Budget { seconds: 60.0 };
    let trials = run(&load, budget, |step, number| sim.trial(step, number));
    let progress = Progress::new(&load, trials, budget).unwrap();
    assert!(progress.spent_s() <= 60.0, "{}", progress.spent_s());
    assert_eq!(progress.found(None)[0].irregular, Some(Irregular::Budget));
}

#[test]
fn a_contender_that_does_not_run_is_given_up() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let lost = |step: &Step, number: usize| Seen {
        id: format!("n{number}"),
        purpose: step.purpose(),
        rate_per_s: 0.0,
        length_s: step.length_s(),
        took_s: 0.1,
        is_disturbed: false,
        came: Came::Lost("no such program".to_owned()),
    };
    let trials = run(&load, WHOLE, lost);
    assert_eq!(trials.len(), 3);
    let found = Progress::new(&load, trials, WHOLE).unwrap().found(None);
    assert_eq!(found[0].irregular, Some(Irregular::Failed));
    assert_eq!(found[0].why.as_deref(), Some("no such program"));
}

/// 30 s show what 10 s do not: every request takes longer once 15 s have passed.
#[test]
fn a_bound_that_is_not_confirmed_is_lowered_and_says_so() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut sim = Sim::new(1, deterministic);
    let mut found_at = None;
    let trials = run(&load, WHOLE, |step, number| {
        if let Step::Confirm { rate_per_s, .. } = step {
            let first = *found_at.get_or_insert(*rate_per_s);
            sim.service = match *rate_per_s >= first {
                true => |_, _| 0.0015,
                false => deterministic,
            };
        } else {
            sim.service = deterministic;
        }
        sim.trial(step, number)
    });
    let found = Progress::new(&load, trials, WHOLE).unwrap().found(None);
    assert_eq!(found[0].confirmed, Some(true));
    assert_eq!(found[0].lowered_from_per_s, found_at);
    assert_eq!(found[0].standing.upper_per_s, found_at);
    assert!(found[0].standing.lower_per_s < found_at);
}

#[test]
fn an_interrupted_search_goes_on_as_if_it_had_not_been() {
    let load = sought(&["p99<10ms"], &[0.001, 0.5]);
    let mut sim = Sim::new(3, deterministic);
    let mut steps = Vec::new();
    let trials = run(&load, WHOLE, |step, number| {
        steps.push(*step);
        sim.trial(step, number)
    });
    for (at, step) in steps.iter().enumerate() {
        let progress = Progress::new(&load, trials[..at].to_vec(), WHOLE).unwrap();
        assert_eq!(progress.next().as_ref(), Some(step));
        if step.purpose() == Purpose::Search {
            let irregular = progress
                .found(None)
                .into_iter()
                .map(|found| found.irregular);
            assert!(
                irregular
                    .into_iter()
                    .any(|it| it == Some(Irregular::Unfinished))
            );
        }
    }
    let progress = Progress::new(&load, trials, WHOLE).unwrap();
    let percents: Vec<f64> = progress.curve().iter().map(|point| point.percent).collect();
    assert_eq!(percents, [25.0, 50.0, 75.0, 90.0]);
}

/// A server that carries every rate up to its capacity and none above, but for some chance of the
/// opposite near it.
fn threshold(capacity: f64, blurred: f64, random: &mut Random, step: &Step) -> Seen {
    let rate = step.rate_per_s().unwrap_or(0.0);
    let near = (rate / capacity - 1.0).abs() < 0.02;
    let is_carried = (rate <= capacity) != (near && random.unit() < blurred);
    let due = (rate * step.length_s()).ceil() as u64;
    let mut latency = Histogram::new();
    latency.record_n(if is_carried { 1_000_000 } else { 50_000_000 }, due);
    let closed = (capacity * step.length_s()) as u64;
    Seen {
        id: String::new(),
        purpose: step.purpose(),
        rate_per_s: rate,
        length_s: step.length_s(),
        took_s: step.length_s() + WARMUP_S + 0.6,
        is_disturbed: false,
        came: Came::Measured(Measured {
            due: if rate > 0.0 { due } else { closed },
            ok: if rate > 0.0 { due } else { closed },
            wrong: 0,
            latency: latency.trimmed(),
            punctual: None,
            backlog: None,
            engine: Engine::default(),
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bounds_enclose_the_capacity_of_any_server(
        capacity in 80.0..1e6_f64,
        blurred in 0.0..0.3_f64,
        seed in any::<u64>(),
    ) {
        let load = sought(&["p99<10ms"], &[0.001, 0.5]);
        let mut random = Random::new(seed);
        let trials = run(&load, WHOLE, |step, _| threshold(capacity, blurred, &mut random, step));
        let spent_s: f64 = trials.iter().map(|trial| trial.took_s).sum();
        prop_assert!(spent_s <= WHOLE.seconds);
        for found in Progress::new(&load, trials, WHOLE).unwrap().found(None) {
            let standing = found.standing;
            let (lower, upper) = (standing.lower_per_s.unwrap(), standing.upper_per_s.unwrap());
            prop_assert!(lower < upper);
            prop_assert!(lower <= capacity * 1.021 && upper >= capacity * 0.979);
            if found.irregular.is_none() && found.lowered_from_per_s.is_none() {
                prop_assert!((upper - lower) / upper <= 0.0201);
            }
            if blurred < 0.01 && found.irregular.is_none() {
                prop_assert!(lower <= capacity && capacity <= upper);
            }
        }
    }
}
