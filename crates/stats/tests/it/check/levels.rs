//! What the changes of histories claim, held against made-up ones.

use bakeoff_plan::Random;
use bakeoff_stats::{HISTORY_MIN, LEVEL_ALPHA, LevelTest, Levels};

use crate::check::noise::normal;
use crate::check::share;

/// Noise of a record's number.
const NOISE: f64 = 0.03;
/// A change that is looked for.
const STEP: f64 = 0.10;
/// Standard errors of a share that a limit leaves room for.
const ROOM: f64 = 2.6;

/// A history of `count` records. The noise of each is `carried` over from the one before.
fn history(
    random: &mut Random,
    level: impl Fn(usize) -> f64,
    count: usize,
    carried: f64,
) -> Vec<f64> {
    let mut last = normal(random);
    let value = |at: usize| {
        last = carried * last + (1.0 - carried * carried).sqrt() * normal(random);
        level(at) * (NOISE * last).exp()
    };
    (0..count).map(value).collect()
}

fn places(levels: &Levels) -> Vec<usize> {
    match levels {
        Levels::TooFew(_) => Vec::new(),
        Levels::Known(changes) => changes.iter().map(|one| one.at).collect(),
    }
}

/// Whether a change is found in any history without one, where `changed` of `histories` have a step
/// of twice what is looked for.
fn any_false(
    test: &mut LevelTest,
    random: &mut Random,
    changed: usize,
    histories: usize,
    count: usize,
    carried: f64,
) -> bool {
    let one = |place: usize| {
        let stepped = |at: usize| place < changed && at >= count / 2;
        let level = |at: usize| if stepped(at) { 1.0 - 2.0 * STEP } else { 1.0 };
        history(random, level, count, carried)
    };
    let all: Vec<Vec<f64>> = (0..histories).map(one).collect();
    let levels = test.changes(&all);
    levels[changed..].iter().any(|one| !places(one).is_empty())
}

/// Sets of histories: how many of them have a step, how many there are, and their records.
const SETS: [(usize, usize, usize); 7] = [
    (0, 1, HISTORY_MIN),
    (0, 1, 20),
    (0, 1, 60),
    (0, 12, 20),
    (0, 24, 30),
    (6, 12, 20),
    (20, 40, 20),
];

/// Prints the share of false alarms and of changes found, and holds both against what is claimed.
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
pub(crate) fn hold(times: usize) {
    let mut test = LevelTest::default();
    let most = LEVEL_ALPHA + ROOM * (LEVEL_ALPHA * (1.0 - LEVEL_ALPHA) / times as f64).sqrt();
    println!(
        "false alarms, % of sets of histories without a change (at most {:.1}):",
        most * 100.0
    );
    for carried in [0.0, 0.3, 0.5] {
        for (changed, histories, count) in SETS {
            let mut label = format!("levels {carried} {histories} {count}");
            let mut what = format!("{histories} of {count} records, correlation {carried}");
            if changed > 0 {
                label += &format!(" {changed}");
                what += &format!(", {changed} with a step");
            }
            let found = share(times, &label, |random| {
                any_false(&mut test, random, changed, histories, count, carried)
            });
            println!("  {what:54} {:5.1}", found * 100.0);
            assert!(found <= most, "{what}: {found}");
        }
    }
    println!("a step of 10 % in noise of 3 %, % found within 2 records:");
    for (before, after, carried, least) in [
        (10, 10, 0.0, 0.90),
        (20, 10, 0.0, 0.90),
        (20, 5, 0.0, 0.0),
        (10, 10, 0.5, 0.0),
    ] {
        let label = format!("step {before} {after} {carried}");
        let (mut held, mut all) = (0, 0);
        let found = share(times, &label, |random| {
            let level = |at: usize| if at < before { 1.0 } else { 1.0 - STEP };
            let one = history(random, level, before + after, carried);
            let Levels::Known(changes) = test.changes(&[one]).remove(0) else {
                return false;
            };
            let near = changes.iter().find(|it| it.at.abs_diff(before) <= 2);
            all += usize::from(near.is_some());
            held += usize::from(near.is_some_and(|it| it.low <= -STEP && -STEP <= it.high));
            near.is_some()
        });
        let held = held as f64 / all.max(1) as f64;
        let what = format!("{before} before, {after} after, correlation {carried}");
        println!(
            "  {what:45} {:5.1}, whose interval holds it in {:5.1}",
            found * 100.0,
            held * 100.0
        );
        assert!(held >= 0.90, "{what}: {held}");
        assert!(found >= least, "{what}: {found}");
    }
}
