//! oha's JSON; `summary.rs` reads its text.
//!
//! Times are in seconds. Requests without an answer are in `errorDistribution` and in no latency.
//! For oha an answer with any status is a success, with its latency among the others.

use serde_json::Value;

use crate::documents::{counts, needed, number, time};
use crate::row::{Counts, Hidden, Latency, Load, Row, Transfer};

const SECOND: f64 = 1e9;
const QUANTILES: [(&str, f64); 9] = [
    ("p10", 0.1),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];
/// What was in flight when the time was over is broken off and listed as an error. It is none.
pub(crate) const BROKEN_OFF: &str = "aborted due to deadline";

pub(crate) fn row(document: &Value) -> Result<Row, String> {
    let of = |key| time(document, &["summary", key], SECOND);
    let mut answered = 0.0;
    let mut wrong = 0.0;
    for (status, count) in counts(document, &["statusCodeDistribution"])? {
        answered += count;
        if !status.starts_with(['2', '3']) {
            wrong += count;
        }
    }
    let errors = counts(document, &["errorDistribution"])?;
    let errors = errors.iter().filter(|(text, _)| text != BROKEN_OFF);
    let unanswered: f64 = errors.map(|(_, count)| count).sum();
    let mut latency = Latency {
        min: of("fastest")?,
        mean: of("average")?,
        max: of("slowest")?,
        is_set_of_tool: true,
        ..Latency::default()
    };
    for (key, share) in QUANTILES {
        if let Some(value) = time(document, &["latencyPercentiles", key], SECOND)? {
            latency.push(share, value);
        }
    }
    Ok(Row {
        load: Load {
            // -p gives each connection several over HTTP/2, and nothing printed says so.
            hidden: Some(Hidden::Streams),
            duration_s: Some(needed(document, &["summary", "total"])?).filter(|s| *s > 0.0),
            ..Load::default()
        },
        counts: Counts {
            ended: Some(answered + unanswered),
            failed: Some(wrong + unanswered),
            untimed: unanswered,
            failed_timed: Some(wrong),
            ..Counts::default()
        },
        latency,
        transfer: Transfer {
            read_bytes: number(document, &["summary", "totalData"])?,
            ..Transfer::default()
        },
        ..Row::default()
    })
}
