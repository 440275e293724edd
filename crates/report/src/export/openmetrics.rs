//! OpenMetrics text: the valid numbers as gauges, and the verdicts of all.

use bakeoff_audit::Verdict;
use bakeoff_stats::{Metric, Number};

use super::{MEASURES, points};
use crate::live::{family, sample};
use crate::view::{Cell, Report};

/// The valid numbers of a report as OpenMetrics, in base units, with the ends of their intervals;
/// and each number's verdict, so that a missing one is explained.
pub fn openmetrics(report: &Report) -> String {
    let mut out = String::new();
    let points = points(report);
    for measure in MEASURES {
        let (name, help) = described(measure);
        family(&mut out, name, "gauge", help);
        let scale = if name.ends_with("_seconds") {
            1e-9
        } else {
            1.0
        };
        for point in points.iter().filter(|point| point.measure == measure) {
            let one = point.estimate;
            for (end, value) in [("point", one.point), ("low", one.low), ("high", one.high)] {
                let labels = labels(point.cell, ("estimate", end));
                sample(&mut out, name, &labels, value * scale);
            }
        }
    }
    let name = "bakeoff_valid";
    let help = "Whether a number can be believed: 1 where its verdict is valid.";
    family(&mut out, name, "gauge", help);
    for cell in report.cells.iter().filter(|cell| cell.is_contender()) {
        for number in Number::ALL {
            let valid = cell.verdicts.of(number) == Verdict::Valid;
            let labels = labels(cell, ("number", number.name()));
            sample(&mut out, name, &labels, u8::from(valid));
        }
    }
    out + "# EOF\n"
}

/// The name, which ends in the base unit, and what it is.
fn described(measure: Metric) -> (&'static str, &'static str) {
    match measure {
        Metric::RatePerS => (
            "bakeoff_rate_per_second",
            "Right answers per second in a closed loop.",
        ),
        Metric::LatencyP50Ns => (
            "bakeoff_latency_p50_seconds",
            "Median latency in an open loop.",
        ),
        Metric::LatencyP99Ns => (
            "bakeoff_latency_p99_seconds",
            "99th percentile of latency in an open loop.",
        ),
        Metric::LatencyP999Ns => (
            "bakeoff_latency_p999_seconds",
            "Percentile 99.9 of latency in an open loop.",
        ),
        Metric::CpuNsPerRequest => (
            "bakeoff_cpu_per_request_seconds",
            "CPU time of the server for each request.",
        ),
        _ => (
            "bakeoff_memory_peak_bytes",
            "Largest resident memory of the server.",
        ),
    }
}

fn labels<'c>(cell: &'c Cell, more: (&'c str, &'c str)) -> [(&'c str, &'c str); 4] {
    let (contender, workload) = (cell.contender.as_str(), cell.workload.as_str());
    let load = cell.load.as_str();
    [
        ("contender", contender),
        ("workload", workload),
        ("load", load),
        more,
    ]
}
