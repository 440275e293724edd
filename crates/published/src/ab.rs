//! What ab prints, with its banner or without.
//!
//! `Time per request` is no latency: ab computes it from the rate. Latencies are in the table of
//! connection times, in whole ms. An answer of another length than the first one counts as failed
//! to ab. Pages that change do that, so it is a check of the answers here and no failure.

use crate::column::percentile;
use crate::error::ReadError;
use crate::figure::{Figure, number, time_ns};
use crate::row::{Checks, Counts, Latency, Load, Row, Transfer};
use crate::runs::{Run, runs};

const MS: f64 = 1e6;
const BEGINS: [&str; 4] = [
    "Server Software:",
    "Server Hostname:",
    "Document Path:",
    "Concurrency Level:",
];

pub(crate) fn rows(text: &str) -> Result<Vec<Row>, ReadError> {
    let runs = runs(text, &BEGINS, "ab's line `Concurrency Level: N`")?;
    runs.iter().map(row).collect()
}

fn row(run: &Run<'_>) -> Result<Row, ReadError> {
    let label = "Time taken for tests:";
    let taken = run.needed(label)?;
    // Forks write the unit in other words, or leave it out.
    let taken = run
        .after(label)
        .and_then(time_ns)
        .unwrap_or(taken.times(1e9));
    let clients = run.needed("Concurrency Level:")?.value;
    let ended = run.needed("Complete requests:")?.value;
    let count = |label| Ok(run.number(label)?.map_or(0.0, |count| count.value));
    let failed = count("Failed requests:")?;
    let wrong = count("Non-2xx responses:")?;
    let of_length = run.after("(Connect:").and_then(of_other_length);
    let of_length = of_length.unwrap_or(0.0).min(failed);
    let path = run.after("Document Path:").filter(|path| !path.is_empty());
    let path = path.map(|path| ("path".to_owned(), path.to_owned()));
    Ok(Row {
        line: run.line(),
        name: path
            .into_iter()
            .chain([("clients".to_owned(), clients.to_string())])
            .collect(),
        load: Load {
            clients: Some(clients),
            ..Load::lasting(taken)
        },
        counts: Counts {
            ended: Some(ended),
            failed: Some((failed - of_length + wrong).min(ended)),
            failed_timed: Some(wrong.min(ended)),
            checks: (ended > 0.0).then_some(Checks {
                all: ended,
                failed: of_length.min(ended),
            }),
            ..Counts::default()
        }
        .stating(run.number("Requests per second:")?),
        latency: latency(run),
        transfer: Transfer {
            read_bytes: run.number("Total transferred:")?.map(|bytes| bytes.value),
            ..Transfer::default()
        },
        ..Row::default()
    })
}

/// 150 of `0, Receive: 0, Length: 150, Exceptions: 0)`.
fn of_other_length(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once("Length:")?;
    Some(number(rest.split([',', ')']).next()?)?.value)
}

fn latency(run: &Run<'_>) -> Latency {
    let ms = |figure: Figure| figure.times(MS);
    let mut latency = Latency {
        is_set_of_tool: true,
        ..Latency::default()
    };
    // min, mean, spread, median and max
    let total = run.after("Total:").unwrap_or("");
    let times: Option<Vec<Figure>> = total.split_whitespace().map(number).collect();
    if let Some([min, mean, _, _, max]) = times.as_deref() {
        latency.min = Some(ms(*min));
        latency.mean = Some(ms(*mean));
        latency.max = Some(ms(*max));
    }
    let behind = run
        .lines()
        .skip_while(|line| !line.starts_with("Percentage of"));
    for line in behind {
        let quantile = line.split_once('%').and_then(|(rank, rest)| {
            let value = number(rest.split_whitespace().next()?)?;
            Some((percentile(rank)?, value))
        });
        if let Some((share, value)) = quantile {
            latency.push(share, ms(value));
        }
    }
    latency
}
