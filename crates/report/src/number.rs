//! Numbers and foreign text as a reader sees them: units, digits, thousands.
//!
//! Only for eyes: machine-readable formats carry the values themselves.

pub use bakeoff_audit::{count, counted};
use bakeoff_record::thousands;

pub(crate) use crate::safe::plain;

/// Nanoseconds as milliseconds with about three digits: `0.043`, `1.25`, `37.1`, `1,204`.
pub fn milliseconds(ns: f64) -> String {
    digits(ns / 1e6)
}

/// A value with about three digits, never in powers of ten: `0.043`, `1.25`, `37.1`, `1,204`.
pub fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => whole(value),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The same without zeros at the end, for figures that somebody chose: `1.6`, `50`, `1,204`.
pub fn trimmed(value: f64) -> String {
    let text = digits(value);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A whole number with its thousands apart: `1,234,567`.
pub fn whole(value: f64) -> String {
    let rounded = format!("{:.0}", value.abs());
    let sign = if value < 0.0 && rounded != "0" {
        "-"
    } else {
        ""
    };
    format!("{sign}{}", thousands(&rounded))
}

/// A share of a capacity, which may be beyond all of it, in per cent without the sign: `12.5`,
/// `200`.
pub fn share(share: f64) -> String {
    format!("{}", (share * 1000.0).round() / 10.0)
}

/// A share as a percentage without its unit: `0`, `<0.001`, `0.125`, `97.40`; less than none where
/// something grew that could have been saved: `-12.50`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0".into(),
        less if less > -0.001 && less < 0.0 => ">-0.001".into(),
        less if less < 0.0 && less > -1.0 => format!("{less:.3}"),
        less if less < 0.0 => format!("{less:.2}"),
        small if small < 0.001 => "<0.001".into(),
        small if small < 1.0 => format!("{small:.3}"),
        // 99.99 must not read as all.
        large if large < 100.0 => format!("{:.2}", large.min(99.99)),
        _ => "100".into(),
    }
}

/// Bytes in the unit that leaves one to four digits: `512 B`, `4.5 KB`, `13.2 MB`.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut value = value;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{value:.0} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// Bits per second.
pub(crate) fn bits(value: f64) -> String {
    if value < 1e9 {
        format!("{:.1} Mbit/s", value / 1e6)
    } else {
        format!("{:.2} Gbit/s", value / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_about_three_digits() {
        let rows = [
            (0.0427, "0.043"),
            (0.9996, "1.00"),
            (1.254, "1.25"),
            (9.996, "10.0"),
            (37.12, "37.1"),
            (99.96, "100"),
            (1204.4, "1,204"),
            (1_234_567.0, "1,234,567"),
        ];
        for (value, text) in rows {
            assert_eq!(digits(value), text);
        }
        assert_eq!(whole(-1234.0), "-1,234");
    }

    #[test]
    fn figures_that_were_chosen_end_without_zeros() {
        let rows = [
            (1.6, "1.6"),
            (50.0, "50"),
            (0.25, "0.25"),
            (100.0, "100"),
            (4e3, "4,000"),
        ];
        for (value, text) in rows {
            assert_eq!(trimmed(value), text);
        }
    }

    #[test]
    fn shares_never_round_to_none_or_all() {
        let rows = [
            (0.0, "0"),
            (1e-9, "<0.001"),
            (0.974, "97.40"),
            (0.999_99, "99.99"),
            (1.0, "100"),
            (-1e-9, ">-0.001"),
            (-0.004, "-0.400"),
            (-0.125, "-12.50"),
            (-1.5, "-150.00"),
        ];
        for (share, text) in rows {
            assert_eq!(percent(share), text);
        }
    }
}
