//! Conditions under which a build fails: `p99 > 50ms`, `errors >= 0.1%`, `rate < 1000`.
//!
//! A condition is met where the whole interval of a number meets it, and not met where none of the
//! interval does. What lies on both sides cannot be decided, and neither can what is not valid.

use std::fmt;

use bakeoff_plan::LoadModel;
use bakeoff_record::{LoadResult, TrialEnd};
use bakeoff_stats::{Cell, Metric, Missing, Number, latency_quantile};

use crate::cell::{JudgedCell, Withheld};
use crate::figures::in_rounds;
use crate::gate::Ruling;
use crate::load::{judge_load, local_limit};
use crate::verdict::Verdict;

/// A unit as it is written, and how many base units it is.
type Unit = (&'static str, f64);

/// What a condition can be of, with the units that it takes, in its own base unit.
const METRICS: [(Metric, &[Unit]); 7] = [
    (Metric::RatePerS, &[("/s", 1.0), ("", 1.0)]),
    (Metric::LatencyP50Ns, &TIMES),
    (Metric::LatencyP999Ns, &TIMES),
    (Metric::LatencyP99Ns, &TIMES),
    (Metric::ErrorShare, &[("%", 0.01)]),
    (Metric::CpuNsPerRequest, &TIMES),
    (Metric::MemoryPeakBytes, &SIZES),
];
/// Units of time, in nanoseconds; the longer names first.
const TIMES: [Unit; 5] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
];
/// Units of memory, in bytes; the longer names first.
const SIZES: [Unit; 7] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("B", 1.0),
];

/// How a number is held against its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Sign {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
        }
    }

    fn is_upward(self) -> bool {
        matches!(self, Self::Above | Self::AtLeast)
    }
}

/// Why there is no latency.
const NO_ANSWER: &str = "no answer was ok";

/// A condition under which a build fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    metric: Metric,
    sign: Sign,
    limit: f64,
    /// As it was written.
    text: String,
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// What a condition comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// `Breached` where the condition is met.
    pub ruling: Ruling,
    /// The number and its interval, or why it cannot be decided.
    pub text: String,
}

impl Held {
    fn cannot_tell(text: impl Into<String>) -> Self {
        Self {
            ruling: Ruling::CannotTell,
            text: text.into(),
        }
    }
}

