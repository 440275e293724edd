//! A search for the highest rate that meets its goals, as a ready value: what is to be met, and
//! how much is measured before a rate counts as met or missed.
//!
//! How rates are chosen and classified is not decided here but in the crate `search`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::duration::{format_duration, parse_duration};
use crate::in_order::distinct;
use crate::schedule::Arrival;
use crate::stored;

/// Goals that one search may have: they share trials, and each of them adds some.
pub const GOALS_MAX: usize = 8;
/// Trials that confirm a rate that was found (method R29).
pub const CONFIRMING: u32 = 3;

/// A search for the highest rate that meets each of its goals.
///
/// The terms are those of MLRsearch (draft-ietf-bmwg-mlrsearch): the length of a full trial is the
/// duration of the load that the search belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What is to be met, in the order of the report; at least one.
    pub goals: Vec<Goal>,
    /// Gaps between requests.
    pub arrival: Arrival,
    /// Connections that requests are spread over.
    pub clients: u32,
    /// Measured time after which a rate is decided in any case.
    #[serde(rename = "sum_s", with = "stored::seconds")]
    pub sum: Duration,
    /// Share of that time whose trials may miss the goal at a rate that still meets it.
    pub exceed: f64,
    /// Largest distance between the bounds, as a share of the upper one.
    pub width: f64,
    /// What all trials of the search may take together, over all contenders and workloads.
    #[serde(rename = "budget_s", with = "stored::seconds")]
    pub budget: Duration,
    /// Length of each of the [`CONFIRMING`] trials at the rate that was found; 0 leaves them out.
    #[serde(rename = "confirm_s", with = "stored::seconds")]
    pub confirm: Duration,
    /// Shares of that rate at which the latency is measured afterwards.
    pub curve: Vec<f64>,
}

/// What a rate has to meet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The latency that is asked for; `None` where only failures count.
    pub objective: Option<Objective>,
    /// Requests that may fail, percent of those due.
    pub errors_percent: f64,
}

impl Goal {
    /// Requests that may fail, as a share of those due.
    pub fn errors(&self) -> f64 {
        self.errors_percent / 100.0
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(objective) = self.objective {
            write!(out, "{objective}, ")?;
        }
        write!(out, "at most {} % failed", self.errors_percent)
    }
}

/// A latency that is asked for, such as `p99<10ms`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Requests that must be faster, percent: 99 for p99.
    pub percent: f64,
    /// Than this.
    #[serde(rename = "below_s", with = "stored::seconds")]
    pub below: Duration,
}

impl Objective {
    /// The quantile, 0 to 1.
    pub fn quantile(&self) -> f64 {
        self.percent / 100.0
    }

    /// Requests below which a sample has no such quantile: four that are slower than it (method
    /// R22 asks for 3.68).
    pub fn requests_least(&self) -> f64 {
        3.68 / (1.0 - self.quantile())
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "p{}<{}", self.percent, format_duration(self.below))
    }
}

/// Why a text is no objective or no share of failures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoalError {
    /// Not such as `p99<10ms`.
    #[error(
        "`{0}` is not an objective: write a percentile from p1 to p99.99 and a time up to an \
         hour, such as p99<10ms"
    )]
    Objective(String),
    /// Not such as `0.5%`.
    #[error("`{0}` is not a share of failed requests: write percent from 0 to 50, such as 0.001%")]
    Errors(String),
}

impl FromStr for Objective {
    type Err = GoalError;

    fn from_str(text: &str) -> Result<Self, GoalError> {
        let wrong = || GoalError::Objective(text.to_owned());
        let (percentile, below) = text.split_once('<').ok_or_else(wrong)?;
        let percent = percentile.trim().strip_prefix('p').ok_or_else(wrong)?;
        let percent = decimal(percent).ok_or_else(wrong)?;
        let below = below.trim_start_matches('=').trim();
        let below = parse_duration(below).map_err(|_| wrong())?;
        let is_sensible = (1.0..=99.99).contains(&percent)
            && !below.is_zero()
            && below <= Duration::from_secs(3600);
        is_sensible
            .then_some(Self { percent, below })
            .ok_or_else(wrong)
    }
}

