//! Numbers and lists inside sentences.

use std::borrow::Borrow;

use bakeoff_record::thousands;

/// A count with its thousands apart: `1,234,567`.
pub fn count(value: u64) -> String {
    thousands(&value.to_string())
}

/// A count with its noun: `1 round`, `3 rounds`.
pub fn counted(value: u64, noun: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(value))
}

/// `; so in 2 more cells`, behind what was seen in another one.
pub(crate) fn so_in_more(cells: usize) -> String {
    match cells {
        0 => String::new(),
        more => format!("; so in {}", counted(more as u64, "more cell")),
    }
}

/// A rate per second as a whole number with its thousands apart.
pub(crate) fn rate(per_s: f64) -> String {
    count(per_s.max(0.0).round() as u64)
}

/// A number of any size: whole from 100 on, with its thousands apart, and with so many decimals
/// below.
pub(crate) fn amount(value: f64, decimals: usize) -> String {
    match value {
        value if value >= 100.0 => rate(value),
        value => format!("{value:.decimals$}"),
    }
}

/// A share in percent: `0.4 %`, `12 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent > 0.0 && percent < 10.0 && percent.fract() != 0.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// A small share in percent, to the thousandth: `0.250`, `less than 0.001`, `99.999`.
pub(crate) fn thousandths(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.0005 => "less than 0.001".to_owned(),
        percent if percent < 100.0 => format!("{:.3}", percent.min(99.999)),
        percent => format!("{percent:.3}"),
    }
}

/// A time given in nanoseconds: `0.80 ms`, `12 ms`, `1.5 s`.
pub(crate) fn milliseconds(ns: f64) -> String {
    match ns / 1e6 {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}

/// A time in seconds that somebody chose: `0.5 s`, `5 s`.
pub(crate) fn seconds(s: f64) -> String {
    format!("{} s", (s * 1000.0).round() / 1000.0)
}

/// ` (in rounds 2 and 3)`, behind what happened in them.
pub(crate) fn in_rounds(rounds: &[u32]) -> String {
    match rounds {
        [] => String::new(),
        _ => format!(" (in {})", named_rounds(rounds)),
    }
}

/// `round 2`, `rounds 2 and 3`.
pub(crate) fn named_rounds(rounds: &[u32]) -> String {
    let shown: Vec<String> = rounds.iter().map(u32::to_string).collect();
    let noun = if shown.len() == 1 { "round" } else { "rounds" };
    format!("{noun} {}", list(&shown))
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<S: Borrow<str>>(names: &[S]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => {
            format!("{} and {}", rest.join(", "), last.borrow())
        }
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(value), text);
        }
    }

    #[test]
    fn small_amounts_have_decimals() {
        assert_eq!(amount(1_234.4, 2), "1,234");
        assert_eq!(amount(100.0, 1), "100");
        assert_eq!(amount(9.876, 2), "9.88");
        assert_eq!(amount(9.876, 1), "9.9");
    }

    #[test]
    fn shares_and_times_are_short() {
        let shares = [0.0, 0.004, 0.05, 0.123, 1.5].map(percent);
        assert_eq!(shares, ["0 %", "0.4 %", "5 %", "12 %", "150 %"]);
        let times = [800_000.0, 12.3e6, 1.54e9].map(milliseconds);
        assert_eq!(times, ["0.80 ms", "12 ms", "1.5 s"]);
    }
}
