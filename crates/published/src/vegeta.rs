//! `vegeta report -type=json`: one document for each attack.
//!
//! Vegeta's latencies are of all requests, those without an answer too. It sends at a constant
//! rate, which its report does not repeat: `rate` is what was sent. It distinguishes the attacks
//! of one file, to two digits. An overloaded server answers on after the attack, for `wait`, so it
//! answered less a second than was sent.

use serde_json::Value;

use crate::documents::{at, counts, needed, number, time};
use crate::row::{Counts, Latency, Load, Row, Transfer};

const QUANTILES: [(&str, f64); 4] = [("50th", 0.5), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99)];

pub(crate) fn row(document: &Value) -> Result<Row, String> {
    let ended = needed(document, &["requests"])?;
    let attack_s = needed(document, &["duration"])? / 1e9;
    // From the last request that was sent to the last answer.
    let wait_s = number(document, &["wait"])?.unwrap_or(0.0) / 1e9;
    let ok = match at(document, &["status_codes"]) {
        None => needed(document, &["success"])? * ended,
        Some(_) => counts(document, &["status_codes"])?
            .into_iter()
            // By vegeta's own rule, a redirection is a success too.
            .filter(|(status, _)| status.starts_with(['2', '3']))
            .map(|(_, count)| count)
            .sum(),
    };
    let sent = number(document, &["rate"])?.filter(|rate| *rate > 0.0);
    let read = number(document, &["bytes_in", "total"])?;
    let rate = |rate: f64| ("rate".to_owned(), format!("{}/s", two_digits(rate)));
    Ok(Row {
        name: sent.map(rate).into_iter().collect(),
        load: Load {
            scheduled: true,
            // One request alone has no length between the first and the last.
            duration_s: (attack_s > 0.0).then_some(attack_s),
            ..Load::default()
        },
        counts: Counts {
            ended: Some(ended),
            ok: Some(ok),
            failed: Some((ended - ok).max(0.0)),
            ended_within_s: (attack_s > 0.0).then_some(attack_s + wait_s),
            ..Counts::default()
        },
        latency: latency(document)?,
        transfer: Transfer {
            // What it keeps of a body is what it counts, and with `-max-body=0` it keeps none.
            read_bytes: read.filter(|read| *read > 0.0 || ended == 0.0),
            ..Transfer::default()
        },
        ..Row::default()
    })
}

/// 500 of 500.11.
fn two_digits(value: f64) -> f64 {
    let text = format!("{value:.1e}");
    text.parse().unwrap_or(value)
}

fn latency(document: &Value) -> Result<Latency, String> {
    let of = |key| time(document, &["latencies", key], 1.0);
    let mut latency = Latency {
        min: of("min")?,
        mean: of("mean")?,
        max: of("max")?,
        is_set_of_tool: true,
        ..Latency::default()
    };
    for (key, share) in QUANTILES {
        // Reports leave out what the encoder was not asked for, as a zero.
        if let Some(value) = of(key)?.filter(|value| value.value > 0.0) {
            latency.push(share, value);
        }
    }
    Ok(latency)
}
