//! `make stats-check`: what the rules of comparisons claim, held against simulated campaigns.
//!
//! False winners in tables of equals, power and coverage, of campaigns that end by time and of
//! those that end after a number of rounds, from a fixed seed. It prints what it finds and fails
//! where a limit is exceeded.

mod levels;
mod noise;

use bakeoff_plan::Random;
use bakeoff_stats::{Decided, Located, Look, Spending, estimate, locate, walsh};

use noise::{Ends, Noise, SD, Setting, Size, campaign, is_shown, normal};

const SEED: u64 = 2026;
/// Chance of a false winner in a whole table that is promised.
const FALSE_MAX: f64 = 0.05;
/// The same where contenders' own noise lasts from round to round, and with 24 cells.
const FALSE_CONTENDER_MAX: [f64; 2] = [0.07, 0.08];
/// From which number of cells on the latter holds.
const MANY_CELLS: usize = 24;
/// Standard errors that a simulated share may be beyond what is promised.
const ERRORS: f64 = 2.0;

fn size(contenders: usize, cells: usize) -> Size {
    Size { cells, contenders }
}

/// Contenders and cells from the smallest table to a large one.
fn sizes() -> impl Iterator<Item = Size> {
    let contenders = [2, 3, 6].into_iter();
    contenders.flat_map(|contenders| [1, 4, 24].map(|cells| size(contenders, cells)))
}

/// Share of `times` repetitions in which `happens`.
fn share(times: usize, label: &str, mut happens: impl FnMut(&mut Random) -> bool) -> f64 {
    let mut random = Random::labelled(SEED, label);
    (0..times).filter(|_| happens(&mut random)).count() as f64 / times as f64
}

fn percent(share: f64) -> String {
    format!("{:5.1}", share * 100.0)
}

/// Repetitions for a table of this size.
fn times(size: Size) -> usize {
    match size.pairs() {
        ..=30 => 4_000,
        31..=100 => 2_000,
        _ => 500,
    }
}

/// Three rounds and three quarters, as `quick` has of three minutes, and twelve.
fn budgets(size: Size) -> [f64; 2] {
    let round = (size.cells * size.contenders) as f64 * 2.0;
    [3.75 * round, 12.0 * round]
}

/// Share of tables of equals in which there is any winner.
fn false_winners(setting: Setting, label: &str) -> f64 {
    share(times(setting.size), label, |random| {
        let (_, found) = campaign(random, setting);
        let any = |way| found.iter().any(|one| is_shown(one, way));
        any(Decided::Higher) || any(Decided::Lower)
    })
}

/// The most false winners that are allowed, with what so few repetitions make of it.
fn most(noise: Noise, size: Size) -> f64 {
    let most = match (noise.is_independent(), size.cells >= MANY_CELLS) {
        (true, _) => FALSE_MAX,
        (false, many) => FALSE_CONTENDER_MAX[usize::from(many)],
    };
    most + ERRORS * (most * (1.0 - most) / times(size) as f64).sqrt()
}

