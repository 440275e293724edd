//! The document of `bakeoff load --json`.
//!
//! Latencies are of right answers alone. A quantile that too few requests support is null.

use serde_json::Value;

use crate::documents::{at, needed, number, time};
use crate::figure::Figure;
use crate::row::{Counts, Latency, Load, Row, Transfer};

const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
];

pub(crate) fn row(document: &Value) -> Result<Row, String> {
    let ended = needed(document, &["requests", "completed"])?;
    let ok = needed(document, &["requests", "ok"])?;
    let of = |key| time(document, &["latency_ns", key], 1.0);
    let mut latency = Latency {
        min: of("min")?,
        mean: of("mean")?,
        max: of("max")?,
        is_set_of_tool: true,
        ..Latency::default()
    };
    for (key, share) in QUANTILES {
        if let Some(value) = of(key)? {
            latency.push(share, value);
        }
    }
    let planned = number(document, &["load", "rate_per_s"])?;
    let is_open = at(document, &["load", "model"]).and_then(Value::as_str) == Some("open");
    let rate = number(document, &["rate_per_s", "completed"])?;
    let url = at(document, &["url"]).and_then(Value::as_str);
    let measured = needed(document, &["measured_s"])?;
    Ok(Row {
        name: url
            .map(|url| ("url".to_owned(), url.to_owned()))
            .into_iter()
            .collect(),
        load: Load {
            clients: number(document, &["load", "clients"])?,
            streams: number(document, &["load", "streams"])?,
            scheduled: is_open,
            planned_per_s: planned,
            unsent: number(document, &["requests", "shed"])?,
            ..Load::lasting(Figure::exact(measured * 1e9))
        },
        counts: Counts {
            ended: Some(ended),
            ok: Some(ok),
            failed: Some((ended - ok).max(0.0)),
            rate_per_s: rate.map(Figure::exact),
            untimed: (ended - ok).max(0.0),
            failed_timed: Some(0.0),
            ..Counts::default()
        },
        latency: latency.of_any(ok),
        transfer: Transfer {
            read_bytes: number(document, &["bytes", "read"])?,
            ..Transfer::default()
        },
        ..Row::default()
    })
}
