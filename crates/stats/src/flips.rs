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
//! The fewer rounds a pair has, the more often chance alone brings its statistic near 1. So where
//! pairs have different numbers of rounds, the normal deviate that is as rare as Student's t of the
//! pair is compared instead (Wallace 1959): a pair of six rounds does not stand before one of nine
//! that is farther beyond chance. It grows with the statistic, so that with equal numbers of rounds
//! nothing changes.
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
    /// What the largest statistic of the family stays below with 95 % where no pair differs: that
    /// of a pair with the most rounds.
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
    table.walk(seed, |sums| count.take(&table, sums));
    count.finish(&table, pairs.len())
}

/// How many hypotheses of these pairs could be given up with a chance of `alpha` if the rounds of
/// each agreed. It goes by how far the rounds are from the floor and not by their signs, so that
/// what is tested may be chosen by it.
pub(crate) fn could_show(pairs: &[Paired], floor: f64, seed: u64, alpha: f64) -> usize {
    let table = Table::new(pairs, floor);
    let mut maxima = Vec::new();
    table.walk(seed, |sums| {
        let heights = sums.iter().zip(&table.scales);
        let heights = heights.map(|(sum, scale)| scale.height(*sum));
        maxima.push(heights.fold(f64::NEG_INFINITY, f64::max));
    });
    maxima.sort_by(|left, right| right.total_cmp(left));
    // So many flips may reach a hypothesis that is given up; the next one may not.
    let allowed = (alpha * maxima.len() as f64 + SAME).floor() as usize;
    let next = maxima.get(allowed).copied().unwrap_or(f64::NEG_INFINITY);
    let best = |(place, scale): (usize, &Scale)| {
        let of_rounds = table.rows.iter().map(|row| row[place].abs());
        scale.height(of_rounds.sum::<f64>() - SAME)
    };
    let bests = table.scales.iter().enumerate().map(best);
    bests.filter(|best| *best > next).count()
}

/// The hypotheses as columns, the one with the largest statistic first, and the rounds as rows.
/// Values are over their column's scale, so that a sum is a statistic.
struct Table {
    rows: Vec<Vec<f64>>,
    observed: Vec<f64>,
    /// How the statistic of each column is held against those of others.
    scales: Vec<Scale>,
    /// Position of each column among the hypotheses: pair times two, one more for "lower".
    places: Vec<usize>,
}

/// How statistics are held against those of other pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    /// As they are: all pairs have equally many rounds.
    Plain,
    /// By the normal deviate that is as rare, for this many degrees of freedom.
    Deviate(f64),
}

impl Scale {
    /// Statistics nearer to 1 than this are 1.
    const ROOM: f64 = 1e-12;

    /// For each pair of a family, by how many rounds each has.
    pub(crate) fn each(rounds: &[usize]) -> Vec<Self> {
        let is_even = rounds.windows(2).all(|two| two[0] == two[1]);
        let scale = |rounds: &usize| {
            if is_even {
                Self::Plain
            } else {
                Self::Deviate(rounds.saturating_sub(1) as f64)
            }
        };
        rounds.iter().map(scale).collect()
    }

    /// What is held against that of other pairs.
    pub(crate) fn height(self, statistic: f64) -> f64 {
        match self {
            Self::Plain => statistic,
            // With t^2 = degrees s^2 / (1 - s^2), 1 + t^2 / degrees is 1 / (1 - s^2).
            Self::Deviate(degrees) => {
                let room = (1.0 - statistic * statistic).max(Self::ROOM);
                Self::shrink(degrees) * (-degrees * room.ln()).sqrt() * statistic.signum()
            }
        }
    }

    /// The statistic with this height.
    fn statistic(self, height: f64) -> f64 {
        match self {
            Self::Plain => height,
            Self::Deviate(degrees) => {
                let square = (height / Self::shrink(degrees)).powi(2);
                (1.0 - (-square / degrees.max(1.0)).exp()).sqrt() * height.signum()
            }
        }
    }

    /// Wallace's factor.
    fn shrink(degrees: f64) -> f64 {
        (8.0 * degrees + 1.0) / (8.0 * degrees + 3.0)
    }
}

