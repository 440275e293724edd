//! A table of pairs, looked at as one: what may be said of each without a false word in twenty
//! tables.
//!
//! From six rounds on sign flips decide ([`crate::flips`]), below that the pooled spread
//! ([`crate::pooled`]). Flips need independent rounds. Where the rounds of the whole table hang
//! together, a difference has to pass both. Where some pairs have fewer rounds, each method has the
//! share of the chance to err that its pairs are of all: the pooled spread is corrected over all
//! pairs in any case, and the chances of flips are divided by their share.
//!
//! Six of eight rounds agree by chance in 8 of 256 flips. Pairs that lost other rounds each do so
//! in other flips, and three such sets are beyond 5 % together: none of them can be shown, and
//! nothing beside them. So flips look at pairs of as many rounds or more as let the most be shown,
//! which is decided without the signs of the rounds.

use std::collections::BTreeSet;

use crate::flips::{FAMILY_ALPHA, could_show, flips};
use crate::floor::{FLIPS_FROM, Power};
use crate::paired::Paired;
use crate::pooled::{Held, Pool};
use crate::simultaneous::flips_share;

/// What may be said of one pair of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// What decided.
    pub method: Method,
    /// Chance, corrected over the table, of rounds as far above the floor as these between equals.
    pub higher: f64,
    /// The same for below.
    pub lower: f64,
    /// Chance of this pair alone, on whichever side: for what is corrected in another way.
    pub alone: f64,
    /// Interval that holds over the whole table, where the pooled spread gave one.
    pub held: Option<Held>,
    /// Smallest logarithm of a ratio that would have been shown with 80 %; infinite where none.
    pub smallest_shown: f64,
    /// Rounds that would show the ratio as it is with 80 %; `None` within the floor.
    pub rounds_needed: Option<u32>,
}

/// What decided about a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Sign flips.
    Flips,
    /// The pooled spread: fewer than six rounds, or fewer than the pairs that flips look at.
    Pooled,
}

impl Seen {
    /// Whether the second is shown to be higher.
    pub fn is_higher(&self) -> bool {
        self.higher <= FAMILY_ALPHA
    }

    /// Whether the second is shown to be lower.
    pub fn is_lower(&self) -> bool {
        self.lower <= FAMILY_ALPHA
    }

    /// The smaller of the two corrected chances.
    pub fn p_value(&self) -> f64 {
        self.higher.min(self.lower)
    }
}

/// Looks at all pairs of a table. `blocks` names for each pair the workload and load that it is
/// of, `floor` is a logarithm of at least 0, and the seed draws flips from 13 rounds on.
pub fn look(pairs: &[Paired], blocks: &[usize], floor: f64, seed: u64) -> Vec<Seen> {
    let from = flips_from(pairs, floor, seed);
    let many = |pair: &&Paired| pair.len() >= from;
    let flipped: Vec<Paired> = pairs.iter().filter(many).cloned().collect();
    let pool = Pool::new(pairs, blocks);
    let found = flips(&flipped, floor, seed);
    let share = flips_share(pairs, from);
    let few_power = Power::of_pairs(pairs.len());
    let rounds = flipped.iter().map(Paired::len).max().unwrap_or(0);
    let many_power = Power::of_flips(found.critical, rounds).shared(share);
    let mut tested = found.tested.iter();
    let of_pair = |pair: &Paired| {
        let spread = pool.map_or(0.0, |pool| pool.spread(pair));
        let held = pool.and_then(|pool| pool.interval(pair));
        let pooled = pool
            .and_then(|pool| pool.p_value(pair, floor))
            .unwrap_or(1.0);
        let pooled_alone = pool
            .and_then(|pool| pool.p_value_alone(pair, floor))
            .unwrap_or(1.0);
        let (up, down) = if pair.mean() > 0.0 {
            (pooled, 1.0)
        } else {
            (1.0, pooled)
        };
        let by_flips = many(&pair).then(|| tested.next()).flatten();
        match by_flips {
            Some(one) => {
                let dependent = pool.is_some_and(|pool| pool.dependent);
                let guard =
                    |flips: f64, pooled: f64| if dependent { flips.max(pooled) } else { flips };
                let chance = |flips: f64| (flips / share).min(1.0);
                let log = pair.ratio().map_or(0.0, |ratio| ratio.point.ln());
                Seen {
                    method: Method::Flips,
                    higher: guard(chance(one.higher), up),
                    lower: guard(chance(one.lower), down),
                    alone: guard(one.alone, pooled_alone),
                    held: None,
                    smallest_shown: many_power.smallest_shown(spread, pair.len(), floor),
                    rounds_needed: many_power.rounds_needed(log, spread, floor),
                }
            }
            None => Seen {
                method: Method::Pooled,
                higher: up,
                lower: down,
                alone: pooled_alone,
                held,
                smallest_shown: pool
                    .and_then(|pool| pool.smallest_shown(pair, floor))
                    .unwrap_or(f64::INFINITY),
                rounds_needed: pool
                    .and_then(|_| few_power.rounds_needed(pair.mean(), spread, floor)),
            },
        }
    };
    pairs.iter().map(of_pair).collect()
}

