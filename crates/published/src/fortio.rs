//! fortio's JSON.
//!
//! Times are in seconds, and quantiles are estimated within the buckets of a histogram. Latencies
//! are of all calls, those that failed too. A rate that was asked for is kept by each thread, which
//! waits for its answers all the same.

use serde_json::Value;

use crate::documents::{at, counts, needed, number, time};
use crate::figure::{self, Figure};
use crate::row::{Counts, Latency, Load, Row};

const SECOND: f64 = 1e9;

pub(crate) fn row(document: &Value) -> Result<Row, String> {
    let text = |key| at(document, &[key]).and_then(Value::as_str);
    if let Some(other) = text("RunType").filter(|kind| *kind != "HTTP") {
        let other = crate::error::excerpt(other);
        return Err(format!(
            "its `RunType` is {other}, and only runs of HTTP are read"
        ));
    }
    let ended = needed(document, &["DurationHistogram", "Count"])?;
    let codes = counts(document, &["RetCodes"])?;
    let wrong = codes
        .iter()
        .filter(|(code, _)| !code.starts_with(['2', '3']));
    let failed: f64 = wrong.map(|(_, count)| count).sum();
    let planned = text("RequestedQPS").and_then(figure::number);
    let planned = planned.map(|rate| rate.value).filter(|rate| *rate > 0.0);
    let rate = number(document, &["ActualQPS"])?;
    let names = [("labels", text("Labels")), ("url", text("URL"))];
    let names = names
        .into_iter()
        .filter_map(|(name, cell)| Some((name, cell?)));
    let taken = needed(document, &["ActualDuration"])?;
    Ok(Row {
        name: names
            .map(|(name, cell)| (name.to_owned(), cell.to_owned()))
            .collect(),
        load: Load {
            clients: number(document, &["NumThreads"])?,
            scheduled: planned.is_some(),
            planned_per_s: planned,
            ..Load::lasting(Figure::exact(taken))
        },
        counts: Counts {
            ended: Some(ended),
            failed: (!codes.is_empty()).then_some(failed),
            ..Counts::default()
        }
        .stating(rate.map(Figure::exact)),
        latency: latency(document)?.of_any(ended),
        ..Row::default()
    })
}

fn latency(document: &Value) -> Result<Latency, String> {
    let of = |key| time(document, &["DurationHistogram", key], SECOND);
    let mut latency = Latency {
        min: of("Min")?,
        mean: of("Avg")?,
        max: of("Max")?,
        is_set_of_tool: true,
        is_mean_apart: true,
        ..Latency::default()
    };
    let listed = at(document, &["DurationHistogram", "Percentiles"]).and_then(Value::as_array);
    for one in listed.into_iter().flatten() {
        let share = needed(one, &["Percentile"])? / 100.0;
        let value = time(one, &["Value"], SECOND)?;
        if let Some(value) = value.filter(|_| share > 0.0 && share < 1.0) {
            latency.push(crate::column::rounded(share), value);
        }
    }
    Ok(latency)
}
