//! bombardier's JSON, and what it prints.
//!
//! Latencies are of everything that was sent, and requests without an answer are among the
//! `others`. Its own rate is the mean of short samples, which is meaningful for a timed run only.

use serde_json::Value;

use crate::column::percentile;
use crate::documents::{at, counts as counts_at, needed, number as number_at, time};
use crate::error::ReadError;
use crate::figure::{Figure, number, time_ns};
use crate::row::{Counts, Latency, Load, Row, Transfer};
use crate::runs::{Run, runs};

const US: f64 = 1e3;

/// What came out right, and what did not: by status, and the others.
fn counts([first, right, moved, refused, broken, others]: [f64; 6]) -> Counts {
    let failed = refused + broken + others;
    Counts {
        ended: Some(first + right + moved + failed),
        failed: Some(failed),
        ..Counts::default()
    }
}

pub(crate) fn row(document: &Value) -> Result<Row, String> {
    let of = |key| needed(document, &["result", key]);
    let count = |key| Ok::<_, String>(number_at(document, &["result", key])?.unwrap_or(0.0));
    let time = |key| time(document, &["result", "latency", key], US);
    let mut latency = Latency {
        mean: time("mean")?,
        max: time("max")?,
        is_set_of_tool: true,
        ..Latency::default()
    };
    for (rank, us) in counts_at(document, &["result", "latency", "percentiles"])? {
        if let Some(share) = percentile(&rank) {
            latency.push(share, Figure::exact(us * US));
        }
    }
    let text = |key| at(document, &["spec", key]).and_then(Value::as_str);
    let rate = number_at(document, &["result", "rps", "mean"])?;
    let planned = number_at(document, &["spec", "rate"])?.filter(|rate| *rate > 0.0);
    let url = text("url").map(|url| ("url".to_owned(), url.to_owned()));
    let counts = counts([
        count("req1xx")?,
        of("req2xx")?,
        count("req3xx")?,
        count("req4xx")?,
        count("req5xx")?,
        count("others")?,
    ]);
    let ended = counts.ended.unwrap_or(0.0);
    let is_timed = text("testType") == Some("timed");
    Ok(Row {
        name: url.into_iter().collect(),
        load: Load {
            clients: number_at(document, &["spec", "numberOfConnections"])?,
            scheduled: planned.is_some(),
            planned_per_s: planned,
            ..Load::lasting(Figure::exact(of("timeTakenSeconds")? * 1e9))
        },
        counts: counts.stating(rate.filter(|_| is_timed).map(Figure::exact)),
        latency: latency.of_any(ended),
        transfer: Transfer {
            read_bytes: number_at(document, &["result", "bytesRead"])?,
            ..Transfer::default()
        },
        ..Row::default()
    })
}

pub(crate) fn rows(text: &str) -> Result<Vec<Row>, ReadError> {
    let expected = "bombardier's line `Statistics  Avg  Stdev  Max`";
    let runs = runs(text, &["Bombarding ", "Statistics "], expected)?;
    runs.iter().map(of_text).collect()
}

fn of_text(run: &Run<'_>) -> Result<Row, ReadError> {
    let first = run.after("Bombarding ").unwrap_or("");
    let (url, how) = first.split_once(" for ").unwrap_or((first, ""));
    let (url, _) = url.split_once(" with ").unwrap_or((url, ""));
    let taken = how.split_whitespace().next().and_then(time_ns);
    let clients = first.split(" using ").nth(1).and_then(|rest| {
        let (count, _) = rest.split_once(" connection")?;
        Some(number(count)?.value)
    });
    let rate = run.needed("Reqs/sec")?;
    let times = run.after("Latency ").unwrap_or("");
    let mut times = times.split_whitespace().map(time_ns);
    let mut latency = Latency {
        mean: times.next().flatten(),
        max: times.nth(1).flatten(),
        is_set_of_tool: true,
        ..Latency::default()
    };
    let mut of_status = [0.0; 6];
    for line in run.lines() {
        let pairs = line
            .split(',')
            .filter_map(|part| part.trim().split_once(" - "));
        for (name, count) in pairs {
            let classes = ["1xx", "2xx", "3xx", "4xx", "5xx", "others"];
            let class = classes.iter().position(|class| *class == name);
            if let (Some(class), Some(count)) = (class, number(count)) {
                of_status[class] = count.value;
            }
        }
        let quantile = line.split_once('%');
        let quantile = quantile.and_then(|(rank, time)| Some((percentile(rank)?, time_ns(time)?)));
        if let Some((share, value)) = quantile {
            latency.push(share, value);
        }
    }
    let counts = counts(of_status);
    let ended = counts.ended.filter(|ended| *ended > 0.0);
    let url = (!url.is_empty()).then(|| ("url".to_owned(), url.to_owned()));
    Ok(Row {
        line: run.line(),
        name: url.into_iter().collect(),
        load: Load {
            clients,
            ..taken.map(Load::lasting).unwrap_or_default()
        },
        counts: Counts {
            ended,
            failed: ended.and(counts.failed),
            rate_per_s: Some(rate),
            ..Counts::default()
        },
        latency,
        ..Row::default()
    })
}
