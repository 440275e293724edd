//! Whether pairs differ, from few rounds: the spread is borrowed from the whole campaign.
//!
//! Three logarithms say little about their own spread, and much about it together with those of
//! the other pairs. Each pair's standard deviation is taken as its own or the pooled one, whichever
//! is larger; the interval about its mean is Student's with the degrees of freedom of the pool,
//! corrected over the table by Bonferroni. Below six rounds a test cannot see whether rounds hang
//! together, so the interval is as wide as rounds of an autoregressive series of 0.5 need.
//!
//! Its chance of a false winner is not a theorem but a simulation: `make stats-check`.

use std::collections::BTreeMap;

use crate::estimate::NORMAL_95;
use crate::flips::FAMILY_ALPHA;
use crate::floor::{FLIPS_FROM, INTERVAL_FROM, NORMAL_80};
use crate::paired::Paired;
use crate::student::{student_point, student_tail};

/// Correlation of neighbouring rounds that the intervals allow for at least.
const CORRELATION: f64 = 0.5;
/// Correlation that they allow for at most.
const CORRELATION_MAX: f64 = 0.8;
/// Correlation below which rounds count as independent.
const CORRELATION_MIN: f64 = 0.2;

/// What all pairs of one metric say of the spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pool {
    /// Root of the mean of the pairs' variances, logarithms.
    pub sd: f64,
    /// Degrees of freedom behind it.
    pub degrees: f64,
    /// Pairs of the table.
    pub pairs: usize,
    /// How many standard errors an interval reaches, corrected over the table.
    pub reach: f64,
    /// Correlation of neighbouring rounds that the intervals allow for.
    pub correlation: f64,
    /// Whether the rounds of the table are correlated, more than independent ones would be.
    pub dependent: bool,
}

/// A pair's mean with the interval that is good for the whole table at once, logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// Mean of the logarithms.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Pool {
    /// The pool of a table. `blocks` names for each pair the workload and load that it is of: the
    /// pairs of k contenders have k - 1 degrees of freedom a round, not one each. `None` where no
    /// pair has two rounds.
    pub fn new(pairs: &[Paired], blocks: &[usize]) -> Option<Self> {
        let variances: Vec<f64> = pairs
            .iter()
            .filter_map(Paired::sd)
            .map(|sd| sd * sd)
            .collect();
        if variances.is_empty() {
            return None;
        }
        let degrees = degrees(pairs, blocks);
        let found = correlation(pairs, degrees);
        Some(Self {
            sd: (variances.iter().sum::<f64>() / variances.len() as f64).sqrt(),
            degrees,
            pairs: pairs.len(),
            reach: student_point(FAMILY_ALPHA / (2 * pairs.len()) as f64, degrees),
            correlation: found.unwrap_or(0.0).clamp(CORRELATION, CORRELATION_MAX),
            dependent: found.is_some(),
        })
    }

    /// The interval of one pair of the table; `None` below three rounds.
    pub fn interval(&self, pair: &Paired) -> Option<Held> {
        self.interval_at(pair, 1.0)
    }

    /// The interval that errs with no more than this share of the chance that all of them have;
    /// `None` below three rounds.
    pub(crate) fn interval_at(&self, pair: &Paired, share: f64) -> Option<Held> {
        let half = self.reach_at(share) * self.error(pair)?;
        let mean = pair.mean();
        Some(Held {
            mean,
            low: mean - half,
            high: mean + half,
        })
    }

    /// How many standard errors an interval reaches that errs with this share of the chance.
    fn reach_at(&self, share: f64) -> f64 {
        if share < 1.0 {
            let tail = FAMILY_ALPHA * share / (2 * self.pairs) as f64;
            student_point(tail, self.degrees)
        } else {
            self.reach
        }
    }

    /// Chance, corrected over the table, of a mean as far beyond `floor` as this between equals;
    /// `None` below three rounds.
    pub fn p_value(&self, pair: &Paired, floor: f64) -> Option<f64> {
        let tail = self.tail(pair, floor)?;
        Some((tail * (2 * self.pairs.max(1)) as f64).min(1.0))
    }

    /// The same chance of this pair alone, for what is corrected in another way.
    pub(crate) fn p_value_alone(&self, pair: &Paired, floor: f64) -> Option<f64> {
        Some((2.0 * self.tail(pair, floor)?).min(1.0))
    }

    /// Chance of a mean as far beyond `floor` on one side.
    fn tail(&self, pair: &Paired, floor: f64) -> Option<f64> {
        let error = self.error(pair)?;
        let beyond = pair.mean().abs() - floor;
        if error <= 0.0 {
            return Some(if beyond > 0.0 { 0.0 } else { 1.0 });
        }
        Some(student_tail(beyond / error, self.degrees))
    }

    /// The smallest logarithm of a ratio that this pair's rounds would have shown with 80 %, with
    /// the chance to err that all of them have; `None` below three rounds.
    pub(crate) fn smallest_shown(&self, pair: &Paired, floor: f64) -> Option<f64> {
        Some(floor + (self.reach_at(1.0) + NORMAL_80) * self.error(pair)?)
    }

    /// Standard deviation to plan with: the pair's own, or the pooled one below six rounds where
    /// that is larger; as wide as dependent rounds need.
    pub fn spread(&self, pair: &Paired) -> f64 {
        let own = pair.sd().unwrap_or(self.sd);
        match (pair.len() < FLIPS_FROM, self.dependent) {
            (true, _) => own.max(self.sd),
            (false, true) => own * widening(pair.len(), self.correlation),
            (false, false) => own,
        }
    }

    /// Standard error of a pair's mean; `None` below three rounds.
    fn error(&self, pair: &Paired) -> Option<f64> {
        let n = pair.len();
        let sd = pair.sd().filter(|_| n >= INTERVAL_FROM)?.max(self.sd);
        Some(widening(n, self.correlation) * sd / (n as f64).sqrt())
    }
}

