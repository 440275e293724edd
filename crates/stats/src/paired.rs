//! Two series of rounds to the logarithms of their ratios.
//!
//! A round is the pair: both contenders met the same machine within minutes, so what the machine
//! did to both is not in the ratio.

use crate::estimate::Estimate;
use crate::walsh::walsh;

/// Logarithms of second over first, one for each round that has both.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paired {
    /// The logarithms, in the order of `rounds`.
    pub logs: Vec<f64>,
    /// The rounds, ascending.
    pub rounds: Vec<u32>,
}

impl Paired {
    /// Pairs the values of `second` with those of `first` of the same round. Values that are not
    /// above zero have no logarithm and are left out.
    pub fn new(first: &[(u32, f64)], second: &[(u32, f64)]) -> Self {
        let mut paired = Self::default();
        let mut second = second.to_vec();
        second.sort_by_key(|(round, _)| *round);
        for (round, value) in second {
            let twin = first.iter().find(|(other, _)| *other == round);
            let log = twin.map(|(_, base)| (value / base).ln());
            if let Some(log) = log.filter(|log| log.is_finite()) {
                paired.rounds.push(round);
                paired.logs.push(log);
            }
        }
        paired
    }

    /// Rounds that have both.
    pub fn len(&self) -> usize {
        self.logs.len()
    }

    /// Whether no round has both.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    /// The ratio over the rounds with its interval; `None` without rounds.
    pub fn ratio(&self) -> Option<Estimate> {
        let log = walsh(&self.logs)?;
        Some(Estimate {
            point: log.point.exp(),
            low: log.low.exp(),
            high: log.high.exp(),
            ..log
        })
    }

    /// Mean of the logarithms; 0 without any.
    pub fn mean(&self) -> f64 {
        self.logs.iter().sum::<f64>() / self.logs.len().max(1) as f64
    }

    /// Whether all rounds lie on the same side of 1, and beyond it.
    pub fn agree(&self) -> bool {
        !self.is_empty()
            && (self.logs.iter().all(|log| *log > 0.0) || self.logs.iter().all(|log| *log < 0.0))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// These logarithms, of the rounds from 1 on.
    pub(crate) fn pair(logs: &[f64]) -> Paired {
        Paired {
            logs: logs.to_vec(),
            rounds: (1..=logs.len() as u32).collect(),
        }
    }

    #[test]
    fn rounds_without_both_values_are_left_out() {
        let first = [(1, 10.0), (2, 20.0), (4, 10.0), (5, 0.0)];
        let second = [(4, 5.0), (1, 20.0), (3, 7.0), (5, 9.0)];
        let paired = Paired::new(&first, &second);
        assert_eq!(paired.rounds, [1, 4]);
        assert!((paired.logs[0] - 2.0_f64.ln()).abs() < 1e-12);
        assert!((paired.logs[1] + 2.0_f64.ln()).abs() < 1e-12);
        assert!(!paired.agree());
        assert!((paired.ratio().unwrap().point - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_round_has_a_mean_and_no_spread() {
        let paired = Paired::new(&[(1, 1.0)], &[(1, 4.0)]);
        assert!((paired.mean() - 4.0_f64.ln()).abs() < 1e-12);
        assert!(paired.agree());
        assert!(!Paired::default().agree());
        assert_eq!(Paired::default().ratio(), None);
    }
}