impl Condition {
    /// Reads a condition such as `p99 > 50ms`.
    ///
    /// # Errors
    /// Says what of it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let example = "write one such as 'p99 > 50ms', 'errors > 0.1%' or 'rate < 1000'";
        let at = text.find(['<', '>']);
        let at = at.ok_or_else(|| format!("`{text}` is not a condition: {example}"))?;
        let (name, rest) = text.split_at(at);
        let (sign, value) = match (rest.strip_prefix(">="), rest.strip_prefix("<=")) {
            (Some(value), _) => (Sign::AtLeast, value),
            (_, Some(value)) => (Sign::AtMost, value),
            _ if rest.starts_with('>') => (Sign::Above, &rest[1..]),
            _ => (Sign::Below, &rest[1..]),
        };
        let name = name.trim();
        let mut known = METRICS.into_iter();
        let found = known.find(|(metric, _)| metric.short_name() == name);
        let (metric, units) = found.ok_or_else(|| {
            let names = METRICS.map(|(metric, _)| metric.short_name()).join(", ");
            format!("`{name}` cannot be a condition; expected one of {names}")
        })?;
        let limit = limit(value.trim(), units).ok_or_else(|| {
            let names: Vec<&str> = units.iter().map(|(unit, _)| *unit).collect();
            let names = names.into_iter().filter(|unit| !unit.is_empty());
            let names = names.collect::<Vec<_>>().join(", ");
            format!(
                "`{}` is not a limit for {name}: write a number of at least 0 in {names}",
                value.trim()
            )
        })?;
        if let Some(why) = never(metric, sign, limit) {
            return Err(format!("`{}` can never be met: {why}", text.trim()));
        }
        Ok(Self {
            metric,
            sign,
            limit,
            text: format!(
                "{name} {} {}",
                &rest[..rest.len() - value.len()],
                value.trim()
            ),
        })
    }

    /// Whether it is of a latency and no request has one: no answer was right, and none is open.
    fn has_no_latency<'r>(&self, results: impl Iterator<Item = &'r LoadResult>) -> bool {
        let mut results = results.peekable();
        self.metric.is_latency()
            && results.peek().is_some()
            && results.all(|one| one.requests.ok == 0 && one.at_least.count() == 0)
    }

    /// Whether the load engine alone sees the number; the rest the probe sees in a campaign.
    pub fn is_seen_by_load(&self) -> bool {
        !matches!(self.metric.number(), Number::Cpu | Number::Memory)
    }

    /// Holds a cell's number against the limit.
    pub fn of_cell(&self, judged: &JudgedCell<'_>) -> Held {
        let number = self.metric.number();
        let trials = judged.cell.trials.iter();
        if self.has_no_latency(trials.filter_map(|trial| trial.result.as_ref())) {
            return Held::cannot_tell(NO_ANSWER);
        }
        let is_errors = self.metric == Metric::ErrorShare;
        let died = death(&judged.cell).filter(|_| is_errors && self.sign.is_upward());
        if let Some(text) = died {
            return Held {
                ruling: Ruling::Breached,
                text,
            };
        }
        let verdict = judged.judgement.verdicts.of(number);
        if verdict != Verdict::Valid {
            let blame = judged.judgement.blame(number);
            let why = blame.map_or(String::new(), |check| format!(": {}", check.text));
            return Held::cannot_tell(format!("it is {}{why}", verdict.name()));
        }
        if is_errors {
            return self.of_errors(&judged.cell);
        }
        match judged.estimate(self.metric) {
            Ok(one) => self.hold(one.point, one.low, one.high),
            Err(Withheld::Missing(Missing::AtLeast { bound, .. })) => self.hold_bound(bound),
            Err(why) => Held::cannot_tell(why.to_string()),
        }
    }

    /// Holds the errors of all rounds against the limit. What a round that failed would have added
    /// is not known, so that it may take a pass away, and never a breach of too many.
    fn of_errors(&self, cell: &Cell<'_>) -> Held {
        let Some(share) = cell.error_share() else {
            return Held::cannot_tell("no round was measured");
        };
        let held = self.hold(share, share, share);
        let mut ends = cell.trials.iter().map(|trial| (trial.round, &trial.end));
        let lost = ends.find_map(|(round, end)| match end {
            TrialEnd::Failed { cause, .. } => Some((round, cause)),
            _ => None,
        });
        match lost {
            Some((round, cause)) if held.ruling != Ruling::Breached || !self.sign.is_upward() => {
                Held::cannot_tell(format!("round {round} was not measured: {cause}"))
            }
            _ => held,
        }
    }

    /// Holds the number of one load by itself against the limit: it has no rounds, and so no
    /// interval.
    pub fn of_load(&self, result: &LoadResult) -> Held {
        if self.has_no_latency([result].into_iter()) {
            return Held::cannot_tell(NO_ANSWER);
        }
        // Errors are counted whatever the engine was late by.
        let blame = match self.metric {
            Metric::ErrorShare => local_limit(result),
            _ => judge_load(result).into_iter().next(),
        };
        if let Some(warning) = blame {
            return Held::cannot_tell(warning.text);
        }
        let value = match self.metric {
            Metric::RatePerS if result.measured_s > 0.0 => {
                Ok(result.requests.ok as f64 / result.measured_s)
            }
            Metric::RatePerS => Err(Missing::Because("the window has no length")),
            Metric::ErrorShare => {
                let share = result.requests.error_share();
                share.ok_or(Missing::Because("no request ended"))
            }
            other => match other.quantile() {
                Some(q) => latency_quantile(result, q),
                None => Err(Missing::Because(
                    "a load alone does not see the server's process",
                )),
            },
        };
        match value {
            Ok(value) => self.hold(value, value, value),
            Err(Missing::AtLeast { bound, .. }) => self.hold_bound(bound),
            Err(why) => Held::cannot_tell(why.to_string()),
        }
    }

    /// Whether the rate is one that the load asked for, so that a condition of it says nothing.
    pub fn is_given_by(&self, model: &LoadModel) -> bool {
        self.metric == Metric::RatePerS && model.is_open()
    }

    /// What it is held against.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    fn hold(&self, point: f64, low: f64, high: f64) -> Held {
        let holds = |value: f64| self.sign.holds(value, self.limit);
        let ruling = match (holds(low), holds(high)) {
            (true, true) => Ruling::Breached,
            (false, false) => Ruling::Passed,
            _ => Ruling::CannotTell,
        };
        let text = if low == high {
            self.shown(point)
        } else {
            format!(
                "{} ({} to {})",
                self.shown(point),
                self.shown(low),
                self.shown(high)
            )
        };
        Held { ruling, text }
    }

    /// A number that is only known from below can meet a condition that asks for more.
    fn hold_bound(&self, bound: f64) -> Held {
        let holds = self.sign.holds(bound, self.limit);
        Held {
            ruling: match (self.sign.is_upward(), holds) {
                (true, true) => Ruling::Breached,
                (false, false) => Ruling::Passed,
                _ => Ruling::CannotTell,
            },
            text: format!("at least {}", self.shown(bound)),
        }
    }

    /// A value in the unit that conditions of it are usually written in.
    fn shown(&self, value: f64) -> String {
        let digits = |value: f64, unit: &str| match value.abs() {
            large if large >= 100.0 => format!("{value:.0}{unit}"),
            large if large >= 1.0 => format!("{value:.2}{unit}"),
            _ => format!("{value:.4}{unit}"),
        };
        match self.metric.number() {
            Number::Rate => digits(value, "/s"),
            Number::Latency => digits(value / 1e6, "ms"),
            Number::Counts => digits(value * 100.0, "%"),
            Number::Cpu => digits(value / 1e3, "us"),
            Number::Memory => digits(value / 1e6, "MB"),
        }
    }
}

