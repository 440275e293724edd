//! Whether the rounds of a cell look like repetitions of one thing.

use crate::estimate::finite;

/// Rounds from which the correlation of neighbours says anything.
const DEPENDENT_FROM: usize = 10;
/// Correlation of neighbours, by ranks, beyond which rounds are called dependent.
const DEPENDENT_ABOVE: f64 = 0.5;
/// Values that each of two modes has at least; a quarter of all where that is more.
const MODE_MIN: usize = 3;
/// Share of the whole range that lies empty between two modes.
const GAP_SHARE: f64 = 0.5;
/// Two modes are further apart than this share of the lower one.
const MODES_APART: f64 = 0.1;

/// Spearman's correlation of each round with the next; `None` where there are too few values or
/// all are equal.
pub fn neighbour_correlation(values: &[f64]) -> Option<f64> {
    if values.len() < 4 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    correlation(&ranks(&values[..values.len() - 1]), &ranks(&values[1..]))
}

/// Whether neighbouring rounds are correlated: beyond 0.5 at ten rounds or more. An interval over
/// such rounds is narrower than what it claims.
pub fn rounds_dependent(values: &[f64]) -> bool {
    values.len() >= DEPENDENT_FROM
        && neighbour_correlation(values).is_some_and(|one| one.abs() > DEPENDENT_ABOVE)
}

/// Two groups of values with nothing between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// Middle of the lower group.
    pub low: f64,
    /// Values in it.
    pub low_count: usize,
    /// Middle of the upper group.
    pub high: f64,
    /// Values in it.
    pub high_count: usize,
}

/// The two modes of values above zero: at least three values and a quarter of all on each side of
/// a gap that is more than half of the whole range, and 10 % or more between the groups' medians.
/// `None` where there are none.
pub fn modes(values: &[f64]) -> Option<Modes> {
    let sorted = finite(values);
    let range = sorted.last()? - sorted.first()?;
    let fewest = MODE_MIN.max(sorted.len().div_ceil(4));
    let splits = fewest..=sorted.len().checked_sub(fewest)?;
    let gap = |split: usize| sorted[split] - sorted[split - 1];
    let split = splits.max_by(|left, right| gap(*left).total_cmp(&gap(*right)))?;
    let (lower, upper) = sorted.split_at(split);
    let found = Modes {
        low: crate::estimate::middle(lower),
        low_count: lower.len(),
        high: crate::estimate::middle(upper),
        high_count: upper.len(),
    };
    let apart = found.high - found.low >= MODES_APART * found.low.abs();
    (gap(split) > GAP_SHARE * range && apart && range > 0.0).then_some(found)
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

fn correlation(left: &[f64], right: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (of_left, of_right) = (mean(left), mean(right));
    let pairs = || {
        left.iter()
            .zip(right)
            .map(|(l, r)| (l - of_left, r - of_right))
    };
    let both: f64 = pairs().map(|(l, r)| l * r).sum();
    let scale = pairs().map(|(l, _)| l * l).sum::<f64>() * pairs().map(|(_, r)| r * r).sum::<f64>();
    (scale > 0.0).then(|| both / scale.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_is_dependence_and_a_shuffle_is_not() {
        let drift: Vec<f64> = (0..12).map(f64::from).collect();
        assert!(rounds_dependent(&drift));
        assert!(!rounds_dependent(&drift[..9]), "nine rounds say nothing");
        assert!(!rounds_dependent(&[
            3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.0, 6.0, 5.3, 5.8
        ]));
        assert_eq!(neighbour_correlation(&[1.0; 12]), None);
    }

    #[test]
    fn two_groups_with_nothing_between_them_are_two_modes() {
        let found = modes(&[134.0, 173.0, 135.0, 172.0, 133.0, 174.0, 171.0, 136.0]).unwrap();
        assert_eq!((found.low_count, found.high_count), (4, 4));
        assert!((found.low - 134.5).abs() < 1e-9 && (found.high - 172.5).abs() < 1e-9);
    }

    #[test]
    fn outliers_and_small_steps_are_no_modes() {
        // Two of eight are outliers, not a mode.
        assert_eq!(modes(&[1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 3.0, 3.1]), None);
        // Two clear groups 4 % apart matter to nobody.
        assert_eq!(modes(&[1.0, 1.001, 0.999, 1.04, 1.041, 1.039]), None);
        assert_eq!(modes(&[1.0; 8]), None);
        assert_eq!(modes(&[1.0, 2.0, 1.0]), None);
        let even: Vec<f64> = (10..20).map(f64::from).collect();
        assert_eq!(modes(&even), None);
    }
}
