//! A number as it was published: with the last digit it was given to.

use crate::unit::Unit;

/// Largest number that is read. Nothing published is larger, and products of a few are finite.
pub(crate) const MOST: f64 = 1e18;

/// A figure, and how far apart its neighbours would have been.
///
/// A mean published as 0.22 ms may have been anything from 0.215 to 0.225 ms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The value, at least 0.
    pub value: f64,
    /// One unit of its last digit; 0 where it was given exactly.
    pub step: f64,
}

impl Figure {
    /// A figure that was not rounded.
    pub fn exact(value: f64) -> Self {
        Self { value, step: 0.0 }
    }

    /// The least that it can have been before it was rounded.
    pub fn low(self) -> f64 {
        (self.value - self.step / 2.0).max(0.0)
    }

    /// The most that it can have been before it was rounded.
    pub fn high(self) -> f64 {
        self.value + self.step / 2.0
    }

    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            step: self.step * factor,
        }
    }
}

/// Reads a number such as `0.22`, `1,062,277` or `1.5e3`: finite and not negative.
pub(crate) fn number(text: &str) -> Option<Figure> {
    let text = text.trim();
    let plain = without_thousands(text)?;
    // Words such as "inf" and "nan" are numbers to Rust.
    if !plain.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let value: f64 = plain.parse().ok()?;
    if !value.is_finite() || value > MOST {
        return None;
    }
    let (digits, exponent) = plain.split_once(['e', 'E']).unwrap_or((&plain, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let decimals = digits.split_once('.').map_or(0, |(_, part)| part.len());
    let decimals = i32::try_from(decimals).ok()?;
    // 0e9 is 0: an exponent makes nothing less exact where there is nothing.
    let exponent = match value {
        0.0 => exponent.min(0),
        _ => exponent,
    };
    let step = 10_f64.powi(exponent.checked_sub(decimals)?);
    Some(Figure { value, step })
}

/// A number followed by a unit, such as `1.19ms` or `35.3 %`, and the unit.
pub(crate) fn number_with_unit(text: &str) -> Option<(Figure, Unit)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','))?;
    let unit = Unit::parse(text[end..].trim())?;
    Some((number(&text[..end])?, unit))
}

/// A length of time such as `47.01ms` or, as Go writes it, `1m2.5s`, in nanoseconds.
pub(crate) fn time_ns(text: &str) -> Option<Figure> {
    let mut whole = Figure::exact(0.0);
    let mut rest = text.trim();
    while !rest.is_empty() {
        let is_digit = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let digits = rest.find(|c: char| !is_digit(c))?;
        let behind = &rest[digits..];
        let (unit, next) = behind.split_at(behind.find(is_digit).unwrap_or(behind.len()));
        let unit = if next.is_empty() { unit.trim() } else { unit };
        let part = number(&rest[..digits])?.times(Unit::parse(unit)?.in_ns()?);
        whole = Figure {
            value: whole.value + part.value,
            step: part.step,
        };
        rest = next;
    }
    (!text.trim().is_empty()).then_some(whole)
}

/// A number that may be in thousands or millions, such as `12.5k req/s`, and what stands behind.
pub(crate) fn number_in_thousands(text: &str) -> Option<(Figure, &str)> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
    let (digits, rest) = text.split_at(digits.unwrap_or(text.len()));
    let rest = rest.trim_start();
    let (factor, behind) = match rest.strip_prefix(['k', 'K']) {
        Some(behind) => (1e3, behind),
        None => (1e6, rest.strip_prefix('M').unwrap_or(rest)),
    };
    let is_alone = behind.len() < rest.len() && !behind.starts_with(char::is_alphanumeric);
    let (factor, behind) = if is_alone {
        (factor, behind)
    } else {
        (1.0, rest)
    };
    Some((number(digits)?.times(factor), behind.trim()))
}

/// What stands between thousands.
pub(crate) const THOUSANDS: [char; 6] = [',', '\'', '_', ' ', '\u{a0}', '\u{202f}'];

