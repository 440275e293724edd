//! Searches of simulated servers, in simulated time.

mod agreement;
mod curves;
mod endings;
mod refuted;
mod sim;
mod spoiled;
mod taken;

use std::time::Duration;

use bakeoff_plan::{Arrival, Random, goals};
use bakeoff_record::Histogram;
use proptest::prelude::*;

use super::*;
use crate::found::{Found, Irregular};
use crate::seen::{Engine, Measured, fitted};
use sim::{Sim, Slow};

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

fn deterministic(_: &mut Random, _: f64) -> f64 {
    0.001
}

fn exponential(random: &mut Random, _: f64) -> f64 {
    -0.001 * random.unit().ln()
}

/// Carries a search out to its end.
fn run(load: &Load, budget: f64, mut trial: impl FnMut(&Step, usize) -> Seen) -> Vec<Seen> {
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

const WHOLE: f64 = 1200.0;

fn search(load: &Load, mut sim: Sim) -> Vec<Found> {
    let trials = run(load, WHOLE, |step, number| sim.trial(step, number));
    let spent_s: f64 = trials.iter().map(|trial| trial.took_s).sum();
    assert!(spent_s <= WHOLE, "{spent_s} s");
    Progress::new(load, trials, WHOLE).unwrap().found(None)
}

/// The bounds of a regular result, near enough, with fresh servers behind them. Where trials
/// between them disagree, they are farther apart.
fn bounds(found: &Found) -> (f64, f64) {
    // A point of the curve may miss by chance where the tail is heavy.
    let named = [
        None,
        Some(Irregular::SetAsideMissed),
        Some(Irregular::Inversion),
    ];
    assert!(named.contains(&found.irregular), "{:?}", found.standing);
    let standing = found.standing;
    let (lower, upper) = (standing.lower_per_s.unwrap(), standing.upper_per_s.unwrap());
    let most = found.lowered_from_per_s.map_or(0.0201, |_| 0.2);
    assert!((upper - lower) / upper <= most, "{lower} to {upper}");
    let behind = (standing.lower_servers, standing.upper_servers);
    assert!(behind.0 >= 3, "{behind:?}");
    assert!(
        behind.1 >= 3 || found.lowered_from_per_s.is_some(),
        "{behind:?}"
    );
    (lower, upper)
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
        assert!(named.contains(&found.irregular), "{:?}", found.standing);
        let why = found.why.as_deref();
        let is_named = why.is_none_or(|why| {
            why.starts_with("between ") && why.contains(" requests/s the load engine was too late")
                || why.ends_with("too late or too busy in the confirming trials")
        });
        assert!(is_named, "{why:?}");
    }
}

/// A virtual machine that is 5 % slower for 3 s at a time leaves some hundred requests near the
/// capacity, which wait for a tenth of the 1 s that is allowed. Searches begin at different rates,
/// so that they try different ones.
#[test]
fn a_server_that_is_a_little_slower_at_times_carries_what_it_serves_in_time() {
    let load = sought(&["p99<1s"], &[0.001]);
    let slow = Slow {
        apart_s: 20.0,
        length_s: 3.0,
        by: 0.05,
    };
    let lowers = (1..=16).map(|seed| {
        let mut sim = Sim {
            slow: Some(slow),
            ..Sim::new(seed, deterministic)
        };
        let trials = run(&load, WHOLE, |step, number| {
            let mut seen = sim.trial(step, number);
            if let (Came::Measured(measured), Purpose::Closed) = (&mut seen.came, seen.purpose) {
                measured.ok -= measured.ok * seed / 50;
            }
            seen
        });
        let found = &Progress::new(&load, trials, WHOLE).unwrap().found(None)[0];
        bounds(found).0
    });
    let lowers: Vec<f64> = lowers.collect();
    let is_near = |lower: &f64| (900.0..=1010.0).contains(lower);
    assert!(lowers.iter().all(is_near), "{lowers:?}");
    // Its mean capacity is 993 requests per second.
    let mean = lowers.iter().sum::<f64>() / lowers.len() as f64;
    assert!(mean >= 950.0, "{mean}: {lowers:?}");
}

