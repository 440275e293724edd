//! The interval of a share that was counted.

/// The normal quantile of 95 %, two-sided.
const Z: f64 = 1.959_963_984_540_054;
/// So many of `n` may be hidden, with 95 %, where none of `n` was seen: -ln(0.05), rounded up.
const NONE_SEEN: f64 = 3.0;

/// Where the share that `hits` of `of` were drawn from lies, with 95 %; `None` of none.
///
/// It is Wilson's interval (1927), which holds for small shares too. Without a hit it is the rule
/// of three (Hanley and Lippman-Hand, 1983): 0 to 3 of `of`. Both take each as independent of the
/// others.
pub fn share_interval(hits: u64, of: u64) -> Option<(f64, f64)> {
    if of == 0 {
        return None;
    }
    let n = of as f64;
    if hits == 0 {
        return Some((0.0, (NONE_SEEN / n).min(1.0)));
    }
    let share = hits as f64 / n;
    let square = Z * Z / n;
    let middle = share + square / 2.0;
    let half = Z
        * (share * (1.0 - share) / n + square / (4.0 * n))
            .max(0.0)
            .sqrt();
    let end = |at: f64| (at / (1.0 + square)).clamp(0.0, 1.0);
    Some((end(middle - half), end(middle + half)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of R: `prop.test(x, n, correct = FALSE)$conf.int`.
    #[test]
    fn intervals_are_those_of_wilson() {
        let check = |hits, of, low: f64, high: f64| {
            let (a, b) = share_interval(hits, of).unwrap();
            assert!((a - low).abs() < 5e-5 && (b - high).abs() < 5e-5, "{a} {b}");
        };
        check(15, 148, 0.0624, 0.1605);
        check(1, 29, 0.0061, 0.1718);
        check(29, 29, 0.8830, 1.0);
        check(81, 263, 0.2553, 0.3662);
    }

    #[test]
    fn none_seen_is_at_most_three() {
        assert_eq!(share_interval(0, 60_000), Some((0.0, 5e-5)));
        assert_eq!(share_interval(0, 2), Some((0.0, 1.0)));
        assert_eq!(share_interval(0, 0), None);
    }
}
