//! What wrk and wrk2 print, one run after the other.
//!
//! Latencies are of all answers, also of those with the status of an error. Requests without an
//! answer are only in the line of socket errors. A timeout of wrk is an answer that took longer
//! than `--timeout`: wrk counts it as a request and leaves it out of its latencies. wrk2 looks
//! every 2 s for connections whose last request began that long ago, so its timeouts count no
//! requests at all. wrk's latencies begin when it writes a request, so they do not contain the wait
//! in its own loop; and for each long one, wrk adds those of requests that it would have sent
//! meanwhile. wrk2 does neither: it counts from a schedule.

use crate::column::percentile;
use crate::error::ReadError;
use crate::figure::{number, time_ns};
use crate::row::{Counts, Latency, Row, Transfer};
use crate::{ROWS_MOST, error::excerpt};

pub(crate) fn rows(text: &str) -> Result<Vec<Row>, ReadError> {
    let mut runs: Vec<Vec<(usize, &str)>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        // Whoever starts a server may log that it is running.
        if line.starts_with("Running ") && line.contains(" test @ ") {
            if runs.len() == ROWS_MOST {
                let problem = format!("more than {ROWS_MOST} runs: split the file");
                return Err(ReadError::new(index + 1, problem));
            }
            runs.push(Vec::new());
        }
        if let Some(run) = runs.last_mut() {
            run.push((index + 1, line));
        }
    }
    if runs.is_empty() {
        let problem = "expected wrk's first line, `Running 30s test @ URL`";
        return Err(ReadError::new(1, problem));
    }
    runs.iter().map(|run| row(run)).collect()
}

fn row(lines: &[(usize, &str)]) -> Result<Row, ReadError> {
    let first = lines.first().copied().unwrap_or((1, ""));
    let mut row = Row {
        line: first.0,
        ..Row::default()
    };
    if let Some((_, url)) = first.1.split_once(" @ ") {
        row.name.push(("url".to_owned(), url.trim().to_owned()));
    }
    row.load.scheduled = lines.iter().any(|(_, text)| is_of_wrk2(text));
    row.latency.corrected = !row.load.scheduled;
    // Nothing says whether wrk2's mean is of the requests that its quantiles are of.
    row.latency.is_mean_apart = row.load.scheduled;
    row.latency.is_set_of_tool = true;
    let mut errors = Errors::default();
    let mut answered = None;
    let mut is_uncorrected = false;
    let mut has_max = true;
    let mut wrong = 0.0;
    let mut rate = None;
    for (line, text) in lines.iter().copied() {
        let fail = |expected: &str| {
            let problem = format!("expected {expected}, found `{}`", excerpt(text));
            ReadError::new(line, problem)
        };
        if let Some((threads, clients)) = connections(text) {
            row.name.push(("threads".to_owned(), threads.to_owned()));
            let connections = clients.to_string();
            row.name.push(("connections".to_owned(), connections));
            // Each thread opens its part of them, rounded down: of 50 for 8 threads, 48.
            let threads = number(threads).map_or(1.0, |it| it.value.max(1.0));
            row.load.clients = Some((clients / threads).floor() * threads);
        } else if text.starts_with("Thread Stats") {
            // In a fork of wrk2 the third column is the 99th percentile.
            has_max = text.contains("Max");
        } else if let Some(rest) = text.strip_prefix("Latency ") {
            if rest.starts_with("Distribution") {
                // wrk2 -U prints a second set, which leaves out how late requests were sent.
                is_uncorrected = rest.contains("Uncorrected");
            } else {
                latency(rest, &mut row.latency, has_max)
                    .ok_or_else(|| fail("mean, spread and maximum"))?;
            }
        } else if let Some(value) = longest(text) {
            // wrk2's own column has the lower edge of the bucket, of which quantiles are the upper.
            if !is_uncorrected {
                row.latency.max = Some(value);
            }
        } else if let Some((share, value)) = quantile(text) {
            if !is_uncorrected {
                row.latency.push(share, value);
            }
        } else if let Some(rest) = text.strip_prefix("Socket errors:") {
            errors = Errors::parse(rest).ok_or_else(|| fail("counts of socket errors"))?;
        } else if let Some(rest) = text.strip_prefix("Non-2xx or 3xx responses:") {
            wrong = number(rest).ok_or_else(|| fail("a count"))?.value;
        } else if let Some(rest) = text.strip_prefix("Requests/sec:") {
            rate = Some(number(rest).ok_or_else(|| fail("a rate"))?);
        } else if text.contains(" requests in ") && text.ends_with(" read") {
            let (count, time, bytes) =
                totals(text).ok_or_else(|| fail("`N requests in TIME, BYTES read`"))?;
            answered = Some(count);
            row.load.duration_s = Some(time.value / 1e9).filter(|s| *s > 0.0);
            row.load.duration_step_s = time.step / 1e9;
            row.transfer = Transfer {
                read_bytes: Some(bytes),
                ..Transfer::default()
            };
        }
    }
    let Some(answered) = answered else {
        let problem =
            "this run of wrk has no line `N requests in TIME, BYTES read`: it was cut off";
        return Err(ReadError::new(first.0, problem));
    };
    // Late answers have no latency, but they are in the rate.
    let rate = rate.filter(|_| errors.unanswered == 0.0);
    row.counts = Counts {
        rate_per_s: rate,
        ..counts(answered, wrong, &errors, row.load.scheduled)
    };
    if row.counts.ended == Some(row.counts.untimed) || row.latency.mean.is_none() {
        // The zeros that it prints are times of nothing.
        row.latency = Latency::default();
    }
    Ok(row)
}

