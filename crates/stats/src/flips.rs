//! Whether pairs differ, over a whole table of them: sign flips, step-down by the largest.
//!
//! If two contenders differ by no more than the floor, the ratio of a round is as likely above it
//! as below, and the signs of the rounds may be flipped. For each pair there are two hypotheses,
//! one for each side: `y = x - d` and `y = -x - d` of the logarithms x and the logarithm d of the
//! floor, and the statistic is `sum(y) / sqrt(n * sum(y^2))`, which flips of signs leave on one
//! scale. A flip is of a round and meets all pairs alike, so that whatever ties them together (the
//! same contender in several pairs, a bad round) is kept. The largest statistic of a flipped table
//! says what chance alone can do somewhere in the table; a hypothesis is given up when the flips
//! rarely reach it, and the next is held against the largest of those that are left (Westfall and
//! Young 1993; Romano and Wolf 2005).
//!
//! Rounds must be independent of each other. Nothing else is assumed of them but symmetry.

use std::collections::BTreeSet;

use bakeoff_plan::Random;

use crate::paired::Paired;

/// Rounds up to which every flip is looked at: 2^12 are 4,096.
pub(crate) const EVERY_FLIP_TO: usize = 12;
/// Flips drawn from the seed beyond that.
pub(crate) const FLIPS_DRAWN: usize = 4096;
/// Chance of declaring a difference between equals, over a whole family.
pub(crate) const FAMILY_ALPHA: f64 = 0.05;
/// Statistics this near are equal: sums in another order differ in the last digits.
const SAME: f64 = 1e-9;

/// What the flips say of a family of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Flips {
    /// One for each pair, in the order given.
    pub tested: Vec<Tested>,
    /// What the largest statistic of the family stays below with 95 % where no pair differs.
    pub critical: f64,
}

/// What the flips say of one pair. Chances are of a value as far out as this one between equals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// For the claim that the second is higher, corrected over the family.
    pub higher: f64,
    /// For the claim that the second is lower, corrected over the family.
    pub lower: f64,
    /// For the claim that it is one or the other, of this pair alone.
    pub alone: f64,
}

impl Tested {
    /// The smaller of the two corrected chances.
    pub fn p_value(&self) -> f64 {
        self.higher.min(self.lower)
    }
}

/// Tests each pair on both sides beyond `floor`, a logarithm of at least 0. The seed matters from
/// 13 rounds on.
pub fn flips(pairs: &[Paired], floor: f64, seed: u64) -> Flips {
    let table = Table::new(pairs, floor);
    let mut count = Count::new(table.observed.len());
    let mut sums = table.observed.clone();
    count.take(&table, &sums);
    if table.rows.len() <= EVERY_FLIP_TO {
        // Each flip differs from the one before by one round (Gray 1953).
        let mut signs = vec![1.0; table.rows.len()];
        for flip in 1_usize..1 << table.rows.len() {
            let round = flip.trailing_zeros() as usize;
            signs[round] = -signs[round];
            add(&mut sums, &table.rows[round], 2.0 * signs[round]);
            count.take(&table, &sums);
        }
    } else {
        let mut random = Random::labelled(seed, "flips");
        for _ in 1..FLIPS_DRAWN {
            let bits: Vec<u64> = (0..table.rows.len().div_ceil(64))
                .map(|_| random.bits())
                .collect();
            sums.fill(0.0);
            for (round, row) in table.rows.iter().enumerate() {
                let up = bits[round / 64] >> (round % 64) & 1 == 1;
                add(&mut sums, row, if up { 1.0 } else { -1.0 });
            }
            count.take(&table, &sums);
        }
    }
    count.finish(&table, pairs.len())
}

/// The hypotheses as columns, the one with the largest statistic first, and the rounds as rows.
/// Values are over their column's scale, so that a sum is a statistic.
struct Table {
    rows: Vec<Vec<f64>>,
    observed: Vec<f64>,
    /// Position of each column among the hypotheses: pair times two, one more for "lower".
    places: Vec<usize>,
}