impl Table {
    fn new(pairs: &[Paired], floor: f64) -> Self {
        let rounds: BTreeSet<u32> = pairs.iter().flat_map(|pair| pair.rounds.clone()).collect();
        let rounds: Vec<u32> = rounds.into_iter().collect();
        let lengths: Vec<usize> = pairs.iter().map(Paired::len).collect();
        let scales = Scale::each(&lengths);
        let mut columns: Vec<Column> = Vec::new();
        for (index, (pair, scale)) in pairs.iter().zip(scales).enumerate() {
            for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                columns.push(Column::new(pair, index * 2 + side, sign, floor, scale));
            }
        }
        columns.sort_by(|left, right| right.height().total_cmp(&left.height()));
        let mut rows = vec![vec![0.0; columns.len()]; rounds.len()];
        for (place, column) in columns.iter().enumerate() {
            for (round, value) in &column.values {
                rows[rounds.partition_point(|it| it < round)][place] = *value;
            }
        }
        Self {
            rows,
            observed: columns.iter().map(Column::observed).collect(),
            scales: columns.iter().map(|column| column.scale).collect(),
            places: columns.iter().map(|column| column.place).collect(),
        }
    }

    /// Shows the sums of all columns under each flip, beginning with the rounds as they were.
    fn walk(&self, seed: u64, mut look: impl FnMut(&[f64])) {
        let mut sums = self.observed.clone();
        look(&sums);
        if self.rows.len() <= EVERY_FLIP_TO {
            // Each flip differs from the one before by one round (Gray 1953).
            let mut signs = vec![1.0; self.rows.len()];
            for flip in 1_usize..1 << self.rows.len() {
                let round = flip.trailing_zeros() as usize;
                signs[round] = -signs[round];
                add(&mut sums, &self.rows[round], 2.0 * signs[round]);
                look(&sums);
            }
            return;
        }
        let mut random = Random::labelled(seed, "flips");
        for _ in 1..FLIPS_DRAWN {
            let bits: Vec<u64> = (0..self.rows.len().div_ceil(64))
                .map(|_| random.bits())
                .collect();
            sums.fill(0.0);
            for (round, row) in self.rows.iter().enumerate() {
                let up = bits[round / 64] >> (round % 64) & 1 == 1;
                add(&mut sums, row, if up { 1.0 } else { -1.0 });
            }
            look(&sums);
        }
    }

    /// The scale of the columns with the most rounds.
    fn longest(&self) -> Scale {
        let degrees = |scale: &Scale| match scale {
            Scale::Plain => 0.0,
            Scale::Deviate(degrees) => *degrees,
        };
        let scales = self.scales.iter().copied();
        let longest = scales.max_by(|left, right| degrees(left).total_cmp(&degrees(right)));
        longest.unwrap_or(Scale::Plain)
    }
}

/// One hypothesis: its position among all, and its value in each of its rounds.
struct Column {
    place: usize,
    scale: Scale,
    values: Vec<(u32, f64)>,
}

impl Column {
    fn new(pair: &Paired, place: usize, sign: f64, floor: f64, scale: Scale) -> Self {
        let beyond = |log: &f64| sign * log - floor;
        let squares: f64 = pair.logs.iter().map(|log| beyond(log).powi(2)).sum();
        let largest = (squares * pair.len() as f64).sqrt();
        let scaled = |log: &f64| {
            if largest > 0.0 {
                beyond(log) / largest
            } else {
                0.0
            }
        };
        let rounds = pair.rounds.iter().copied();
        Self {
            place,
            scale,
            values: rounds.zip(pair.logs.iter().map(scaled)).collect(),
        }
    }

    fn observed(&self) -> f64 {
        self.values.iter().map(|(_, value)| value).sum()
    }

    fn height(&self) -> f64 {
        self.scale.height(self.observed())
    }
}

/// How many flips reach what was observed.
struct Count {
    /// With the largest of this column and those after it.
    largest: Vec<u32>,
    /// With this column's own.
    own: Vec<u32>,
    /// The largest height of each flip.
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
            let (reached, scale) = (table.observed[place] - SAME, table.scales[place]);
            largest = largest.max(scale.height(sums[place]));
            self.largest[place] += u32::from(largest >= scale.height(reached));
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
            critical: critical.map_or(1.0, |height| table.longest().statistic(*height)),
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
        assert_eq!(could_show(&[], 0.0, 1, 0.05), 0);
    }

    /// The statistic of the first is the larger one, but 2 of its 64 flips reach it, and 2 of 512
    /// that of the second.
    #[test]
    fn pairs_with_other_numbers_of_rounds_go_by_how_rare_they_are() {
        let few = pair(&[0.2, 0.3, 0.25, 0.21, 0.28, -0.02]);
        let many = pair(&[0.3, 0.2, 0.45, 0.11, 0.08, 0.34, 0.41, 0.09, -0.03]);
        let statistic = |pair: &Paired| {
            let squares: f64 = pair.logs.iter().map(|one| one * one).sum();
            pair.logs.iter().sum::<f64>() / (squares * pair.len() as f64).sqrt()
        };
        assert!(statistic(&few) > statistic(&many));
        let tested = flips(&[few, many], 0.0, 1).tested;
        assert!(tested[1].higher < tested[0].higher, "{tested:?}");
    }

    #[test]
    fn a_height_is_as_rare_as_students_t_and_goes_back_to_its_statistic() {
        for degrees in [5.0_f64, 8.0, 12.0] {
            for statistic in [-0.9, 0.1, 0.5, 0.8, 0.95_f64] {
                let scale = Scale::Deviate(degrees);
                let height = scale.height(statistic);
                assert!((scale.statistic(height) - statistic).abs() < 1e-9);
                let t = statistic * (degrees / (1.0 - statistic * statistic)).sqrt();
                let rare = |t: f64, degrees: f64| crate::student::student_tail(t, degrees);
                // With so many degrees of freedom t is normal.
                let share = rare(height, 1e4) / rare(t, degrees);
                assert!(
                    (0.95..1.15).contains(&share),
                    "{degrees} {statistic}: {share}"
                );
            }
        }
    }

    /// Two flips reach a pair of six rounds that agree, one for each side.
    #[test]
    fn what_could_be_shown_goes_by_the_flips_and_not_by_the_signs() {
        let agree = pair(&[0.2, 0.3, 0.25, 0.21, 0.28, 0.24]);
        let differ = pair(&[0.2, -0.3, 0.25, -0.21, 0.28, -0.24]);
        for one in [agree, differ] {
            let of = |alpha: f64| could_show(std::slice::from_ref(&one), 0.01, 1, alpha);
            assert_eq!([of(0.05), of(0.015)], [2, 0]);
        }
    }
}
