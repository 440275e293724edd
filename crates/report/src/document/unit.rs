//! What a column's values are, and the one way in which each is rounded for people.

use crate::number::{bits, bytes, digits, milliseconds, percent, whole};

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Words.
    Text,
    /// A count.
    Count,
    /// Requests per second.
    PerSecond,
    /// Nanoseconds, shown as milliseconds.
    Milliseconds,
    /// Nanoseconds of processor time, shown as microseconds.
    Microseconds,
    /// Bytes.
    Bytes,
    /// Bits per second.
    Bits,
    /// A share from 0 to 1, shown in per cent.
    Percent,
    /// A ratio to another contender, 1 where they are equal.
    Ratio,
    /// A number of processors.
    Processors,
}

impl Unit {
    /// The value as people read it.
    pub fn show(self, value: f64) -> String {
        match self {
            // 4 answers in 10 s are not 0 a second.
            Self::Text | Self::Processors | Self::PerSecond => digits(value),
            Self::Count => whole(value),
            Self::Milliseconds => milliseconds(value),
            Self::Microseconds => digits(value / 1e3),
            Self::Bytes => bytes(value),
            Self::Bits => bits(value),
            Self::Percent => percent(value),
            Self::Ratio => ratio(value),
        }
    }

    /// The unit as it stands below a title; empty where the title or the value says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Microseconds => "µs",
            Self::Percent => "%",
            _ => "",
        }
    }

    /// Whether values stand to the right.
    pub fn is_numeric(self) -> bool {
        self != Self::Text
    }
}

/// Two digits after the point near 1, more below 0.1, none from 100 on: `0.041`, `0.72`, `12.4`.
/// The page does the same (`times` in `web/src/format.ts`).
fn ratio(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => whole(value),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.0995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_rates_keep_their_digits() {
        let rows = [
            (0.4, "0.400"),
            (2.6, "2.60"),
            (99.96, "100"),
            (84_000.4, "84,000"),
        ];
        for (value, text) in rows {
            assert_eq!(Unit::PerSecond.show(value), text);
        }
        assert_eq!(Unit::Count.show(7.0), "7");
    }

    #[test]
    fn ratios_keep_two_digits_near_one() {
        let rows = [
            (0.0149, "0.015"),
            (0.0412, "0.041"),
            (0.7249, "0.72"),
            (0.996, "1.00"),
            (6.0, "6.00"),
            (12.44, "12.4"),
            (99.6, "99.6"),
            (1204.0, "1,204"),
        ];
        for (value, text) in rows {
            assert_eq!(Unit::Ratio.show(value), text);
        }
    }
}