/// The text without commas between groups of three digits, or other marks; `None` if they stand
/// elsewhere, or behind a 0, as in 0,123: there it is a decimal point.
fn without_thousands(text: &str) -> Option<String> {
    let Some(mark) = text.chars().find(|c| THOUSANDS.contains(c)) else {
        return Some(text.to_owned());
    };
    let (whole, rest) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (text, String::new()),
    };
    let mut groups = whole.split(mark);
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next()?;
    let starts = (1..=3).contains(&first.len()) && is_digits(first) && !first.starts_with('0');
    let goes_on = groups.all(|group| group.len() == 3 && is_digits(group));
    (starts && goes_on && !rest.contains(mark)).then(|| whole.replace(mark, "") + &rest)
}

/// Bytes of a size such as `4096` or `283KiB`.
pub fn parse_bytes(text: &str) -> Option<f64> {
    if let Some(figure) = number(text) {
        return Some(figure.value);
    }
    match number_with_unit(text)? {
        (figure, Unit::Bytes(one)) => Some(figure.value * one),
        _ => None,
    }
}

/// Bits a second of a rate such as `10Gbit`, `100Mbit/s` or `1.25GB/s`.
pub fn parse_bits_per_s(text: &str) -> Option<f64> {
    match number_with_unit(text)? {
        (figure, Unit::BytesPerS(one)) => Some(figure.value * one * 8.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_last_digit() {
        for (text, value, step) in [
            ("0.22", 0.22, 0.01),
            (" 35409 ", 35_409.0, 1.0),
            ("1,062,277", 1_062_277.0, 1.0),
            ("1,062.5", 1062.5, 0.1),
            ("41 200", 41_200.0, 1.0),
            ("1'062'277", 1_062_277.0, 1.0),
            ("1.5e3", 1500.0, 100.0),
            ("0e400", 0.0, 1.0),
            ("0.0e9", 0.0, 0.1),
        ] {
            let figure = number(text).unwrap();
            assert_eq!(figure.value, value, "{text}");
            assert!((figure.step - step).abs() < 1e-12, "{text}: {figure:?}");
        }
        for text in [
            "",
            "-1",
            "nan",
            "inf",
            "1,5",
            "0,22",
            "0,123",
            "0,123,456",
            "12,34,567",
            "1,234 567",
            "12 34",
            "1e999",
            "1e19",
            "x",
            ".",
            "+1",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn a_rounded_figure_is_a_range() {
        let mean = number("0.22").unwrap();
        assert!((mean.low() - 0.215).abs() < 1e-12 && (mean.high() - 0.225).abs() < 1e-12);
        assert_eq!(number("0.0").unwrap().low(), 0.0);
    }

    #[test]
    fn times_carry_their_unit() {
        for (text, ns) in [
            ("1.19ms", 1.19e6),
            ("123.00us", 123e3),
            ("0us", 0.0),
            ("7.22s", 7.22e9),
            ("1.50m", 90e9),
            ("2 ms", 2e6),
            ("1m2.5s", 62.5e9),
            ("1h0m3s", 3603e9),
        ] {
            assert!((time_ns(text).unwrap().value - ns).abs() < 1e-3, "{text}");
        }
        for text in ["", "5", "5 apples", "ms", "10%", "1s 2ms", "1s2"] {
            assert_eq!(time_ns(text), None, "{text}");
        }
    }

    #[test]
    fn thousands_and_millions_may_be_letters() {
        for (text, value, rest) in [
            ("41.2k", 41_200.0, ""),
            ("1.5M req/s", 1.5e6, "req/s"),
            ("12K rps", 12e3, "rps"),
            ("1,234", 1234.0, ""),
            ("10MB", 10.0, "MB"),
            ("3 ms", 3.0, "ms"),
        ] {
            let (figure, behind) = number_in_thousands(text).unwrap();
            assert_eq!(
                (figure.value.round(), behind),
                (f64::round(value), rest),
                "{text}"
            );
        }
        assert_eq!(number_in_thousands("k"), None);
    }
}
