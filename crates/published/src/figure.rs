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

/// A length of time such as `47.01ms`, in nanoseconds.
pub(crate) fn time_ns(text: &str) -> Option<Figure> {
    let (figure, unit) = number_with_unit(text)?;
    Some(figure.times(unit.in_ns()?))
}

/// The text without commas between groups of three digits; `None` if commas stand elsewhere, or
/// behind a 0, as in 0,123: there it is a decimal point.
fn without_thousands(text: &str) -> Option<String> {
    if !text.contains(',') {
        return Some(text.to_owned());
    }
    let (whole, rest) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (text, String::new()),
    };
    let mut groups = whole.split(',');
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next()?;
    let starts = (1..=3).contains(&first.len()) && is_digits(first) && !first.starts_with('0');
    let goes_on = groups.all(|group| group.len() == 3 && is_digits(group));
    (starts && goes_on && !rest.contains(',')).then(|| whole.replace(',', "") + &rest)
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
        ] {
            assert!((time_ns(text).unwrap().value - ns).abs() < 1e-3, "{text}");
        }
        for text in ["5", "5 apples", "ms", "10%"] {
            assert_eq!(time_ns(text), None, "{text}");
        }
    }
}
