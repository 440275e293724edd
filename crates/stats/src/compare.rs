//! Two contenders at the same workload and load, round by round.
//!
//! A round is the pair: both contenders met the same machine within minutes. The median of the
//! logarithm of the ratio is the estimate, the sign test decides, and Holm's step-down corrects
//! for the number of pairs looked at (R20). Nothing here says "faster" below six rounds (R18).

use serde::Serialize;

use crate::cell::Cell;
use crate::estimate::{CONFIDENCE_ROUNDS, Estimate, estimate, sign_test};
use crate::measure::{Measure, Missing};

/// Ratio that two runs of one and the same server may differ by on a quiet machine; stands in
/// for a measured A/A control (R20, R21) and is the finest difference that R26 aims at.
pub const NOISE_FLOOR: f64 = 1.03;
/// Error shares further apart than this make latencies incomparable (R6): 0.1 point.
pub const ERROR_SHARE_APART: f64 = 0.001;
/// Chance of declaring a difference between equals, over all pairs of a group together.
const ALPHA: f64 = 0.05;

/// What two contenders are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Right answers per second; more is better.
    RatePerS,
    /// Median latency; less is better.
    LatencyP50Ns,
    /// 99th percentile of latency; less is better.
    LatencyP99Ns,
    /// CPU time of the server for each request; less is better.
    CpuNsPerRequest,
}

impl Metric {
    /// Every metric, in the order of tables.
    pub const ALL: [Self; 4] = [
        Self::RatePerS,
        Self::LatencyP50Ns,
        Self::LatencyP99Ns,
        Self::CpuNsPerRequest,
    ];

    /// The measure that it rests on.
    pub fn measure(self) -> Measure {
        match self {
            Self::RatePerS => Measure::RatePerS,
            Self::LatencyP50Ns => Measure::LatencyP50Ns,
            Self::LatencyP99Ns => Measure::LatencyP99Ns,
            Self::CpuNsPerRequest => Measure::CpuNsPerRequest,
        }
    }

    /// In words, for a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::RatePerS => "requests per second",
            Self::LatencyP50Ns => "median latency",
            Self::LatencyP99Ns => "p99 latency",
            Self::CpuNsPerRequest => "CPU time per request",
        }
    }
}

/// What a comparison comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// The second one's value is higher, beyond chance and noise.
    Higher,
    /// The second one's value is lower, beyond chance and noise.
    Lower,
    /// The rounds do not show a difference.
    NoDifferenceShown,
    /// Fewer than six rounds have both: no difference is declared, whatever the ratio.
    TooFewRounds,
    /// A ratio would mislead, or there is none.
    NotComparable,
}

/// Two contenders of one workload and load, by one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Position of the first contender's cell in the group.
    pub pair: Pair,
    /// What is compared.
    pub metric: Metric,
    /// Second over first, median over rounds; `None` where there is no pair of values.
    pub ratio: Option<Estimate>,
    /// Chance of a split of signs as uneven as this one between equals, corrected by Holm.
    pub p_value: Option<f64>,
    /// What it comes to.
    pub conclusion: Conclusion,
    /// Why there is no comparison, where there is none.
    pub reason: Option<&'static str>,
}

/// Positions of two cells in their group, the first before the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The one divided by.
    pub first: usize,
    /// The one divided.
    pub second: usize,
}

/// All pairs of the cells of one workload and load, by every metric. Holm's correction runs over
/// the pairs of one metric.
pub fn compare_group(group: &[&Cell<'_>]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for metric in Metric::ALL {
        let mut family: Vec<Comparison> = pairs(group.len())
            .map(|pair| compare_pair(group, pair, metric))
            .collect();
        correct_by_holm(&mut family);
        for comparison in &mut family {
            comparison.conclusion = conclude(comparison);
        }
        comparisons.append(&mut family);
    }
    comparisons
}

fn pairs(n: usize) -> impl Iterator<Item = Pair> {
    (0..n).flat_map(move |first| (first + 1..n).map(move |second| Pair { first, second }))
}

fn compare_pair(group: &[&Cell<'_>], pair: Pair, metric: Metric) -> Comparison {
    let (first, second) = (group[pair.first], group[pair.second]);
    let blank = |reason| Comparison {
        pair,
        metric,
        ratio: None,
        p_value: None,
        conclusion: Conclusion::NotComparable,
        reason: Some(reason),
    };
    let (logs, ratio) = match paired(first, second, metric.measure()) {
        Ok(paired) => paired,
        Err(reason) => return blank(reason),
    };
    let above = logs.iter().filter(|log| **log > 0.0).count();
    let below = logs.iter().filter(|log| **log < 0.0).count();
    Comparison {
        ratio: Some(ratio),
        p_value: Some(sign_test(above, below)),
        conclusion: Conclusion::NoDifferenceShown,
        reason: None,
        pair,
        metric,
    }
}

/// Second over first: median over rounds of the ratio within a round.
///
/// # Errors
/// Says in words why there is none.
pub fn ratio_over_rounds(
    first: &Cell<'_>,
    second: &Cell<'_>,
    measure: Measure,
) -> Result<Estimate, &'static str> {
    paired(first, second, measure).map(|(_, ratio)| ratio)
}