impl Table {
    fn new(pairs: &[Paired], floor: f64) -> Self {
        let rounds: BTreeSet<u32> = pairs.iter().flat_map(|pair| pair.rounds.clone()).collect();
        let rounds: Vec<u32> = rounds.into_iter().collect();
        let mut columns: Vec<Column> = Vec::new();
        for (index, pair) in pairs.iter().enumerate() {
            for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                columns.push(Column::new(pair, index * 2 + side, sign, floor));
            }
        }
        columns.sort_by(|left, right| right.observed().total_cmp(&left.observed()));
        let mut rows = vec![vec![0.0; columns.len()]; rounds.len()];
        for (place, column) in columns.iter().enumerate() {
            for (round, value) in &column.values {
                rows[rounds.partition_point(|it| it < round)][place] = *value;
            }
        }
        Self {
            rows,
            observed: columns.iter().map(Column::observed).collect(),
            places: columns.iter().map(|column| column.place).collect(),
        }
    }
}

/// One hypothesis: its position among all, and its value in each of its rounds.
struct Column {
    place: usize,
    values: Vec<(u32, f64)>,
}

impl Column {
    fn new(pair: &Paired, place: usize, sign: f64, floor: f64) -> Self {
        let beyond = |log: &f64| sign * log - floor;
        let squares: f64 = pair.logs.iter().map(|log| beyond(log).powi(2)).sum();
        let scale = (squares * pair.len() as f64).sqrt();
        let scaled = |log: &f64| match scale > 0.0 {
            true => beyond(log) / scale,
            false => 0.0,
        };
        let rounds = pair.rounds.iter().copied();
        Self {
            place,
            values: rounds.zip(pair.logs.iter().map(scaled)).collect(),
        }
    }

    fn observed(&self) -> f64 {
        self.values.iter().map(|(_, value)| value).sum()
    }
}

/// How many flips reach what was observed.
struct Count {
    /// With the largest of this column and those after it.
    largest: Vec<u32>,
    /// With this column's own.
    own: Vec<u32>,
    /// The largest statistic of each flip.
    maxima: Vec<f64>,
}

impl Count {
    fn new(columns: usize) -> Self {
        Self {
            largest: vec![0; columns],
            own: vec![0; columns],
            maxima: Vec::with_capacity(FLIPS_DRAWN),
        }
    }

    fn take(&mut self, table: &Table, sums: &[f64]) {
        let mut largest = f64::NEG_INFINITY;
        for place in (0..sums.len()).rev() {
            let reached = table.observed[place] - SAME;
            largest = largest.max(sums[place]);
            self.largest[place] += u32::from(largest >= reached);
            self.own[place] += u32::from(sums[place] >= reached);
        }
        self.maxima.push(largest);
    }

    fn finish(mut self, table: &Table, pairs: usize) -> Flips {
        let total = self.maxima.len() as f64;
        let blank = Tested {
            higher: 1.0,
            lower: 1.0,
            alone: 1.0,
        };
        let mut tested = vec![blank; pairs];
        let mut p_value = 0.0_f64;
        for (place, hypothesis) in table.places.iter().enumerate() {
            p_value = p_value.max(f64::from(self.largest[place]) / total);
            let own = f64::from(self.own[place]) / total;
            let one = &mut tested[hypothesis / 2];
            one.alone = one.alone.min(2.0 * own);
            match hypothesis % 2 {
                0 => one.higher = p_value,
                _ => one.lower = p_value,
            }
        }
        self.maxima.sort_by(f64::total_cmp);
        let rank = ((1.0 - FAMILY_ALPHA) * total).floor() as usize;
        let critical = self.maxima.get(rank.min(self.maxima.len() - 1));
        Flips {
            tested,
            critical: critical.copied().unwrap_or(1.0),
        }
    }
}

