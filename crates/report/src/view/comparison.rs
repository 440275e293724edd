//! Pairs of contenders at the same workload and load.

use bakeoff_audit::{Check, Comparison as Compared, Conclusion, Evidence, Side};
use bakeoff_stats::{Estimate, Metric};
use schemars::JsonSchema;
use serde::Serialize;

/// Two contenders at the same workload and load, by one metric.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// What is compared.
    pub metric: Metric,
    /// The contender whose value is the ratio's denominator.
    pub first: String,
    /// The contender whose value is the numerator.
    pub second: String,
    /// Second over first within a round, over rounds; null where values of both are missing or
    /// withheld.
    pub ratio: Option<Estimate>,
    /// Which bound the ratio is, where it is only known to be at least or at most that.
    pub bound: Option<Side>,
    /// What kind of evidence the conclusion rests on.
    pub evidence: Evidence,
    /// Difference that two runs of one server showed; 0.01 is 1 %.
    pub floor: f64,
    /// What else the conclusion rests on.
    pub basis: Basis,
    /// `higher`, `lower`, `equal`, `no-difference-shown`, `cannot-tell` where more rounds are
    /// needed, `plain-not-proven`, `not-compared` where it is shown and not compared, or
    /// `not-comparable`.
    #[schemars(with = "String")]
    pub conclusion: Conclusion,
    /// All of it as a sentence.
    pub text: String,
}

/// What a conclusion rests on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Basis {
    /// Chance of such rounds between equals, corrected for everything that is compared by the
    /// metric.
    pub p_value: Option<f64>,
    /// Rounds from which the ratio would be decided.
    pub rounds_needed: Option<u32>,
    /// Smallest difference that these rounds would have shown; 0.05 is 5 %.
    pub smallest_shown: Option<f64>,
    /// Checks of equal work that did not pass between the two: possible causes of a difference.
    pub unequal: Vec<Check>,
    /// Why there is no conclusion; null where there is one.
    pub reason: Option<&'static str>,
}

/// The comparisons that the audit made.
pub(super) fn draw(comparisons: &[Compared]) -> Vec<Comparison> {
    comparisons.iter().map(one).collect()
}

fn one(compared: &Compared) -> Comparison {
    let pair = &compared.pair;
    let causes = compared.causes.iter();
    Comparison {
        workload: pair.workload.clone(),
        load: pair.load.clone(),
        metric: compared.metric,
        first: pair.first.clone(),
        second: pair.second.clone(),
        ratio: compared.ratio,
        bound: compared.bound,
        evidence: compared.evidence,
        floor: compared.floor,
        basis: Basis {
            p_value: compared.p_value,
            rounds_needed: compared.rounds_needed,
            smallest_shown: compared.smallest_shown,
            unequal: causes.map(|one| one.check.clone()).collect(),
            reason: compared.reason.map(bakeoff_audit::Reason::text),
        },
        conclusion: compared.conclusion,
        text: compared.sentence(),
    }
}

/// A bound as it stands before a number.
pub(crate) fn sign(side: Side) -> &'static str {
    match side {
        Side::AtLeast => ">=",
        Side::AtMost => "<=",
    }
}