#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn campaigns_by_time_declare_a_false_winner_in_at_most_one_table_of_twenty() {
    println!("false winners, % of tables of equals, all looks together; 3.75 and 12 rounds' time");
    let mut failed = Vec::new();
    for noise in Noise::HELD {
        let mut line = format!("  {:20}", noise.name());
        for size in sizes() {
            line += &format!(" | {}x{}", size.contenders, size.cells);
            for (place, budget) in budgets(size).into_iter().enumerate() {
                let setting = Setting::new(size, noise, Ends::Time(budget));
                let found = false_winners(setting, &format!("time {size:?} {noise:?} {place}"));
                line += &percent(found);
                if found > most(noise, size) {
                    failed.push(format!("{size:?} {noise:?} {budget} s: {found}"));
                }
            }
        }
        println!("{line}");
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn no_rule_survives_contenders_whose_own_noise_outlasts_the_looks() {
    println!("the same, not held: contender AR(1) 0.8");
    for size in [size(2, 1), size(3, 4), size(3, 8)] {
        let found = budgets(size).map(|budget| {
            let setting = Setting::new(size, Noise::Contender(0.8), Ends::Time(budget));
            percent(false_winners(
                setting,
                &format!("lasting {size:?} {budget}"),
            ))
        });
        println!("  {}x{}: {found:?}", size.contenders, size.cells);
    }
}

#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn a_number_of_rounds_declares_a_false_winner_in_at_most_one_table_of_twenty() {
    println!("false winners, % of tables of equals after 3, 5, 7, 10, 20 rounds, one look");
    let mut failed = Vec::new();
    for noise in Noise::HELD {
        let mut line = format!("  {:20}", noise.name());
        for size in [size(2, 1), size(3, 2), size(3, 8), size(6, 8)] {
            line += &format!(" | {}x{}", size.contenders, size.cells);
            for rounds in [3, 5, 7, 10, 20] {
                let setting = Setting::new(size, noise, Ends::Rounds(rounds));
                let found = false_winners(setting, &format!("rounds {size:?} {noise:?} {rounds}"));
                line += &percent(found);
                if found > most(noise, size) {
                    failed.push(format!("{size:?} {noise:?} {rounds} rounds: {found}"));
                }
            }
        }
        println!("{line}");
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A fifth of the trials is lost, or the campaign is given its time once more.
#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn lost_trials_and_more_time_make_no_false_winners() {
    println!("false winners, %: a fifth of the trials lost | as much time once more | both");
    let mut failed = Vec::new();
    for noise in Noise::HELD {
        let mut line = format!("  {:20}", noise.name());
        for size in [size(2, 1), size(3, 4), size(3, 8)] {
            line += &format!(" | {}x{}", size.contenders, size.cells);
            for (lost, resumed) in [(0.2, false), (0.0, true), (0.2, true)] {
                let setting = Setting {
                    lost,
                    resumed,
                    ..Setting::new(size, noise, Ends::Time(budgets(size)[0]))
                };
                let label = format!("spoiled {size:?} {noise:?} {lost} {resumed}");
                let found = false_winners(setting, &label);
                line += &percent(found);
                if found > most(noise, size) {
                    failed.push(format!("{label}: {found}"));
                }
            }
        }
        println!("{line}");
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Share of the pairs that are off that are found, and the mean of their rounds.
fn power(setting: Setting, label: &str) -> (f64, f64) {
    let (mut found, mut all, mut rounds) = (0_usize, 0_usize, 0_usize);
    let last = setting.size.contenders - 1;
    share(400, label, |random| {
        let (members, said) = campaign(random, setting);
        for (member, said) in members.iter().zip(&said) {
            if member.cell.is_multiple_of(2) && member.between[1] == last {
                all += 1;
                found += usize::from(is_shown(said, Decided::Higher));
                rounds += said.map_or(0, |one| one.rounds);
            }
        }
        true
    });
    (found as f64 / all as f64, rounds as f64 / all as f64)
}

#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn differences_are_found_as_often_as_promised() {
    println!("found, % (mean rounds), of 24 pairs, half of them off, by time");
    for (budget, sd, promised) in [
        (180.0, 0.03, [0.15, 0.95, 0.99, 0.99]),
        (180.0, SD, [0.0, 0.45, 0.95, 0.99]),
        (180.0, 0.10, [0.0, 0.0, 0.5, 0.97]),
        (600.0, SD, [0.65, 0.95, 0.99, 0.99]),
    ] {
        let mut line = format!("  {budget} s, sd {sd}:");
        for (factor, promised) in [1.1, 1.25, 1.5, 2.0].into_iter().zip(promised) {
            let setting = Setting {
                sd,
                effect: f64::ln(factor),
                ..Setting::new(size(3, 8), Noise::Normal, Ends::Time(budget))
            };
            let (found, rounds) = power(setting, &format!("power {budget} {sd} {factor}"));
            line += &format!("  x{factor}: {} ({rounds:.1})", percent(found));
            assert!(found >= promised, "{budget} s, sd {sd}, x{factor}: {found}");
        }
        println!("{line}");
    }
    println!("a race of two in one cell: 10 % in ten minutes, a factor of two in 40 s");
    for (budget, factor, promised) in [(600.0, 1.1, 0.9), (40.0, 2.0, 0.95)] {
        let setting = Setting {
            effect: f64::ln(factor),
            ..Setting::new(size(2, 1), Noise::Normal, Ends::Time(budget))
        };
        let (found, rounds) = power(setting, &format!("race {budget} {factor}"));
        println!("  {budget} s, x{factor}: {} ({rounds:.1})", percent(found));
        assert!(found >= promised, "{budget} s, x{factor}: {found}");
    }
    println!("after a number of rounds");
    for (rounds, promised) in [(5, 0.15), (7, 0.5), (10, 0.75), (20, 0.97)] {
        let setting = Setting {
            effect: f64::ln(1.1),
            ..Setting::new(size(3, 8), Noise::Normal, Ends::Rounds(rounds))
        };
        let (found, _) = power(setting, &format!("power {rounds}"));
        println!("  {rounds} rounds, x1.1: {}", percent(found));
        assert!(found >= promised, "{rounds} rounds: {found}");
    }
}

/// Of the pairs that are off, and of winners among them: early ones are the lucky ones.
#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn intervals_hold_the_ratio_however_early_a_campaign_ended() {
    println!("intervals that hold the true ratio, %: of all pairs, of winners");
    for (noise, least) in [
        (Noise::Normal, 0.95),
        (Noise::Phases, 0.95),
        (Noise::Uneven, 0.95),
        (Noise::Contender(0.5), 0.93),
    ] {
        let mut line = format!("  {:20}", noise.name());
        for (factor, budget) in [(1.1, 600.0), (1.25, 180.0), (2.0, 180.0)] {
            let effect = f64::ln(factor);
            let setting = Setting {
                effect,
                ..Setting::new(size(3, 8), noise, Ends::Time(budget))
            };
            let (mut held, mut all) = ([0_usize; 2], [0_usize; 2]);
            share(400, &format!("held {noise:?} {factor}"), |random| {
                let (members, said) = campaign(random, setting);
                for (member, said) in members.iter().zip(&said) {
                    let is_off = member.cell.is_multiple_of(2) && member.between[1] == 2;
                    let truth = if is_off { effect } else { 0.0 };
                    let Some(said) = said else { continue };
                    let is_winner = is_off && is_shown(&Some(*said), Decided::Higher);
                    for (place, counts) in [true, is_winner].into_iter().enumerate() {
                        let holds = said.held.low <= truth && truth <= said.held.high;
                        all[place] += usize::from(counts);
                        held[place] += usize::from(counts && holds);
                    }
                }
                true
            });
            let of = |place: usize| held[place] as f64 / all[place].max(1) as f64;
            line += &format!("  x{factor}: {}{}", percent(of(0)), percent(of(1)));
            assert!(of(0) >= least, "{noise:?} x{factor}: {}", of(0));
        }
        println!("{line}");
    }
}

#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn intervals_of_one_series_hold_what_they_claim() {
    println!("coverage of 95 % intervals, %: Walsh averages (of the order statistics)");
    for noise in [
        Noise::Normal,
        Noise::Heavy,
        Noise::Phases,
        Noise::Contender(0.5),
    ] {
        let mut line = format!("  {:20}", noise.name());
        for rounds in [6, 8, 10, 12, 16, 20] {
            let label = format!("coverage {noise:?} {rounds}");
            let setting = Setting::new(size(2, 1), noise, Ends::Rounds(rounds));
            let mut order = 0.0;
            let times = 10_000;
            let walsh = share(times, &label, |random| {
                let logs = campaign(random, setting).0.remove(0).paired.logs;
                let held = |one: bakeoff_stats::Estimate| one.low <= 0.0 && 0.0 <= one.high;
                order += f64::from(u8::from(estimate(&logs).is_some_and(held)));
                walsh(&logs).is_some_and(held)
            });
            let order = order / times as f64;
            line += &format!("  {rounds}:{}({})", percent(walsh), percent(order));
            if noise.is_independent() {
                let is_near = (0.93..=0.975).contains(&walsh);
                assert!(is_near && order >= 0.93, "{label}: {walsh} {order}");
            }
        }
        println!("{line}");
    }
}

