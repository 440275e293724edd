//! Why an answer has no finding.

use bakeoff_audit::{Comparison, Conclusion};
use bakeoff_plan::distinct;
use bakeoff_stats::Metric;
use serde::{Serialize, Serializer};

use super::cell::Cell;

/// Why no finding stands in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFinding {
    /// Nothing was measured.
    NothingMeasured,
    /// References were measured, and no contender.
    NoContender,
    /// The plan has one contender.
    OneContender,
    /// Of several contenders this one alone was measured.
    OnlyOne(String),
    /// No two were measured at the same workload and load.
    NowhereBoth,
    /// Too few numbers can be believed.
    NotBelieved,
    /// Rates and latencies are among those that cannot be.
    SpeedNotBelieved,
    /// The rounds show no difference.
    NoDifference,
}

impl NoFinding {
    /// Whether what was measured is no answer to what was asked. What was not measured, or not
    /// yet, has reasons of its own.
    pub fn is_no_answer(&self) -> bool {
        matches!(self, Self::NotBelieved | Self::SpeedNotBelieved)
    }

    /// The sentence that stands in place of findings.
    pub fn text(&self) -> String {
        let text = match self {
            Self::NothingMeasured => "Nothing was measured.",
            Self::NoContender => "No contender was measured, so nothing is compared.",
            Self::OneContender => "There is one contender, so nothing is compared.",
            Self::OnlyOne(name) => {
                return format!("Only {name} was measured, so nothing is compared.");
            }
            Self::NowhereBoth => {
                "No two contenders were measured at the same workload and load, so nothing is \
                 compared."
            }
            Self::NotBelieved => {
                "Nothing could be compared: the numbers of too few contenders can be believed."
            }
            Self::SpeedNotBelieved => {
                "Which one is faster is not known: the rates and latencies of too few contenders \
                 can be believed."
            }
            Self::NoDifference => "No difference between contenders is shown.",
        };
        text.to_owned()
    }
}

impl Serialize for NoFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// Why a plan of `planned` contenders has no finding.
pub(super) fn no_finding(planned: usize, cells: &[Cell], comparisons: &[Comparison]) -> NoFinding {
    let measured = measured(cells);
    let is_weighed = |one: &&Comparison| {
        let is_left_out = matches!(
            one.conclusion,
            Conclusion::NotComparable | Conclusion::NotCompared
        );
        !is_left_out
    };
    let weighed: Vec<&Comparison> = comparisons.iter().filter(is_weighed).collect();
    let is_of_speed =
        |one: &&Comparison| matches!(one.metric, Metric::RatePerS | Metric::LatencyP99Ns);
    match measured.as_slice() {
        _ if cells.iter().all(|cell| cell.rounds_measured == 0) => NoFinding::NothingMeasured,
        [] => NoFinding::NoContender,
        _ if planned == 1 => NoFinding::OneContender,
        [one] => NoFinding::OnlyOne((*one).to_owned()),
        _ if comparisons.is_empty() => NoFinding::NowhereBoth,
        _ if weighed.is_empty() => NoFinding::NotBelieved,
        _ if !weighed.iter().any(is_of_speed) => NoFinding::SpeedNotBelieved,
        _ => NoFinding::NoDifference,
    }
}

/// Names of the contenders that have a measured round.
fn measured(cells: &[Cell]) -> Vec<&str> {
    let ran = cells
        .iter()
        .filter(|cell| cell.is_contender() && cell.rounds_measured > 0);
    distinct(ran.map(|cell| cell.contender.as_str()))
}
