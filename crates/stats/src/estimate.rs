//! Few values to one number with its interval: the median, and order statistics around it.
//!
//! For absolute values; ratios have [`crate::walsh`]. Nothing is assumed about the distribution of
//! the values but that rounds are independent.
//! Below six rounds no pair of order statistics holds the median with 95 %, so the range is
//! given instead, and is called what it is.

use serde::Serialize;

/// Rounds from which the sample's smallest and largest value hold the median with at least 95 %:
/// `1 - 2 * 0.5^6 = 0.969`, while `1 - 2 * 0.5^5 = 0.9375` (R18).
pub const CONFIDENCE_ROUNDS: usize = 6;
/// Accepted chance that an interval misses the median.
pub(crate) const ALPHA: f64 = 0.05;

/// 95 % point of the normal distribution.
pub(crate) const NORMAL_95: f64 = 1.644_853_626_951_472_2;

/// A number with its interval and its count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Estimate {
    /// Median over rounds; for ratios that of their Walsh averages.
    pub point: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Rounds that gave a value.
    pub n: usize,
    /// What `low` and `high` are.
    pub interval: IntervalKind,
}

/// What the two ends of an interval are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// Smallest and largest value; too few rounds for more.
    Range,
    /// Order statistics that hold the median with at least 95 %, whatever the distribution.
    MedianConfidence95,
    /// Walsh averages that hold the centre of a symmetric distribution with at least 95 %.
    Walsh95,
    /// Student's interval with the spread of the whole campaign, good for all pairs of the metric
    /// at once.
    Pooled95,
}

impl IntervalKind {
    /// The kind as text, for a caption.
    pub fn caption(self) -> &'static str {
        match self {
            Self::Range => "smallest to largest round",
            Self::MedianConfidence95 => "95 % interval of the median (order statistics)",
            Self::Pooled95 => "95 % interval over all pairs, with the spread of the whole campaign",
            Self::Walsh95 => "95 % interval of the centre (Walsh averages)",
        }
    }
}

/// The median of `values` with its interval; `None` when there is none.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let sorted = finite(values);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let point = middle(&sorted);
    let (low, high, interval) = match median_ranks(sorted.len()) {
        Some((low, high)) => (sorted[low], sorted[high], IntervalKind::MedianConfidence95),
        None => (first, last, IntervalKind::Range),
    };
    Some(Estimate {
        point,
        low,
        high,
        n: sorted.len(),
        interval,
    })
}

/// The middle value, or the mean of the two middle ones; `None` when empty.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = finite(values);
    (!sorted.is_empty()).then(|| middle(&sorted))
}

/// Positions, from 0, of the two order statistics of `n` values that hold the median with at
/// least 95 %, as near to each other as that allows; `None` below [`CONFIDENCE_ROUNDS`].
///
/// The number of values below the median is binomial(n, 1/2), so the k-th smallest and the
/// k-th largest miss it with `2 * P(B <= k - 1)`.
pub(crate) fn median_ranks(n: usize) -> Option<(usize, usize)> {
    let mut best = None;
    let mut below = 0.0;
    for position in 0..n / 2 {
        below += binomial_half(n, position);
        if 2.0 * below > ALPHA {
            break;
        }
        best = Some((position, n - 1 - position));
    }
    best
}

/// Rank, from 1, of the order statistic of `n` values that the `q`-quantile of what they were drawn
/// from is not below, with at least 95 %; `None` where not even the smallest one is that.
///
/// The number of values above the quantile is binomial(n, 1 - q): the k-th largest is at most the
/// quantile unless k values or more are above it. Beyond a variance of 1,000 the binomial is taken
/// as normal.
pub fn quantile_floor_rank(n: u64, q: f64) -> Option<u64> {
    let above = 1.0 - q;
    if n == 0 || !(q > 0.0 && above > 0.0) {
        return None;
    }
    let count = n as f64;
    let variance = count * q * above;
    if variance > 1_000.0 {
        let at_most = count * above + NORMAL_95 * variance.sqrt() - 0.5;
        return n
            .checked_sub(at_most.ceil() as u64)
            .filter(|rank| *rank > 0);
    }
    // ln P(B = k), from k = 0 on, and P(B <= k).
    let mut log = count * q.ln();
    let mut at_most = 0.0;
    for k in 0..n {
        at_most += log.exp();
        if at_most >= 1.0 - ALPHA {
            return Some(n - k);
        }
        log += ((n - k) as f64 / (k + 1) as f64).ln() + (above / q).ln();
    }
    None
}

