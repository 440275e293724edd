//! Pairs of contenders at the same workload and load.

use bakeoff_audit::{
    Check, Comparison as Compared, Conclusion, Equivalence, Evidence, Metric, Side, Verdict,
};
use bakeoff_stats::{CONFIDENCE_ROUNDS, Estimate};
use serde::Serialize;

use crate::number::digits;
use crate::view::cell::Cell;

/// Two contenders at the same workload and load, by one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// What is compared.
    pub metric: Metric,
    /// The contender divided by.
    pub first: String,
    /// The contender divided.
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
    pub conclusion: &'static str,
    /// All of it as a sentence.
    pub text: String,
}

/// What a conclusion rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// What makes a comparison of these two unfair.
pub(super) fn unequal(equivalence: &[Equivalence], first: &Cell, second: &Cell) -> Vec<Check> {
    let of_workload = equivalence
        .iter()
        .filter(|it| it.workload == first.workload);
    of_workload
        .flat_map(|table| table.between(&first.contender, &second.contender))
        .map(|one| one.check.clone())
        .collect()
}

fn one(compared: &Compared) -> Comparison {
    let pair = &compared.pair;
    let what = compared.metric.words();
    let (conclusion, why) = conclude(compared);
    let text = match compared.ratio {
        Some(ratio) => format!(
            "{what} of {} over {}: {}x ({} to {}, {} rounds); {why}",
            pair.second,
            pair.first,
            digits(ratio.point),
            digits(ratio.low),
            digits(ratio.high),
            ratio.n,
        ),
        None => format!("{what} of {} over {}: {why}", pair.second, pair.first),
    };
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
        conclusion,
        text,
    }
}

/// A bound as it stands before a number.
pub(crate) fn sign(side: Side) -> &'static str {
    match side {
        Side::AtLeast => ">=",
        Side::AtMost => "<=",
    }
}

fn conclude(compared: &Compared) -> (&'static str, String) {
    let why = compared.reason.map_or("", |reason| reason.text());
    match compared.conclusion {
        Conclusion::Higher => ("higher", "higher beyond chance and noise".into()),
        Conclusion::Lower => ("lower", "lower beyond chance and noise".into()),
        Conclusion::Equal => ("equal", "equal".into()),
        Conclusion::NoDifferenceShown => ("no-difference-shown", "no difference shown".into()),
        Conclusion::CannotTell => ("cannot-tell", "more rounds are needed".into()),
        Conclusion::PlainNotProven(_) => ("plain-not-proven", "plain, not proven".into()),
        Conclusion::NotCompared => ("not-compared", why.into()),
        Conclusion::NotComparable => ("not-comparable", why.into()),
    }
}

/// Why numbers of two contenders rank neither, whatever they are; `None` where they may.
pub(super) fn caution(
    rounds: usize,
    verdicts: &[Verdict; 2],
    unequal: &[Check],
) -> Option<(&'static str, String)> {
    if !unequal.is_empty() {
        let codes: Vec<&str> = unequal.iter().map(|check| check.code.name()).collect();
        let why = format!(
            "not ranked, because their work is not equal: {}",
            codes.join(", ")
        );
        return Some(("unequal-work", why));
    }
    if rounds < CONFIDENCE_ROUNDS {
        let why = format!("no difference shown: too few rounds ({CONFIDENCE_ROUNDS} are needed)");
        return Some(("too-few-rounds", why));
    }
    let both_valid = verdicts.iter().all(|verdict| *verdict == Verdict::Valid);
    (!both_valid).then(|| {
        (
            "not-ranked",
            "not ranked, because not both are valid".into(),
        )
    })
}