/// How the server died under load, with the round. What others on the machine may have had a part
/// in is not held against it.
fn death(cell: &Cell<'_>) -> Option<String> {
    let mut undisturbed = cell.trials.iter().filter(|it| !it.is_disturbed());
    undisturbed.find_map(|trial| {
        let cause = trial.server_died()?;
        Some(format!("{cause}{}", in_rounds(&[trial.round])))
    })
}

/// Why no number can meet a condition, so that a build would pass whatever happens.
fn never(metric: Metric, sign: Sign, limit: f64) -> Option<&'static str> {
    let is_share = metric == Metric::ErrorShare;
    match sign {
        Sign::Above if is_share && limit >= 1.0 => Some("errors are at most 100 %"),
        Sign::AtLeast if is_share && limit > 1.0 => Some("errors are at most 100 %"),
        Sign::Below if limit <= 0.0 => Some("it is never below 0"),
        _ => None,
    }
}

/// A number of at least 0 with its unit, in the base unit.
fn limit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let found = units.iter().find_map(|(unit, scale)| {
        let number = text.strip_suffix(unit)?.trim();
        let starts = number.starts_with(|one: char| one.is_ascii_digit() || one == '.');
        let number: f64 = number.parse().ok().filter(|_| starts)?;
        Some(number * scale)
    });
    found.filter(|limit| limit.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_with_their_units() {
        for (text, limit) in [
            ("p99 > 50ms", 50e6),
            ("p99>0.5s", 0.5e9),
            ("p50 >= 800us", 800e3),
            ("p99.9 < 1 s", 1e9),
            ("errors > 0%", 0.0),
            ("errors > 0.1 %", 0.001),
            ("errors >= 100%", 1.0),
            ("rate <= 0", 0.0),
            ("rate < 1000", 1000.0),
            ("rate <= 1e3/s", 1000.0),
            ("cpu > 30µs", 30e3),
            ("memory > 64MiB", 67_108_864.0),
            ("memory > 64 MB", 64e6),
            ("memory > 64000000 B", 64e6),
        ] {
            let found = Condition::parse(text).unwrap().limit;
            assert!((found - limit).abs() <= limit * 1e-12, "{text}: {found}");
        }
        assert_eq!(
            Condition::parse("p99>=50ms").unwrap().to_string(),
            "p99 >= 50ms"
        );
    }

    #[test]
    fn wrong_conditions_are_refused() {
        for (text, problem) in [
            ("", "is not a condition"),
            ("p99", "is not a condition"),
            ("p99 = 50ms", "is not a condition"),
            ("p98 > 50ms", "expected one of rate, p50"),
            ("p99 > 50", "in ns, us"),
            ("p99 > ms", "is not a limit"),
            ("p99 > -5ms", "is not a limit"),
            ("p99 > nanms", "is not a limit"),
            ("p99 > infs", "is not a limit"),
            ("p99 > 1e999s", "is not a limit"),
            ("p99 > 5 ms ms", "is not a limit"),
            ("errors > 3", "in %"),
            ("rate > 5%", "is not a limit"),
            ("memory > 64", "in KiB"),
            (
                "errors > 200%",
                "can never be met: errors are at most 100 %",
            ),
            ("errors > 100%", "can never be met"),
            ("errors >= 101%", "can never be met"),
            ("rate < 0", "can never be met: it is never below 0"),
        ] {
            let error = Condition::parse(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn the_whole_interval_has_to_lie_on_one_side() {
        let ruling = |text: &str, low: f64, high: f64| {
            let condition = Condition::parse(text).unwrap();
            condition.hold(f64::midpoint(low, high), low, high).ruling
        };
        assert_eq!(ruling("p99 > 50ms", 51e6, 60e6), Ruling::Breached);
        assert_eq!(ruling("p99 > 50ms", 40e6, 50e6), Ruling::Passed);
        assert_eq!(ruling("p99 > 50ms", 40e6, 60e6), Ruling::CannotTell);
        assert_eq!(ruling("p99 >= 50ms", 50e6, 60e6), Ruling::Breached);
        assert_eq!(ruling("rate < 1000", 900.0, 999.0), Ruling::Breached);
        assert_eq!(ruling("rate < 1000", 1000.0, 1100.0), Ruling::Passed);
        assert_eq!(ruling("rate <= 1000", 1000.0, 1100.0), Ruling::CannotTell);
        let bound =
            |text: &str, bound: f64| Condition::parse(text).unwrap().hold_bound(bound).ruling;
        assert_eq!(bound("p99 > 50ms", 60e6), Ruling::Breached);
        assert_eq!(bound("p99 > 50ms", 40e6), Ruling::CannotTell);
        assert_eq!(bound("p99 < 50ms", 60e6), Ruling::Passed);
    }
}