/// Reads a share of failed requests such as `0.001%`, in percent.
///
/// # Errors
/// It is not a number of percent from 0 to 50.
pub fn parse_errors(text: &str) -> Result<f64, GoalError> {
    let wrong = || GoalError::Errors(text.to_owned());
    let percent = text.trim().strip_suffix('%').ok_or_else(wrong)?;
    let percent = decimal(percent.trim()).ok_or_else(wrong)?;
    (0.0..=50.0)
        .contains(&percent)
        .then_some(percent)
        .ok_or_else(wrong)
}

/// Writes a share of failed requests so that [`parse_errors`] reads the same one again.
pub(crate) fn format_errors(percent: f64) -> String {
    format!("{percent}%")
}

/// A number of digits with at most one point: no sign, no exponent, no infinity.
fn decimal(text: &str) -> Option<f64> {
    let is_digits = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number = text.parse().ok().filter(|_| is_digits && text.len() <= 20);
    number.filter(|number: &f64| number.is_finite())
}

/// Every objective with every share of failures.
pub fn goals(objectives: &[Objective], errors_percent: &[f64]) -> Vec<Goal> {
    let with = |objective: Option<Objective>| {
        errors_percent.iter().map(move |errors_percent| Goal {
            objective,
            errors_percent: *errors_percent,
        })
    };
    match objectives {
        [] => with(None).collect(),
        all => all.iter().flat_map(|one| with(Some(*one))).collect(),
    }
}

impl Search {
    /// The objectives of its goals, each once, in their order.
    pub(crate) fn objectives(&self) -> Vec<Objective> {
        distinct(self.goals.iter().filter_map(|goal| goal.objective))
    }

    /// The shares of failures of its goals, each once, in their order.
    pub(crate) fn errors(&self) -> Vec<f64> {
        distinct(self.goals.iter().map(|goal| goal.errors_percent))
    }

    /// A part of a load's label: `find-p99-10ms`.
    pub(crate) fn label(&self) -> String {
        let mut label = "find".to_owned();
        for objective in self.objectives() {
            label += &format!(
                "-p{}-{}",
                objective.percent,
                format_duration(objective.below)
            );
        }
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_read_and_written() {
        let check = |text: &str, percent, ms| {
            let objective: Objective = text.parse().unwrap();
            assert_eq!(objective.percent, percent, "{text}");
            assert_eq!(objective.below, Duration::from_millis(ms), "{text}");
            assert_eq!(objective.to_string().parse(), Ok(objective));
        };
        check("p99<10ms", 99.0, 10);
        check("p99.9 < 1s", 99.9, 1000);
        check("p50<=1m", 50.0, 60_000);
        for wrong in [
            "", "99<10ms", "p99", "p99<", "p99<10", "p0<1s", "p100<1s", "p99<0s", "p1e1<1s",
            "p-5<1s", "pinf<1s", "p99<2h", "p99>10ms",
        ] {
            assert!(wrong.parse::<Objective>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_of_failures_are_percent() {
        for (text, percent) in [
            ("0.001%", 0.001),
            ("0.5 %", 0.5),
            ("0%", 0.0),
            ("50%", 50.0),
        ] {
            assert_eq!(parse_errors(text), Ok(percent));
            assert_eq!(parse_errors(&format_errors(percent)), Ok(percent));
        }
        for wrong in ["", "%", "1", "-1%", "51%", "nan%", "1e1%"] {
            assert!(parse_errors(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn goals_are_every_objective_with_every_share() {
        let objectives: Vec<Objective> = ["p99<10ms", "p50<1ms"]
            .map(|text| text.parse().unwrap())
            .into();
        let all = goals(&objectives, &[0.001, 0.5]);
        let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(shown[1], "p99<10ms, at most 0.5 % failed");
        assert_eq!(all.len(), 4);
        assert_eq!(goals(&[], &[1.0])[0].to_string(), "at most 1 % failed");
    }
}
