//! Thinned series of one trial: what the charts need and no more.

use bakeoff_record::{LoadResult, Role, TreeTick, TreeUsage, TrialRecord};
use bakeoff_stats::{Cell, Metric};
use schemars::JsonSchema;
use serde::Serialize;

use crate::view::short;

/// Trials up to which every one keeps its detail.
const DETAILED_TRIALS: usize = 150;
/// A part shorter than this share of the usual is left out: the reading at the window's end comes
/// right after a regular one, and a rate over a few milliseconds is noise.
const LEAST_PART: f64 = 0.5;
/// Powers of ten that a curve goes to: percentile 99.999.
const CURVE_DECADES: u32 = 5;

/// How much of a trial's series is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Detail {
    /// Points of a series over time at the most.
    pub(super) time_points: usize,
    /// Points of a percentile curve for each power of ten of the share beyond.
    pub(super) curve_points: u32,
    /// Whether configurations stand exactly as used, each with the ports and folders of its trial.
    pub(super) exact_texts: bool,
}

impl Detail {
    /// What a trial keeps in a campaign of `all` trials. A page of a thousand trials is still
    /// opened at once, and nobody looks at the series of each.
    pub(super) fn of(all: usize, is_median: bool) -> Self {
        let (time_points, curve_points) = match (all <= DETAILED_TRIALS, is_median) {
            (true, _) => (120, 12),
            (false, true) => (60, 12),
            (false, false) => (12, 3),
        };
        Self {
            time_points,
            curve_points,
            exact_texts: all <= DETAILED_TRIALS,
        }
    }
}

/// The round of the median rate, of an even number the lower one; charts over time show it. Rates
/// are held against each other as the page has them, so that of rounds that are equal there the
/// page takes the same one.
pub(super) fn median_round<'r>(cell: &Cell<'r>) -> Option<&'r str> {
    let rate = |trial: &&TrialRecord| short(Metric::RatePerS.of(trial).unwrap_or(0.0));
    let mut measured: Vec<&TrialRecord> = cell.measured().collect();
    measured.sort_by(|left, right| rate(left).total_cmp(&rate(right)));
    let middle = measured.len().checked_sub(1)? / 2;
    measured.get(middle).map(|trial| trial.id.as_str())
}

/// Processor and memory use of the process trees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Processes {
    /// Each tree that was watched.
    pub trees: Vec<Tree>,
}

/// One process tree over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tree {
    /// Who it is.
    pub role: Role,
    /// Ends of the parts, seconds from the start of the window.
    pub at_s: Vec<f64>,
    /// Mean number of processors busy in each part.
    pub cores: Vec<f64>,
    /// Largest resident memory in each part, bytes.
    pub rss_bytes: Vec<u64>,
}

/// Requests over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Throughput {
    /// Middles of the parts, seconds from the start of the window.
    pub at_s: Vec<f64>,
    /// Right answers per second.
    pub ok_per_s: Vec<f64>,
    /// Other ends per second.
    pub errors_per_s: Vec<f64>,
}

/// Latency by percentile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Curve {
    /// One over the share of responses beyond: 2 is the median, 100 the 99th percentile.
    pub one_in: Vec<f64>,
    /// Latency there, ns.
    pub latency_ns: Vec<u64>,
}

pub(super) fn processes(trial: &TrialRecord, detail: Detail) -> Processes {
    let trees = trial.usage.trees.iter();
    Processes {
        trees: trees.map(|usage| tree(usage, detail)).collect(),
    }
}

fn tree(usage: &TreeUsage, detail: Detail) -> Tree {
    let ticks = &usage.ticks;
    let stride = ticks.len().div_ceil(detail.time_points).max(1);
    let mut tree = Tree {
        role: usage.role,
        at_s: Vec::new(),
        cores: Vec::new(),
        rss_bytes: Vec::new(),
    };
    let length_s_least = stride as f64 * period_s(ticks) * LEAST_PART;
    let mut start = 0;
    while start + 1 < ticks.len() {
        let end = (start + stride).min(ticks.len() - 1);
        let (first, last) = (&ticks[start], &ticks[end]);
        let cpu_s = last.cpu_user_s + last.cpu_system_s - first.cpu_user_s - first.cpu_system_s;
        let length_s = last.at_s - first.at_s;
        if length_s > length_s_least {
            let part = &ticks[start + 1..=end];
            tree.at_s.push(short(last.at_s));
            tree.cores.push(short((cpu_s / length_s).max(0.0)));
            tree.rss_bytes
                .push(part.iter().map(|tick| tick.rss_bytes).max().unwrap_or(0));
        }
        start = end;
    }
    tree
}

/// Mean time between readings, seconds.
fn period_s(ticks: &[TreeTick]) -> f64 {
    match (ticks.first(), ticks.last()) {
        (Some(first), Some(last)) if ticks.len() > 1 => {
            (last.at_s - first.at_s) / (ticks.len() - 1) as f64
        }
        _ => 0.0,
    }
}

pub(super) fn throughput(result: &LoadResult, detail: Detail) -> Throughput {
    let intervals = &result.intervals;
    let stride = intervals.len().div_ceil(detail.time_points).max(1);
    let mut series = Throughput::default();
    for part in intervals.chunks(stride) {
        let length_s: f64 = part.iter().map(|one| one.length_s).sum();
        if length_s > 0.0 {
            let ok: u64 = part.iter().map(|one| one.ok).sum();
            let errors: u64 = part.iter().map(|one| one.errors).sum();
            series.at_s.push(short(part[0].start_s + length_s / 2.0));
            series.ok_per_s.push(short(ok as f64 / length_s));
            series.errors_per_s.push(short(errors as f64 / length_s));
        }
    }
    series
}

/// The curve as far as ten requests lie beyond, and the largest at its end. What had no end counts
/// at the age that it reached.
pub(super) fn curve(result: &LoadResult, detail: Detail) -> Curve {
    let all = result.latency_with_unended();
    let mut curve = Curve::default();
    for step in 0..=detail.curve_points * CURVE_DECADES {
        let one_in = 10_f64.powf(f64::from(step) / f64::from(detail.curve_points));
        let q = 1.0 - 1.0 / one_in;
        let known = all.supported_quantile(q);
        if let Some(bounds) = known.and_then(|_| result.latency_bounds(q)) {
            curve.one_in.push(short(one_in));
            curve.latency_ns.push(bounds.low);
        }
    }
    let count = all.count() as f64;
    if let Some(max) = all.max()
        && curve.one_in.last().is_some_and(|last| *last < count)
    {
        curve.one_in.push(short(count));
        curve.latency_ns.push(max);
    }
    curve
}
