//! Numbers as people write them on a command line: `500`, `10k`, `2.5k`, `1m`.

use std::ops::RangeInclusive;

use bakeoff_plan::CLIENTS_MAX;

/// Suffixes, in lower case, with what they stand for.
const SUFFIXES: [(char, u64); 3] = [('k', 1_000), ('m', 1_000_000), ('g', 1_000_000_000)];

/// Reads a whole number within these bounds, with a suffix or without.
pub(crate) fn whole<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = scaled(text.trim()).filter(|number| (least..=most).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| expected(least, most))
    }
}

/// Reads how many clients a load of a plan has.
pub(crate) fn clients() -> impl Fn(&str) -> Result<u32, String> + Clone {
    whole(1, u64::from(CLIENTS_MAX))
}

/// Reads a number such as `2.5k` or `1e3`; `None` where it is none.
fn real(text: &str) -> Option<f64> {
    let (number, scale) = split(text.trim());
    let number: f64 = number.parse().ok()?;
    Some(number * scale as f64)
}

/// Reads a rate such as `500`, `2.5k`, `60/m` or `50/1s`, in requests/s; a plan knows its limits.
pub(crate) fn per_second(text: &str) -> Result<f64, String> {
    let (number, time) = text.split_once('/').unwrap_or((text, "s"));
    let one = if time.starts_with(|c: char| c.is_ascii_digit()) {
        ""
    } else {
        "1"
    };
    let time = bakeoff_plan::parse_duration(&format!("{one}{time}")).ok();
    let rate = real(number)
        .zip(time)
        .map(|(number, time)| number / time.as_secs_f64());
    let rate = rate.filter(|rate| rate.is_finite());
    rate.ok_or_else(|| "expected requests per second, such as 500, 2.5k or 60/m".to_owned())
}

/// The number without its suffix, and what that stands for.
fn split(text: &str) -> (&str, u64) {
    let suffix = text.chars().last().map(|last| last.to_ascii_lowercase());
    let known = SUFFIXES.iter().find(|(name, _)| suffix == Some(*name));
    match known {
        Some((_, scale)) => (&text[..text.len() - 1], *scale),
        None => (text, 1),
    }
}

/// A whole number, exactly; `None` also where a fraction is left, as of `1.2345k`.
fn scaled(text: &str) -> Option<u64> {
    let (number, scale) = split(text);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let mut sum = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let mut place = scale;
    for digit in fraction.bytes().map(|byte| u64::from(byte - b'0')) {
        if digit > 0 && !place.is_multiple_of(10) {
            return None;
        }
        place /= 10;
        sum = sum.checked_add(digit * place)?;
    }
    Some(sum)
}

fn expected(least: u64, most: u64) -> String {
    let example = if least <= 500 && most >= 2_500 {
        ", such as 500 or 2.5k"
    } else {
        ""
    };
    match most {
        u64::MAX => format!("expected a whole number from {least} on{example}"),
        _ => format!("expected a whole number from {least} to {most}{example}"),
    }
}

/// Reads a share of something in percent, such as `80%`, that lies between these.
pub(super) fn percent_of(
    what: &str,
    between: RangeInclusive<f64>,
    text: &str,
) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::trim);
    let percent: Option<f64> = number.and_then(|number| number.parse().ok());
    let percent = percent.filter(|percent| between.contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| {
        let (least, most) = (between.start(), between.end());
        format!("`{text}` is not a share of {what}: write {least}% to {most}%")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_stand_for_thousands_and_millions() {
        let read = |text: &str| whole::<u64>(0, u64::MAX)(text).ok();
        for (text, expected) in [
            ("0", Some(0)),
            ("500", Some(500)),
            ("10k", Some(10_000)),
            ("2.5K", Some(2_500)),
            ("1m", Some(1_000_000)),
            ("0.05m", Some(50_000)),
            ("1.234k", Some(1_234)),
            ("2G", Some(2_000_000_000)),
            ("3.0", Some(3)),
            (" 7 ", Some(7)),
            ("1.2345k", None),
            ("2.5", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("k", None),
            ("", None),
            (".5k", None),
            ("1.k", None),
            ("5s", None),
            ("1kk", None),
            ("1ß", None),
            ("99999999999999999999", None),
            ("18446744073709551615k", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert_eq!(real("2.5k"), Some(2_500.0));
        assert_eq!(real("1e3"), Some(1_000.0));
        assert_eq!(real("k"), None);
        assert_eq!(per_second("2.5k"), Ok(2_500.0));
        for (text, expected) in [
            ("10/s", 10.0),
            ("60/m", 1.0),
            ("50/1s", 50.0),
            ("1k/100ms", 1e4),
        ] {
            assert_eq!(per_second(text), Ok(expected), "{text}");
        }
        for text in ["inf", "5/", "5/0s", "/s", "5/x", "1/s/s"] {
            assert!(per_second(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_expected_is_said_with_its_bounds() {
        let clients = whole::<u32>(1, 1_000_000);
        assert_eq!(clients("1m"), Ok(1_000_000));
        let message = "expected a whole number from 1 to 1000000, such as 500 or 2.5k";
        assert_eq!(clients("0"), Err(message.to_owned()));
        assert_eq!(clients("1.1m"), Err(message.to_owned()));
        let status = whole::<u16>(100, 999);
        let message = "expected a whole number from 100 to 999";
        assert_eq!(status("1k"), Err(message.to_owned()));
        let requests = whole::<u64>(1, u64::MAX)("none");
        let message = "expected a whole number from 1 on, such as 500 or 2.5k";
        assert_eq!(requests, Err(message.to_owned()));
    }
}
