//! Two campaigns: their rounds are not paired, and what the machine did to one of them it need not
//! have done to the other.
//!
//! The interval is Welch's, over all that is compared by the metric, and reaches farther on both
//! sides by what the yardstick of the two campaigns differs.

use bakeoff_plan::distinct;
use bakeoff_stats::{Located, Metric, locate_apart};

use super::alike::yardstick_log;
use super::within::because;
use super::{Change, GateError, GateRow, Gates, Ruling, all_fit};
use crate::cell::JudgedCell;
use crate::comparisons::{Standing, shown_only};
use crate::conclusion::{PairKey, Reason};
use crate::judged::{Judged, leave_out_unsupported};
use crate::sentence::percent;

/// Holds the contenders of `second` against those of the same name in `first`, at every workload
/// and load that both have. Where each has one contender, their names need not be the same. Loads
/// at a share of the capacity are left out: each campaign found a rate of its own for them, and no
/// yardstick stands beside them.
///
/// # Errors
/// They have nothing in common, or a gate fits none of it.
pub fn compare_records(
    first: &Judged<'_>,
    second: &Judged<'_>,
    gates: &Gates,
) -> Result<Vec<GateRow>, GateError> {
    let mut pairs = pairs(first, second);
    leave_out_unsupported(&mut pairs, |pair| {
        pair.first.is_unsupported() && pair.second.is_unsupported()
    });
    let mut rows: Vec<(usize, GateRow)> = Vec::new();
    for metric in Metric::COMPARED {
        let compared = pairs.iter().map(|pair| Compared::new(pair, metric));
        let compared: Vec<Compared> = compared.collect();
        let family = compared.iter().filter(|one| one.silence.is_none()).count();
        for (place, (pair, compared)) in pairs.iter().zip(&compared).enumerate() {
            if !matches!(
                compared.silence,
                Some(Reason::ClosedLoop | Reason::OpenLoop)
            ) {
                rows.push((place, row(pair, compared, family, gates)));
            }
        }
    }
    rows.sort_by_key(|(place, _)| *place);
    let rows: Vec<GateRow> = rows.into_iter().map(|(_, row)| row).collect();
    if rows.is_empty() {
        return Err(nothing_common(first, second));
    }
    all_fit(gates, &rows)?;
    Ok(rows)
}

/// A cell of each record, and the logarithm of what their yardsticks differ by.
struct Pair<'c, 'r> {
    first: &'c JudgedCell<'r>,
    second: &'c JudgedCell<'r>,
    yardstick: Option<f64>,
}

fn pairs<'c, 'r>(first: &'c Judged<'r>, second: &'c Judged<'r>) -> Vec<Pair<'c, 'r>> {
    let both = common(first, second).into_iter();
    let compared = both.filter(|(left, _)| !left.is_at_share());
    let pair = |(left, right): (&'c JudgedCell<'r>, &'c JudgedCell<'r>)| Pair {
        first: left,
        second: right,
        yardstick: yardstick_log(first, second, &left.cell.key),
    };
    compared.map(pair).collect()
}

/// The cells that both records have, those at a share of the capacity too.
fn common<'c, 'r>(
    first: &'c Judged<'r>,
    second: &'c Judged<'r>,
) -> Vec<(&'c JudgedCell<'r>, &'c JudgedCell<'r>)> {
    let (of_first, of_second) = (names(first), names(second));
    let are_single = of_first.len() == 1 && of_second.len() == 1;
    let with_twin = |left: &'c JudgedCell<'r>| {
        let twin = contenders(second).find(|right| {
            let (one, other) = (&left.cell.key, &right.cell.key);
            one.workload == other.workload
                && one.load == other.load
                && (are_single || one.contender == other.contender)
        });
        Some((left, twin?))
    };
    contenders(first).filter_map(with_twin).collect()
}

/// Why nothing of two records is compared.
fn nothing_common(first: &Judged<'_>, second: &Judged<'_>) -> GateError {
    let at_share = common(first, second).into_iter();
    let at_share = at_share.filter(|(left, _)| left.is_at_share());
    let places = distinct(at_share.map(|(left, _)| {
        let key = &left.cell.key;
        format!("{}, {}", key.workload, key.load)
    }));
    if places.is_empty() {
        GateError::NothingCommon {
            first: names(first),
            second: names(second),
        }
    } else {
        GateError::AtShareOnly { places }
    }
}

fn contenders<'c, 'r>(judged: &'c Judged<'r>) -> impl Iterator<Item = &'c JudgedCell<'r>> {
    let cells = judged.cells.iter();
    cells.filter(|one| one.is_contender())
}

fn names(judged: &Judged<'_>) -> Vec<String> {
    distinct(contenders(judged).map(|cell| cell.cell.key.contender.clone()))
}

/// Values of both sides by one metric.
struct Compared {
    metric: Metric,
    values: [Vec<f64>; 2],
    silence: Option<Reason>,
}

impl Compared {
    fn new(pair: &Pair<'_, '_>, metric: Metric) -> Self {
        let sides = [pair.first, pair.second].map(|cell| Standing::of(cell, metric));
        let [left, right] = &sides;
        let silence = shown_only(metric, pair.first)
            .or(left.silence.max(right.silence))
            .or((left.is_bound || right.is_bound).then_some(Reason::BoundHides))
            .or((metric.is_latency() && left.errors_apart(right)).then_some(Reason::ErrorsApart));
        Self {
            metric,
            silence,
            values: sides.map(|side| side.values.iter().map(|(_, value)| *value).collect()),
        }
    }

    /// Where the second lies against the first, and farther by what the machine changed.
    fn located(&self, family: usize, yardstick: Option<f64>) -> Option<Located> {
        let [first, second] = &self.values;
        let located = locate_apart(first, second, family)?;
        Some(located.widened(yardstick.map_or(0.0, f64::abs)))
    }
}

fn row(pair: &Pair<'_, '_>, compared: &Compared, family: usize, gates: &Gates) -> GateRow {
    let (first, second) = (&pair.first.cell.key, &pair.second.cell.key);
    let key = PairKey {
        workload: first.workload.clone(),
        load: first.load.clone(),
        first: first.contender.clone(),
        second: second.contender.clone(),
    };
    let metric = compared.metric;
    let mut row = GateRow::new(key, metric, gates);
    row.take([pair.first, pair.second]);
    if let Some(reason) = compared.silence {
        row.reason = Some(because(reason, metric, [pair.first, pair.second]));
        return row;
    }
    let Some(located) = compared.located(family, pair.yardstick) else {
        let n = compared.values.iter().map(Vec::len).min().unwrap_or(0);
        row.reason = Some(format!("{n} rounds are too few for an interval"));
        return row;
    };
    let change = Change::of(metric, &located);
    row.hold(&change, &located);
    let hidden = |gate: f64| located.hides(change.distance(gate));
    if row.ruling == Ruling::CannotTell && row.gate.is_some_and(hidden) {
        let apart = pair.yardstick.map_or(0.0, f64::abs).exp_m1();
        row.reason = Some(format!(
            "the null servers of the two records are {} % apart, which hides it however many \
             rounds there are; measure both in one campaign",
            percent(apart)
        ));
    }
    row
}