/// Quickly, with the limits as wide as so few repetitions make them.
#[test]
fn changes_of_histories_are_found_and_seldom_false() {
    levels::hold(200);
}

#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn changes_of_histories_are_found_as_often_as_promised() {
    levels::hold(4_000);
}

#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn intervals_of_a_table_hold_all_of_it_at_once() {
    println!("tables in which all intervals of gates hold, %, n = 3, 5, 7, 10, 20");
    for noise in Noise::HELD {
        let mut line = format!("  {:20}", noise.name());
        for size in [size(2, 1), size(3, 2), size(3, 8)] {
            for rounds in [3, 5, 7, 10, 20] {
                let setting = Setting {
                    lost: 0.1,
                    ..Setting::new(size, noise, Ends::Rounds(rounds))
                };
                let label = format!("located {size:?} {noise:?} {rounds}");
                let found = share(1_000, &label, |random| {
                    let located = locate(&campaign(random, setting).0, &[Look::ALL_ROUNDS]);
                    let holds = |one: &Located| one.held.low <= 0.0 && 0.0 <= one.held.high;
                    located.iter().flatten().all(holds)
                });
                line += &percent(found);
                let least = if noise.is_independent() { 0.93 } else { 0.88 };
                assert!(found >= least, "{label}: {found}");
            }
            line += " |";
        }
        println!("{line}");
    }
}

