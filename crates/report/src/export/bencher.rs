//! Bencher's metric format: benchmarks by name, each with its measures.

use std::collections::BTreeMap;

use bakeoff_stats::Measure;
use serde_json::{Value, json};

use super::points;
use crate::safe::json_safe;
use crate::view::Report;

/// The valid numbers of a report in Bencher's metric format. `lower_value` and `upper_value` are
/// the ends of the interval over the rounds.
pub fn bencher(report: &Report) -> String {
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Value>> = BTreeMap::new();
    for point in points(report) {
        let measures = benchmarks.entry(point.name()).or_default();
        let one = point.estimate;
        measures.insert(
            slug(point.measure),
            json!({"value": one.point, "lower_value": one.low, "upper_value": one.high}),
        );
    }
    let text = serde_json::to_string_pretty(&benchmarks);
    json_safe(&text.expect("the model has only text keys and numbers")) + "\n"
}

/// Names of measures hold no underscores there.
fn slug(measure: Measure) -> &'static str {
    match measure {
        Measure::RatePerS => "rate-per-s",
        Measure::LatencyP50Ns => "latency-p50-ns",
        Measure::LatencyP99Ns => "latency-p99-ns",
        Measure::LatencyP999Ns => "latency-p99-9-ns",
        Measure::CpuNsPerRequest => "cpu-ns-per-request",
        Measure::MemoryPeakBytes => "memory-peak-bytes",
        other => other.name(),
    }
}
