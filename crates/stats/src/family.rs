//! All pairs of one metric as they are after some round: means, spreads, and how far chance
//! reaches.
//!
//! Two or three logarithms say little about their own spread, and much about it together with
//! those of the other pairs. The variance of a pair is the largest of four: its own, and those
//! pooled over the same two contenders, over its workload and load, and over the family. The
//! interval about its mean is Student's with the degrees of freedom of the family. It is widened by
//! what would be hidden if a contender's own noise lasted from round to round.
//!
//! What this holds is not a theorem but a simulation: `make stats-check`.

use std::collections::BTreeMap;

use crate::floor::NORMAL_80;
use crate::paired::Paired;
use crate::student::{student_point, student_tail};

/// Rounds from which the rounds of a family can show how correlated they are.
const CORRELATION_FROM: usize = 5;
/// Correlation of neighbouring rounds that is allowed for where it cannot be seen, and at the most
/// where it is only possible.
const CORRELATION_ASSUMED: f64 = 0.35;
/// Correlation below which rounds count as independent.
const CORRELATION_MIN: f64 = 0.2;
/// Correlation that is allowed for at the most.
const CORRELATION_MAX: f64 = 0.8;
/// Standard errors that the correlation may be above what was found.
const CORRELATION_ERRORS: f64 = 0.5;
/// Degrees of freedom below which nothing is said.
const DEGREES_MIN: f64 = 2.0;
/// Rounds beyond which no advice is given.
pub const ROUNDS_ADVISED_MAX: u32 = 200;

/// A pair of contenders in a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its rounds.
    pub paired: Paired,
    /// The workload and load that it is of.
    pub cell: usize,
    /// Its two contenders.
    pub between: [usize; 2],
}

/// A mean with its interval, logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// Mean of the logarithms.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A family of pairs after some round.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    /// For each member its mean; `None` below two rounds.
    means: Vec<Option<Mean>>,
    /// Degrees of freedom behind the spreads.
    pub(crate) degrees: f64,
}

/// The mean of one pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mean {
    pub(crate) log: f64,
    /// Standard deviation of a round, as wide as correlated rounds need.
    pub(crate) spread: f64,
    pub(crate) rounds: usize,
}

impl Mean {
    /// Standard error.
    fn error(&self) -> f64 {
        self.spread / (self.rounds as f64).sqrt()
    }

    /// How many standard errors it lies beyond `floor`, on whichever side.
    fn beyond(&self, floor: f64) -> f64 {
        let beyond = self.log.abs() - floor;
        match self.error() {
            error if error > 0.0 => beyond / error,
            _ if beyond > 0.0 => f64::INFINITY,
            _ => 0.0,
        }
    }

    /// The interval that reaches so many standard errors.
    pub(crate) fn within(&self, reach: f64) -> Held {
        let half = match self.error() {
            error if error > 0.0 => reach * error,
            _ => 0.0,
        };
        Held {
            mean: self.log,
            low: self.log - half,
            high: self.log + half,
        }
    }
}

impl Family {
    /// The family after `round`; `None` where its rounds say too little of their spread.
    pub(crate) fn after(members: &[Member], round: u32) -> Option<Self> {
        let seen: Vec<Seen> = members.iter().map(|one| Seen::of(one, round)).collect();
        let degrees = degrees(&seen);
        if degrees < DEGREES_MIN {
            return None;
        }
        let found = correlation(&seen, degrees);
        let (mut everybody, mut of_cells, mut of_pairs) =
            (Pool::default(), BTreeMap::new(), BTreeMap::new());
        for one in &seen {
            everybody.add(one);
            of_cells
                .entry(one.cell)
                .or_insert_with(Pool::default)
                .add(one);
            of_pairs
                .entry(one.between)
                .or_insert_with(Pool::default)
                .add(one);
        }
        let mean = |one: &Seen<'_>| {
            let pools = [&everybody, &of_cells[&one.cell], &of_pairs[&one.between]];
            let variances = pools.map(Pool::variance);
            let variance = variances.into_iter().fold(one.variance?, f64::max);
            let correlation = match one.rounds() {
                CORRELATION_FROM.. => found,
                _ => CORRELATION_ASSUMED,
            };
            Some(Mean {
                log: one.mean,
                spread: widening(one.rounds(), correlation) * variance.sqrt(),
                rounds: one.rounds(),
            })
        };
        Some(Self {
            means: seen.iter().map(mean).collect(),
            degrees,
        })
    }

    /// The mean of a member; `None` below two rounds.
    pub(crate) fn mean(&self, member: usize) -> Option<Mean> {
        self.means.get(member).copied().flatten()
    }

    /// Members that have a mean.
    pub(crate) fn count(&self) -> usize {
        self.means.iter().flatten().count()
    }

    /// Chance of a mean as far beyond `floor`, on whichever side, between equals.
    pub(crate) fn chance(&self, mean: &Mean, floor: f64) -> f64 {
        let beyond = mean.beyond(floor);
        if beyond.is_infinite() {
            return 0.0;
        }
        (2.0 * student_tail(beyond, self.degrees)).min(1.0)
    }

    /// The standard errors beyond which a mean lies with this chance, on whichever side.
    pub(crate) fn reach(&self, chance: f64) -> f64 {
        student_point(chance / 2.0, self.degrees)
    }
}