/// The logarithms of the rounds' ratios, and what they come to.
fn paired(
    first: &Cell<'_>,
    second: &Cell<'_>,
    measure: Measure,
) -> Result<(Vec<f64>, Estimate), &'static str> {
    if measure.is_latency() && error_shares_apart(first, second) {
        return Err("error rates differ by more than 0.1 point, so latencies do not compare");
    }
    if [first, second]
        .map(|cell| cell.estimate(measure))
        .iter()
        .any(is_bound)
    {
        return Err("in some rounds it is only known to be at least something");
    }
    let logs = log_ratios(first, second, measure);
    let log_ratio = estimate(&logs).ok_or("no round has a value of both")?;
    let ratio = Estimate {
        point: log_ratio.point.exp(),
        low: log_ratio.low.exp(),
        high: log_ratio.high.exp(),
        ..log_ratio
    };
    Ok((logs, ratio))
}

fn is_bound(estimate: &Result<Estimate, Missing>) -> bool {
    matches!(estimate, Err(Missing::AtLeast { .. }))
}

/// Logarithm of second over first for each round that has both.
fn log_ratios(first: &Cell<'_>, second: &Cell<'_>, measure: Measure) -> Vec<f64> {
    let mut logs = Vec::new();
    for trial in second.measured() {
        let twin = first.measured().find(|other| other.round == trial.round);
        let Some(twin) = twin else { continue };
        if let (Ok(value), Ok(base)) = (measure.of(trial), measure.of(twin))
            && value > 0.0
            && base > 0.0
        {
            logs.push((value / base).ln());
        }
    }
    logs
}

fn error_shares_apart(first: &Cell<'_>, second: &Cell<'_>) -> bool {
    let share = |cell: &Cell<'_>| cell.estimate(Measure::ErrorShare).ok().map(|one| one.point);
    match (share(first), share(second)) {
        (Some(first), Some(second)) => (first - second).abs() > ERROR_SHARE_APART,
        _ => false,
    }
}

/// Holm's step-down: the smallest p-value times the number of pairs, the next times one fewer,
/// never smaller than the one before. Pairs without a value are not counted.
fn correct_by_holm(family: &mut [Comparison]) {
    let mut order: Vec<usize> = (0..family.len())
        .filter(|index| family[*index].p_value.is_some())
        .collect();
    order.sort_by(|left, right| {
        let p_of = |index: &usize| family[*index].p_value.unwrap_or(1.0);
        p_of(left).total_cmp(&p_of(right))
    });
    let mut floor = 0.0_f64;
    for (rank, index) in order.iter().enumerate() {
        let scaled = family[*index].p_value.unwrap_or(1.0) * (order.len() - rank) as f64;
        floor = floor.max(scaled).min(1.0);
        family[*index].p_value = Some(floor);
    }
}

fn conclude(comparison: &Comparison) -> Conclusion {
    let (Some(ratio), Some(p_value)) = (comparison.ratio, comparison.p_value) else {
        return Conclusion::NotComparable;
    };
    if ratio.n < CONFIDENCE_ROUNDS {
        return Conclusion::TooFewRounds;
    }
    if p_value > ALPHA {
        return Conclusion::NoDifferenceShown;
    }
    if ratio.low > NOISE_FLOOR {
        Conclusion::Higher
    } else if ratio.high < 1.0 / NOISE_FLOOR {
        Conclusion::Lower
    } else {
        Conclusion::NoDifferenceShown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::IntervalKind;

    fn comparison(ratio: f64, low: f64, high: f64, n: usize, p_value: f64) -> Comparison {
        let interval = IntervalKind::MedianConfidence95;
        Comparison {
            pair: Pair {
                first: 0,
                second: 1,
            },
            metric: Metric::RatePerS,
            ratio: Some(Estimate {
                point: ratio,
                low,
                high,
                n,
                interval,
            }),
            p_value: Some(p_value),
            conclusion: Conclusion::NotComparable,
            reason: None,
        }
    }

    #[test]
    fn a_winner_needs_rounds_signs_and_more_than_noise() {
        let check = |one: Comparison, expected| assert_eq!(conclude(&one), expected, "{one:?}");
        check(comparison(9.0, 8.0, 9.5, 5, 0.01), Conclusion::TooFewRounds);
        check(comparison(2.0, 1.9, 2.1, 10, 0.002), Conclusion::Higher);
        check(comparison(0.5, 0.4, 0.6, 10, 0.002), Conclusion::Lower);
        check(
            comparison(2.0, 1.9, 2.1, 10, 0.2),
            Conclusion::NoDifferenceShown,
        );
        // All rounds agree, but by less than two runs of one server may differ.
        check(
            comparison(1.02, 1.01, 1.025, 10, 0.002),
            Conclusion::NoDifferenceShown,
        );
    }

    #[test]
    fn holm_multiplies_by_the_pairs_left() {
        let mut family = [
            comparison(1.0, 1.0, 1.0, 6, 0.04),
            comparison(1.0, 1.0, 1.0, 6, 0.01),
        ];
        correct_by_holm(&mut family);
        // 0.01 * 2 = 0.02 first, then 0.04 * 1.
        assert_eq!(family[1].p_value, Some(0.02));
        assert_eq!(family[0].p_value, Some(0.04));
    }

    #[test]
    fn six_rounds_cannot_decide_between_three() {
        // 2/64 * 3 = 0.094: R18's six rounds are for a single pair.
        let mut family = [0.03125; 3].map(|p_value| comparison(2.0, 1.9, 2.1, 6, p_value));
        correct_by_holm(&mut family);
        assert_eq!(conclude(&family[0]), Conclusion::NoDifferenceShown);
    }
}
