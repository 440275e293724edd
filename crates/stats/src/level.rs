//! Where the level of a history changed: few values, one for each record, in the order of time.
//!
//! A history is cut in two where its means differ most, by the larger of two statistics: one for a
//! level that stays changed, one for a level that changes and comes back (circular binary
//! segmentation, Olshen and Venkatraman 2004). Both parts are then looked at in the same way. What
//! chance alone would reach is drawn from made-up histories without a change, in which neighbours
//! are correlated by [`CORRELATION`]: the machine of one record resembles that of the next more
//! than that of a year ago, and a test that takes records for independent would find changes in
//! every drift. Over all histories the chances are corrected together by Holm's method, which keeps
//! the chance of any false change whichever of the others are true.
//!
//! It takes logarithms, so sizes are ratios. What a value is of does not matter here.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use bakeoff_plan::Random;

use crate::floor::FLOOR_MIN;
use crate::holm::holm;
use crate::student::student_point;

/// Chance of any false change in histories that have none, all of them together.
pub const LEVEL_ALPHA: f64 = 0.05;
/// Values that a level has at least.
pub const LEVEL_VALUES_MIN: usize = 4;
/// Values from which a history is looked at: two levels.
pub const HISTORY_MIN: usize = 2 * LEVEL_VALUES_MIN;
/// Latest values of a history that are looked at.
pub const HISTORY_MAX: usize = 200;
/// Correlation of neighbours in histories without a change.
pub const CORRELATION: f64 = 0.5;

/// Made-up histories of each length, at least.
const DRAWS: usize = 4_999;
/// For each history that is looked at: the smallest chance that can be shown has to pass the
/// correction for all of them, also where one level comes back and one draw reached as much.
const DRAWS_EACH: usize = 200;
/// At most this many: they take some 15 s for the longest histories. One that changed can be named
/// among 2,000.
const DRAWS_MOST: usize = 199_999;
/// Seed of the made-up histories: the same history always has the same changes.
const SEED: u64 = 1_982;
/// Share of the chance that goes to levels that stay changed; the rest goes to those that return.
const STAYING: f64 = 0.8;
/// Lengths beyond this share made-up histories in steps of [`LENGTH_STEP`].
const LENGTH_EXACT: usize = 40;
const LENGTH_STEP: usize = 10;
/// Standard deviations of logarithms below this are rounding.
const SD_MIN: f64 = 1e-9;

/// A change of a history's level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// Position of the first value of the new level.
    pub at: usize,
    /// Change of the level as a share of the level before: -0.1 is 10 % less.
    pub size: f64,
    /// Lower end of its interval: 95 % for a change at this place, with correlated neighbours.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Values of the level before it and of the level after it, which the size is of. A change that
    /// is too small to be named ends a level, too.
    pub n: [usize; 2],
}

/// The result of looking for changes in a history.
#[derive(Debug, Clone, PartialEq)]
pub enum Levels {
    /// Too few values, this many, to distinguish a change from chance.
    TooFew(usize),
    /// Its changes in the order of time; most have none.
    Known(Vec<LevelChange>),
}

/// Looks for changes. It keeps what chance alone reaches, which takes a moment to draw.
#[derive(Debug, Default)]
pub struct LevelTest(Chances);

impl LevelTest {
    /// How many made-up histories of each length the latest changes were held against.
    pub fn draws(&self) -> usize {
        self.0.draws
    }

    /// The changes of each history. All values must be larger than 0 and finite; only the latest
    /// [`HISTORY_MAX`] are looked at, and positions count from the first value of all.
    pub fn changes(&mut self, histories: &[Vec<f64>]) -> Vec<Levels> {
        changes(histories, &mut self.0)
    }
}

