//! What two runs of one and the same server differ by.

use crate::walsh::walsh;

/// Floor where nothing was run twice: 3 %, what two runs of one server may differ by on a quiet
/// machine.
pub const FLOOR_UNMEASURED: f64 = 0.03;
/// No floor is below 1 %, however well the twins agreed.
pub const FLOOR_MIN: f64 = 0.01;
/// Rounds from which there is an interval at all.
pub const INTERVAL_FROM: usize = 3;
/// 80 % point of the normal distribution: the chance with which a difference of the size named
/// would be shown.
pub(crate) const NORMAL_80: f64 = 0.841_621_233_572_914_3;

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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_half_width_is_a_share_to_either_side() {
        let ratio = walsh(&[1.0, 1.1, 1.21, 1.1, 1.1, 1.1]).unwrap();
        assert!((half_width(&ratio) - 0.1).abs() < 1e-9, "{ratio:?}");
    }
}
