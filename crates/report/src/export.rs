//! A report in the formats of other tools: CI systems, trackers of benchmarks, monitoring.
//!
//! Each format is a file. It contains a number only if its verdict is valid and it is more than a
//! bound; what is missing is missing, never 0. Rates are of closed loops and latencies of open
//! ones, because the others follow from the load (R1). Distributions are of both, and the file of a
//! closed loop says so.

mod bencher;
mod github;
mod gobench;
mod hgrm;
mod junit;
mod openmetrics;
mod otava;
mod summary;

use bakeoff_audit::Verdict;
use bakeoff_stats::{Estimate, Metric, Number};

use crate::view::{Cell, Report};

pub use bencher::bencher;
pub use github::{github_bigger, github_smaller};
pub use gobench::gobench;
pub use hgrm::{HGRM_ENDING, HGRM_MARK, HgrmFile, hgrm};
pub use junit::{junit, junit_failures};
pub use openmetrics::openmetrics;
pub use otava::{otava, otava_holes};
pub use summary::summary;

/// What is exported, in the order of every format.
pub(crate) const MEASURES: [Metric; 6] = [
    Metric::RatePerS,
    Metric::LatencyP50Ns,
    Metric::LatencyP99Ns,
    Metric::LatencyP999Ns,
    Metric::CpuNsPerRequest,
    Metric::MemoryPeakBytes,
];

/// A valid number of a contender.
struct Point<'r> {
    cell: &'r Cell,
    measure: Metric,
    estimate: Estimate,
}

impl Point<'_> {
    fn name(&self) -> String {
        name_of(self.cell)
    }
}

/// `html-small/c50/nginx-default`.
fn name_of(cell: &Cell) -> String {
    format!("{}/{}/{}", cell.workload, cell.load, cell.contender)
}

/// What contenders' cells can have numbers of, by cell: rates of closed loops and latencies of open
/// ones.
fn fitting(report: &Report) -> Vec<(&Cell, Metric)> {
    let cells = report.cells.iter().filter(|cell| cell.is_contender());
    let all = cells.flat_map(|cell| MEASURES.map(|measure| (cell, measure)));
    let fits =
        |(cell, metric): &(&Cell, Metric)| metric.fits_loop(report.campaign.is_open(&cell.load));
    all.filter(fits).collect()
}

/// Every valid number, by cell.
fn points(report: &Report) -> Vec<Point<'_>> {
    let fitting = fitting(report).into_iter();
    fitting
        .filter_map(|(cell, measure)| point(cell, measure))
        .collect()
}

/// How many numbers of a report stand in exports: rates, and others.
pub fn exported(report: &Report) -> (usize, usize) {
    let is_rate = |point: &Point<'_>| point.measure == Metric::RatePerS;
    let (rates, others): (Vec<_>, Vec<_>) = points(report).into_iter().partition(is_rate);
    (rates.len(), others.len())
}

/// A number that fits its load, where it is valid and more than a bound.
fn point<'r>(cell: &'r Cell, measure: Metric) -> Option<Point<'r>> {
    let number = measure.number();
    let is_free = number != Number::Rate || !cell.rate_is_lower_bound;
    let is_valid = cell.verdicts.of(number) == Verdict::Valid;
    let estimate = *cell.estimate(measure)?;
    let is_number = [estimate.point, estimate.low, estimate.high]
        .iter()
        .all(|value| value.is_finite());
    (is_free && is_valid && is_number).then_some(Point {
        cell,
        measure,
        estimate,
    })
}