/// Rounds from which flips look at a pair: those with which the most hypotheses could be shown. Of
/// several the most rounds, because the others then take as much as they bring.
fn flips_from(pairs: &[Paired], floor: f64, seed: u64) -> usize {
    let rounds = pairs.iter().map(Paired::len);
    let rounds: BTreeSet<usize> = rounds.filter(|rounds| *rounds >= FLIPS_FROM).collect();
    if rounds.len() < 2 {
        return FLIPS_FROM;
    }
    let (mut chosen, mut most) = (FLIPS_FROM, 0);
    for from in rounds {
        let of_these = pairs.iter().filter(|pair| pair.len() >= from);
        let of_these: Vec<Paired> = of_these.cloned().collect();
        let alpha = FAMILY_ALPHA * flips_share(pairs, from);
        let shown = could_show(&of_these, floor, seed, alpha);
        if shown > 0 && shown >= most {
            (chosen, most) = (from, shown);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::tests::pair;

    #[test]
    fn rounds_decide_the_method() {
        let few = pair(&[1.4, 1.39, 1.41]);
        let many = pair(&[0.2, 0.21, 0.19, 0.2, 0.22, 0.18, 0.2, 0.21]);
        let seen = look(&[few.clone(), many.clone()], &[0, 1], 0.01, 1);
        assert_eq!(
            (seen[0].method, seen[1].method),
            (Method::Pooled, Method::Flips)
        );
        assert!(seen[0].held.is_some() && seen[1].held.is_none());
        // Both at work: each has the share of its pairs in the chance.
        let alone = look(&[many], &[1], 0.01, 1)[0];
        assert!(alone.is_higher() && alone.higher < seen[1].higher);
    }

    /// Six rounds that agree have a chance of 2 in 64. One pair with fewer rounds took from all
    /// others what they show, when each method had half of the chance.
    #[test]
    fn a_pair_with_fewer_rounds_leaves_the_others_what_they_show() {
        let six = |mean: f64| pair(&[0.0, 0.01, -0.01, 0.02, -0.02, 0.0].map(|log| mean + log));
        let mut table: Vec<Paired> = (0..11).map(|_| six(0.4)).collect();
        table.push(pair(&[0.3, 0.31, 0.29, 0.3, 0.32]));
        let blocks: Vec<usize> = (0..12).collect();
        let seen = look(&table, &blocks, 0.01, 1);
        assert!(seen.iter().all(Seen::is_higher), "{seen:#?}");
    }

    /// Three workloads lost two rounds of eight each, and not the same. Each of their pairs agrees
    /// in all rounds left, which is more than chance does in a pair, and not in the three sets: 20
    /// of 256 flips. The complete workload is shown by its own 2 of 256.
    #[test]
    fn rounds_missing_elsewhere_leave_a_complete_workload_what_it_shows() {
        let eight = |mean: f64, spread: f64| {
            let around = [0.0, 1.0, -1.0, 2.0, -2.0, 1.0, -1.0, 0.5];
            pair(&around.map(|one| mean + one * spread))
        };
        let without = |missing: [u32; 2], mean: f64| {
            let whole = eight(mean, 0.0005);
            let rounds = whole.rounds.into_iter().zip(whole.logs);
            let (rounds, logs) = rounds.filter(|(round, _)| !missing.contains(round)).unzip();
            Paired { logs, rounds }
        };
        let mut table: Vec<Paired> = [0.1, -0.2, 0.3].map(|mean| eight(mean, 0.01)).to_vec();
        for missing in [[1, 2], [4, 5], [7, 8]] {
            table.extend([0.02, -0.03, 0.05].map(|mean| without(missing, mean)));
        }
        let blocks: Vec<usize> = (0..12).map(|pair| pair / 3).collect();
        let seen = look(&table, &blocks, 0.01, 1);
        let shown = |one: &Seen| one.method == Method::Flips && one.p_value() <= FAMILY_ALPHA;
        assert!(seen[..3].iter().all(shown), "{seen:#?}");
        assert!(seen[3..].iter().all(|one| one.method == Method::Pooled));
    }

    #[test]
    fn a_pair_with_a_round_less_is_flipped_with_the_others() {
        let seven = |mean: f64| pair(&[0.0, 0.01, -0.01, 0.02, -0.02, 0.0, 0.01].map(|x| mean + x));
        let mut table: Vec<Paired> = (0..11).map(|_| seven(0.4)).collect();
        table.push(pair(&[0.4, 0.41, 0.39, 0.4, 0.42, 0.38]));
        let blocks: Vec<usize> = (0..12).collect();
        let seen = look(&table, &blocks, 0.01, 1);
        let shown = |one: &Seen| one.method == Method::Flips && one.is_higher();
        assert!(seen.iter().all(shown), "{seen:#?}");
    }

    /// An interval beyond the floor beside "cannot tell" would contradict it.
    #[test]
    fn the_interval_and_the_chance_agree_where_both_methods_are_at_work() {
        let many = pair(&[0.2, 0.21, 0.19, 0.2, 0.22, 0.18, 0.2, 0.21]);
        let mut shown = 0;
        for step in 0..400 {
            let mean = f64::from(step) * 0.005;
            let few = pair(&[mean, mean + 0.1, mean - 0.1]);
            let seen = look(&[few, many.clone()], &[0, 1], 0.01, 1)[0];
            let held = seen.held.unwrap();
            assert_eq!(held.low > 0.01, seen.is_higher(), "{mean}: {seen:?}");
            shown += usize::from(seen.is_higher());
        }
        assert!((1..400).contains(&shown), "{shown}");
    }

    #[test]
    fn nothing_to_look_at_is_fine() {
        assert!(look(&[], &[], 0.01, 1).is_empty());
        let seen = look(&[pair(&[]), pair(&[0.5])], &[0, 1], 0.01, 1);
        assert!(
            seen.iter()
                .all(|one| one.p_value() == 1.0 && one.smallest_shown.is_infinite())
        );
    }

    #[test]
    fn the_chance_of_a_pair_alone_is_its_own() {
        let pairs: Vec<Paired> = (0..20)
            .map(|place| pair(&[0.02 + f64::from(place) * 0.01, 0.05, -0.01]))
            .collect();
        let blocks: Vec<usize> = (0..20).collect();
        for one in look(&pairs, &blocks, 0.0, 1) {
            // Corrected over the table by Bonferroni it is twenty times that.
            let corrected = (one.alone * 20.0).min(1.0);
            assert!((one.p_value() - corrected).abs() < 1e-9, "{one:?}");
            assert!(one.alone < 1.0, "{one:?}");
        }
    }

    #[test]
    fn rounds_that_hang_together_must_pass_both() {
        // Each pair drifts up: the signs agree within a pair's halves, flips would believe it.
        let drift: Vec<Paired> = (0..12)
            .map(|start| {
                let wave = |round: u32| 0.06 * (f64::from(round) * 0.6 + f64::from(start)).sin();
                pair(&(0..10).map(|round| wave(round) + 0.05).collect::<Vec<_>>())
            })
            .collect();
        let blocks: Vec<usize> = (0..12).collect();
        let pool = Pool::new(&drift, &blocks).unwrap();
        assert!(pool.dependent, "{pool:?}");
        assert!(
            look(&drift, &blocks, 0.0, 1)
                .iter()
                .all(|one| !one.is_higher() && one.alone > 0.05)
        );
    }
}
