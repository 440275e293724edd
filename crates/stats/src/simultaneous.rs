//! Intervals that hold for all pairs of a table at once: where each difference lies, with 95 % for
//! the whole table.
//!
//! They are made as the table is tested ([`crate::table`]). From six rounds on an end is the value
//! that the sign flips no longer give up: the flips of this pair about that value, together with
//! those of all others about their own centres, reach the statistic in more than 5 % of the cases.
//! Below six rounds, and where the rounds are correlated, it is the interval of the pooled spread.

use bakeoff_plan::Random;

use crate::flips::{EVERY_FLIP_TO, FAMILY_ALPHA, FLIPS_DRAWN};
use crate::floor::{FLIPS_FROM, Power};
use crate::paired::Paired;
use crate::pooled::{Held, Pool};

/// Chance to err that the wider interval has, for the whole table.
const CERTAIN_ALPHA: f64 = 0.01;
/// Rounds from which all flips together can show so small a chance: two of 256 are below it.
const CERTAIN_FROM: usize = 8;
/// Steps in which an end is found: each halves what is left.
const STEPS: usize = 48;
/// How far from the centre an end is looked for, in multiples of the largest distance of a round
/// from the centre. Farther out all rounds agree, and the flips can say no more.
const FARTHEST: f64 = 64.0;
/// The distance taken instead where all rounds are equal.
const LEAST: f64 = 1e-12;
/// Statistics this near are equal: sums in another order differ in the last digits.
const SAME: f64 = 1e-9;

/// Where the difference of a pair lies, and what more rounds would show of it. Logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The interval. An end is infinite where the rounds do not say how far it is.
    pub held: Held,
    /// The same with 99 % for the whole table.
    pub certain: Held,
    /// Standard deviation of a round, to plan with.
    sd: f64,
    power: Power,
    /// What the interval reaches farther on both sides, however many rounds there are.
    fixed: f64,
}

impl Located {
    /// The same, reaching farther by `more` on both sides: what rounds say nothing of.
    #[must_use]
    pub fn widened(mut self, more: f64) -> Self {
        for held in [&mut self.held, &mut self.certain] {
            held.low -= more;
            held.high += more;
        }
        self.fixed += more;
        self
    }

    /// Whether no number of rounds could show a difference from what is `distance` away.
    pub fn hides(&self, distance: f64) -> bool {
        self.fixed >= distance
    }

    /// Rounds with which a difference as large as this one would be distinguished, with 80 %, from
    /// one that is `distance` away; `None` where more than 200 would be needed, or none are enough.
    pub fn rounds_to_decide(&self, distance: f64) -> Option<u32> {
        if self.hides(distance) {
            return None;
        }
        let distance = distance - self.fixed;
        self.power.rounds_needed(distance, self.sd, 0.0)
    }
}

/// Locates each pair of a table; `None` where a pair has too few rounds for an interval. `blocks`
/// names for each pair the workload and load that it is of; the seed draws flips from 13 rounds on.
pub fn locate(pairs: &[Paired], blocks: &[usize], seed: u64) -> Vec<Option<Located>> {
    let Some(pool) = Pool::new(pairs, blocks) else {
        return vec![None; pairs.len()];
    };
    let many = |pair: &Paired| pair.len() >= FLIPS_FROM;
    let family = Family::new(pairs.iter().filter(|pair| many(pair)), seed);
    let power = Power::of_pairs(pairs.len());
    let mut place = 0;
    let of_pair = |pair: &Paired| {
        let own = many(pair).then_some(place);
        place += usize::from(own.is_some());
        let held_at = |alpha: f64, from: usize| {
            let pooled = pool.interval_at(pair, alpha / FAMILY_ALPHA);
            let Some(own) = own.filter(|_| pair.len() >= from) else {
                return pooled;
            };
            let flips = family.held(own, alpha * flips_share(pairs, from));
            Some(match pooled.filter(|_| pool.dependent) {
                Some(pooled) => both(flips, pooled),
                None => flips,
            })
        };
        Some(Located {
            held: held_at(FAMILY_ALPHA, FLIPS_FROM)?,
            certain: held_at(CERTAIN_ALPHA, CERTAIN_FROM)?,
            sd: pool.spread(pair),
            power: power.clone(),
            fixed: 0.0,
        })
    };
    pairs.iter().map(of_pair).collect()
}