/// P(B = k) for B binomial(n, 1/2), by logarithms so that large n neither over- nor underflow.
fn binomial_half(n: usize, k: usize) -> f64 {
    let choose: f64 = (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum();
    (choose - n as f64 * std::f64::consts::LN_2).exp()
}

/// Those that are numbers, ascending.
pub(crate) fn finite(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

pub(crate) fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        (sorted[half - 1] + sorted[half]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(B <= 0) = 0.99^14 = 0.869 and P(B <= 1) = 0.9916 for B binomial(14, 0.01).
    #[test]
    fn one_value_above_the_rest_does_not_show_where_a_quantile_lies() {
        assert_eq!(quantile_floor_rank(14, 0.99), Some(13));
        assert_eq!(quantile_floor_rank(5, 0.99), Some(5), "0.99^5 = 0.951");
        assert_eq!(quantile_floor_rank(6, 0.99), Some(5), "0.99^6 = 0.941");
        // Four heads or fewer of four are certain, three or fewer are not 95 %.
        assert_eq!(quantile_floor_rank(4, 0.5), None);
        assert_eq!(quantile_floor_rank(5, 0.5), Some(1), "1 - 0.5^5 = 0.969");
        assert_eq!(quantile_floor_rank(0, 0.5), None);
        assert_eq!(quantile_floor_rank(10, 1.0), None);
    }

    #[test]
    fn the_rank_of_many_values_goes_on_from_that_of_fewer() {
        for q in [0.5, 0.99] {
            let mut last = 0.0;
            for n in [100_u64, 1_000, 10_000, 90_000, 120_000, 1_000_000] {
                let rank = quantile_floor_rank(n, q).unwrap();
                let share = rank as f64 / n as f64;
                assert!(share < q && share > last, "{n} values: {share} of {q}");
                last = share;
            }
        }
    }

    #[test]
    fn below_six_rounds_the_interval_is_the_range() {
        let three = estimate(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(
            (three.point, three.low, three.high, three.n),
            (2.0, 1.0, 3.0, 3)
        );
        assert_eq!(three.interval, IntervalKind::Range);
        let four = estimate(&[4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((four.point, four.interval), (2.5, IntervalKind::Range));
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[f64::NAN]), None);
    }

    #[test]
    fn ranks_are_those_of_the_binomial_table() {
        // n = 5: 2 * 1/32 = 0.0625 > 0.05: no interval.
        assert_eq!(median_ranks(5), None);
        // n = 6: 2 * 1/64 = 0.03125; adding 6/64 gives 0.21875.
        assert_eq!(median_ranks(6), Some((0, 5)));
        // n = 8: 2 * (1 + 8)/256 = 0.0703 > 0.05, so the outermost pair.
        assert_eq!(median_ranks(8), Some((0, 7)));
        // n = 9: 2 * (1 + 9)/512 = 0.0391.
        assert_eq!(median_ranks(9), Some((1, 7)));
        // n = 10: 2 * (1 + 10)/1024 = 0.0215; with 45 more 0.109.
        assert_eq!(median_ranks(10), Some((1, 8)));
        // n = 12: 2 * (1 + 12 + 66)/4096 = 0.0386.
        assert_eq!(median_ranks(12), Some((2, 9)));
        // n = 20: 2 * 21700/1048576 = 0.0414 for k = 6, the classical table's 6th and 15th.
        assert_eq!(median_ranks(20), Some((5, 14)));
    }

    #[test]
    fn from_nine_rounds_the_interval_is_narrower_than_the_range() {
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        let estimate = estimate(&nine).unwrap();
        assert_eq!(
            (estimate.point, estimate.low, estimate.high),
            (5.0, 2.0, 8.0)
        );
        assert_eq!(estimate.interval, IntervalKind::MedianConfidence95);
    }
}