fn add(sums: &mut [f64], row: &[f64], sign: f64) {
    for (sum, value) in sums.iter_mut().zip(row) {
        *sum += sign * value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::tests::pair;

    /// The corrected chance by its definition: all flips, every statistic from the start.
    fn by_definition(pairs: &[Paired], floor: f64) -> Vec<f64> {
        let statistic = |y: &[f64]| {
            let squares: f64 = y.iter().map(|one| one * one).sum();
            y.iter().sum::<f64>() / (y.len() as f64 * squares).sqrt()
        };
        let columns: Vec<Vec<f64>> = pairs
            .iter()
            .flat_map(|pair| {
                [1.0, -1.0].map(|sign| pair.logs.iter().map(|x| sign * x - floor).collect())
            })
            .collect();
        let observed: Vec<f64> = columns.iter().map(|y| statistic(y)).collect();
        let n = pairs[0].len();
        let reached = |of: &dyn Fn(usize) -> bool, at: f64| {
            let flips = 0..1_usize << n;
            let hits = flips.filter(|flip| {
                let flipped = |y: &Vec<f64>| -> Vec<f64> {
                    let sign = |round: usize| if flip >> round & 1 == 1 { -1.0 } else { 1.0 };
                    y.iter()
                        .enumerate()
                        .map(|(round, y)| sign(round) * y)
                        .collect()
                };
                (0..columns.len())
                    .filter(|column| of(*column))
                    .any(|column| statistic(&flipped(&columns[column])) >= at - SAME)
            });
            hits.count() as f64 / (1 << n) as f64
        };
        let p_of = |at: f64| reached(&|column| observed[column] <= at + SAME, at);
        (0..columns.len())
            .map(|column| {
                let above = (0..columns.len()).filter(|other| observed[*other] >= observed[column]);
                above.map(|other| p_of(observed[other])).fold(0.0, f64::max)
            })
            .collect()
    }

    #[test]
    fn the_walk_through_the_flips_is_the_definition() {
        let pairs = [
            pair(&[0.3, 0.2, 0.25, 0.31, 0.18, 0.27, 0.22]),
            pair(&[0.1, -0.12, 0.05, 0.02, -0.03, 0.11, 0.01]),
            pair(&[-0.1, -0.2, -0.05, 0.01, -0.13, -0.11, -0.17]),
        ];
        for floor in [0.0, 0.01, 0.1] {
            let expected = by_definition(&pairs, floor);
            let found = flips(&pairs, floor, 1).tested;
            for (tested, expected) in found.iter().zip(expected.chunks(2)) {
                assert!(
                    (tested.higher - expected[0]).abs() < 1e-12,
                    "{tested:?} {expected:?}"
                );
                assert!(
                    (tested.lower - expected[1]).abs() < 1e-12,
                    "{tested:?} {expected:?}"
                );
            }
        }
    }

    #[test]
    fn one_pair_of_six_rounds_that_agree_has_two_flips_of_sixty_four() {
        let tested = flips(&[pair(&[0.2, 0.3, 0.25, 0.21, 0.28, 0.24])], 0.0, 1).tested[0];
        assert!((tested.higher - 2.0 / 64.0).abs() < 1e-12);
        assert_eq!(tested.lower, 1.0);
        assert!((tested.alone - 2.0 / 64.0).abs() < 1e-12);
    }

    #[test]
    fn a_difference_within_the_floor_is_none() {
        let steady = pair(&[0.02, 0.021, 0.019, 0.02, 0.022, 0.018, 0.02, 0.021]);
        assert!(flips(std::slice::from_ref(&steady), 0.01, 1).tested[0].higher < 0.05);
        assert!(flips(&[steady], 0.03, 1).tested[0].higher > 0.5);
    }

    #[test]
    fn flips_from_the_seed_are_near_to_all_flips_and_repeat() {
        let logs: Vec<f64> = (0..14)
            .map(|i| 0.02 + 0.02 * f64::from(i * 7 % 5 - 2))
            .collect();
        let all: Vec<f64> = (0..1_u32 << 14)
            .map(|flip| {
                (0..14)
                    .map(|i| {
                        if flip >> i & 1 == 1 {
                            -logs[i]
                        } else {
                            logs[i]
                        }
                    })
                    .sum()
            })
            .collect();
        let observed: f64 = logs.iter().sum();
        let exact = all
            .iter()
            .filter(|sum| sum.abs() >= observed - SAME)
            .count() as f64
            / all.len() as f64;
        let drawn = flips(&[pair(&logs)], 0.0, 3);
        assert!(
            (drawn.tested[0].higher - exact).abs() < 0.01,
            "{drawn:?} {exact}"
        );
        assert_eq!(drawn, flips(&[pair(&logs)], 0.0, 3));
    }

    #[test]
    fn pairs_may_miss_rounds_and_an_empty_family_is_fine() {
        let mut short = pair(&[0.2, 0.3, 0.25, 0.21, 0.28, 0.24]);
        short.rounds = vec![1, 2, 4, 5, 7, 8];
        let whole = pair(&[0.0, 0.1, -0.1, 0.05, -0.04, 0.02, 0.01, -0.06]);
        let tested = flips(&[short, whole], 0.0, 1).tested;
        assert!(tested[0].higher < tested[1].higher);
        assert!(flips(&[], 0.0, 1).tested.is_empty());
    }
}
