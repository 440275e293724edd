//! What two runs of one and the same server differ by, and what a plan would need to see more.

use std::cell::OnceCell;

use crate::flips::FAMILY_ALPHA;
use crate::student::student_point;
use crate::walsh::{NORMAL_975, walsh};

/// Floor where nothing was run twice: 3 %, what two runs of one server may differ by on a quiet
/// machine.
pub const FLOOR_UNMEASURED: f64 = 0.03;
/// No floor is below 1 %, however well the twins agreed.
pub const FLOOR_MIN: f64 = 0.01;
/// Rounds from which there is an interval at all.
pub const INTERVAL_FROM: usize = 3;
/// Rounds from which sign flips can decide: one of 2^6 is 1.6 %.
pub const FLIPS_FROM: usize = 6;
/// 80 % point of the normal distribution: the chance with which a difference of the size named
/// would be shown.
pub(crate) const NORMAL_80: f64 = 0.841_621_233_572_914_3;
/// Rounds beyond which no advice is given.
pub const ROUNDS_ADVISED_MAX: usize = 200;

/// The floor of a metric, as a share: the farther end of the 95 % interval of the logarithms of
/// all ratios between twins, and [`FLOOR_MIN`] at least. `None` without twins.
///
/// Which of two twins is the first is arbitrary, so the logarithms are symmetric and the interval
/// is that of [`walsh`]: an interval of ranks reaches to the farthest of up to eight values.
pub fn aa_floor(logs: &[f64]) -> Option<f64> {
    let interval = walsh(logs)?;
    let farther = interval.low.abs().max(interval.high.abs());
    Some(farther.exp_m1().max(FLOOR_MIN))
}

/// Half of the width of a ratio's interval, as the share that it reaches to either side.
pub fn half_width(ratio: &crate::Estimate) -> f64 {
    ((ratio.high / ratio.low).ln() / 2.0).exp_m1()
}

/// Rounds with which the interval of a ratio would lie on one side of 1 with 80 %, where its ends
/// come nearer to the point with the root of the rounds; `None` where more than 200 would be
/// needed.
pub fn rounds_clear_of_one(ratio: &crate::Estimate) -> Option<u32> {
    let point = ratio.point.ln();
    let near = if point > 0.0 {
        ratio.low.ln()
    } else {
        ratio.high.ln()
    };
    let reach = (point - near).abs() * (1.0 + NORMAL_80 / NORMAL_975);
    let rounds = (ratio.n as f64 * (reach / point).powi(2)).ceil();
    (rounds <= ROUNDS_ADVISED_MAX as f64).then_some(rounds as u32)
}

/// What a family of tests can see, from the chance that it leaves to a single one.
#[derive(Debug, Clone, PartialEq)]
pub struct Power {
    /// Chance that is left to one side of one pair.
    tail: f64,
    /// The t that a mean has to reach with each number of rounds from 0 on, as far as it was asked.
    critical: Vec<OnceCell<f64>>,
}

impl Power {
    /// For a table of `pairs` pairs, corrected by Bonferroni.
    pub fn of_pairs(pairs: usize) -> Self {
        Self::of_tail(FAMILY_ALPHA / (2 * pairs.max(1)) as f64)
    }

    /// For a family whose largest statistic stays below `critical` with `rounds` rounds.
    pub fn of_flips(critical: f64, rounds: usize) -> Self {
        let degrees = rounds.saturating_sub(1).max(1) as f64;
        let room = (1.0 - critical * critical).max(1e-9);
        let t = critical * (degrees / room).sqrt();
        Self::of_tail(crate::student::student_tail(t, degrees))
    }

    /// The same with this share of the chance to err.
    pub(crate) fn shared(self, share: f64) -> Self {
        Self::of_tail(self.tail * share)
    }

    fn of_tail(tail: f64) -> Self {
        Self {
            tail,
            critical: vec![OnceCell::new(); ROUNDS_ADVISED_MAX + 1],
        }
    }

    fn critical(&self, rounds: usize) -> f64 {
        let rounds = rounds.min(ROUNDS_ADVISED_MAX);
        let point = || match rounds {
            0 | 1 => f64::INFINITY,
            _ => student_point(self.tail, (rounds - 1) as f64),
        };
        *self.critical[rounds].get_or_init(point)
    }