/// Degrees of freedom behind a pooled spread.
fn degrees(pairs: &[Paired], blocks: &[usize]) -> f64 {
    let mut of_block: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (pair, block) in pairs.iter().zip(blocks).filter(|(pair, _)| pair.len() > 1) {
        let known = of_block.entry(*block).or_default();
        *known = (known.0 + 1, known.1.max(pair.len()));
    }
    let of_block = of_block.values().map(|(pairs, rounds)| {
        // k (k - 1) / 2 pairs are of k contenders.
        let contenders = f64::midpoint(1.0, (1.0 + 8.0 * *pairs as f64).sqrt());
        (contenders.ceil() - 1.0) * (rounds - 1) as f64
    });
    of_block.sum()
}

/// Correlation of neighbouring rounds over a whole table, where it is beyond chance and
/// [`CORRELATION_MIN`]; `None` otherwise.
///
/// That of one series of n values is too low by `(1 + 3 r) / n` (Kendall 1954), which is put
/// right; its standard error is that of independent values.
fn correlation(pairs: &[Paired], degrees: f64) -> Option<f64> {
    let long: Vec<&Paired> = pairs
        .iter()
        .filter(|pair| pair.len() >= FLIPS_FROM)
        .collect();
    let found: Vec<f64> = long
        .iter()
        .filter_map(|pair| neighbours(&pair.logs))
        .collect();
    let n = long.iter().map(|pair| pair.len()).sum::<usize>() as f64 / long.len().max(1) as f64;
    if found.is_empty() {
        return None;
    }
    let shrunk = 1.0 - 3.0 / n;
    let mean = (found.iter().sum::<f64>() / found.len() as f64 + 1.0 / n) / shrunk;
    let error = 1.0 / (shrunk * degrees.max(1.0).sqrt());
    (mean > CORRELATION_MIN.max(NORMAL_95 * error)).then_some(mean)
}

/// Correlation of each value with the next, about the mean of all.
fn neighbours(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let both: f64 = values
        .windows(2)
        .map(|two| (two[0] - mean) * (two[1] - mean))
        .sum();
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares > 0.0).then(|| both / squares)
}

/// How much wider the interval of a mean is where neighbours are correlated by r:
/// the mean varies more, by `f = 1 + 2 * sum((1 - k/n) * r^k)`, and the values show less of it,
/// by `(n - f) / (n - 1)` (Bartlett 1946).
fn widening(n: usize, correlation: f64) -> f64 {
    let count = n as f64;
    let shared: f64 = (1..n)
        .map(|lag| (1.0 - lag as f64 / count) * correlation.powi(lag as i32))
        .sum();
    let more = 1.0 + 2.0 * shared;
    (more * (count - 1.0) / (count - more)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::tests::pair;

    #[test]
    fn three_rounds_are_widened_by_what_half_a_correlation_hides() {
        // f = 1 + 2 (2/3 * 1/2 + 1/3 * 1/4) = 11/6; 11/6 * 2 / (7/6) = 22/7.
        assert!((widening(3, 0.5) - (22.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn degrees_are_of_contenders_and_rounds() {
        let pairs = vec![pair(&[0.1, 0.2, 0.3]); 6];
        // Two blocks of three contenders: (3 - 1) * (3 - 1) each.
        let pool = Pool::new(&pairs, &[0, 0, 0, 1, 1, 1]).unwrap();
        assert_eq!((pool.degrees, pool.pairs), (8.0, 6));
        assert!((pool.sd - 0.1).abs() < 1e-12);
        assert_eq!(Pool::new(&[pair(&[0.1])], &[0]), None);
    }

    #[test]
    fn a_pair_that_happened_to_agree_does_not_escape_the_campaigns_spread() {
        let mut pairs: Vec<Paired> = (0..8).map(|_| pair(&[0.1, -0.12, 0.02])).collect();
        pairs.push(pair(&[0.05, 0.0501, 0.0502]));
        pairs.push(pair(&[1.4, 1.35, 1.38]));
        let pool = Pool::new(&pairs, &(0..10).collect::<Vec<_>>()).unwrap();
        assert!(pool.interval(&pairs[8]).unwrap().low < 0.0);
        assert!(pool.p_value(&pairs[8], 0.0).unwrap() > 0.05);
        // A factor of four is not in doubt.
        assert!(pool.interval(&pairs[9]).unwrap().low > 0.03);
        assert!(pool.p_value(&pairs[9], 0.03).unwrap() < 0.05);
    }

    #[test]
    fn the_interval_and_the_chance_agree() {
        let pairs = vec![
            pair(&[0.3, 0.4, 0.5, 0.42]),
            pair(&[0.02, -0.05, 0.1, 0.04]),
        ];
        let pool = Pool::new(&pairs, &[0, 1]).unwrap();
        for floor in [0.0, 0.05, 0.1, 0.2, 0.3] {
            let beyond = pool.interval(&pairs[0]).unwrap().low > floor;
            assert_eq!(beyond, pool.p_value(&pairs[0], floor).unwrap() < 0.05);
        }
    }

    #[test]
    fn two_rounds_declare_nothing() {
        let pairs = [pair(&[1.0, 1.0]), pair(&[1.0, 1.1])];
        let pool = Pool::new(&pairs, &[0, 1]).unwrap();
        assert_eq!(pool.interval(&pairs[0]), None);
    }
}