/// Rounds of this spread that show `distance` with 80 %, at `reach` standard errors; `None` where
/// more than [`ROUNDS_ADVISED_MAX`] would be needed.
pub(crate) fn rounds_for(spread: f64, distance: f64, reach: f64) -> Option<u32> {
    if distance <= 0.0 {
        return None;
    }
    let rounds = ((reach + NORMAL_80) * spread / distance).powi(2).ceil();
    (rounds <= f64::from(ROUNDS_ADVISED_MAX)).then_some(rounds as u32)
}

/// The rounds of a member up to some round.
struct Seen<'m> {
    logs: &'m [f64],
    mean: f64,
    variance: Option<f64>,
    cell: usize,
    between: [usize; 2],
}

impl<'m> Seen<'m> {
    fn of(member: &'m Member, round: u32) -> Self {
        let end = member.paired.rounds.partition_point(|one| *one <= round);
        let logs = &member.paired.logs[..end];
        let mean = logs.iter().sum::<f64>() / end.max(1) as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        Self {
            logs,
            mean,
            variance: (end > 1).then(|| squares / (end - 1) as f64),
            cell: member.cell,
            between: member.between,
        }
    }

    fn rounds(&self) -> usize {
        self.logs.len()
    }
}

/// Several pairs, each with the weight of its rounds.
#[derive(Debug, Default)]
struct Pool {
    squares: f64,
    weight: f64,
}

impl Pool {
    fn add(&mut self, pair: &Seen<'_>) {
        if let Some(variance) = pair.variance {
            let degrees = (pair.rounds() - 1) as f64;
            self.squares += degrees * variance;
            self.weight += degrees;
        }
    }

    /// Their variance; 0 of none.
    fn variance(&self) -> f64 {
        if self.weight > 0.0 {
            self.squares / self.weight
        } else {
            0.0
        }
    }
}

