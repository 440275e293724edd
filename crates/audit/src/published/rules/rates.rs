//! Whether rates are those of the row's requests in its length of time.

use bakeoff_published::Figure;

use super::{Outcome, RIGHT_ALONE, Ruled, found};
use crate::published::code::Code;
use crate::published::derived::Subject;
use crate::published::length::{Fit, all_per_s, compare, runs};
use crate::published::sentence::{amount, rate, time};

/// R32: a rate is requests over time.
pub(super) fn rate_differs(subject: &Subject<'_>) -> Ruled {
    match subject.length.fit {
        Fit::Fits => right_differ(subject).unwrap_or(Ok(Outcome::Passed)),
        Fit::Differs {
            requests,
            seconds,
            is_flag,
        } => {
            let stated = all_per_s(&subject.row.counts).unwrap_or(Figure::exact(0.0));
            let these = Contradiction {
                stated,
                of_stated: "",
                counted: requests,
                of_counted: "requests",
                seconds,
                is_flag,
            };
            these.found()
        }
        Fit::Unknown => right_differ(subject).unwrap_or(Err(missing(subject))),
    }
}

/// What is missing where nothing can be compared.
fn missing(subject: &Subject<'_>) -> &'static str {
    let counts = &subject.row.counts;
    let has_all_but_failures = counts.ok.is_some()
        && all_per_s(counts).is_some()
        && subject
            .row
            .load
            .duration_s
            .or(subject.rig.duration_s)
            .is_some();
    if has_all_but_failures {
        RIGHT_ALONE
    } else {
        "requests and a rate that the file states, and a duration"
    }
}

/// The same of right answers: their own rate, and that of all requests, which cannot be less.
/// `None` if nothing was compared.
fn right_differ(subject: &Subject<'_>) -> Option<Ruled> {
    let row = subject.row;
    let right = row.counts.ok?;
    let own = row.load.duration_s;
    let seconds = own.or(subject.rig.duration_s)?;
    let found = |stated: Figure, of_stated: &'static str| {
        let these = Contradiction {
            stated,
            of_stated,
            counted: right,
            of_counted: "right answers",
            seconds,
            is_flag: own.is_none(),
        };
        Some(these.found())
    };
    // Where runs are summed up, the count may be of one or of all.
    let shares = [1.0, 1.0 / runs(row)];
    let compared = |rate: Figure| shares.map(|share| compare(row, rate, right * share, seconds));
    if let Some(all) = all_per_s(&row.counts)
        && compared(all).iter().all(|it| it.is_lt())
    {
        return found(all, "");
    }
    let of_right = row.counts.ok_per_s?;
    if compared(of_right).iter().any(|it| it.is_eq()) {
        Some(Ok(Outcome::Passed))
    } else {
        found(of_right, " right")
    }
}

/// A rate and a count that are not of the same measurement.
struct Contradiction {
    stated: Figure,
    of_stated: &'static str,
    counted: f64,
    of_counted: &'static str,
    seconds: f64,
    is_flag: bool,
}

impl Contradiction {
    fn found(&self) -> Ruled {
        let by_count = self.counted / self.seconds;
        let whose = if self.is_flag {
            "the flag --duration or one of the two"
        } else {
            "one of the three"
        };
        let text = format!(
            "the row states {}{}, and {} {} in {} are {}: {whose} is wrong",
            rate(self.stated.value),
            self.of_stated,
            amount(self.counted),
            self.of_counted,
            time(self.seconds),
            rate(by_count)
        );
        found(Code::RateDiffers, self.stated.value, by_count, text)
    }
}