/// What became of the requests, of those answered, those with a wrong status, and errors.
fn counts(answered: f64, wrong: f64, errors: &Errors, is_wrk2: bool) -> Counts {
    let unanswered = errors.unanswered;
    let late = if is_wrk2 {
        0.0
    } else {
        errors.timeouts.min(answered)
    };
    let ended = answered + unanswered;
    let failed = (wrong + unanswered + late).min(ended);
    // Nothing says how many requests wrk2's timeouts were, if any.
    let is_known = failed > 0.0 || !is_wrk2 || errors.timeouts == 0.0;
    Counts {
        ended: Some(ended),
        failed: is_known.then_some(failed),
        untimed: unanswered + late,
        failed_timed: Some(wrong.min(answered - late)),
        ..Counts::default()
    }
}

/// A line that only wrk2 prints.
fn is_of_wrk2(text: &str) -> bool {
    let is_empty = text.strip_prefix("Latency ").map(str::trim_start);
    text.starts_with("Thread calibration:")
        || text.starts_with("Latency Distribution (Hdr")
        || is_empty.is_some_and(is_of_none)
}

/// `2 threads and 50 connections`.
fn connections(text: &str) -> Option<(&str, f64)> {
    let (threads, rest) = text.split_once(" threads and ")?;
    let clients = number(rest.strip_suffix(" connections")?)?;
    Some((threads, clients.value))
}

/// `1.19ms  123.00us  5.67ms  89.12%`; where wrk2 timed nothing, all are times of nothing.
fn latency(text: &str, latency: &mut Latency, has_max: bool) -> Option<()> {
    let mut parts = text.split_whitespace();
    let mean = parts.next()?;
    if is_of_none(mean) {
        return Some(());
    }
    latency.mean = Some(time_ns(mean)?);
    let _ = parts.next()?;
    let third = time_ns(parts.next()?)?;
    latency.max = has_max.then_some(third);
    Some(())
}

/// The mean of no request, which wrk2 writes as `-nanus`; wrk writes 0.
fn is_of_none(mean: &str) -> bool {
    mean.trim_start_matches('-').starts_with("nan")
}

/// `100.000%   33.69ms`, the last line of what wrk2 prints.
fn longest(text: &str) -> Option<crate::Figure> {
    let (rank, value) = text.split_once('%')?;
    let is_all = number(rank)?.value == 100.0;
    time_ns(value).filter(|_| is_all)
}

/// `99%    2.50ms`; the largest is no quantile.
fn quantile(text: &str) -> Option<(f64, crate::Figure)> {
    let (rank, value) = text.split_once('%')?;
    Some((percentile(rank)?, time_ns(value)?))
}

/// `connect 0, read 3, write 0, timeout 7`.
#[derive(Debug, Default)]
struct Errors {
    /// Those of connections: no answer came.
    unanswered: f64,
    timeouts: f64,
}

impl Errors {
    fn parse(text: &str) -> Option<Self> {
        let mut errors = Self::default();
        for part in text.split(',') {
            let (name, count) = part.trim().split_once(' ')?;
            let count = number(count)?.value;
            match name {
                "timeout" => errors.timeouts += count,
                _ => errors.unanswered += count,
            }
        }
        Some(errors)
    }
}

/// `1402311 requests in 30.10s, 1.11GB read`.
fn totals(text: &str) -> Option<(f64, crate::Figure, f64)> {
    let (count, rest) = text.split_once(" requests in ")?;
    let (time, bytes) = rest.strip_suffix(" read")?.split_once(", ")?;
    Some((number(count)?.value, time_ns(time)?, binary(bytes)?))
}

/// wrk writes KB for 1,024 bytes, and no unit above TB.
fn binary(text: &str) -> Option<f64> {
    let end = text.find(|c: char| c.is_ascii_alphabetic())?;
    let power = match &text[end..] {
        "B" => 0,
        "KB" => 1,
        "MB" => 2,
        "GB" => 3,
        "TB" => 4,
        _ => return None,
    };
    Some(number(&text[..end])?.value * 1024_f64.powi(power))
}
