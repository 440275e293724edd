//! What two contenders come to at one workload, load and metric.

use bakeoff_stats::{Estimate, Metric};
use serde::{Serialize, Serializer};

use crate::equivalence::Inequality;

/// What is compared with what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PairKey {
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// The contender whose value is the ratio's denominator.
    pub first: String,
    /// The contender whose value is the numerator.
    pub second: String,
}

/// Two contenders at one workload and load, by one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What is compared with what.
    pub pair: PairKey,
    /// The metric that they are compared by.
    pub metric: Metric,
    /// Second over first, over the rounds that have both.
    pub ratio: Option<Estimate>,
    /// Whether the ratio is a bound only.
    pub bound: Option<Side>,
    /// What the conclusion rests on.
    pub evidence: Evidence,
    /// Its result.
    pub conclusion: Conclusion,
    /// Chance of such rounds between equals, corrected for all that is compared.
    pub p_value: Option<f64>,
    /// Difference that two runs of one server showed; 0.01 is 1 %.
    pub floor: f64,
    /// Rounds from which this ratio would be decided.
    pub rounds_needed: Option<u32>,
    /// Smallest difference that these rounds would have shown; 0.05 is 5 %.
    pub smallest_shown: Option<f64>,
    /// Unequal work that may be the cause.
    pub causes: Vec<Inequality>,
    /// Why there is no conclusion.
    pub reason: Option<Reason>,
}

/// Which bound a ratio is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The second one's number is a lower bound, or the first one's latency an upper one.
    AtLeast,
    /// The first one's number is a lower bound, or the second one's latency an upper one.
    AtMost,
}

/// What a conclusion rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// A test over all pairs, workloads and loads of the metric.
    Test,
    /// One of several that may be false, 5 % of them.
    Indication,
    /// Shown and not compared.
    Descriptive,
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// The second one's value is higher, beyond chance and the floor.
    Higher,
    /// The second one's value is lower, beyond chance and the floor.
    Lower,
    /// The two are the same within the floor.
    Equal,
    /// The rounds show no difference.
    NoDifferenceShown,
    /// More rounds are needed.
    CannotTell,
    /// Each round shows a difference, and together a large one, too few of them for a proof.
    PlainNotProven(Direction),
    /// Shown and not compared.
    NotCompared,
    /// A ratio would mislead, or there is none.
    NotComparable,
}

impl Conclusion {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Equal => "equal",
            Self::NoDifferenceShown => "no-difference-shown",
            Self::CannotTell => "cannot-tell",
            Self::PlainNotProven(_) => "plain-not-proven",
            Self::NotCompared => "not-compared",
            Self::NotComparable => "not-comparable",
        }
    }
}

impl Serialize for Conclusion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Which way a difference goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The second one's value is higher.
    Higher,
    /// The second one's value is lower.
    Lower,
}

/// Why there is no conclusion, or what to know beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A latency of a closed loop is clients over rate.
    ClosedLoop,
    /// No round has a value of both.
    NoCommonRound,
    /// Not enough rounds of one of the two can be believed.
    NotValid,
    /// The number of one of the two is withheld.
    Withheld,
    /// Error shares are too far apart for latencies to compare.
    ErrorsApart,
    /// The rate of an open loop is the one that was asked for.
    OpenLoop,
    /// The smaller one is a lower bound: the difference may be smaller than it looks.
    BoundWeakens,
    /// One or both are lower bounds, and show no difference.
    BoundHides,
    /// Neighbouring rounds are correlated: a caution beside a conclusion.
    RoundsDependent,
    /// Work is not equal, and the plan asks for equal work.
    UnequalWork,
}

impl Reason {
    /// A sentence for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::ClosedLoop => "in a closed loop latency is clients divided by rate",
            Self::NoCommonRound => "no round has a value of both",
            Self::Withheld => "a number of one of the two is withheld",
            Self::NotValid => "not enough rounds of both can be believed",
            Self::ErrorsApart => {
                "error shares differ by more than 0.1 point, so latencies do not compare"
            }
            Self::OpenLoop => "in an open loop the rate is the one that was asked for",
            Self::BoundWeakens => "the smaller one is a lower bound: the difference may be smaller",
            Self::BoundHides => "one of the two is a lower bound, which may hide a difference",
            Self::RoundsDependent => {
                "neighbouring rounds resemble each other: the interval may be too narrow"
            }
            Self::UnequalWork => "their work is not equal, and the plan asks for equal work",
        }
    }
}
