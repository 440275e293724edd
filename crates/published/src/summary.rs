//! What hey prints, and oha, which prints the same with other units.
//!
//! Latencies are of all answers, whatever their status; requests without one are among the errors.
//! hey keeps the latencies of the first million answers, and divides the sum of all by that many.

use crate::column::percentile;
use crate::error::ReadError;
use crate::figure::parse_bytes;
use crate::figure::{number, time_ns};
use crate::oha::BROKEN_OFF;
use crate::row::{Counts, Hidden, Latency, Load, Row, Transfer};
use crate::runs::{Run, runs};

/// Latencies that hey keeps.
const KEPT_MOST: f64 = 1e6;

pub(crate) fn rows_of_hey(text: &str) -> Result<Vec<Row>, ReadError> {
    rows(text, None)
}

pub(crate) fn rows_of_oha(text: &str) -> Result<Vec<Row>, ReadError> {
    // -p gives each connection several, and nothing printed says so.
    rows(text, Some(Hidden::Streams))
}

fn rows(text: &str, hidden: Option<Hidden>) -> Result<Vec<Row>, ReadError> {
    let runs = runs(text, &["Summary:", "Total:"], "a line `Total: TIME`")?;
    runs.iter().map(|run| row(run, hidden)).collect()
}

fn row(run: &Run<'_>, hidden: Option<Hidden>) -> Result<Row, ReadError> {
    let total = run.needed_time("Total:")?;
    let (mut answered, mut wrong, mut unanswered) = (0.0, 0.0, 0.0);
    let mut latency = Latency {
        min: run.time("Fastest:")?,
        mean: run.time("Average:")?,
        max: run.time("Slowest:")?,
        is_set_of_tool: true,
        ..Latency::default()
    };
    let mut are_errors = false;
    for line in run.lines() {
        are_errors = match line {
            "Status code distribution:" => false,
            "Error distribution:" => true,
            _ => are_errors,
        };
        if let Some((share, value)) = quantile(line) {
            latency.push(share, value);
        } else if let Some((inside, rest)) = bracketed(line) {
            if are_errors {
                let is_broken_off = rest == BROKEN_OFF;
                unanswered += number(inside).map_or(0.0, |it| it.value) * f64::from(!is_broken_off);
            } else if let Some(count) = rest.strip_suffix(" responses").and_then(number) {
                answered += count.value;
                wrong += count.value * f64::from(!inside.starts_with(['2', '3']));
            }
        }
    }
    let is_cut = hidden.is_none() && answered > KEPT_MOST;
    latency.mean = latency.mean.filter(|_| !is_cut);
    if answered == 0.0 && unanswered > 0.0 {
        latency = Latency::default();
    }
    let are_counted = answered + unanswered > 0.0;
    let rate = run.number("Requests/sec:")?;
    let read = run.after("Total data:").and_then(parse_bytes);
    Ok(Row {
        line: run.line(),
        load: Load {
            hidden,
            ..Load::lasting(total)
        },
        counts: Counts {
            ended: are_counted.then_some(answered + unanswered),
            failed: are_counted.then_some(wrong + unanswered),
            untimed: unanswered,
            failed_timed: are_counted.then_some(wrong),
            ..Counts::default()
        }
        // The rate of oha is also of what was broken off, and that of hey of what it kept.
        .stating(rate.filter(|_| hidden.is_none() && !is_cut || !are_counted)),
        latency,
        transfer: Transfer {
            read_bytes: read,
            ..Transfer::default()
        },
        ..Row::default()
    })
}

/// `99% in 0.0043 secs`; some versions of hey write `99%%`.
fn quantile(line: &str) -> Option<(f64, crate::Figure)> {
    let (rank, rest) = line.split_once('%')?;
    let time = rest.trim_start_matches('%').trim().strip_prefix("in ")?;
    Some((percentile(rank)?, time_ns(time)?))
}

/// 200 and the rest of `[200] 20000 responses`.
fn bracketed(line: &str) -> Option<(&str, &str)> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    Some((inside, rest.trim()))
}
