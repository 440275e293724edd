//! Lengths of time as people write them: `5s`, `200ms`, `1m`, `1m30s`.
//!
//! Written back, a duration takes the largest unit that divides it, so nothing is rounded.

use std::time::Duration;

/// Units with their length in nanoseconds, largest first.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a duration: write a number and a unit, such as 5s, 200ms or 1m30s")]
pub struct DurationError {
    /// What was written.
    pub text: String,
}

/// Reads a duration such as `5s`, `1.5s`, `200ms` or `1m30s`; units are h, m, s, ms, us and ns.
///
/// # Errors
/// A number without a unit, an unknown unit, a sign, or more than 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let wrong = || DurationError {
        text: text.to_owned(),
    };
    let mut rest = text.trim();
    let mut total_ns: u64 = 0;
    while !rest.is_empty() {
        let (number, after) = split_where(rest, |c| !c.is_ascii_digit() && c != '.');
        let (unit, after) = split_where(after, |c| !c.is_ascii_alphabetic());
        let (_, unit_ns) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(wrong)?;
        let part_ns = parts_of(number, *unit_ns).ok_or_else(wrong)?;
        total_ns = total_ns.checked_add(part_ns).ok_or_else(wrong)?;
        rest = after.trim_start();
    }
    if text.trim().is_empty() {
        Err(wrong())
    } else {
        Ok(Duration::from_nanos(total_ns))
    }
}

/// Writes a duration so that [`parse_duration`] gives the same one back; `90s`, not `1m30s`.
/// More than 584 years are written as that.
pub fn format_duration(duration: Duration) -> String {
    let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    if ns == 0 {
        return "0s".to_owned();
    }
    let (unit, unit_ns) = UNITS
        .iter()
        .find(|(_, unit_ns)| ns.is_multiple_of(*unit_ns))
        .unwrap_or(&("ns", 1));
    format!("{}{unit}", ns / unit_ns)
}

/// A length of time that is stored as such a text.
pub(crate) mod text {
    use std::borrow::Cow;
    use std::time::Duration;

    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(crate) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format_duration(*duration))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        super::parse_duration(&text).map_err(Error::custom)
    }
}

/// Cuts `text` before the first character that `ends` says.
fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// `number`, a decimal such as `1.5`, times `unit_ns`; digits finer than a nanosecond are cut.
fn parts_of(number: &str, unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let mut ns = whole.parse::<u64>().ok()?.checked_mul(unit_ns)?;
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut digit_ns = unit_ns;
    for digit in fraction.bytes().map(|byte| u64::from(byte - b'0')) {
        digit_ns /= 10;
        ns = ns.checked_add(digit * digit_ns)?;
    }
    Some(ns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected_ms: Option<u64>) {
        assert_eq!(
            parse_duration(text).ok(),
            expected_ms.map(Duration::from_millis),
            "{text:?}"
        );
    }

    #[test]
    fn reads_what_people_write() {
        check("5s", Some(5_000));
        check("200ms", Some(200));
        check("1m", Some(60_000));
        check("1m30s", Some(90_000));
        check(" 1.5s ", Some(1_500));
        check("0.05m", Some(3_000));
        check("2h", Some(7_200_000));
        check("0s", Some(0));
        for wrong in [
            "", " ", "5", "s", "5 s", "-5s", "5sec", "1.s", ".5s", "1.2.3s", "5ß",
        ] {
            check(wrong, None);
        }
        check("99999999999999999999s", None);
        check("9999999999h", None);
    }

    #[test]
    fn writes_the_largest_exact_unit() {
        assert_eq!(format_duration(Duration::from_millis(90_000)), "90s");
        assert_eq!(format_duration(Duration::from_millis(1_500)), "1500ms");
        assert_eq!(format_duration(Duration::from_secs(7_200)), "2h");
        assert_eq!(format_duration(Duration::ZERO), "0s");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(ns: u64) {
            let duration = Duration::from_nanos(ns);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = parse_duration(&text);
        }
    }
}
