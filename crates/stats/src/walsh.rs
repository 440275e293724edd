//! Few values to one number with its interval, from the averages of all pairs.
//!
//! A Walsh average is the mean of two of the values, or of one with itself. Their median is the
//! Hodges-Lehmann estimate, and two of them in order hold the centre of a symmetric distribution
//! with the confidence that the signed rank statistic of Wilcoxon gives exactly for this number of
//! values. Logarithms of ratios within a round are symmetric where two servers differ by a factor
//! alone, so these intervals are for ratios. Absolute values have [`crate::estimate`], which
//! assumes no symmetry.

use crate::estimate::{ALPHA, Estimate, IntervalKind, finite, middle};

/// Values up to which the distribution of the signed rank statistic is computed exactly. Beyond,
/// the normal approximation is off by less than one rank in ten thousand.
const EXACT_TO: usize = 120;
/// 97.5 % point of the normal distribution.
pub(crate) const NORMAL_975: f64 = 1.959_963_984_540_054;

/// The centre of `values` with its interval; `None` when there is none. Below six values the
/// interval is the smallest to the largest value, and is called that.
pub fn walsh(values: &[f64]) -> Option<Estimate> {
    let values = finite(values);
    let (first, last) = (*values.first()?, *values.last()?);
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (place, one) in values.iter().enumerate() {
        averages.extend(values[place..].iter().map(|other| (one + other) / 2.0));
    }
    averages.sort_by(f64::total_cmp);
    let (low, high, interval) = match walsh_rank(values.len()) {
        Some(rank) => (
            averages[rank],
            averages[averages.len() - 1 - rank],
            IntervalKind::Walsh95,
        ),
        None => (first, last, IntervalKind::Range),
    };
    Some(Estimate {
        point: middle(&averages),
        low,
        high,
        n: values.len(),
        interval,
    })
}

/// Position, from 0, of the Walsh average of `n` values that is the lower end of the narrowest
/// interval with at least 95 %; the upper end is as far from the largest. `None` below six.
///
/// The averages below the centre are as many as the signed rank statistic, so the ends at
/// position `c` miss it with `2 * P(T <= c)`.
pub(crate) fn walsh_rank(n: usize) -> Option<usize> {
    if n > EXACT_TO {
        let count = n as f64;
        let mean = count * (count + 1.0) / 4.0;
        let sd = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
        return Some((mean - NORMAL_975 * sd - 0.5).floor().max(0.0) as usize);
    }
    let mut rank = None;
    let mut below = 0.0;
    for (position, chance) in signed_rank(n).into_iter().enumerate() {
        below += chance;
        if 2.0 * below > ALPHA {
            break;
        }
        rank = Some(position);
    }
    rank
}

/// Chance of each value of the signed rank statistic of `n` values: the sum of those of 1 to n
/// that came up when each is tossed for.
pub(crate) fn signed_rank(n: usize) -> Vec<f64> {
    let mut chances = vec![0.0; n * (n + 1) / 2 + 1];
    chances[0] = 1.0;
    let mut largest = 0;
    for rank in 1..=n {
        largest += rank;
        for sum in (0..=largest).rev() {
            let with = if sum >= rank {
                chances[sum - rank]
            } else {
                0.0
            };
            chances[sum] = (chances[sum] + with) / 2.0;
        }
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_table_of_wilcoxon() {
        // Two-sided 5 % points of the signed rank statistic, as in any table, n = 6 to 20.
        let table = [0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52];
        for (n, rank) in (6..).zip(table) {
            assert_eq!(walsh_rank(n), Some(rank), "{n} values");
        }
        assert_eq!(walsh_rank(5), None);
        assert_eq!(walsh_rank(0), None);
    }

    #[test]
    fn the_approximation_meets_the_exact_distribution() {
        let exact = walsh_rank(EXACT_TO).unwrap() as f64;
        let approximate = {
            let n = EXACT_TO as f64;
            let sd = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
            (n * (n + 1.0) / 4.0 - NORMAL_975 * sd - 0.5).floor()
        };
        assert!((exact - approximate).abs() <= 4.0, "{exact} {approximate}");
    }

    #[test]
    fn six_values_have_their_range_and_the_centre_of_their_averages() {
        let estimate = walsh(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]).unwrap();
        assert_eq!((estimate.low, estimate.high), (1.0, 32.0));
        assert_eq!(estimate.interval, IntervalKind::Walsh95);
        // The 11th of 21 averages: that of 1 and 16.
        assert_eq!(estimate.point, 8.5);
    }

    #[test]
    fn below_six_values_the_interval_is_called_a_range() {
        let estimate = walsh(&[1.0, 3.0, 2.0]).unwrap();
        assert_eq!(
            (estimate.point, estimate.low, estimate.high),
            (2.0, 1.0, 3.0)
        );
        assert_eq!(estimate.interval, IntervalKind::Range);
        assert_eq!(walsh(&[]), None);
        assert_eq!(walsh(&[f64::NAN]), None);
    }
}
