//! Many looks at once, where some false ones may be among those found: an indication.

/// Corrects chances by Benjamini and Hochberg (1995), in the order given: 5 % of those at most 5 %
/// afterwards are expected to be false.
pub fn discoveries(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|left, right| chances[*right].total_cmp(&chances[*left]));
    let mut corrected = vec![1.0; chances.len()];
    let mut least = 1.0_f64;
    for (above, place) in order.into_iter().enumerate() {
        let rank = chances.len() - above;
        least = least.min(chances[place] * chances.len() as f64 / rank as f64);
        corrected[place] = least;
    }
    corrected
}