/// Degrees of freedom: in each cell those of its contenders, less those of the round that all of
/// them share.
fn degrees(seen: &[Seen<'_>]) -> f64 {
    let mut of_cells: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
    for one in seen.iter().filter(|one| one.rounds() > 1) {
        for contender in one.between {
            let contenders = of_cells.entry(one.cell).or_default();
            let rounds = contenders.entry(contender).or_insert(0);
            *rounds = one.rounds().max(*rounds);
        }
    }
    let of_cell = of_cells.values().map(|contenders| {
        let degrees = |rounds: &usize| (rounds - 1) as f64;
        let all: f64 = contenders.values().map(degrees).sum();
        all - contenders.values().map(degrees).fold(0.0, f64::max)
    });
    of_cell.sum()
}

/// Correlation of neighbouring rounds that is allowed for from [`CORRELATION_FROM`] rounds on.
///
/// That of one series of n values is too low by `(1 + 3 r) / n` (Kendall 1954), which is put
/// right; its standard error is that of independent values.
fn correlation(seen: &[Seen<'_>], degrees: f64) -> f64 {
    let long = seen.iter().filter(|one| one.rounds() >= CORRELATION_FROM);
    let found: Vec<(f64, usize)> = long
        .filter_map(|one| Some((neighbours(one)?, one.rounds())))
        .collect();
    if found.is_empty() {
        return CORRELATION_ASSUMED;
    }
    let count = found.len() as f64;
    let n = found.iter().map(|(_, rounds)| *rounds as f64).sum::<f64>() / count;
    let shrunk = 1.0 - 3.0 / n;
    let mean = found.iter().map(|(one, _)| one).sum::<f64>() / count;
    let mean = (mean + 1.0 / n) / shrunk;
    let error = 1.0 / (shrunk * degrees.sqrt());
    match mean + CORRELATION_ERRORS * error {
        _ if mean > CORRELATION_ASSUMED => mean.min(CORRELATION_MAX),
        possible if possible < CORRELATION_MIN => 0.0,
        possible => possible.min(CORRELATION_ASSUMED),
    }
}

/// Correlation of each value with the next, about the mean of all.
fn neighbours(one: &Seen<'_>) -> Option<f64> {
    let of_two = |two: &[f64]| (two[0] - one.mean) * (two[1] - one.mean);
    let both: f64 = one.logs.windows(2).map(of_two).sum();
    let squares = one.variance? * (one.rounds() - 1) as f64;
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
pub(crate) mod tests {
    use super::*;
    use crate::paired::tests::pair;

    /// A pair of the first two contenders with these logarithms.
    pub(crate) fn member(cell: usize, logs: &[f64]) -> Member {
        Member {
            paired: pair(logs),
            cell,
            between: [0, 1],
        }
    }

    #[test]
    fn a_round_beside_another_widens_by_what_a_correlation_hides() {
        // f = 1 + 2 (2/3 * 1/2 + 1/3 * 1/4) = 11/6; 11/6 * 2 / (7/6) = 22/7.
        assert!((widening(3, 0.5) - (22.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert!((widening(9, 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn degrees_are_of_contenders_and_rounds() {
        let of_three = |cell: usize| {
            [[0, 1], [0, 2], [1, 2]].map(|between| Member {
                between,
                ..member(cell, &[0.1, 0.2, 0.3])
            })
        };
        let two_cells = [of_three(0), of_three(1)].concat();
        let degrees =
            |members: &[Member], round| Family::after(members, round).map(|it| it.degrees);
        // (3 - 1) * (3 - 1) each.
        assert_eq!(degrees(&two_cells, 3), Some(8.0));
        assert_eq!(degrees(&two_cells, 2), Some(4.0));
        assert_eq!(degrees(&two_cells, 1), None);
        // One pair has one for each round after the first: two rounds are too few.
        assert_eq!(degrees(&[member(0, &[0.1, 0.2])], 2), None);
    }

    #[test]
    fn a_pair_that_happened_to_agree_does_not_escape_the_familys_spread() {
        let mut members: Vec<Member> = (0..8)
            .map(|cell| member(cell, &[0.1, -0.12, 0.02]))
            .collect();
        members.push(member(8, &[0.05, 0.0501, 0.0502]));
        let family = Family::after(&members, 3).expect("it has rounds enough");
        let least = family.mean(0).map(|mean| mean.spread);
        assert!(family.mean(8).map(|mean| mean.spread) >= least.map(|spread| spread * 0.9));
    }

    #[test]
    fn the_noisiest_of_its_kind_counts() {
        let of = |cell, between, logs: &[f64]| Member {
            between,
            ..member(cell, logs)
        };
        let quiet = [0.01, -0.01, 0.01, -0.01];
        let members = [
            of(0, [0, 1], &quiet),
            of(0, [0, 2], &[0.4, -0.4, 0.4, -0.4]),
            of(1, [0, 1], &quiet),
            of(1, [3, 4], &quiet),
        ];
        let family = Family::after(&members, 4).expect("it has rounds enough");
        let spread = |place: usize| family.mean(place).map_or(0.0, |mean| mean.spread);
        // Beside a noisy pair of its cell; alone in a quiet one.
        assert!(spread(0) > spread(2) && spread(0) < spread(1), "{family:?}");
        assert_eq!(spread(2), spread(3));
    }
}