/// Whether each pair of a table lies within `margin`, a logarithm, of no difference, with 95 % for
/// all pairs at once: whether its interval of [`locate`] does, without looking for its ends.
pub fn within(pairs: &[Paired], blocks: &[usize], margin: f64, seed: u64) -> Vec<bool> {
    let Some(pool) = Pool::new(pairs, blocks) else {
        return vec![false; pairs.len()];
    };
    // Flips of a large table take a while, and in many none is near.
    if !pairs.iter().any(|pair| pair.mean().abs() < margin) {
        return vec![false; pairs.len()];
    }
    let many = |pair: &Paired| pair.len() >= FLIPS_FROM;
    let alpha = FAMILY_ALPHA * flips_share(pairs, FLIPS_FROM);
    let family = Family::new(pairs.iter().filter(|pair| many(pair)), seed);
    let mut place = 0;
    let of_pair = |pair: &Paired| {
        let pooled = pool.interval(pair);
        let pooled = pooled.is_some_and(|held| held.low >= -margin && held.high <= margin);
        if !many(pair) {
            return pooled;
        }
        place += 1;
        let flips = family.is_within(place - 1, margin, alpha);
        flips && (pooled || !pool.dependent)
    };
    pairs.iter().map(of_pair).collect()
}

/// The share of the chance to err that flips have, which look at pairs of `from` rounds or more:
/// that of these pairs among all. The pooled spread is corrected over all pairs, and looks at the
/// others, so the rest of the chance is what it takes.
pub(crate) fn flips_share(pairs: &[Paired], from: usize) -> f64 {
    let flipped = pairs.iter().filter(|pair| pair.len() >= from).count();
    flipped as f64 / pairs.len().max(1) as f64
}

/// The centre of the first, with the farther ends of both.
fn both(first: Held, second: Held) -> Held {
    Held {
        low: first.low.min(second.low),
        high: first.high.max(second.high),
        ..first
    }
}

/// The pairs that sign flips look at.
struct Family {
    columns: Vec<Column>,
    /// For each flip the largest statistic, without its sign, and the column that has it; then the
    /// largest of all other columns.
    largest: Vec<(f64, usize, f64)>,
}

/// One pair over all flips. Distances are from its centre, so that equal rounds leave no rest.
struct Column {
    n: f64,
    centre: f64,
    /// Sum of the distances' squares.
    squares: f64,
    /// Largest distance of a round.
    farthest: f64,
    /// For each flip the sum of the signed distances, and that of the signs.
    flips: Vec<(f64, f64)>,
}

