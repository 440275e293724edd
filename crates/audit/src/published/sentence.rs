//! Figures inside the sentences of findings.

use crate::figures;

/// `35,409/s`, and one decimal below 100.
pub(super) fn rate(per_s: f64) -> String {
    format!("{}/s", amount(per_s))
}

/// A number as a reader would write it: with thousands apart, and one decimal below 100.
pub(super) fn amount(value: f64) -> String {
    if value < 100.0 && value.fract() != 0.0 {
        let text = format!("{value:.1}");
        text.strip_suffix(".0").unwrap_or(&text).to_owned()
    } else {
        figures::rate(value)
    }
}

/// `98.2 %`; small shares keep three digits.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent {
        p if p >= 10.0 => format!("{p:.1}"),
        p if p >= 0.1 => format!("{p:.2}"),
        p if p > 0.0 => format!("{p:.4}"),
        _ => "0".to_owned(),
    };
    format!("{text} %")
}

/// `0.22 ms`, `53.8 s`.
pub(super) fn time(seconds: f64) -> String {
    let digits = |value: f64| match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    };
    match seconds {
        s if s >= 1.0 => format!("{} s", digits(s)),
        s if s >= 1e-4 => format!("{} ms", digits(s * 1e3)),
        s if s > 0.0 => format!("{} µs", digits(s * 1e6)),
        _ => "0 ms".to_owned(),
    }
}

/// `9.82 Gbit/s`.
pub(super) fn bits(per_s: f64) -> String {
    match per_s {
        b if b >= 1e9 => format!("{:.2} Gbit/s", b / 1e9),
        b if b >= 1e6 => format!("{:.1} Mbit/s", b / 1e6),
        b => format!("{:.1} kbit/s", b / 1e3),
    }
}

/// `p99.9`.
pub(super) fn quantile(share: f64) -> String {
    format!("p{}", (share * 1e8).round() / 1e6)
}

/// Most stretches of lines that a sentence names.
const STRETCHES_MOST: usize = 40;

/// `lines 5-7, 17`; the first ones of very many.
pub(super) fn lines_of(lines: impl Iterator<Item = usize>) -> String {
    let mut stretches: Vec<(usize, usize)> = Vec::new();
    for line in lines {
        match stretches.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => stretches.push((line, line)),
        }
    }
    let is_one = stretches.len() == 1 && stretches.iter().all(|(first, last)| first == last);
    let shown: Vec<String> = stretches
        .iter()
        .take(STRETCHES_MOST)
        .map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    let more = if stretches.len() > STRETCHES_MOST {
        " and more"
    } else {
        ""
    };
    let noun = if is_one { "line" } else { "lines" };
    format!("{noun} {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_follow_each_other_are_a_stretch() {
        let text = |lines: &[usize]| lines_of(lines.iter().copied());
        assert_eq!(text(&[5, 6, 7, 17, 19, 20]), "lines 5-7, 17, 19-20");
        assert_eq!(text(&[4]), "line 4");
        let odd: Vec<usize> = (0..50).map(|index| index * 2 + 1).collect();
        assert!(text(&odd).ends_with("77, 79 and more"));
    }

    #[test]
    fn figures_are_short_and_have_units() {
        assert_eq!(
            (rate(35_409.2), rate(7.79)),
            ("35,409/s".into(), "7.8/s".into())
        );
        assert_eq!(
            (percent(0.9738), percent(0.000_02)),
            ("97.4 %".into(), "0.0020 %".into())
        );
        assert_eq!(
            (time(0.000_22), time(53.751)),
            ("0.22 ms".into(), "53.8 s".into())
        );
        assert_eq!(
            (time(0.000_05), time(0.0)),
            ("50.0 µs".into(), "0 ms".into())
        );
        assert_eq!(
            (quantile(0.999), quantile(0.95)),
            ("p99.9".into(), "p95".into())
        );
        assert_eq!(bits(9.815e9), "9.81 Gbit/s");
    }
}
