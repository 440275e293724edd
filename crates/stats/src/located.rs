//! Where differences lie, with an interval that holds for all pairs of a table at once: for gates.

use crate::family::{Held, Member, rounds_for};
use crate::floor::INTERVAL_FROM;
use crate::looks::{FAMILY_ALPHA, Look, families};
use crate::student::student_point;

/// The part of the chance to err that the wider interval has.
const CERTAIN: f64 = 0.2;

/// Where the difference of a pair lies, and what more rounds would show of it. Logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The interval.
    pub held: Held,
    /// The same with a fifth of the chance to err: 99 % for the whole table, where it has 95 %.
    pub certain: Held,
    /// Rounds that it is of.
    pub rounds: usize,
    /// The round of the look that it is of.
    pub round: u32,
    /// Standard deviation of a round, to plan with.
    spread: f64,
    /// Standard errors that the interval reaches.
    reach: f64,
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
        rounds_for(self.spread, distance - self.fixed, self.reach)
    }
}

/// Locates each member of a family at each look that sees enough rounds of it. All intervals of a
/// family err with the looks' chances together.
pub fn locate(members: &[Member], looks: &[Look]) -> Vec<Vec<Located>> {
    let mut all = vec![Vec::new(); members.len()];
    for (look, family) in families(members, looks) {
        let count = family.count() as f64;
        let [reach, certain] = [1.0, CERTAIN].map(|part| family.reach(look.chance * part / count));
        for (place, located) in all.iter_mut().enumerate() {
            let Some(mean) = family.mean(place) else {
                continue;
            };
            located.push(Located {
                held: mean.within(reach),
                certain: mean.within(certain),
                rounds: mean.rounds,
                round: look.round,
                spread: mean.spread,
                reach,
                fixed: 0.0,
            });
        }
    }
    all
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
    let reach_at = |alpha: f64| student_point(alpha / (2 * pairs.max(1)) as f64, degrees);
    let held_at = |alpha: f64| {
        let half = if error > 0.0 {
            error * reach_at(alpha)
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
        certain: held_at(FAMILY_ALPHA * CERTAIN),
        rounds: first.len().min(second.len()),
        round: u32::MAX,
        // As if rounds were paired: the spread of the difference of two of them.
        spread: (left_variance + right_variance).sqrt(),
        reach: reach_at(FAMILY_ALPHA),
        fixed: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::tests::member;

    /// The first member after all its rounds.
    fn at_the_end(members: &[Member]) -> Located {
        let [found] = locate(members, &[Look::ALL_ROUNDS])[0]
            .clone()
            .try_into()
            .expect("one look");
        found
    }

    #[test]
    fn each_look_has_its_part_of_the_chance_and_what_an_earlier_one_could_not_use() {
        let one = [member(0, &[0.3, 0.2, 0.25, 0.31, 0.18])];
        let look = |round, chance| Look { round, chance };
        let found = locate(&one, &[look(2, 0.01), look(3, 0.01), look(5, 0.02)]).remove(0);
        let seen: Vec<(u32, usize)> = found.iter().map(|it| (it.round, it.rounds)).collect();
        assert_eq!(seen, [(3, 3), (5, 5)]);
        assert_eq!(locate(&one, &[look(3, 0.02)])[0], found[..1]);
        assert_eq!(locate(&one, &[look(5, 0.02)])[0], found[1..]);
    }

    #[test]
    fn what_is_certain_lies_farther_out_and_more_pairs_are_wider() {
        let logs = [0.3, 0.2, 0.25, 0.31, 0.18, 0.27, 0.22, 0.29, 0.24, 0.21];
        let beside = member(1, &[0.1, -0.12, 0.05, 0.02]);
        for rounds in [3, 4, 6, 7, 8, 10] {
            let one = member(0, &logs[..rounds]);
            let alone = at_the_end(std::slice::from_ref(&one));
            assert!(alone.certain.low < alone.held.low && alone.held.low < alone.held.mean);
            assert!(alone.certain.high > alone.held.high);
            let wider = at_the_end(&[one, beside.clone()]);
            assert!(rounds < 4 || wider.held.low < alone.held.low, "{rounds}");
        }
        let few = [member(0, &logs[..2])];
        assert_eq!(locate(&few, &[Look::ALL_ROUNDS]), [vec![]]);
        assert!(locate(&[], &[Look::ALL_ROUNDS]).is_empty());
    }

    #[test]
    fn a_shift_moves_the_interval_and_a_mirror_turns_it() {
        let logs = [0.3, 0.2, 0.25, 0.31, 0.18, 0.27, 0.22];
        let held = |logs: Vec<f64>| at_the_end(&[member(0, &logs)]).held;
        let plain = held(logs.to_vec());
        let shifted = held(logs.iter().map(|log| log + 1.0).collect());
        assert!((shifted.low - plain.low - 1.0).abs() < 1e-9);
        let mirrored = held(logs.iter().map(|log| -log).collect());
        assert!((mirrored.low + plain.high).abs() < 1e-9);
        assert!((mirrored.high + plain.low).abs() < 1e-9);
    }

    #[test]
    fn what_is_fixed_is_no_matter_of_rounds() {
        let logs = [0.1, 0.12, 0.08, 0.11, 0.09];
        let found = at_the_end(&[member(0, &logs)]);
        let rounds = found.rounds_to_decide(0.02).expect("200 are enough");
        let wider = found.widened(0.01);
        assert!(wider.rounds_to_decide(0.02) > Some(rounds));
        assert!(wider.hides(0.01) && !wider.hides(0.02));
        assert_eq!(wider.rounds_to_decide(0.01), None);
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
