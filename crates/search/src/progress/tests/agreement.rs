//! Searches of one server come to nearly the same. A lower bound is below every full trial that
//! missed, so that one unlucky trial moves it by some percent.

use super::*;

/// The lower bounds of so many searches of the same server, ascending; all bounds within `range`.
fn lowers(
    searches: u64,
    load: &Load,
    range: std::ops::RangeInclusive<f64>,
    sim: impl Fn(u64) -> Sim,
) -> Vec<f64> {
    let all = (1..=searches).map(|seed| bounds(&search(load, sim(seed))[0]));
    let all: Vec<(f64, f64)> = all.collect();
    for (lower, upper) in &all {
        assert!(range.contains(lower) && range.contains(upper), "{all:?}");
    }
    let mut lowers: Vec<f64> = all.iter().map(|(lower, _)| *lower).collect();
    lowers.sort_by(f64::total_cmp);
    lowers
}

/// Five searches of the same server; all bounds within `range`, and the lower ones no further apart
/// than `spread`, as a share.
fn five(load: &Load, range: std::ops::RangeInclusive<f64>, spread: f64, sim: impl Fn(u64) -> Sim) {
    let lowers = lowers(5, load, range, sim);
    let (least, most) = (lowers[0], lowers[4]);
    assert!((most - least) / least <= spread, "{lowers:?}");
}

/// Searches of one server that a test makes.
const SEARCHES: u64 = 24;

/// Searches of the same server; all bounds within `range`. Each of `held` is a spread and a number:
/// of 20 times that five of the searches are taken, their lower bounds are so many times no further
/// apart than the spread, as a share.
fn agree(
    load: &Load,
    range: std::ops::RangeInclusive<f64>,
    held: &[(f64, usize)],
    sim: impl Fn(u64) -> Sim,
) {
    let lowers = lowers(SEARCHES, load, range, sim);
    for &(spread, of_20) in held {
        // Of each pair, the fives of which it is the least and the most.
        let (mut fives, mut near) = (0, 0);
        for (least, low) in lowers.iter().enumerate() {
            for (most, high) in lowers.iter().enumerate().skip(least + 4) {
                let between = most - least - 1;
                let ways = between * (between - 1) * (between - 2) / 6;
                fives += ways;
                if (high - low) / low <= spread {
                    near += ways;
                }
            }
        }
        let text = format!("{near} of {fives} within {spread}: {lowers:?}");
        assert!(20 * near >= of_20 * fives, "{text}");
    }
}

/// Of one worker with 1 ms a request and Poisson arrivals, 1 % wait for more than 10 ms at 77 % of
/// what it can do.
#[test]
fn the_knee_of_a_constant_service_time_is_found() {
    let load = sought(&["p99<10ms"], &[0.001]);
    agree(&load, 690.0..=810.0, &[(0.08, 10), (0.12, 19)], |seed| {
        Sim::new(seed, deterministic)
    });
}

/// The wait of an M/M/1 queue is exponential: ln(100) / (1000 - rate) is 10 ms at 539.5/s.
/// Its tail is heavier, and so the p99 of a trial differs more from that of another.
#[test]
fn the_knee_of_an_exponential_service_time_is_found() {
    let load = sought(&["p99<10ms"], &[0.001]);
    five(&load, 440.0..=575.0, 0.2, |seed| {
        Sim::new(seed, exponential)
    });
}

/// With 1 s allowed a trial ends before the latency shows that more comes in than goes out.
#[test]
fn a_queue_that_grows_counts_before_its_latency_does() {
    let load = sought(&["p99<1s"], &[0.001]);
    five(&load, 930.0..=1020.0, 0.06, |seed| {
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
    agree(&load, 700.0..=830.0, &[(0.06, 9), (0.08, 19)], noisy);
}

#[test]
fn disturbed_trials_are_set_aside() {
    let load = sought(&["p99<10ms"], &[0.001]);
    for share in [0.15, 0.3] {
        let disturbed = |seed| Sim {
            disturbed: share,
            ..Sim::new(seed, deterministic)
        };
        agree(&load, 680.0..=830.0, &[(0.13, 19)], disturbed);
    }
}
