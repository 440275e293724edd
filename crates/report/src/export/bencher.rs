//! Bencher's metric format: benchmarks by name, each with its measures.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::points;
use crate::safe::pretty_json;
use crate::view::Report;

/// The valid numbers of a report in Bencher's metric format. `lower_value` and `upper_value` are
/// the ends of the interval over the rounds.
pub fn bencher(report: &Report) -> String {
    let mut benchmarks: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    for point in points(report) {
        let measures = benchmarks.entry(point.name()).or_default();
        let one = point.estimate;
        measures.insert(
            // Names hold no underscores there.
            point.measure.name().replace('_', "-"),
            json!({"value": one.point, "lower_value": one.low, "upper_value": one.high}),
        );
    }
    pretty_json(&benchmarks) + "\n"
}
