//! What github-action-benchmark takes as `customBiggerIsBetter` and `customSmallerIsBetter`.

use bakeoff_stats::{Metric, Number};
use serde_json::{Value, json};

use super::{Point, points};
use crate::safe::pretty_json;
use crate::view::Report;

/// The valid rates of a report, as `customBiggerIsBetter`.
pub fn github_bigger(report: &Report) -> String {
    drawn(report, |measure| measure == Metric::RatePerS)
}

/// The other valid numbers, as `customSmallerIsBetter`.
pub fn github_smaller(report: &Report) -> String {
    drawn(report, |measure| measure != Metric::RatePerS)
}

fn drawn(report: &Report, wanted: impl Fn(Metric) -> bool) -> String {
    let points = points(report);
    let points = points.iter().filter(|point| wanted(point.measure));
    let entries: Vec<Value> = points.map(entry).collect();
    pretty_json(&entries) + "\n"
}

fn entry(point: &Point<'_>) -> Value {
    let one = point.estimate;
    let unit = match point.measure.number() {
        Number::Rate => "requests/s",
        Number::Latency => "ns",
        Number::Cpu => "ns/request",
        Number::Memory => "bytes",
        Number::Counts => "",
    };
    json!({
        "name": format!("{}/{}", point.name(), point.measure.short_name()),
        "unit": unit,
        "value": one.point,
        "range": format!("{} to {}", one.low, one.high),
        "extra": format!("{} rounds", one.n),
    })
}