#[test]
fn trials_that_are_too_short_to_show_failures_are_no_lower_bound() {
    // At the lowest rate a trial has some 80 requests, and in half of the trials none fails.
    let load = sought(&[], &[0.001]);
    // Or trials that are longer refute it.
    let named = [
        Irregular::TooFewRequests,
        Irregular::NoLower,
        Irregular::NotConfirmed,
    ];
    let named = named.map(Some);
    let mut too_few = 0;
    for seed in 0..20 {
        let sim = Sim {
            fails: 0.01,
            ..Sim::new(seed, deterministic)
        };
        let found = &search(&load, sim)[0];
        assert!(named.contains(&found.irregular), "{:?}", found.standing);
        assert_eq!(found.standing.lower_per_s, None);
        too_few += u32::from(found.irregular == named[0]);
    }
    assert!(too_few > 0, "no search ended at such a rate");
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
    // A longer trial or a lower rate would not help, so neither is advised.
    let why = found[0].why.as_deref().unwrap();
    assert!(why.ends_with(" % of the requests fail there"), "{why}");
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
    let why = found[0].why.as_deref().unwrap();
    let said = "requests/s on the load engine was too late or too busy";
    assert!(why.starts_with("from 60") && why.ends_with(said), "{why}");
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
    let budget = 60.0;
    let trials = run(&load, budget, |step, number| sim.trial(step, number));
    let progress = Progress::new(&load, trials, budget).unwrap();
    assert!(progress.spent_s() <= 60.0, "{}", progress.spent_s());
    assert_eq!(progress.found(None)[0].irregular, Some(Irregular::Budget));
}

#[test]
fn a_budget_is_kept_by_servers_that_take_long_to_start() {
    let load = sought(&["p99<10ms"], &[0.001]);
    for seconds in [40.0, 60.0, 75.0, 90.0] {
        let mut sim = Sim::new(1, deterministic);
        let slow = |step: &Step, number: usize| Seen {
            took_s: step.length_s + load.warmup_s + 6.0,
            ..sim.trial(step, number)
        };
        let trials = run(&load, seconds, slow);
        let progress = Progress::new(&load, trials, seconds).unwrap();
        assert!(progress.spent_s() <= seconds, "{}", progress.spent_s());
    }
}

#[test]
fn a_contender_that_does_not_run_is_given_up() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let lost = |step: &Step, number: usize| Seen {
        id: format!("n{number}"),
        purpose: step.purpose,
        rate_per_s: 0.0,
        length_s: step.length_s,
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

#[test]
fn a_server_that_ends_in_the_closed_loop_is_given_up_as_such() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let ends = |came: fn() -> Came| {
        let trials = run(&load, WHOLE, |step, number| Seen {
            came: came(),
            ..threshold(1000.0, 0.0, &mut Random::new(number as u64), step)
        });
        Progress::new(&load, trials, WHOLE).unwrap().gave_up()
    };
    let why = ends(|| Came::Died);
    assert_eq!(
        why.as_deref(),
        Some("the server ended in 2 of 2 closed loops")
    );
}

/// 30 s show what 10 s do not: every request takes longer once 15 s have passed, at the bound that
/// the search found and above. The trials, and that bound.
fn refuted(load: &Load) -> (Vec<Seen>, f64) {
    let mut sim = Sim::new(1, deterministic);
    let mut found_at = None;
    let trials = run(load, WHOLE, |step, number| {
        if let (Purpose::Confirm, Some(rate_per_s)) = (step.purpose, step.rate_per_s) {
            let first = *found_at.get_or_insert(rate_per_s);
            sim.service = if rate_per_s >= first {
                |_, _| 0.0015
            } else {
                deterministic
            };
        } else {
            sim.service = deterministic;
        }
        sim.trial(step, number)
    });
    (trials, found_at.unwrap())
}

#[test]
fn a_bound_that_is_not_confirmed_is_lowered_and_says_so() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let (trials, refuted) = refuted(&load);
    let found = Progress::new(&load, trials, WHOLE).unwrap().found(None);
    assert_eq!(found[0].confirmed, Some(true));
    assert!(found[0].lowered_from_per_s >= Some(refuted));
    assert_eq!(found[0].standing.upper_per_s, Some(refuted));
    assert!(found[0].standing.lower_per_s < Some(refuted));
}