fn changes(histories: &[Vec<f64>], chances: &mut Chances) -> Vec<Levels> {
    let logs: Vec<Vec<f64>> = histories
        .iter()
        .map(|values| values.iter().map(|value| value.ln()).collect())
        .collect();
    let is_tested = |place: &usize| {
        let all = &logs[*place];
        all.len() >= HISTORY_MIN && all.iter().all(|one| one.is_finite())
    };
    let tested: Vec<usize> = (0..logs.len()).filter(is_tested).collect();
    chances.draw_for(tested.len());
    let chance = |place: &usize| {
        let start = logs[*place].len().saturating_sub(HISTORY_MAX);
        chances.of(&logs[*place][start..]).0
    };
    let found: Vec<f64> = tested.iter().map(chance).collect();
    let corrected = holm(&found);
    let accepted = found.iter().zip(&corrected);
    let accepted = accepted.filter(|(_, corrected)| **corrected <= LEVEL_ALPHA);
    // What a chance may be for a change to be accepted, in all histories alike.
    let limit = accepted.map(|(chance, _)| *chance).fold(0.0, f64::max);
    let mut levels: Vec<Levels> = histories
        .iter()
        .map(|values| Levels::TooFew(values.len()))
        .collect();
    for place in tested {
        let start = logs[place].len().saturating_sub(HISTORY_MAX);
        let values = &logs[place][start..];
        let ends = cut(values, limit, chances);
        let changes = ends.windows(3).filter_map(|three| {
            let (before, after) = (&values[three[0]..three[1]], &values[three[1]..three[2]]);
            change(before, after, start + three[1])
        });
        levels[place] = Levels::Known(changes.collect());
    }
    levels
}

/// The ends of the levels, the first and the last of all included.
fn cut(values: &[f64], limit: f64, chances: &mut Chances) -> Vec<usize> {
    let mut ends = vec![0, values.len()];
    let mut left = vec![(0, values.len())];
    while let Some((start, end)) = left.pop() {
        if end - start < HISTORY_MIN {
            continue;
        }
        let (chance, places) = chances.of(&values[start..end]);
        if chance > limit {
            continue;
        }
        let inner: Vec<usize> = places.into_iter().map(|place| start + place).collect();
        let all: Vec<usize> = [start]
            .into_iter()
            .chain(inner.clone())
            .chain([end])
            .collect();
        left.extend(all.windows(2).map(|pair| (pair[0], pair[1])));
        ends.extend(inner);
        ends.sort_unstable();
    }
    settle(values, ends, limit, chances)
}

/// Looks at each change again between its neighbours: it moves to where it is strongest there, and
/// goes where it is none any more.
fn settle(values: &[f64], mut ends: Vec<usize>, limit: f64, chances: &mut Chances) -> Vec<usize> {
    let mut place = 1;
    while place + 1 < ends.len() {
        let (start, end) = (ends[place - 1], ends[place + 1]);
        let strongest = staying(&values[start..end]);
        if chances.staying(end - start, strongest.0) > limit {
            ends.remove(place);
            // What was before it now reaches further.
            place = place.saturating_sub(1).max(1);
        } else {
            ends[place] = start + strongest.1;
            place += 1;
        }
    }
    ends
}