impl Family {
    fn new<'p>(pairs: impl Iterator<Item = &'p Paired>, seed: u64) -> Self {
        let pairs: Vec<&Paired> = pairs.collect();
        let mut rounds: Vec<u32> = pairs.iter().flat_map(|pair| pair.rounds.clone()).collect();
        rounds.sort_unstable();
        rounds.dedup();
        let signs = signs(rounds.len(), seed);
        let columns: Vec<Column> = pairs
            .into_iter()
            .map(|pair| Column::new(pair, &rounds, &signs))
            .collect();
        let largest = (0..signs.len()).map(|flip| {
            let mut found = (0.0, usize::MAX, 0.0);
            for (place, column) in columns.iter().enumerate() {
                let statistic = column.statistic(flip, 0.0).abs();
                if statistic > found.0 {
                    found = (statistic, place, found.0);
                } else {
                    found.2 = statistic.max(found.2);
                }
            }
            found
        });
        Self {
            largest: largest.collect(),
            columns,
        }
    }

    fn held(&self, place: usize, alpha: f64) -> Held {
        let column = &self.columns[place];
        Held {
            mean: column.centre,
            low: self.end(place, -1.0, alpha),
            high: self.end(place, 1.0, alpha),
        }
    }

    /// Whether both values that are `margin` from no difference are given up, and lie on either
    /// side of the rounds.
    fn is_within(&self, place: usize, margin: f64, alpha: f64) -> bool {
        let centre = self.columns[place].centre;
        let is_given_up = |value: f64| self.chance(place, value - centre) <= alpha;
        centre.abs() < margin && is_given_up(margin) && is_given_up(-margin)
    }

    /// The farthest value on one side that is not given up.
    fn end(&self, place: usize, side: f64, alpha: f64) -> f64 {
        let column = &self.columns[place];
        let mut outside = FARTHEST * column.farthest.max(LEAST);
        if self.chance(place, side * outside) > alpha {
            return side * f64::INFINITY;
        }
        let mut inside = 0.0;
        for _ in 0..STEPS {
            let middle = f64::midpoint(inside, outside);
            if self.chance(place, side * middle) > alpha {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        column.centre + side * outside
    }

    /// Share of the flips whose largest statistic, of any pair and on either side, reaches that of
    /// this pair about a value at `distance` from its centre.
    fn chance(&self, place: usize, distance: f64) -> f64 {
        let column = &self.columns[place];
        let observed = column.statistic(0, distance).abs() - SAME;
        let reached = self.largest.iter().enumerate().filter(|(flip, largest)| {
            let of_others = if largest.1 == place {
                largest.2
            } else {
                largest.0
            };
            // The rounds as they were are one of the cases, whatever the others do in them.
            *flip == 0 || of_others.max(column.statistic(*flip, distance).abs()) >= observed
        });
        reached.count() as f64 / self.largest.len() as f64
    }
}

impl Column {
    fn new(pair: &Paired, rounds: &[u32], signs: &[Vec<f64>]) -> Self {
        let places: Vec<usize> = pair
            .rounds
            .iter()
            .map(|round| rounds.partition_point(|known| known < round))
            .collect();
        let centre = pair.mean();
        let distances: Vec<f64> = pair.logs.iter().map(|log| log - centre).collect();
        let flips = signs.iter().map(|signs| {
            let of_rounds = || places.iter().map(|place| signs[*place]);
            let signed = of_rounds().zip(&distances).map(|(sign, one)| sign * one);
            (signed.sum(), of_rounds().sum())
        });
        Self {
            n: pair.len() as f64,
            centre,
            squares: distances.iter().map(|one| one * one).sum(),
            farthest: distances.iter().fold(0.0, |most, one| one.abs().max(most)),
            flips: flips.collect(),
        }
    }

    /// `sum(y) / sqrt(n sum(y^2))` under a flip, where y are the rounds about a value at `distance`
    /// from the centre.
    fn statistic(&self, flip: usize, distance: f64) -> f64 {
        let (signed, signs) = self.flips[flip];
        let squares = self.squares + self.n * distance * distance;
        let scale = (self.n * squares).sqrt();
        if scale > 0.0 {
            (signed - distance * signs) / scale
        } else {
            0.0
        }
    }
}

/// The signs of each round under every flip looked at; the first flips nothing.
fn signs(rounds: usize, seed: u64) -> Vec<Vec<f64>> {
    let sign = |up: bool| if up { 1.0 } else { -1.0 };
    if rounds <= EVERY_FLIP_TO {
        let of_flip = |flip: usize| (0..rounds).map(|at| sign(flip >> at & 1 == 0)).collect();
        return (0..1_usize << rounds).map(of_flip).collect();
    }
    let mut random = Random::labelled(seed, "locate");
    let drawn = (1..FLIPS_DRAWN).map(|_| (0..rounds).map(|_| sign(random.unit() < 0.5)).collect());
    std::iter::once(vec![1.0; rounds]).chain(drawn).collect()
}

/// The difference of two series that have no round in common, second over first: Welch's interval
/// (1947), good for a table of `pairs` of them at once. `None` below three values of either.
pub fn locate_apart(first: &[f64], second: &[f64], pairs: usize) -> Option<Located> {
    let logs = |values: &[f64]| -> Vec<f64> {
        let logs = values.iter().map(|value| value.ln());
        logs.filter(|log| log.is_finite()).collect()
    };
    let (first, second) = (logs(first), logs(second));
    if first.len().min(second.len()) < 3 {
        return None;
    }
    let of = |logs: &[f64]| {
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        (mean, squares / (n - 1.0), n)
    };
    let ((left, left_variance, left_n), (right, right_variance, right_n)) =
        (of(&first), of(&second));
    let parts = (left_variance / left_n, right_variance / right_n);
    let error = (parts.0 + parts.1).sqrt();
    let below = parts.0.powi(2) / (left_n - 1.0) + parts.1.powi(2) / (right_n - 1.0);
    // Without any spread the degrees of freedom do not matter.
    let degrees = if below > 0.0 {
        error.powi(4) / below
    } else {
        1.0
    };
    let mean = right - left;
    let held_at = |alpha: f64| {
        let tail = alpha / (2 * pairs.max(1)) as f64;
        let half = if error > 0.0 {
            error * crate::student::student_point(tail, degrees)
        } else {
            0.0
        };
        Held {
            mean,
            low: mean - half,
            high: mean + half,
        }
    };
    Some(Located {
        held: held_at(FAMILY_ALPHA),
        certain: held_at(CERTAIN_ALPHA),
        // As if rounds were paired: the spread of the difference of two of them.
        sd: (left_variance + right_variance).sqrt(),
        power: Power::of_pairs(pairs),
        fixed: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::tests::pair;

    #[test]
    fn one_pair_of_six_rounds_lies_between_its_smallest_and_its_largest() {
        let logs = [0.02, 0.031, 0.025, 0.021, 0.028, 0.024];
        let found = locate(&[pair(&logs)], &[0], 1)[0].clone().unwrap().held;
        assert!((found.low - 0.02).abs() < 1e-6, "{found:?}");
        assert!((found.high - 0.031).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn more_pairs_are_wider() {
        let one = pair(&[0.3, 0.2, 0.25, 0.31, 0.18, 0.27, 0.22, 0.29]);
        let other = pair(&[0.1, -0.12, 0.05, 0.02, -0.03, 0.11, 0.01, -0.06]);
        let third = pair(&[0.01, 0.02, -0.15, 0.12, 0.13, -0.11, 0.02, 0.06]);
        let width = |pairs: &[Paired]| {
            let blocks: Vec<usize> = (0..pairs.len()).collect();
            let held = locate(pairs, &blocks, 1)[0].clone().unwrap().held;
            assert!(held.low < held.mean && held.mean < held.high, "{held:?}");
            held.high - held.low
        };
        let alone = width(std::slice::from_ref(&one));
        assert!(width(&[one.clone(), other, third]) > alone * 1.05);
    }

    #[test]
    fn a_shift_moves_the_interval_and_a_mirror_turns_it() {
        let logs = [0.3, 0.2, 0.25, 0.31, 0.18, 0.27, 0.22];
        let held = |logs: Vec<f64>| locate(&[pair(&logs)], &[0], 1)[0].clone().unwrap().held;
        let plain = held(logs.to_vec());
        let shifted = held(logs.iter().map(|log| log + 1.0).collect());
        assert!((shifted.low - plain.low - 1.0).abs() < 1e-9);
        let mirrored = held(logs.iter().map(|log| -log).collect());
        assert!((mirrored.low + plain.high).abs() < 1e-9);
        assert!((mirrored.high + plain.low).abs() < 1e-9);
    }

    #[test]
    fn few_rounds_take_the_pooled_spread_and_two_have_no_interval() {
        let few = [pair(&[0.3, 0.4, 0.5]), pair(&[0.02, -0.05, 0.1])];
        let found = locate(&few, &[0, 1], 1);
        let pool = Pool::new(&few, &[0, 1]).unwrap();
        let held = found[0].clone().map(|one| one.held);
        assert_eq!(held, pool.interval(&few[0]));
        assert_eq!(locate(&[pair(&[0.3, 0.4])], &[0], 1), [None]);
        assert_eq!(locate(&[pair(&[0.3])], &[0], 1), [None]);
        assert!(locate(&[], &[], 1).is_empty());
    }

    #[test]
    fn what_is_certain_lies_farther_out_also_where_flips_are_too_few_for_it() {
        let logs = [0.3, 0.2, 0.25, 0.31, 0.18, 0.27, 0.22, 0.29, 0.24, 0.21];
        for rounds in [4, 6, 7, 8, 10] {
            let found = locate(&[pair(&logs[..rounds])], &[0], 1)[0].clone();
            let Located { held, certain, .. } = found.expect("it has rounds enough");
            assert!(certain.low < held.low, "{rounds}: {held:?} {certain:?}");
            assert!(certain.high > held.high, "{rounds}: {held:?} {certain:?}");
            assert!(
                certain.low > -0.2 && certain.high < 0.7,
                "{rounds}: {certain:?}"
            );
        }
        let (first, second) = ([100.0, 104.0, 98.0, 101.0], [120.0, 123.0, 119.0, 125.0]);
        let apart = locate_apart(&first, &second, 1).expect("there are values enough");
        assert!(apart.certain.low < apart.held.low && apart.certain.low > 0.0);
    }

    #[test]
    fn what_lies_within_a_margin_is_what_the_interval_says() {
        let many = [
            pair(&[0.02, 0.031, 0.025, 0.021, 0.028, 0.024, 0.027]),
            pair(&[0.01, -0.012, 0.005, 0.002, -0.003, 0.011, 0.001]),
            pair(&[0.0; 7]),
        ];
        let few = [
            pair(&[0.01, 0.012, 0.011]),
            pair(&[0.02, -0.05, 0.1]),
            pair(&[0.01, 0.01]),
        ];
        let mixed = [many[0].clone(), few[0].clone()];
        for pairs in [many.as_slice(), &few, &mixed] {
            let blocks: Vec<usize> = (0..pairs.len()).collect();
            let located = locate(pairs, &blocks, 1);
            for margin in [0.001, 0.01, 0.03, 0.1, 1.0, 10.0] {
                let inside = |held: &Held| held.low >= -margin && held.high <= margin;
                let expected: Vec<bool> = located
                    .iter()
                    .map(|one| one.as_ref().is_some_and(|one| inside(&one.held)))
                    .collect();
                let found = within(pairs, &blocks, margin, 1);
                assert_eq!(found, expected, "within {margin}: {located:?}");
            }
        }
        assert!(within(&[], &[], 0.03, 1).is_empty());
    }

    #[test]
    fn rounds_that_are_all_equal_leave_no_room() {
        let found = locate(&[pair(&[0.1; 8])], &[0], 1)[0].clone().unwrap();
        assert!((found.held.low - 0.1).abs() < 1e-9 && (found.held.high - 0.1).abs() < 1e-9);
        assert_eq!(found.rounds_to_decide(0.1), Some(6));
    }

    #[test]
    fn series_without_common_rounds_have_welchs_interval() {
        // R: t.test(log(second), log(first)) of these gives 0.0853 to 0.1053 about 0.0953.
        let first = [100.0, 101.0, 99.0, 100.5, 99.5];
        let second: Vec<f64> = first.iter().map(|value| value * 1.1).collect();
        let held = locate_apart(&first, &second, 1).unwrap().held;
        assert!((held.mean - 1.1_f64.ln()).abs() < 1e-12);
        let sd = 0.007_906_f64;
        let half = 2.306 * sd * (2.0_f64 / 5.0).sqrt();
        assert!((held.high - held.mean - half).abs() < 1e-4, "{held:?}");
        let more = locate_apart(&first, &second, 10).unwrap().held;
        assert!(more.high > held.high);
        assert_eq!(locate_apart(&first[..2], &second, 1), None);
        let same = locate_apart(&[5.0; 4], &[5.0; 4], 1).unwrap().held;
        assert_eq!((same.low, same.high), (0.0, 0.0));
    }
}