/// A server that is slower by 20 % once it is warm is found in longer trials alone, with bounds
/// that are near.
#[test]
fn a_bound_that_longer_trials_refute_by_far_is_found_below() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut random = Random::new(1);
    let trials = run(&load, WHOLE, |step, _| {
        let is_longer = matches!(step.purpose, Purpose::Confirm | Purpose::Curve { .. });
        let capacity = if is_longer { 800.0 } else { 1000.0 };
        threshold(capacity, 0.0, &mut random, step)
    });
    let found = &Progress::new(&load, trials, WHOLE).unwrap().found(None)[0];
    assert_eq!(found.confirmed, Some(true));
    assert!(found.lowered_from_per_s.unwrap() > 970.0);
    let (lower, upper) = bounds(found);
    assert!(lower <= 801.0 && 799.0 <= upper, "{lower} to {upper}");
}

/// A server that fails in some of the trials at shares of its bound: the bound goes below each of
/// them, and what met the goal above them is named.
#[test]
fn a_point_of_the_curve_that_misses_is_below_no_bound() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut random = Random::new(1);
    let trials = run(&load, WHOLE, |step, _| {
        let is_curve = matches!(step.purpose, Purpose::Curve { .. });
        let capacity = if is_curve { 600.0 } else { 1000.0 };
        threshold(capacity, 0.0, &mut random, step)
    });
    let progress = Progress::new(&load, trials.clone(), WHOLE).unwrap();
    let found = &progress.found(None)[0];
    let lower = found.standing.lower_per_s.unwrap();
    assert!((600.0..667.0).contains(&lower), "{lower}");
    assert_eq!(found.confirmed, Some(true), "longer trials held there");
    assert_eq!(found.irregular, Some(Irregular::Inversion));
    let why = found.why.as_deref().unwrap();
    assert!(
        why.starts_with("a trial at ") && why.ends_with(" met it"),
        "{why}"
    );
    let most = progress.curve().last().map(|point| point.rate_per_s);
    assert!(most.is_some_and(|most| most <= 600.0), "{most:?}");
    // Where time ends at the first miss, what stands is below it, and not confirmed.
    let missed = |it: &Seen| judge(&progress.search.goals[0], it) != Some(Judged::Meets);
    let is_curve = |it: &Seen| matches!(it.purpose, Purpose::Curve { .. });
    let first = trials.iter().position(|it| is_curve(it) && missed(it));
    let made = trials[..=first.unwrap()].to_vec();
    let seconds = made.iter().map(|trial| trial.took_s).sum();
    let progress = Progress::new(&load, made, seconds).unwrap();
    let found = &progress.found(None)[0];
    assert_eq!(found.irregular, Some(Irregular::Budget));
    assert_ne!(found.confirmed, Some(true));
    let least = trials[first.unwrap()].rate_per_s;
    assert!(found.standing.lower_per_s.is_none_or(|lower| lower < least));
    assert!(!progress.curve().is_empty(), "what was measured is shown");
}

