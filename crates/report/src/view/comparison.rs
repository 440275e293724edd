//! Pairs of contenders at the same workload and load.

use bakeoff_audit::{Check, Equivalence, Verdict};
use bakeoff_stats::{
    CONFIDENCE_ROUNDS, Cell as Trials, Comparison as Compared, Conclusion, Estimate, Metric,
    NOISE_FLOOR, compare_group,
};
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
    /// Second over first: median over rounds of the ratio within a round; null where values of
    /// both are missing or withheld.
    pub ratio: Option<Estimate>,
    /// Sign test's p-value with Holm's correction over the pairs of this workload and load.
    pub p_value: Option<f64>,
    /// Checks of equal work that did not pass between the two.
    pub unequal: Vec<Check>,
    /// `higher`, `lower`, `no-difference-shown`, `too-few-rounds`, `not-comparable`, `not-ranked`
    /// where one of the two is not valid, or `unequal-work` where one has more to do.
    pub conclusion: &'static str,
    /// The same as a sentence.
    pub text: String,
}

/// Compares the contenders of each workload and load; references are not compared.
pub(super) fn draw(
    groups: &[Trials<'_>],
    cells: &[Cell],
    equivalence: &[Equivalence],
) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    let both: Vec<(&Trials<'_>, &Cell)> = groups
        .iter()
        .zip(cells)
        .filter(|(_, cell)| cell.is_contender())
        .collect();
    let same = |left: &(&Trials<'_>, &Cell), right: &(&Trials<'_>, &Cell)| {
        left.1.workload == right.1.workload && left.1.load == right.1.load
    };
    for group in both.chunk_by(same) {
        let trials: Vec<&Trials<'_>> = group.iter().map(|(trials, _)| *trials).collect();
        for compared in compare_group(&trials) {
            let first = group[compared.pair.first].1;
            let second = group[compared.pair.second].1;
            let unequal = unequal(equivalence, first, second);
            comparisons.push(one(&compared, first, second, unequal));
        }
    }
    comparisons
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

fn one(compared: &Compared, first: &Cell, second: &Cell, unequal: Vec<Check>) -> Comparison {
    let verdicts = [first.verdict.verdict, second.verdict.verdict];
    let withheld = verdicts.iter().any(|verdict| *verdict > Verdict::Suspect);
    let ratio = compared.ratio.filter(|_| !withheld);
    let (conclusion, why) = conclude(compared, ratio.is_some(), &verdicts, &unequal);
    let what = compared.metric.words();
    let text = match ratio {
        Some(ratio) => format!(
            "{what} of {} over {}: {}x ({} to {}, {} rounds); {why}",
            second.contender,
            first.contender,
            digits(ratio.point),
            digits(ratio.low),
            digits(ratio.high),
            ratio.n,
        ),
        None => format!(
            "{what} of {} over {}: {why}",
            second.contender, first.contender
        ),
    };
    Comparison {
        workload: first.workload.clone(),
        load: first.load.clone(),
        metric: compared.metric,
        first: first.contender.clone(),
        second: second.contender.clone(),
        ratio,
        p_value: compared.p_value.filter(|_| ratio.is_some()),
        unequal,
        conclusion,
        text,
    }
}

fn conclude(
    compared: &Compared,
    has_ratio: bool,
    verdicts: &[Verdict; 2],
    unequal: &[Check],
) -> (&'static str, String) {
    if !has_ratio {
        let why = compared
            .reason
            .unwrap_or("numbers of an invalid cell are withheld");
        return ("not-comparable", why.into());
    }
    let rounds = compared.ratio.map_or(0, |ratio| ratio.n);
    if let Some(caution) = caution(rounds, verdicts, unequal) {
        return caution;
    }
    match compared.conclusion {
        Conclusion::Higher => ("higher", "higher beyond chance and noise".into()),
        Conclusion::Lower => ("lower", "lower beyond chance and noise".into()),
        Conclusion::NoDifferenceShown => (
            "no-difference-shown",
            format!(
                "no difference shown (beyond chance and {:.0} %)",
                (NOISE_FLOOR - 1.0) * 100.0
            ),
        ),
        Conclusion::TooFewRounds | Conclusion::NotComparable => (
            "not-comparable",
            compared.reason.unwrap_or("not comparable").into(),
        ),
    }
}

/// Why numbers of two contenders rank neither, whatever they are; `None` where they may.
pub(super) fn caution(
    rounds: usize,
    verdicts: &[Verdict; 2],
    unequal: &[Check],
) -> Option<(&'static str, String)> {
    if !unequal.is_empty() {
        let codes: Vec<&str> = unequal.iter().map(|check| check.code).collect();
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
