//! What h2load prints, one run after the other.
//!
//! Figures are found by the text before them and not by their lines, because results that are
//! quoted in an article have often lost their line ends. Latencies are of all answered requests,
//! whatever the status. The rate that h2load prints is of all answers over the measured time; here
//! both come from counts. Up to 1.68 its times follow `time for request:`, since 1.69 `request
//! :`.

use crate::ROWS_MOST;
use crate::error::{ReadError, excerpt};
use crate::figure::{Figure, number, time_ns};
use crate::row::{Counts, Hidden, Latency, Load, Row, Transfer};

/// A run's result begins here.
const FINISHED: &str = "finished in ";
/// The title of the times that requests took; without them the others mean nothing.
const REQUEST: &str = "request";
/// The last name above the columns of times.
const SPREAD: &str = "+/- sd";

pub(crate) fn rows(text: &str) -> Result<Vec<Row>, ReadError> {
    let starts: Vec<usize> = starts(text).collect();
    if starts.is_empty() {
        let problem = "expected h2load's line `finished in TIME, RATE req/s, ...`";
        return Err(ReadError::new(1, problem));
    }
    if starts.len() > ROWS_MOST {
        let problem = format!("more than {ROWS_MOST} runs: split the file");
        return Err(ReadError::new(1, problem));
    }
    let mut rows = Vec::new();
    let mut line = 1;
    let mut behind = 0;
    for (index, start) in starts.iter().copied().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        line += text[starts_before(&starts, index)..start]
            .matches('\n')
            .count();
        let run = Run {
            before: &text[behind..start],
            result: &text[start..end],
            line,
        };
        rows.push(run.row()?);
        // What h2load prints before the next result stands between the two.
        behind = start;
    }
    Ok(rows)
}

/// Where a time and a rate stand behind `finished in`, as in `finished in 12.00s, 5.00 req/s`:
/// whatever else is in a log may finish too.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    let is_result = move |at: &usize| {
        let behind = text[at + FINISHED.len()..].split(FINISHED).next();
        let rate = behind.and_then(|behind| behind.split_once(','));
        let mut words = rate.map_or("", |(_, rate)| rate).split_whitespace();
        let is_number = words.next().and_then(number).is_some();
        is_number && words.next().is_some_and(|word| word.starts_with("req/s"))
    };
    let found = text.match_indices(FINISHED).map(|(at, _)| at);
    found.filter(is_result)
}

fn starts_before(starts: &[usize], index: usize) -> usize {
    match index.checked_sub(1) {
        Some(before) => starts[before],
        None => 0,
    }
}

struct Run<'a> {
    /// From the last result to this one: which clients, and how long.
    before: &'a str,
    /// From this result to the next.
    result: &'a str,
    line: usize,
}

