//! Whether generators with equal shares of one load saw the same.

use bakeoff_record::{LoadResult, Requests};

use crate::check::Level;
use crate::limits::{GENERATORS_ERRORS, GENERATORS_SHARE};

/// A generator's host, and what it saw.
pub(crate) type Part<'p> = (&'p str, &'p LoadResult);

/// How far generators are apart.
pub(crate) struct Agreement {
    pub(crate) level: Level,
    /// How far the least figure is below the most, as a share.
    pub(crate) apart: f64,
    /// How far it may be, as a share.
    pub(crate) limit: f64,
    pub(crate) text: String,
}

impl Agreement {
    /// How far it is beyond what it may be.
    fn beyond(&self) -> f64 {
        self.apart - self.limit
    }
}

/// How far two starts can be apart at the most, each a time with the error of its clock;
/// nanoseconds. `None` for one generator.
pub fn start_spread_ns(starts: &[(i64, u64)]) -> Option<u64> {
    let apart = |(index, one): (usize, &(i64, u64))| {
        let others = starts[index + 1..].iter();
        others
            .map(|other| one.0.abs_diff(other.0) + one.1 + other.1)
            .max()
    };
    starts.iter().enumerate().filter_map(apart).max()
}

/// Generators with equal shares of the load see equal rates and latencies, unless one of them or
/// the network to it is slower. `None` where there is one generator, or nothing to compare.
pub(crate) fn agreement(parts: &[Part<'_>]) -> Option<Agreement> {
    if parts.len() < 2 {
        return None;
    }
    let has_some = parts.iter().find(|(_, result)| result.requests.ok > 0);
    // A short schedule may hold no request for one of many.
    let has_none = |(_, result): &&Part<'_>| {
        let Requests { ok, due, .. } = result.requests;
        ok == 0 && due != Some(0)
    };
    if let (Some((none, _)), Some((some, _))) = (parts.iter().find(has_none), has_some) {
        return Some(Agreement {
            level: Level::Invalid,
            apart: 1.0,
            limit: GENERATORS_SHARE,
            text: format!(
                "{none} had no answer while {some} had some: the load was not the whole one"
            ),
        });
    }
    let rates = parts.iter().map(|(host, result)| (*host, rate(result)));
    let medians = parts.iter().filter_map(|(host, result)| {
        let median = Figure::median(result)?;
        Some((*host, median))
    });
    let found = [
        farthest("rate for each share", &rates.collect::<Vec<_>>()),
        farthest("median latency", &medians.collect::<Vec<_>>()),
    ];
    found
        .into_iter()
        .flatten()
        .max_by(|left, right| left.beyond().total_cmp(&right.beyond()))
}

/// A figure of one generator, with the interval that chance may have moved it in.
#[derive(Clone, Copy)]
struct Figure {
    value: f64,
    low: f64,
    high: f64,
}

/// Right answers per second and share of the load. In a closed loop the clients are divided, in an
/// open one the schedule by threads. Answers are as far from their mean as Poisson's counts.
fn rate(result: &LoadResult) -> Figure {
    let Requests { ok, due, .. } = result.requests;
    let weight = match due {
        None => result.observed.clients.count,
        Some(_) => u64::from(result.threads),
    };
    let ok = ok as f64;
    let of = |ok: f64| ok / result.measured_s / weight.max(1) as f64;
    let error = errors_of_each() * ok.sqrt();
    Figure {
        value: of(ok),
        low: of((ok - error).max(0.0)),
        high: of(ok + error),
    }
}

impl Figure {
    /// The median latency. Its rank is as far from the middle as a binomial of one half.
    fn median(result: &LoadResult) -> Option<Self> {
        let answers = result.latency.count() as f64;
        let error = errors_of_each() * 0.5 / answers.sqrt();
        let at = |q: f64| Some(result.latency.quantile(q.clamp(0.0, 1.0))? as f64);
        Some(Self {
            value: at(0.5)?,
            low: at(0.5 - error)?,
            high: at(0.5 + error)?,
        })
    }
}

/// Standard errors of each of two figures that come to [`GENERATORS_ERRORS`] of their difference.
fn errors_of_each() -> f64 {
    GENERATORS_ERRORS / f64::sqrt(2.0)
}

/// The two generators that are the farthest beyond what they may be apart; `None` where fewer than
/// two have the figure.
fn farthest(what: &str, each: &[(&str, Figure)]) -> Option<Agreement> {
    let pairs = each.iter().enumerate().flat_map(|(place, one)| {
        let others = each[place + 1..].iter();
        others.filter_map(move |other| {
            if one.1.value < other.1.value {
                of_two(what, *one, *other)
            } else {
                of_two(what, *other, *one)
            }
        })
    });
    pairs.max_by(|left, right| left.beyond().total_cmp(&right.beyond()))
}

/// How far the lower of two figures is below the upper one; `None` where both are nothing. They may
/// be apart by as much as chance makes.
fn of_two(what: &str, lower: (&str, Figure), upper: (&str, Figure)) -> Option<Agreement> {
    let ((least, lower), (most, upper)) = (lower, upper);
    let apart = (upper.value > 0.0).then(|| 1.0 - lower.value / upper.value)?;
    let certain = if lower.high < upper.low {
        1.0 - lower.high / upper.low
    } else {
        0.0
    };
    let limit = GENERATORS_SHARE.max(apart - certain);
    let level = if apart > limit {
        Level::Suspect
    } else {
        Level::Passed
    };
    let percent = apart * 100.0;
    Some(Agreement {
        level,
        apart,
        limit,
        text: format!("{what}: that of {least} is {percent:.0} % below that of {most}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_as_far_apart_as_both_their_clocks_allow() {
        assert_eq!(start_spread_ns(&[(10, 7), (0, 5)]), Some(22));
        assert_eq!(start_spread_ns(&[(0, 1), (10, 1), (5, 100)]), Some(106));
        assert_eq!(start_spread_ns(&[(0, 5)]), None);
    }
}
