//! Pairs of contenders, by every metric.

use bakeoff_plan::LoadModel;
use bakeoff_record::{ContenderKind, Record};
use bakeoff_stats as stats;
use serde::Serialize;

use crate::conclusion::{Comparison, Conclusion, Evidence, Metric, PairKey, Reason, Side};
use crate::equivalence::{Equivalence, Inequality};
use crate::judged::JudgedCell;
use crate::verdict::Verdict;

/// Difference that is taken for noise where no A/A control was run.
const FLOOR: f64 = 0.01;

/// Difference between two runs of one server, which no difference below means anything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Floor {
    /// Of which metric.
    pub metric: Metric,
    /// 0.01 is 1 %.
    pub floor: f64,
    /// Ratios that it was taken from; 0 where none was run.
    pub n: usize,
    /// Whether the two runs of one server were told apart, which makes the campaign suspect.
    pub shown: bool,
}

/// All comparisons of a campaign.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// By workload, load and metric.
    pub comparisons: Vec<Comparison>,
    /// One for each metric.
    pub floors: Vec<Floor>,
}

/// Compares the contenders of each workload and load; references are not compared.
pub fn compare(
    _record: &Record,
    cells: &[JudgedCell<'_>],
    equivalence: &[Equivalence],
) -> Compared {
    let contenders: Vec<&JudgedCell<'_>> = cells
        .iter()
        .filter(|one| one.cell.kind == ContenderKind::Contender)
        .collect();
    let same = |left: &&JudgedCell<'_>, right: &&JudgedCell<'_>| {
        let (left, right) = (&left.cell.key, &right.cell.key);
        left.workload == right.workload && left.load == right.load
    };
    let mut compared = Compared::default();
    for group in contenders.chunk_by(same) {
        let trials: Vec<&stats::Cell<'_>> = group.iter().map(|one| &one.cell).collect();
        for one in stats::compare_group(&trials) {
            let (first, second) = (group[one.pair.first], group[one.pair.second]);
            let causes = causes(equivalence, first, second);
            compared
                .comparisons
                .push(comparison(&one, first, second, causes));
        }
    }
    let floor = |metric| Floor {
        metric,
        floor: FLOOR,
        n: 0,
        shown: false,
    };
    compared.floors = Metric::ALL.map(floor).to_vec();
    compared
}

fn causes(
    equivalence: &[Equivalence],
    first: &JudgedCell<'_>,
    second: &JudgedCell<'_>,
) -> Vec<Inequality> {
    let tables = equivalence.iter();
    tables
        .filter(|table| table.workload == first.cell.key.workload)
        .flat_map(|table| table.between(&first.cell.key.contender, &second.cell.key.contender))
        .cloned()
        .collect()
}

fn comparison(
    compared: &stats::Comparison,
    first: &JudgedCell<'_>,
    second: &JudgedCell<'_>,
    causes: Vec<Inequality>,
) -> Comparison {
    let metric = match compared.metric {
        stats::Metric::RatePerS => Metric::RatePerS,
        stats::Metric::LatencyP50Ns => Metric::LatencyP50Ns,
        stats::Metric::LatencyP99Ns => Metric::LatencyP99Ns,
        stats::Metric::CpuNsPerRequest => Metric::CpuNsPerRequest,
    };
    let verdicts = [first, second].map(|one| one.judgement.verdicts.of(metric.number()));
    let worst = verdicts.into_iter().max().unwrap_or(Verdict::Invalid);
    let closed = first
        .cell
        .trials
        .first()
        .is_some_and(|trial| matches!(trial.load.model, LoadModel::Closed { .. }));
    let latency = metric.measure().is_latency();
    let ratio = compared.ratio.filter(|_| worst <= Verdict::Suspect);
    let (conclusion, reason) = match (ratio, worst, compared.conclusion) {
        (None, Verdict::Valid | Verdict::Suspect, _) => {
            (Conclusion::NotComparable, Some(Reason::NoCommonRound))
        }
        (None, ..) => (Conclusion::NotComparable, Some(Reason::Withheld)),
        _ if latency && closed => (Conclusion::NotCompared, Some(Reason::ClosedLoop)),
        (_, Verdict::Suspect, _) => (Conclusion::NotComparable, Some(Reason::NotValid)),
        (_, _, stats::Conclusion::Higher) => (Conclusion::Higher, None),
        (_, _, stats::Conclusion::Lower) => (Conclusion::Lower, None),
        (_, _, stats::Conclusion::NoDifferenceShown) => (Conclusion::NoDifferenceShown, None),
        (_, _, stats::Conclusion::TooFewRounds) => (Conclusion::CannotTell, None),
        (_, _, stats::Conclusion::NotComparable) => {
            (Conclusion::NotComparable, Some(Reason::NoCommonRound))
        }
    };
    let is_rate = metric == Metric::RatePerS;
    let bound = match (first.rate_bound, second.rate_bound) {
        (None, Some(_)) if is_rate => Some(Side::AtLeast),
        (Some(_), None) if is_rate => Some(Side::AtMost),
        _ => None,
    };
    Comparison {
        pair: PairKey {
            workload: first.cell.key.workload.clone(),
            load: first.cell.key.load.clone(),
            first: first.cell.key.contender.clone(),
            second: second.cell.key.contender.clone(),
        },
        metric,
        ratio,
        bound,
        evidence: if conclusion == Conclusion::NotCompared {
            Evidence::Descriptive
        } else {
            Evidence::Test
        },
        conclusion,
        p_value: compared.p_value.filter(|_| ratio.is_some()),
        floor: FLOOR,
        rounds_needed: None,
        smallest_shown: None,
        causes,
        reason,
    }
}