impl Run<'_> {
    fn row(&self) -> Result<Row, ReadError> {
        let [done, succeeded, failed, errored] = self.requests()?;
        let measured = self.main_duration_s();
        let duration_s = match measured {
            Some(seconds) => seconds,
            None => self.time(self.result, FINISHED)?.value / 1e9,
        };
        let mut latency = Latency {
            is_set_of_tool: true,
            ..Latency::default()
        };
        for (name, value) in self.times(REQUEST)? {
            match name {
                "min" => latency.min = Some(value),
                "max" => latency.max = Some(value),
                "mean" => latency.mean = Some(value),
                "median" => latency.push(0.5, value),
                "p95" => latency.push(0.95, value),
                "p99" => latency.push(0.99, value),
                _ => {}
            }
        }
        let ended = done.max(succeeded + failed);
        let untimed = errored.min(failed);
        if ended == untimed {
            // The zeros that it prints are times of nothing.
            latency = Latency::default();
        }
        let connects = self.times("connect")?;
        let connect = connects.iter().find(|(name, _)| *name == "mean");
        // With a warm-up, connections stand before the measurement begins, and it prints 0.
        let connect_ns = connect.map(|(_, mean)| mean.value);
        Ok(Row {
            line: self.line,
            name: self.name(),
            load: Load {
                clients: self.clients(),
                hidden: Some(Hidden::Streams),
                duration_s: Some(duration_s).filter(|s| *s > 0.0),
                connect_ns,
                ..Load::default()
            },
            counts: Counts {
                ended: Some(ended),
                failed: Some(failed),
                untimed,
                failed_timed: Some((failed - errored).max(0.0)),
                ..Counts::default()
            },
            latency,
            transfer: Transfer {
                read_bytes: self.read_bytes(),
                ..Transfer::default()
            },
            ..Row::default()
        })
    }

    /// `requests: 10 total, 10 started, 9 done, 8 succeeded, 2 failed, 1 errored, 0 timeout`: of
    /// these done, succeeded, failed and errored.
    fn requests(&self) -> Result<[f64; 4], ReadError> {
        const EXPECTED: &str = "`requests: N total, ..., N done, N succeeded, N failed, N errored`";
        let text = after(self.result, "requests:").ok_or_else(|| self.missing(EXPECTED))?;
        let count = |name: &str| {
            let mut parts = text.split(',').take(7);
            let part = parts.find_map(|part| count_of(part, name));
            part.ok_or_else(|| self.missing(EXPECTED))
        };
        Ok([
            count("done")?,
            count("succeeded")?,
            count("failed")?,
            count("errored")?,
        ])
    }

    /// Clients of all threads: `spawning thread #0: 50 total client(s).`
    /// `None` where they are created over time, with -r.
    fn clients(&self) -> Option<f64> {
        if self.before.contains("client(s) will be created every") {
            return None;
        }
        let parts = self.before.match_indices(" total client(s)");
        let counts = parts.filter_map(|(at, _)| number(self.before[..at].rsplit(' ').next()?));
        let sum: f64 = counts.map(|count| count.value).sum();
        Some(sum).filter(|sum| *sum > 0.0)
    }

    /// What distinguishes its runs: neither the address nor the streams are printed.
    fn name(&self) -> Vec<(String, String)> {
        let clients = self.clients().map(|clients| clients.to_string());
        let protocol = after(self.before, "Application protocol:");
        let protocol = protocol.and_then(|rest| rest.split_whitespace().next());
        let cells = [
            ("clients", clients),
            ("protocol", protocol.map(str::to_owned)),
        ];
        let known = |(name, cell): (&str, Option<String>)| Some((name.to_owned(), cell?));
        cells.into_iter().filter_map(known).collect()
    }

    /// `and 20s of main duration for measurements`.
    fn main_duration_s(&self) -> Option<f64> {
        let (before, _) = self.before.rsplit_once(" of main duration")?;
        let time = time_ns(before.rsplit(' ').next()?)?;
        Some(time.value / 1e9).filter(|seconds| *seconds > 0.0)
    }

    /// `traffic: 45.80MB (48023049) total, ...`.
    fn read_bytes(&self) -> Option<f64> {
        let text = after(self.result, "traffic:")?;
        let (_, inside) = text.split_once('(')?;
        Some(number(inside.split_once(')')?.0)?.value)
    }

    /// The times behind a title, by the names in the line above them. Newer versions have more.
    ///
    /// Results are quoted without their times; where the names are there, the times must be.
    fn times(&self, title: &str) -> Result<Vec<(&str, Figure)>, ReadError> {
        let Some(behind_names) = self.result.find(SPREAD) else {
            return Ok(Vec::new());
        };
        let above = &self.result[..behind_names];
        let names = above[above.rfind("min").unwrap_or(behind_names)..].split_whitespace();
        let line = self.line + above.matches('\n').count();
        let wrong = |found: &str| {
            let problem = format!(
                "below the names of times, expected one for each of them behind \
                 `time for {title}:` or `{title} :`, found {found}: it was cut off, or this is a \
                 version of h2load that is not known"
            );
            ReadError::new(line, problem)
        };
        let Some(text) = titled(&self.result[behind_names..], title) else {
            return match title {
                REQUEST => Err(wrong("no such line")),
                _ => Ok(Vec::new()),
            };
        };
        let mut times = Vec::new();
        // The shares at the end of the line are no times.
        let mut values = text.split_whitespace();
        for name in names {
            let word = values.next().unwrap_or("");
            let value = time_ns(word).ok_or_else(|| wrong(&format!("`{}`", excerpt(word))))?;
            times.push((name, value));
        }
        Ok(times)
    }

    fn time(&self, text: &str, title: &str) -> Result<Figure, ReadError> {
        let text = after(text, title).unwrap_or("");
        let word = text.split([',', ' ', '\n']).next().unwrap_or("");
        time_ns(word).ok_or_else(|| {
            let problem = format!(
                "expected a time behind `{title}`, found `{}`",
                excerpt(word)
            );
            ReadError::new(self.line, problem)
        })
    }

    fn missing(&self, expected: &str) -> ReadError {
        let problem = format!("this run of h2load has no {expected}: it was cut off");
        ReadError::new(self.line, problem)
    }
}

fn after<'a>(text: &'a str, title: &str) -> Option<&'a str> {
    text.split_once(title).map(|(_, rest)| rest.trim_start())
}

/// What stands behind a title, with its colon at once or behind blanks: `request     :`.
fn titled<'a>(text: &'a str, title: &str) -> Option<&'a str> {
    text.match_indices(title).find_map(|(at, _)| {
        let is_word = !text[..at].ends_with(char::is_alphanumeric);
        let rest = text[at + title.len()..].trim_start().strip_prefix(':')?;
        is_word.then(|| rest.trim_start())
    })
}

/// 8 of ` 8 succeeded`.
fn count_of(part: &str, name: &str) -> Option<f64> {
    let mut words = part.split_whitespace();
    let count = number(words.next()?)?;
    (words.next()? == name).then_some(count.value)
}
