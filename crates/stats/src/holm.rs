//! Many looks at once, where any false one would be a false alarm.

/// Corrects chances by Holm (1979), in the order given: with a chance of at least 95 % none of
/// those at most 5 % afterwards is false, whichever of the others are true and however they are
/// correlated.
pub(crate) fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|left, right| chances[*left].total_cmp(&chances[*right]));
    let mut corrected = vec![1.0; chances.len()];
    let mut most = 0.0_f64;
    for (smaller, place) in order.into_iter().enumerate() {
        let left = chances.len() - smaller;
        most = most.max(chances[place] * left as f64).min(1.0);
        corrected[place] = most;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_is_corrected_for_all_and_the_largest_for_itself() {
        for (chances, expected) in [
            (&[0.04][..], &[0.04][..]),
            (&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]),
            (&[0.5, 0.5, 0.75], &[1.0, 1.0, 1.0]),
        ] {
            let found = holm(chances);
            assert_eq!(found.len(), expected.len());
            for (one, other) in found.iter().zip(expected) {
                assert!((one - other).abs() < 1e-12, "{chances:?}: {found:?}");
            }
        }
        assert!(holm(&[]).is_empty());
    }
}
