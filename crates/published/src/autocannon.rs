//! autocannon's JSON, and the tables that it prints.
//!
//! It keeps latencies as whole ms, cut off or rounded, so its mean may be off by one. Requests
//! without an answer are among the errors. On the console, counts from a thousand on are rounded to
//! thousands, so there the rate says how many there were.

use serde_json::Value;

use crate::documents::{at, needed, number as number_at};
use crate::error::ReadError;
use crate::figure::{Figure, number, time_ns};
use crate::row::{Counts, Latency, Load, Row, Transfer};
use crate::runs::{Run, runs};

const MS: f64 = 1e6;
const QUANTILES: [(&str, f64); 11] = [
    ("p2_5", 0.025),
    ("p10", 0.1),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p97_5", 0.975),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
];

/// A time of its histogram, which knows whole ms.
fn whole_ms(ms: f64) -> Figure {
    Figure {
        value: ms * MS,
        step: 2.0 * MS,
    }
}

pub(crate) fn row(document: &Value) -> Result<Row, String> {
    let answered = needed(document, &["requests", "total"])?;
    let errors = number_at(document, &["errors"])?.unwrap_or(0.0);
    let of = |class: &str| number_at(document, &[class]);
    let wrong = match of("4xx")? {
        Some(refused) => refused + of("5xx")?.unwrap_or(0.0),
        None => of("non2xx")?.unwrap_or(0.0),
    };
    let time = |key| Ok::<_, String>(number_at(document, &["latency", key])?.map(whole_ms));
    let mut latency = Latency {
        min: time("min")?,
        mean: time("average")?,
        max: time("max")?,
        is_set_of_tool: true,
        ..Latency::default()
    };
    for (key, share) in QUANTILES {
        if let Some(value) = time(key)? {
            latency.push(share, value);
        }
    }
    let rate = number_at(document, &["requests", "average"])?;
    let url = at(document, &["url"]).and_then(Value::as_str);
    Ok(Row {
        name: url
            .map(|url| ("url".to_owned(), url.to_owned()))
            .into_iter()
            .collect(),
        load: Load {
            clients: number_at(document, &["connections"])?,
            streams: number_at(document, &["pipelining"])?,
            ..Load::lasting(Figure::exact(needed(document, &["duration"])? * 1e9))
        },
        counts: counts(answered, wrong, errors).stating(rate.map(Figure::exact)),
        latency: latency.of_any(answered),
        transfer: Transfer {
            read_bytes: number_at(document, &["throughput", "total"])?,
            ..Transfer::default()
        },
        ..Row::default()
    })
}

fn counts(answered: f64, wrong: f64, errors: f64) -> Counts {
    Counts {
        ended: Some(answered + errors),
        failed: Some(wrong + errors),
        untimed: errors,
        failed_timed: Some(wrong),
        ..Counts::default()
    }
}

pub(crate) fn rows(text: &str) -> Result<Vec<Row>, ReadError> {
    let expected = "autocannon's table with the row `Latency`";
    let runs = runs(text, &["Running ", "│ Latency"], expected)?;
    runs.iter().map(of_console).collect()
}

fn of_console(run: &Run<'_>) -> Result<Row, ReadError> {
    let cut_off = |what: &str| {
        let problem = format!("this run of autocannon has no {what}: it was cut off");
        ReadError::new(run.line(), problem)
    };
    let mut row = Row {
        line: run.line(),
        ..Row::default()
    };
    row.latency.is_set_of_tool = true;
    let mut titles: Vec<&str> = Vec::new();
    let mut ended = None;
    let (mut right, mut wrong, mut errors) = (None, 0.0, 0.0);
    for line in run.lines() {
        let cells: Vec<&str> = line.split('│').map(str::trim).collect();
        match cells.get(1).copied() {
            Some("Stat") => titles = cells,
            Some("Latency") => latency(&titles, &cells, &mut row.latency),
            Some("Req/Sec") => {
                let mut rates = titles.iter().zip(&cells);
                let rate = rates.find(|(title, _)| **title == "Avg");
                row.counts.rate_per_s = rate.and_then(|(_, rate)| rounded(rate));
            }
            Some(_) => {}
            None => {
                if let Some((_, url)) = line.split_once(" test @ ") {
                    row.name.push(("url".to_owned(), url.to_owned()));
                } else if let Some((clients, rest)) = line.split_once(" connections") {
                    row.load.clients = number(clients).map(|clients| clients.value);
                    let streams = rest.trim().strip_prefix("with ");
                    let streams = streams.and_then(|rest| rest.split_once(" pipelining"));
                    row.load.streams = streams.and_then(|(n, _)| Some(number(n)?.value));
                } else if let Some((_, rest)) = line.split_once(" requests in ") {
                    let taken = rest.split(',').next().and_then(time_ns);
                    ended = Some(taken.ok_or_else(|| cut_off("time behind `requests in`"))?);
                } else if let Some((count, rest)) = line.split_once(" 2xx responses, ") {
                    right = number(count);
                    let rest = rest.split(' ').next().and_then(number);
                    wrong = rest.map_or(0.0, |count| count.value);
                } else if let Some((count, _)) = line.split_once(" errors (") {
                    errors = rounded(count).map_or(0.0, |count| count.value);
                }
            }
        }
    }
    let taken = ended.ok_or_else(|| cut_off("line `N requests in TIME`"))?;
    let load = Load::lasting(taken);
    let seconds = load.duration_s.unwrap_or(0.0);
    row.load = Load {
        clients: row.load.clients,
        streams: row.load.streams,
        ..load
    };
    let rate = row
        .counts
        .rate_per_s
        .ok_or_else(|| cut_off("row `Req/Sec`"))?;
    let answered = right.map_or(rate.value * seconds, |right| right.value + wrong);
    row.counts = counts(answered, wrong, errors);
    row.latency = row.latency.of_any(answered);
    Ok(row)
}

fn latency(titles: &[&str], cells: &[&str], latency: &mut Latency) {
    for (title, cell) in titles.iter().zip(cells) {
        let Some(value) = time_ns(cell).map(|time| whole_ms(time.value / MS)) else {
            continue;
        };
        match *title {
            "Avg" => latency.mean = Some(value),
            "Max" => latency.max = Some(value),
            rank => {
                let share = rank.strip_suffix('%').and_then(crate::column::percentile);
                share
                    .into_iter()
                    .for_each(|share| latency.push(share, value));
            }
        }
    }
}

/// `25131.2`, `25,131` or `25k`.
fn rounded(text: &str) -> Option<Figure> {
    let (figure, rest) = crate::figure::number_in_thousands(text)?;
    rest.is_empty().then_some(figure)
}
