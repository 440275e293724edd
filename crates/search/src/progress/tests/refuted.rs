//! Servers with heavy tails, pauses and two modes: no answer states what its own trials refute.

use super::sim::OtherStart;
use super::spoiled::quick;
use super::*;
use crate::found::{Tally, TrialFound};

/// What holds of every answer, whatever the server is like.
fn assert_holds(name: &str, seed: u64, found: &Found) {
    let standing = found.standing;
    let Some(lower) = standing.lower_per_s else {
        assert_ne!(found.confirmed, Some(true), "{name} {seed}");
        let is_said = found.irregular.is_some();
        assert!(is_said, "{name} {seed}: nothing says why there is none");
        return;
    };
    assert!(standing.upper_per_s.is_none_or(|upper| lower < upper));
    let below = || {
        let trials = found.trials.iter();
        trials.filter(move |it| it.rate_per_s.is_some_and(|rate| rate <= lower))
    };
    let missed = |it: &&TrialFound| matches!(it.judged, Some(Judged::Exceeds(_)));
    let full_s = found
        .trials
        .iter()
        .filter(|it| it.purpose == Purpose::Search);
    let full_s = full_s.map(|it| it.length_s).fold(0.0, f64::max);
    let refutes = |it: &&TrialFound| it.length_s >= full_s && !it.is_set_aside;
    let refuting: Vec<_> = below().filter(missed).filter(refutes).collect();
    assert!(refuting.is_empty(), "{name} {seed}: {lower}: {refuting:?}");
    if found.confirmed == Some(true) {
        assert_eq!(below().filter(missed).count(), 0, "{name} {seed}: {lower}");
    }
    let said = |it: &&TrialFound| matches!(it.judged, Some(Judged::Meets | Judged::Exceeds(_)));
    let set_aside = |it: &&TrialFound| it.is_set_aside;
    let expected = Tally {
        of: below().filter(said).count(),
        missed: below().filter(missed).filter(|it| !it.is_set_aside).count(),
        set_aside: below().filter(said).filter(set_aside).count(),
        set_aside_missed: below().filter(missed).filter(set_aside).count(),
    };
    assert_eq!(found.tally, expected, "{name} {seed}");
    let named = found.irregular == Some(Irregular::SetAsideMissed);
    assert!(named || found.irregular.is_some() || expected.set_aside_missed == 0);
}

fn heavy_tailed(random: &mut Random, _: f64) -> f64 {
    // Pareto with a mean of 1 ms and an endless variance.
    0.001 / 3.0 / random.unit().powf(1.0 / 1.5)
}

/// Searches of one server, short ones and long ones.
const SEEDS: u64 = 6;

/// The answers of many searches of one server, short ones and long ones. Each holds, wherever the
/// search is stopped.
fn answers(name: &str, slo: &str, server: impl Fn(u64) -> Sim) -> Vec<Found> {
    let (short, budget) = quick(slo);
    let whole = sought(&[slo], &[0.001]);
    let mut all = Vec::new();
    for seed in 1..=SEEDS {
        for (load, budget) in [(&short, budget), (&whole, 720.0)] {
            let mut sim = server(seed);
            let trials = run(load, budget, |step, number| sim.trial(step, number));
            for made in (1..=trials.len()).rev().step_by(7) {
                let progress = Progress::new(load, trials[..made].to_vec(), budget).unwrap();
                let found = progress.found(None).remove(0);
                assert_holds(name, seed, &found);
                if made == trials.len() {
                    all.push(found);
                }
            }
        }
    }
    all
}

/// How many have a lower bound, and how many of those are confirmed.
fn counted(answers: &[Found]) -> (usize, usize) {
    let lower = answers
        .iter()
        .filter(|it| it.standing.lower_per_s.is_some());
    let confirmed = answers.iter().filter(|it| it.confirmed == Some(true));
    (lower.count(), confirmed.count())
}

#[test]
fn a_plain_server_has_bounds_and_most_are_confirmed() {
    let all = answers("plain", "p99<10ms", |seed| Sim::new(seed, deterministic));
    let (lower, confirmed) = counted(&all);
    assert_eq!(lower, all.len());
    assert!(2 * confirmed > lower, "{confirmed} of {lower}");
    let is_known = |found: &Found| found.standing.lower_per_s.is_some_and(|it| it < 790.0);
    assert!(all.iter().all(is_known), "its knee is at 773/s");
}

#[test]
fn a_heavy_tail_refutes_no_bound() {
    answers("heavy", "p99<50ms", |seed| Sim::new(seed, heavy_tailed));
    answers("exponential", "p99<10ms", |seed| {
        Sim::new(seed, exponential)
    });
}

/// It does nothing for 100 ms, once in 2 s: one request of twenty waits.
#[test]
fn a_server_that_pauses_has_a_bound_where_the_goal_allows_the_pauses() {
    let pausing = |seed| Sim {
        stalls: Some((2.0, 0.1)),
        ..Sim::new(seed, deterministic)
    };
    let none = answers("pauses", "p99<10ms", pausing);
    assert_eq!(counted(&none), (0, 0));
    let why = |found: &Found| found.irregular == Some(Irregular::NoLower);
    assert!(none.iter().all(why), "every trial saw a pause");
    let some = answers("allowed pauses", "p90<20ms", pausing);
    assert!(4 * counted(&some).0 >= 3 * some.len());
    // Seldom ones are in some trials, and not in others.
    answers("seldom pauses", "p99<10ms", |seed| Sim {
        stalls: Some((8.0, 0.1)),
        ..Sim::new(seed, deterministic)
    });
}

/// Answers of every other start come 20 ms later, or take twice as long.
#[test]
fn a_server_with_two_modes_has_the_bound_of_the_worse_one() {
    let modes = |share, slowness, later_s| {
        move |seed| Sim {
            other_start: Some(OtherStart {
                share,
                slowness,
                later_s,
            }),
            ..Sim::new(seed, deterministic)
        }
    };
    // In a search of thirty trials those at or below a rate may be of one mode by chance.
    let late = answers("late", "p99<10ms", modes(0.5, 1.0, 0.02));
    let (_, confirmed) = counted(&late);
    assert!(4 * confirmed <= late.len(), "{confirmed}");
    let slow = answers("slow", "p99<10ms", modes(0.5, 2.0, 0.0));
    let too_high = |found: &&Found| found.standing.lower_per_s.is_some_and(|it| it > 400.0);
    let wrong = slow.iter().filter(too_high).count();
    assert!(
        4 * wrong <= slow.len(),
        "{wrong}: its worse mode carries 387/s"
    );
    answers("seldom slow", "p99<10ms", modes(0.2, 2.0, 0.0));
}

#[test]
fn trials_that_are_set_aside_and_missed_are_named() {
    let all = answers("disturbed", "p99<10ms", |seed| Sim {
        disturbed: 0.3,
        ..Sim::new(seed, deterministic)
    });
    let named = |it: &&Found| it.irregular == Some(Irregular::SetAsideMissed);
    assert!(all.iter().any(|it| named(&it)));
}