/// No rate that longer trials try holds in them.
#[test]
fn a_bound_that_longer_trials_refute_at_every_rate_is_no_bound() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut random = Random::new(1);
    let mut tried = Vec::new();
    let trials = run(&load, WHOLE, |step, _| {
        let is_longer = step.purpose == Purpose::Confirm;
        let capacity = if is_longer { 500.0 } else { 1000.0 };
        tried.extend(step.rate_per_s.filter(|_| is_longer));
        threshold(capacity, 0.0, &mut random, step)
    });
    assert!(
        trials
            .iter()
            .all(|it| !matches!(it.purpose, Purpose::Curve { .. }))
    );
    let found = &Progress::new(&load, trials, WHOLE).unwrap().found(None)[0];
    assert_eq!(found.irregular, Some(Irregular::NotConfirmed));
    assert_eq!(found.confirmed, Some(false));
    let standing = found.standing;
    assert_eq!(standing.lower_per_s, None);
    assert_eq!(standing.upper_per_s, tried.last().copied());
    assert_eq!(
        standing.upper_servers, 2,
        "longer trials alone saw that rate"
    );
    assert_eq!(found.lowered_from_per_s, tried.first().copied());
    let why = found.why.as_deref().unwrap();
    assert!(
        why.starts_with("longer trials missed it at every rate"),
        "{why}"
    );
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
        if step.purpose == Purpose::Search {
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
    let rate = step.rate_per_s.unwrap_or(0.0);
    let near = (rate / capacity - 1.0).abs() < 0.02;
    let is_carried = (rate <= capacity) != (near && random.unit() < blurred);
    let due = (rate * step.length_s).ceil() as u64;
    let mut latency = Histogram::new();
    latency.record_n(if is_carried { 1_000_000 } else { 50_000_000 }, due);
    let closed = (capacity * step.length_s) as u64;
    Seen {
        id: String::new(),
        purpose: step.purpose,
        rate_per_s: rate,
        length_s: step.length_s,
        took_s: step.length_s + WARMUP_S + 0.6,
        is_disturbed: false,
        came: Came::Measured(Measured {
            due: if rate > 0.0 { due } else { closed },
            ok: if rate > 0.0 { due } else { closed },
            wrong: 0,
            latency: latency.trimmed(),
            punctual: None,
            backlog: fitted(&[(0.0, 0.0), (step.length_s, 0.0)]),
            engine: Engine::default(),
            places: Box::default(),
        }),
    }
}

/// Trials at one rate: the first two that confirm it meet the goal, and the engine spoils the rest.
#[test]
fn a_confirmation_that_the_engine_spoils_lowers_nothing() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut random = Random::new(1);
    let mut confirming = 0;
    let trials = run(&load, WHOLE, |step, _| {
        let mut seen = threshold(1000.0, 0.0, &mut random, step);
        if let (Came::Measured(measured), Purpose::Confirm) = (&mut seen.came, seen.purpose) {
            confirming += 1;
            if confirming > 2 {
                measured.engine.busy = Some(0.97);
                measured.latency.record_n(50_000_000, measured.due);
            }
        }
        seen
    });
    let confirm = trials.iter().filter(|it| it.purpose == Purpose::Confirm);
    let rates: Vec<f64> = confirm.map(|trial| trial.rate_per_s).collect();
    assert_eq!(rates, [rates[0]; 5], "no lower rate is tried");
    let progress = Progress::new(&load, trials, WHOLE).unwrap();
    let found = &progress.found(None)[0];
    assert_eq!(found.irregular, Some(Irregular::GeneratorLimited));
    let why = found.why.as_deref();
    let expected = "the load engine was too late or too busy in the confirming trials";
    assert_eq!(why, Some(expected));
    let confirmed = (found.confirmed, found.is_confirmation_spoiled);
    assert_eq!(confirmed, (Some(false), true));
    assert_eq!(found.lowered_from_per_s, None);
    let standing = found.standing;
    assert_eq!(standing.lower_per_s, Some(rates[0]));
    // That the server ends there was seen by trials that the engine did not spoil.
    let upper = standing.upper_per_s.unwrap();
    assert!((1000.0..=1021.0).contains(&upper), "{upper}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bounds_enclose_the_capacity_of_any_server(
        capacity in 80.0..1e6_f64,
        blurred in prop_oneof![Just(0.0), 0.0..0.3_f64],
        seed in any::<u64>(),
    ) {
        let load = sought(&["p99<10ms"], &[0.001, 0.5]);
        let mut random = Random::new(seed);
        let trials = run(&load, WHOLE, |step, _| threshold(capacity, blurred, &mut random, step));
        let spent_s: f64 = trials.iter().map(|trial| trial.took_s).sum();
        prop_assert!(spent_s <= WHOLE);
        for found in Progress::new(&load, trials, WHOLE).unwrap().found(None) {
            let standing = found.standing;
            let (lower, upper) = (standing.lower_per_s.unwrap(), standing.upper_per_s.unwrap());
            prop_assert!(lower < upper);
            prop_assert!(lower <= capacity * 1.021 && upper >= capacity * 0.979);
            if found.irregular.is_none() && found.lowered_from_per_s.is_none() {
                prop_assert!((upper - lower) / upper <= 0.0201);
            }
            if blurred == 0.0 && found.irregular.is_none() {
                prop_assert!(lower <= capacity && capacity <= upper);
            }
        }
    }
}