    /// The smallest logarithm of a ratio that `rounds` rounds of this spread would show with 80 %,
    /// beyond a floor; infinite below two rounds.
    pub fn smallest_shown(&self, sd: f64, rounds: usize, floor: f64) -> f64 {
        floor + (self.critical(rounds) + NORMAL_80) * sd / (rounds.max(1) as f64).sqrt()
    }

    /// Rounds that would show a ratio with this logarithm with 80 %; `None` within the floor, or
    /// where more than 200 would be needed.
    pub fn rounds_needed(&self, log: f64, sd: f64, floor: f64) -> Option<u32> {
        if log.abs() <= floor {
            return None;
        }
        let enough = |rounds| self.smallest_shown(sd, rounds, floor) <= log.abs();
        if !enough(ROUNDS_ADVISED_MAX) {
            return None;
        }
        // More rounds show less, so the first that are enough are found by halving.
        let (mut few, mut many) = (FLIPS_FROM - 1, ROUNDS_ADVISED_MAX);
        while many - few > 1 {
            let middle = usize::midpoint(few, many);
            if enough(middle) {
                many = middle;
            } else {
                few = middle;
            }
        }
        u32::try_from(many).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::tests::pair;

    #[test]
    fn twins_that_agree_leave_one_percent_and_others_what_they_differ_by() {
        assert_eq!(aa_floor(&[]), None);
        assert_eq!(
            aa_floor(&[0.001, -0.001, 0.0, 0.002, 0.001, -0.002]),
            Some(FLOOR_MIN)
        );
        // Six values: the smallest and the largest; the farther of them is -0.08.
        let floor = aa_floor(&[-0.08, 0.01, 0.02, 0.0, 0.03, 0.01]).unwrap();
        assert!((floor - 0.08_f64.exp_m1()).abs() < 1e-12);
        // Seven: the third smallest of 28 averages, so that one of them does not decide alone.
        let floor = aa_floor(&[-0.55, 0.01, -0.02, 0.03, 0.0, -0.01, 0.02]).unwrap();
        assert!((floor - 0.28_f64.exp_m1()).abs() < 0.01, "{floor}");
    }

    #[test]
    fn more_rounds_show_less() {
        let power = Power::of_pairs(24);
        let shown: Vec<f64> = [6, 8, 10, 12, 20]
            .map(|rounds| power.smallest_shown(0.06, rounds, 0.01))
            .to_vec();
        assert!(shown.is_sorted_by(|few, more| few > more), "{shown:?}");
        assert_eq!(power.smallest_shown(0.06, 1, 0.01), f64::INFINITY);
    }

    #[test]
    fn the_rounds_needed_are_the_first_that_show_it() {
        let power = Power::of_pairs(3);
        let rounds = power.rounds_needed(0.1, 0.06, 0.01).unwrap();
        assert!(power.smallest_shown(0.06, rounds as usize, 0.01) <= 0.1);
        assert!(power.smallest_shown(0.06, rounds as usize - 1, 0.01) > 0.1);
        assert_eq!(power.rounds_needed(-0.1, 0.06, 0.01), Some(rounds));
        assert_eq!(power.rounds_needed(0.005, 0.06, 0.01), None);
        assert_eq!(power.rounds_needed(0.02, 3.0, 0.01), None);
        assert_eq!(power.rounds_needed(1.0, 0.0, 0.01), Some(6));
    }

    #[test]
    fn an_interval_leaves_one_as_its_ends_come_nearer_to_the_point() {
        let rounds = |logs: &[f64]| rounds_clear_of_one(&pair(logs).ratio().unwrap());
        // 1.093 (0.996 to 1.2) of 10 rounds: 10 ((1 + 0.8416 / 1.9600) 0.0932 / 0.0892)^2 = 22.3.
        let (up, level) = (1.2_f64.ln(), 0.996_f64.ln());
        let two_modes = [up, up, up, up, up, up, level, level, level, level];
        assert_eq!(rounds(&two_modes), Some(23));
        assert_eq!(rounds(&two_modes.map(|log| -log)), Some(23));
        assert_eq!(rounds(&[0.1, -0.1, 0.2, -0.2, 0.3, -0.3]), None);
        assert_eq!(rounds(&[0.2, -0.19, 0.2, -0.19, 0.2, -0.19]), None);
    }

    #[test]
    fn the_half_width_is_a_share_to_either_side() {
        let ratio = walsh(&[1.0, 1.1, 1.21, 1.1, 1.1, 1.1]).unwrap();
        assert!((half_width(&ratio) - 0.1).abs() < 1e-9, "{ratio:?}");
    }
}
