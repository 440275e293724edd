//! How far contenders at a constant rate are apart, in shares of one of them.
//!
//! A share is of the contender that is named as the base, once for each of the two: 14 % more than
//! A is not 14 % less than B. Each is the median over rounds of what lies between the two within a
//! round, as in comparisons.

use std::collections::BTreeMap;

use bakeoff_audit::{Comparison, Conclusion, JudgedCell, Verdict};
use bakeoff_stats::{Estimate, Metric, ratio_over_rounds};
use schemars::JsonSchema;
use serde::Serialize;

use super::cell::Cell;

/// What is reported about a pair, in the order of tables.
pub(crate) const MEASURES: [Metric; 6] = [
    Metric::LatencyMeanNs,
    Metric::LatencyP50Ns,
    Metric::LatencyP95Ns,
    Metric::LatencyP99Ns,
    Metric::LatencyMaxNs,
    Metric::RatePerS,
];

/// One contender against another at the same workload and load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// The contender whose numbers are 100 %.
    pub base: String,
    /// The contender held against it.
    pub other: String,
    /// `(other - base) / base` by the name of the measure: 0.14 is 14 % more than the base, -0.14
    /// as much less; null where values of both are missing or withheld.
    #[schemars(with = "BTreeMap<String, Option<Estimate>>")]
    pub shares: BTreeMap<Metric, Option<Estimate>>,
    /// Why a share is null, by the name of its measure.
    #[schemars(with = "BTreeMap<String, String>")]
    pub missing: BTreeMap<Metric, String>,
    /// Why the two are not ranked by these, whatever they are; null where they may be.
    pub caution: Option<String>,
}

/// Both differences of each pair of contenders at a constant rate.
pub(super) fn draw(
    judged: &[JudgedCell<'_>],
    cells: &[Cell],
    comparisons: &[Comparison],
) -> Vec<Difference> {
    let reported: Vec<(&JudgedCell<'_>, &Cell)> = judged
        .iter()
        .zip(cells)
        .filter(|(_, cell)| cell.is_contender() && cell.vegeta.is_some())
        .collect();
    let mut differences = Vec::new();
    for base in &reported {
        for other in &reported {
            let same = base.1.workload == other.1.workload && base.1.load == other.1.load;
            if same && base.1.contender != other.1.contender {
                differences.push(one(*base, *other, comparisons));
            }
        }
    }
    differences
}

fn one(
    base: (&JudgedCell<'_>, &Cell),
    other: (&JudgedCell<'_>, &Cell),
    comparisons: &[Comparison],
) -> Difference {
    let mut shares = BTreeMap::new();
    let mut missing = BTreeMap::new();
    for measure in MEASURES {
        let verdict = |cell: &Cell| cell.verdicts.of(measure.number());
        let worst = verdict(base.1).max(verdict(other.1));
        let ratio = if worst > Verdict::Suspect {
            Err("numbers of an invalid cell are withheld")
        } else {
            let number = measure.number();
            ratio_over_rounds(&base.0.usable(number), &other.0.usable(number), measure)
        };
        if let Err(reason) = ratio {
            missing.insert(measure, reason.to_owned());
        }
        shares.insert(measure, ratio.ok().map(less_one));
    }
    Difference {
        workload: base.1.workload.clone(),
        load: base.1.load.clone(),
        base: base.1.contender.clone(),
        other: other.1.contender.clone(),
        shares,
        missing,
        caution: caution(base.1, other.1, comparisons),
    }
}

/// What the audit says of the two by p99, unless one of them is ahead or they are equal.
fn caution(base: &Cell, other: &Cell, comparisons: &[Comparison]) -> Option<String> {
    let names = [&base.contender, &other.contender];
    let mut of_pair = comparisons.iter().filter(|one| {
        let pair = &one.pair;
        let here = pair.workload == base.workload && pair.load == base.load;
        here && names.contains(&&pair.first) && names.contains(&&pair.second)
    });
    let compared = of_pair.find(|one| one.metric == Metric::LatencyP99Ns)?;
    match compared.conclusion {
        Conclusion::Higher | Conclusion::Lower | Conclusion::Equal => None,
        _ => Some(format!("p99: {}", compared.phrase())),
    }
}

/// A ratio of 1.14 is 14 % more, not 114 %.
fn less_one(ratio: Estimate) -> Estimate {
    Estimate {
        point: ratio.point - 1.0,
        low: ratio.low - 1.0,
        high: ratio.high - 1.0,
        ..ratio
    }
}