/// Pairs that all differ by a little more than what is called equal, at a spread of 1 %.
#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn what_differs_is_called_equal_in_at_most_one_table_of_twenty() {
    println!("tables with a false `equal within 3 %`, %: after 4, 7, 12 rounds' time");
    let size = size(2, 8);
    for noise in Noise::HELD {
        let mut line = format!("  {:20}", noise.name());
        for rounds in [4.0, 7.0, 12.0] {
            let setting = Setting {
                sd: 0.01,
                ..Setting::new(size, noise, Ends::Time(rounds * 32.0))
            };
            let label = format!("equal {noise:?} {rounds}");
            let found = share(500, &label, |random| {
                let (mut members, _) = campaign(random, setting);
                for log in members.iter_mut().flat_map(|one| &mut one.paired.logs) {
                    *log += 1.0305_f64.ln();
                }
                let all = [bakeoff_stats::Look::ALL_ROUNDS];
                let said = bakeoff_stats::decide(&members, &all, 0.01_f64.ln_1p());
                said.iter().any(|one| is_shown(one, Decided::Equal))
            });
            line += &percent(found);
            assert!(found <= 0.075, "{label}: {found}");
        }
        println!("{line}");
    }
}

/// What a gate of 5 % on the rate says of equals, of a server that is worse by just the gate, and
/// of one that is 20 % slower: after ten rounds, and by looks at up to forty.
#[test]
#[ignore = "minutes of simulation: make stats-check"]
fn a_gate_is_not_breached_by_equals_and_is_by_a_fifth() {
    println!("gate 5 %, two contenders: breached, passed, rounds, % (equal | 5 % | 20 % slower)");
    let limit = 0.05_f64.ln_1p();
    let ended: Vec<(u32, f64)> = (1..=40).map(|round| (round, f64::from(round))).collect();
    let spending = Spending {
        first_s: 40.0,
        now_s: 40.0,
        resumed: 0,
    };
    for (rounds, looks) in [
        (10, vec![Look::ALL_ROUNDS]),
        (40, spending.looks(&ended, true)),
    ] {
        println!(" at most {rounds} rounds, {} looks", looks.len());
        for noise in Noise::HELD {
            let mut line = format!("  {:20}", noise.name());
            for effect in [0.0, limit, -(0.8_f64.ln())] {
                let setting = Setting {
                    effect,
                    ..Setting::new(size(2, 1), noise, Ends::Rounds(rounds))
                };
                let (mut breached, mut passed, mut taken) = (0_u32, 0_u32, 0_u32);
                let times = 2_000;
                share(times, &format!("gate {noise:?} {effect}"), |random| {
                    let located = locate(&campaign(random, setting).0, &looks).remove(0);
                    let is_passed = |one: &Located| one.held.high < limit;
                    let is_breached =
                        |one: &Located| one.certain.low > 0.0 && one.held.mean >= limit;
                    let mut each = located.iter();
                    let decided = each.find(|one| is_passed(one) || is_breached(one));
                    passed += u32::from(decided.is_some_and(is_passed));
                    breached += u32::from(decided.is_some_and(is_breached));
                    taken += decided.map_or(rounds, |one| one.round.min(rounds));
                    true
                });
                let of = |count: u32| f64::from(count) / times as f64;
                let mean = f64::from(taken) / times as f64;
                line += &format!(
                    "  {} {} {mean:.1} |",
                    percent(of(breached)),
                    percent(of(passed))
                );
                // One contender that varies four times as much hides a fifth now and then.
                let found = if noise == Noise::Uneven { 0.2 } else { 0.9 };
                let false_most = if noise.is_independent() { 0.012 } else { 0.03 };
                if effect == 0.0 {
                    assert!(of(breached) <= false_most, "{line}");
                } else if noise.is_independent() {
                    assert!(of(passed) <= 0.05, "{line}");
                    assert!(effect == limit || of(breached) >= found, "{line}");
                }
            }
            println!("{line}");
        }
    }
}

/// What draws are made of.
#[test]
fn a_normal_variable_has_the_mean_and_the_spread_of_one() {
    let mut random = Random::labelled(SEED, "normal");
    let drawn: Vec<f64> = (0..20_000).map(|_| normal(&mut random)).collect();
    let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
    let squares: f64 = drawn.iter().map(|one| (one - mean).powi(2)).sum();
    let sd = (squares / drawn.len() as f64).sqrt();
    assert!(mean.abs() < 0.03 && (sd - 1.0).abs() < 0.03, "{mean} {sd}");
}