/// The size of a change; `None` where it is smaller than what bakeoff calls a difference at all.
fn change(before: &[f64], after: &[f64], at: usize) -> Option<LevelChange> {
    let (one, other) = (before.len() as f64, after.len() as f64);
    let difference = mean(after) - mean(before);
    let squares = squares(before) + squares(after);
    let sd = (squares / (one + other - 2.0)).sqrt();
    let dependence = ((1.0 + CORRELATION) / (1.0 - CORRELATION)).sqrt();
    let half = student_point(0.025, one + other - 2.0)
        * sd
        * (1.0 / one + 1.0 / other).sqrt()
        * dependence;
    (difference.abs().exp_m1() >= FLOOR_MIN).then(|| LevelChange {
        at,
        size: difference.exp_m1(),
        low: (difference - half).exp_m1(),
        high: (difference + half).exp_m1(),
        n: [before.len(), after.len()],
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Squares of what values are off their mean, added up.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// What the means of two parts differ by, as a share of all squares: the square of one part's sum,
/// with a weight. The values lie around 0, so the other sum is this one's opposite.
fn between(sum: f64, weight: f64) -> f64 {
    sum * sum * weight
}

fn weight(count: usize, all: usize) -> f64 {
    let (one, other) = (count as f64, (all - count) as f64);
    1.0 / one + 1.0 / other
}

/// The statistic of two parts of values of which all squares together come to `squares`: what their
/// means differ by, in standard errors within the two. It grows with `between`.
fn statistic(between: f64, all: usize, squares: f64) -> f64 {
    let within = (squares - between)
        .max(squares * 1e-9)
        .max(f64::MIN_POSITIVE);
    (between * (all as f64 - 2.0) / within).sqrt()
}

/// Running sums around the mean, and the squares.
fn sums(values: &[f64]) -> (Vec<f64>, f64) {
    let mean = mean(values);
    let mut sums = vec![0.0];
    let mut sum = 0.0;
    for value in values {
        sum += value - mean;
        sums.push(sum);
    }
    // What rounding leaves of equal values is no difference between them.
    let squares = squares(values);
    if squares < SD_MIN * SD_MIN * values.len() as f64 {
        sums.fill(0.0);
    }
    (sums, squares)
}

/// The strongest place for one change that stays.
fn staying(values: &[f64]) -> (f64, usize) {
    let ((sums, squares), all) = (sums(values), values.len());
    let places = LEVEL_VALUES_MIN..=all - LEVEL_VALUES_MIN;
    let each = places.map(|at| (between(sums[at], weight(at, all)), at));
    let (most, at) = each.fold((0.0, LEVEL_VALUES_MIN), |best, one| {
        if one.0 > best.0 { one } else { best }
    });
    (statistic(most, all, squares), at)
}

/// The strongest pair of places for a change and its way back.
fn returning(values: &[f64]) -> (f64, [usize; 2]) {
    let ((sums, squares), all) = (sums(values), values.len());
    let least = LEVEL_VALUES_MIN;
    // A long history has some 20,000 pairs: no root and no division for each.
    let weights: Vec<f64> = (0..all).map(|count| weight(count, all)).collect();
    let mut best = (0.0, [0, 0]);
    for from in least..all.saturating_sub(2 * least - 1) {
        for to in from + least..=all - least {
            let one = between(sums[to] - sums[from], weights[to - from]);
            if one > best.0 {
                best = (one, [from, to]);
            }
        }
    }
    (statistic(best.0, all, squares), best.1)
}

/// What chance alone reaches: both statistics of made-up histories by length.
#[derive(Debug, Default)]
struct Chances {
    /// Made-up histories of each length.
    draws: usize,
    drawn: BTreeMap<usize, [Tail; 2]>,
}

impl Chances {
    /// Draws from now on as many as `histories` histories need.
    fn draw_for(&mut self, histories: usize) {
        let draws = draws_for(histories);
        if draws != self.draws {
            self.drawn.clear();
            self.draws = draws;
        }
    }

    /// The chance of a history's strongest change without any, and its places.
    fn of(&mut self, values: &[f64]) -> (f64, Vec<usize>) {
        let (stays, returns) = (staying(values), returning(values));
        let [one, other] = self.drawn(values.len());
        let (stays_chance, returns_chance) = (
            (one.chance(stays.0) / STAYING).min(1.0),
            (other.chance(returns.0) / (1.0 - STAYING)).min(1.0),
        );
        if stays_chance <= returns_chance {
            (stays_chance, vec![stays.1])
        } else {
            (returns_chance, returns.1.to_vec())
        }
    }

    /// The chance of a change that stays.
    fn staying(&mut self, length: usize, statistic: f64) -> f64 {
        (self.drawn(length)[0].chance(statistic) / STAYING).min(1.0)
    }

    fn drawn(&mut self, length: usize) -> &[Tail; 2] {
        let length = match length {
            0..=LENGTH_EXACT => length,
            _ => length - length % LENGTH_STEP,
        };
        let draws = self.draws;
        self.drawn
            .entry(length)
            .or_insert_with(|| draw(length, draws))
    }
}

/// How many made-up histories of each length `histories` histories need.
fn draws_for(histories: usize) -> usize {
    let each = histories.saturating_mul(DRAWS_EACH).saturating_sub(1);
    each.clamp(DRAWS, DRAWS_MOST)
}

/// The largest of the values that were drawn, ascending. Those that more than [`LEVEL_ALPHA`] of
/// them reach are no change, so that the others are not kept.
#[derive(Debug)]
struct Tail {
    largest: Vec<f64>,
    draws: usize,
}

impl Tail {
    fn of(mut drawn: Vec<f64>) -> Self {
        let draws = drawn.len();
        drawn.sort_by(f64::total_cmp);
        let kept = (draws as f64 * LEVEL_ALPHA).ceil() as usize + 1;
        let largest = drawn.split_off(draws.saturating_sub(kept));
        Self { largest, draws }
    }

    /// Share of what was drawn, and of the value itself, that is not below the value; where it is
    /// more than [`LEVEL_ALPHA`], no more than that is known.
    fn chance(&self, value: f64) -> f64 {
        let below = self.largest.partition_point(|one| *one < value);
        (self.largest.len() - below + 1) as f64 / (self.draws + 1) as f64
    }
}

fn draw(length: usize, draws: usize) -> [Tail; 2] {
    let mut random = Random::labelled(SEED, &format!("histories of {length}"));
    let (mut one, mut other) = (Vec::with_capacity(draws), Vec::with_capacity(draws));
    let mut values = vec![0.0; length];
    for _ in 0..draws {
        let mut last = normal(&mut random);
        for value in &mut values {
            last = CORRELATION * last + (1.0 - CORRELATION.powi(2)).sqrt() * normal(&mut random);
            *value = last;
        }
        one.push(staying(&values).0);
        other.push(returning(&values).0);
    }
    [Tail::of(one), Tail::of(other)]
}

/// A standard normal number (Box and Muller 1958).
fn normal(random: &mut Random) -> f64 {
    let (one, other) = (random.unit(), random.unit());
    (-2.0 * one.ln()).sqrt() * (TAU * other).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise of 3 % around levels, each of a length in records and a value.
    fn history(levels: &[(usize, f64)]) -> Vec<f64> {
        let mut random = Random::new(11);
        let each = levels
            .iter()
            .flat_map(|(count, level)| vec![*level; *count]);
        each.map(|level| level * (0.03 * normal(&mut random)).exp())
            .collect()
    }

    fn found(levels: &[(usize, f64)]) -> Vec<LevelChange> {
        match LevelTest::default().changes(&[history(levels)]).remove(0) {
            Levels::Known(changes) => changes,
            few => panic!("{few:?}"),
        }
    }

    #[test]
    fn a_step_is_found_with_its_size() {
        let changes = found(&[(12, 5e4), (12, 4.25e4)]);
        assert_eq!(changes.len(), 1, "{changes:?}");
        let one = changes[0];
        assert!(one.at.abs_diff(12) <= 1, "{one:?}");
        assert!(
            one.low < -0.15 && -0.15 < one.high && one.high < 0.0,
            "{one:?}"
        );
    }

    #[test]
    fn a_level_that_comes_back_is_two_changes() {
        let changes = found(&[(12, 1.0), (8, 0.8), (12, 1.0)]);
        let near = changes
            .iter()
            .zip([12, 20])
            .all(|(one, at)| one.at.abs_diff(at) <= 1);
        assert!(changes.len() == 2 && near, "{changes:?}");
        assert!(
            changes[0].size < 0.0 && changes[1].size > 0.0,
            "{changes:?}"
        );
    }

    #[test]
    fn several_steps_are_each_found() {
        let changes = found(&[(15, 1.0), (15, 1.3), (15, 1.7)]);
        let places: Vec<usize> = changes.iter().map(|one| one.at).collect();
        assert_eq!(places.len(), 2, "{changes:?}");
        assert!(
            places[0].abs_diff(15) <= 1 && places[1].abs_diff(30) <= 1,
            "{places:?}"
        );
    }

    #[test]
    fn few_values_equal_ones_and_tiny_changes_are_none() {
        let mut test = LevelTest::default();
        let (few, equal) = (history(&[(7, 1.0)]), vec![4.2e4; 30]);
        let mut tiny = vec![1.0; 20];
        tiny[10..].fill(1.002);
        let levels = test.changes(&[few, equal, tiny, Vec::new()]);
        let none = Levels::Known(Vec::new());
        assert_eq!(
            levels,
            [Levels::TooFew(7), none.clone(), none, Levels::TooFew(0)]
        );
    }

    /// A history with a change does not make chance look like one in others.
    #[test]
    fn histories_are_looked_at_together() {
        let mut random = Random::new(3);
        let mut all: Vec<Vec<f64>> = (0..20)
            .map(|_| {
                (0..20)
                    .map(|_| (0.03 * normal(&mut random)).exp())
                    .collect()
            })
            .collect();
        all.push(history(&[(10, 1.0), (10, 2.0)]));
        let levels = LevelTest::default().changes(&all);
        let count = |one: &Levels| match one {
            Levels::Known(changes) => changes.len(),
            Levels::TooFew(_) => 0,
        };
        let counts: Vec<usize> = levels.iter().map(count).collect();
        assert_eq!(
            (counts[20], counts[..20].iter().sum::<usize>()),
            (1, 0),
            "{counts:?}"
        );
    }

    /// No chance was small enough for a change in one history alone.
    #[test]
    fn one_change_is_found_among_hundreds_of_histories() {
        let mut random = Random::new(5);
        let mut noise = |_| (0.03 * normal(&mut random)).exp();
        let mut all: Vec<Vec<f64>> = (0..300)
            .map(|_| (0..20).map(&mut noise).collect())
            .collect();
        all.push(history(&[(10, 1.0), (10, 0.5)]));
        let levels = LevelTest::default().changes(&all);
        let changed: Vec<usize> = (0..all.len())
            .filter(|place| levels[*place] != Levels::Known(Vec::new()))
            .collect();
        assert_eq!(changed, [300]);
    }

    #[test]
    fn draws_grow_with_the_histories_up_to_a_limit() {
        for (histories, expected) in [
            (0, 4_999),
            (25, 4_999),
            (26, 5_199),
            (300, 59_999),
            (1_000, 199_999),
            (usize::MAX, 199_999),
        ] {
            assert_eq!(draws_for(histories), expected, "{histories}");
        }
        let mut test = LevelTest::default();
        test.changes(&vec![vec![1.0; 8]; 30]);
        assert_eq!(test.draws(), 5_999);
    }

    /// Chances beyond the limit need not be exact, those below it do.
    #[test]
    fn the_largest_values_are_enough() {
        let tail = Tail::of((0_u32..4_999).map(f64::from).collect());
        for (value, expected) in [
            (1e9, 1.0),
            (4_998.0, 2.0),
            (4_990.0, 10.0),
            (4_749.0, 251.0),
        ] {
            assert_eq!(tail.chance(value), expected / 5_000.0, "{value}");
        }
        assert!(tail.chance(4_000.0) > LEVEL_ALPHA);
    }

    #[test]
    fn only_the_latest_values_are_looked_at() {
        let long = history(&[(300, 1.0), (40, 1.2)]);
        let Levels::Known(changes) = LevelTest::default().changes(&[long]).remove(0) else {
            panic!("it is long enough");
        };
        assert!(
            changes.len() == 1 && changes[0].at.abs_diff(300) <= 2,
            "{changes:?}"
        );
    }

    /// What was not looked at, and what lies before a change that is too small to be named, is of
    /// another level.
    #[test]
    fn a_change_counts_the_values_that_its_size_is_of() {
        let mut long = vec![5e4; 60];
        long.resize(250, 6e4);
        long.resize(260, 5.4e4);
        let mut small = vec![100.0; 10];
        small.resize(20, 100.8);
        small.resize(30, 110.0);
        let levels = LevelTest::default().changes(&[long, small]);
        let expected = [(250, [190, 10], 0.9), (20, [10, 10], 110.0 / 100.8)];
        for (levels, (at, n, ratio)) in levels.iter().zip(expected) {
            let Levels::Known(changes) = levels else {
                panic!("it is long enough: {levels:?}");
            };
            let found: Vec<(usize, [usize; 2])> =
                changes.iter().map(|one| (one.at, one.n)).collect();
            assert_eq!(found, [(at, n)]);
            assert!((changes[0].size - (ratio - 1.0)).abs() < 1e-9, "{levels:?}");
        }
    }
}
