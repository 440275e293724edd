//! Intervals that hold for all pairs of a table at once: where each difference lies, with 95 % for
//! the whole table.
//!
//! They are made as the table is tested ([`crate::table`]). From six rounds on an end is the value
//! that the sign flips no longer give up: the flips of this pair about that value, together with
//! those of all others about their own centres, reach the statistic in more than 5 % of the cases.
//! Below six rounds, and where the rounds are correlated, it is the interval of the pooled spread.
//!
//! Pairs that lost rounds are treated as the test treats them ([`crate::flips`]): statistics of
//! different numbers of rounds are compared by how rare they are, and flips look at pairs of so
//! many rounds or more that they can say something of each.

use std::collections::BTreeSet;

use bakeoff_plan::Random;

use crate::flips::{EVERY_FLIP_TO, FAMILY_ALPHA, FLIPS_DRAWN, Scale};
use crate::floor::{FLIPS_FROM, INTERVAL_FROM, Power};
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
    let held = Flipped::new(pairs, FAMILY_ALPHA, FLIPS_FROM, seed);
    let certain = Flipped::new(pairs, CERTAIN_ALPHA, CERTAIN_FROM, seed);
    let power = Power::of_pairs(pairs.len());
    let of_pair = |(index, pair): (usize, &Paired)| {
        let held_at = |flipped: &Flipped, alpha: f64| {
            let pooled = pool.interval_at(pair, alpha / FAMILY_ALPHA);
            let Some(place) = flipped.places[index] else {
                return pooled;
            };
            let flips = flipped.family.held(place, flipped.alpha);
            Some(match pooled.filter(|_| pool.dependent) {
                Some(pooled) => both(flips, pooled),
                None => flips,
            })
        };
        let held = held_at(&held, FAMILY_ALPHA)?;
        Some(Located {
            // Where another method found it, it may be narrower than what is less certain.
            certain: both(held_at(&certain, CERTAIN_ALPHA)?, held),
            held,
            sd: pool.spread(pair),
            power: power.clone(),
            fixed: 0.0,
        })
    };
    pairs.iter().enumerate().map(of_pair).collect()
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
    let flipped = Flipped::new(pairs, FAMILY_ALPHA, FLIPS_FROM, seed);
    let of_pair = |(pair, place): (&Paired, &Option<usize>)| {
        let pooled = pool.interval(pair);
        let pooled = pooled.is_some_and(|held| held.low >= -margin && held.high <= margin);
        let Some(place) = *place else {
            return pooled;
        };
        let flips = flipped.family.is_within(place, margin, flipped.alpha);
        flips && (pooled || !pool.dependent)
    };
    pairs.iter().zip(&flipped.places).map(of_pair).collect()
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

/// The pairs of a table that sign flips look at.
struct Flipped {
    family: Family,
    /// For each pair of the table its place among them.
    places: Vec<Option<usize>>,
    /// The chance to err that they have.
    alpha: f64,
}

impl Flipped {
    /// Those of a table with a chance of `alpha`, with `least` rounds or more each.
    fn new(pairs: &[Paired], alpha: f64, least: usize, seed: u64) -> Self {
        let from = flips_from(pairs, alpha, least);
        let mut count = 0;
        let place = |pair: &Paired| {
            let place = (pair.len() >= from).then_some(count);
            count += usize::from(place.is_some());
            place
        };
        Self {
            places: pairs.iter().map(place).collect(),
            family: Family::new(pairs.iter().filter(|pair| pair.len() >= from), seed),
            alpha: alpha * flips_share(pairs, from),
        }
    }
}

/// Rounds from which flips look at a pair, `least` or more: the fewest with which they can say of
/// each of these pairs how far off a value is. However far it is, two of the 2^n flips of a pair's
/// rounds are as far out. More than any pair has where flips can say it of none: then the pooled
/// spread does.
///
/// It goes by the numbers of rounds alone, so that what is looked at may be chosen by it.
fn flips_from(pairs: &[Paired], alpha: f64, least: usize) -> usize {
    let rounds: BTreeSet<usize> = pairs.iter().map(Paired::len).collect();
    let mut rounds = rounds.into_iter().filter(|rounds| *rounds >= least);
    let is_said = |from: &usize| {
        let farthest = 2.0 * 0.5_f64.powi(*from as i32);
        farthest <= alpha * flips_share(pairs, *from)
    };
    rounds.find(is_said).unwrap_or(usize::MAX)
}

/// Pairs over all flips.
struct Family {
    columns: Vec<Column>,
    /// For each flip the largest height of a statistic, without its sign, and the column that has
    /// it; then the largest of all other columns.
    largest: Vec<(f64, usize, f64)>,
}

/// One pair over all flips. Distances are from its centre, so that equal rounds leave no rest.
struct Column {
    n: f64,
    scale: Scale,
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
        let lengths: Vec<usize> = pairs.iter().map(|pair| pair.len()).collect();
        let columns: Vec<Column> = pairs
            .into_iter()
            .zip(Scale::each(&lengths))
            .map(|(pair, scale)| Column::new(pair, scale, &rounds, &signs))
            .collect();
        let largest = (0..signs.len()).map(|flip| {
            let mut found = (0.0, usize::MAX, 0.0);
            for (place, column) in columns.iter().enumerate() {
                let height = column.scale.height(column.statistic(flip, 0.0).abs());
                if height > found.0 {
                    found = (height, place, found.0);
                } else {
                    found.2 = height.max(found.2);
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

    /// Share of the flips in which a pair, on either side, reaches what this one has about a value
    /// at `distance` from its centre.
    fn chance(&self, place: usize, distance: f64) -> f64 {
        let column = &self.columns[place];
        let observed = column.statistic(0, distance).abs() - SAME;
        let height = column.scale.height(observed);
        let reached = self.largest.iter().enumerate().filter(|(flip, largest)| {
            let of_others = if largest.1 == place {
                largest.2
            } else {
                largest.0
            };
            // The rounds as they were are one of the cases, whatever the others do in them.
            *flip == 0 || of_others >= height || column.statistic(*flip, distance).abs() >= observed
        });
        reached.count() as f64 / self.largest.len() as f64
    }
}

impl Column {
    fn new(pair: &Paired, scale: Scale, rounds: &[u32], signs: &[Vec<f64>]) -> Self {
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
            scale,
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
    if first.len().min(second.len()) < INTERVAL_FROM {
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
mod tests;
