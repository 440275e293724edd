//! `vegeta report -type=json`: one document for each attack; and its text, as such a document.
//!
//! Vegeta's latencies are of all requests, those without an answer too. It sends at a constant
//! rate, which its report does not repeat: `rate` is what was sent. It distinguishes the attacks
//! of one file, to two digits. An overloaded server answers on after the attack, for `wait`, so it
//! answered less a second than was sent.

use serde_json::{Map, Value, json};

use crate::documents::{at, counts, needed, number, time};
use crate::error::ReadError;
use crate::figure::{self, time_ns};
use crate::row::{Counts, Latency, Load, Row, Transfer};
use crate::runs::{Run, as_documents, runs};

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

pub(crate) fn rows_of_text(text: &str) -> Result<Vec<Row>, ReadError> {
    let runs = runs(
        text,
        &["Requests"],
        "vegeta's line `Requests [total, rate, ...]`",
    )?;
    as_documents(&runs, "vegeta's text", document, row)
}

/// The text as the document that the same attack has.
fn document(run: &Run<'_>) -> Value {
    let mut document = Map::new();
    for line in run.lines() {
        let parts = line.split_once('[').and_then(|(title, rest)| {
            let (labels, values) = rest.split_once(']')?;
            Some((title.trim(), labels, values.trim()))
        });
        let Some((title, labels, values)) = parts else {
            continue;
        };
        let pairs = labels.split(',').zip(values.split(','));
        let pairs = pairs.map(|(label, value)| (label.trim(), value.trim()));
        let plain = |value: &str| figure::number(value).map(|it| it.value);
        match title {
            "Requests" => {
                for (label, value) in pairs {
                    let key = if label == "total" { "requests" } else { label };
                    document.insert(key.to_owned(), json!(plain(value)));
                }
            }
            "Duration" => {
                for (label, value) in pairs {
                    let key = if label == "attack" { "duration" } else { label };
                    document.insert(key.to_owned(), json!(time_ns(value).map(|it| it.value)));
                }
            }
            "Latencies" => {
                let times = pairs.map(|(label, value)| {
                    let is_rank = label.bytes().all(|byte| byte.is_ascii_digit());
                    let key = if is_rank {
                        format!("{label}th")
                    } else {
                        label.to_owned()
                    };
                    (key, json!(time_ns(value).map(|it| it.value)))
                });
                document.insert("latencies".to_owned(), times.collect());
            }
            "Bytes In" => {
                let bytes = pairs.map(|(label, value)| (label.to_owned(), json!(plain(value))));
                document.insert("bytes_in".to_owned(), bytes.collect());
            }
            "Success" => {
                let share = values.strip_suffix('%').and_then(plain);
                document.insert("success".to_owned(), json!(share.map(|it| it / 100.0)));
            }
            "Status Codes" => {
                let codes = values
                    .split_whitespace()
                    .filter_map(|pair| pair.split_once(':'));
                let codes = codes.map(|(code, count)| (code.to_owned(), json!(plain(count))));
                document.insert("status_codes".to_owned(), codes.collect());
            }
            _ => {}
        }
    }
    Value::Object(document)
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
