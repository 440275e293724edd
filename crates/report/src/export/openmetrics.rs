//! OpenMetrics text: the valid numbers as gauges, and the verdicts of all.

use bakeoff_stats::{Metric, Number};
use std::fmt::Write as _;

use super::{MEASURES, points};
use crate::live::escaped;
use crate::view::{Cell, Report};

/// The valid numbers of a report as OpenMetrics, in base units, with the ends of their intervals;
/// and each number's verdict, so that a missing one is explained.
pub fn openmetrics(report: &Report) -> String {
    let mut out = String::new();
    let points = points(report);
    for measure in MEASURES {
        let (name, unit, scale, help) = family(measure);
        let _ = writeln!(out, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(out, "# UNIT {name} {unit}");
        }
        let _ = writeln!(out, "# HELP {name} {help}");
        for point in points.iter().filter(|point| point.measure == measure) {
            let one = point.estimate;
            for (end, value) in [("point", one.point), ("low", one.low), ("high", one.high)] {
                let labels = labels(point.cell, "estimate", end);
                let _ = writeln!(out, "{name}{{{labels}}} {}", value * scale);
            }
        }
    }
    let name = "bakeoff_valid";
    let _ = writeln!(out, "# TYPE {name} gauge");
    let help = "Whether a number can be believed: 1 where its verdict is valid.";
    let _ = writeln!(out, "# HELP {name} {help}");
    for cell in report.cells.iter().filter(|cell| cell.is_contender()) {
        for number in Number::ALL {
            let valid = cell.verdicts.of(number) == bakeoff_audit::Verdict::Valid;
            let labels = labels(cell, "number", number.name());
            let _ = writeln!(out, "{name}{{{labels}}} {}", u8::from(valid));
        }
    }
    out.push_str("# EOF\n");
    out
}

/// Name, unit, factor to the base unit, and what it is.
fn family(measure: Metric) -> (&'static str, &'static str, f64, &'static str) {
    match measure {
        Metric::RatePerS => (
            "bakeoff_rate_per_second",
            "",
            1.0,
            "Right answers per second in a closed loop.",
        ),
        Metric::LatencyP50Ns => (
            "bakeoff_latency_p50_seconds",
            "seconds",
            1e-9,
            "Median latency in an open loop.",
        ),
        Metric::LatencyP99Ns => (
            "bakeoff_latency_p99_seconds",
            "seconds",
            1e-9,
            "99th percentile of latency in an open loop.",
        ),
        Metric::LatencyP999Ns => (
            "bakeoff_latency_p999_seconds",
            "seconds",
            1e-9,
            "Percentile 99.9 of latency in an open loop.",
        ),
        Metric::CpuNsPerRequest => (
            "bakeoff_cpu_per_request_seconds",
            "seconds",
            1e-9,
            "CPU time of the server for each request.",
        ),
        _ => (
            "bakeoff_memory_peak_bytes",
            "bytes",
            1.0,
            "Largest resident memory of the server.",
        ),
    }
}

fn labels(cell: &Cell, key: &str, value: &str) -> String {
    format!(
        "contender=\"{}\",workload=\"{}\",load=\"{}\",{key}=\"{value}\"",
        escaped(&cell.contender),
        escaped(&cell.workload),
        escaped(&cell.load)
    )
}
