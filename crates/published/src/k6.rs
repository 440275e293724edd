//! k6's summary: the file of `--summary-export`, the data that `handleSummary` gets, or what the
//! console shows, which is read as such a file.
//!
//! The two differ in where a metric's numbers are: in the metric itself, or in its `values`. Times
//! are in ms. `http_req_duration` is of all requests, also of those refused at once.

use serde_json::{Map, Value, json};

use crate::documents::{at, number, time};
use crate::error::ReadError;
use crate::figure::parse_bytes;
use crate::figure::{self, Figure, time_ns};
use crate::row::{Checks, Counts, Hidden, Latency, Load, Row, Transfer};
use crate::runs::{Run, as_documents, runs};

const MS: f64 = 1e6;
/// Share of the users' time in iterations from which they went from one to the next.
const FILLED_SHARE: f64 = 0.9;
/// Quantiles of every summary; more are asked for in summaryTrendStats.
const USUAL: [f64; 3] = [0.5, 0.9, 0.95];
const DURATION: &str = "http_req_duration";
/// What even the shortest iteration lasts longer than its requests where its script sleeps, ms.
const REST_MS: f64 = 100.0;
/// The layout that k6 has since 1.5 if it is asked for.
const NEW_LAYOUT: &str = "its metrics are in `results`, the layout of \
                          --new-machine-readable-summary, which is not read: run k6 with \
                          --new-machine-readable-summary=false";

pub(crate) fn row(document: &Value) -> Result<Row, String> {
    if at(document, &["results", "metrics"]).is_some() {
        return Err(NEW_LAYOUT.to_owned());
    }
    let metrics = at(document, &["metrics"]).ok_or("there is no `metrics`")?;
    let ended = value(metrics, "http_reqs", "count")?
        .ok_or("there is no `metrics.http_reqs.count`: the script made no HTTP request")?;
    let rate = value(metrics, "http_reqs", "rate")?;
    // k6 calls a request that failed one that "passes" the question whether it failed.
    let failed = match value(metrics, "http_req_failed", "passes")? {
        Some(failed) => Some(failed),
        None => value(metrics, "http_req_failed", "rate")?
            .or(value(metrics, "http_req_failed", "value")?)
            .map(|share| share * ended),
    };
    let in_state = number(document, &["state", "testRunDurationMs"])?;
    // An iteration may send any number of requests.
    let iterations = value(metrics, "iterations", "count")?.filter(|count| *count > 0.0);
    let each = iterations.map_or(1.0, |count| ended / count);
    let dropped = value(metrics, "dropped_iterations", "count")?;
    let by_rate = rate.filter(|rate| *rate > 0.0).map(|rate| ended / rate);
    Ok(Row {
        load: Load {
            clients: clients(metrics)?,
            // `http.batch` sends several requests of one user at once.
            hidden: Some(Hidden::Batches),
            rests: rests(metrics, each)?,
            unsent: dropped.map(|dropped| dropped * each),
            // The rate is over the time that k6 counts, which leaves out the set-up.
            duration_s: by_rate.or(in_state.map(|ms| ms / 1e3)),
            ..Load::default()
        },
        counts: Counts {
            ended: Some(ended),
            failed,
            checks: checks(metrics)?,
            ..Counts::default()
        },
        latency: latency(metrics)?,
        transfer: Transfer {
            read_bytes: value(metrics, "data_received", "count")?,
            ..Transfer::default()
        },
        ..Row::default()
    })
}

/// Metrics of the console with which a run may begin; those of another run come again.
const BEGINS: [&str; 6] = [
    "checks.",
    "checks_total.",
    "data_received.",
    "http_req_duration.",
    "http_req_failed.",
    "http_reqs.",
];

pub(crate) fn rows_of_console(text: &str) -> Result<Vec<Row>, ReadError> {
    // Since 1.0 those of groups and scenarios follow, which are parts of the whole.
    let mut is_part = false;
    let mut whole = String::with_capacity(text.len());
    for line in text.lines() {
        is_part |= line.contains("GROUP: ") || line.contains("SCENARIO: ");
        is_part &= !line.contains("TOTAL RESULTS");
        whole.push_str(if is_part { "" } else { line });
        whole.push('\n');
    }
    let runs = runs(&whole, &BEGINS, "k6's line `http_reqs...: N RATE/s`")?;
    let document = |run: &Run<'_>| json!({ "metrics": metrics(run) });
    as_documents(&runs, "k6's console", document, row)
}

/// The metrics of the console as those of a file.
fn metrics(run: &Run<'_>) -> Map<String, Value> {
    let mut metrics = Map::new();
    for line in run.lines() {
        let Some((name, text)) = line.split_once(": ") else {
            continue;
        };
        let name = name.trim_end_matches('.');
        let words = || text.split_whitespace();
        let numbers: Vec<f64> = words()
            .filter_map(figure::number)
            .map(|it| it.value)
            .collect();
        let count = numbers.first().copied();
        let metric = match name {
            DURATION | "iteration_duration" => {
                let pairs = words().filter_map(|word| word.split_once('='));
                let ms = |time| time_ns(time).map(|time| time.value / MS);
                pairs
                    .map(|(key, time)| (key.to_owned(), json!(ms(time))))
                    .collect()
            }
            "http_reqs" | "iterations" | "dropped_iterations" => {
                let rate = words().find_map(|word| figure::number(word.strip_suffix("/s")?));
                json!({ "count": count, "rate": rate.map(|rate| rate.value) })
            }
            "data_received" => {
                let bytes: Vec<&str> = words().take(2).collect();
                json!({ "count": parse_bytes(&bytes.join(" ")) })
            }
            "http_req_failed" | "checks" | "checks_succeeded" => {
                // Of both kinds, or of all: `12 out of 400`.
                let passes = count.zip(numbers.get(1).copied());
                let is_of_all = text.contains(" out of ");
                let fails = passes.map(|(one, all)| if is_of_all { all - one } else { all });
                json!({ "passes": count, "fails": fails })
            }
            "vus" | "vus_max" => {
                let of = |key| words().find_map(|word| figure::number(word.strip_prefix(key)?));
                let of = |key| of(key).map(|it| it.value);
                json!({ "value": count, "min": of("min="), "max": of("max=") })
            }
            _ => continue,
        };
        let name = if name == "checks_succeeded" {
            "checks"
        } else {
            name
        };
        metrics.insert(name.to_owned(), metric);
    }
    metrics
}

/// Virtual users, if each of them went from iteration to iteration. With an arrival rate, or in
/// steps, the number that is busy changes, and so no one number is in flight. Until 0.43, `vus` of
/// an arrival rate are all that were allocated, busy or not, so only iterations say who was busy.
fn clients(metrics: &Value) -> Result<Option<f64>, String> {
    let all = value(metrics, "vus_max", "max")?;
    let least = value(metrics, "vus", "min")?;
    let most = value(metrics, "vus", "max")?;
    let on_schedule = value(metrics, "dropped_iterations", "count")?.is_some();
    let iterations = value(metrics, "iterations", "rate")?;
    let each_ms = value(metrics, "iteration_duration", "avg")?;
    let busy = iterations.zip(each_ms).map(|(per_s, ms)| per_s * ms / 1e3);
    let is_closed = |all: &f64| {
        let are_busy = match busy {
            Some(busy) => busy >= FILLED_SHARE * all,
            None => least == Some(*all),
        };
        !on_schedule && most == Some(*all) && are_busy
    };
    Ok(all.filter(is_closed))
}

/// Whether the script sleeps: even the shortest iteration lasted longer than its requests.
fn rests(metrics: &Value, each: f64) -> Result<bool, String> {
    let least = value(metrics, "iteration_duration", "min")?;
    let mean = value(metrics, DURATION, "avg")?;
    let rest = least.zip(mean).map(|(least, mean)| least - each * mean);
    Ok(rest.is_some_and(|rest| rest >= REST_MS))
}

fn checks(metrics: &Value) -> Result<Option<Checks>, String> {
    let passed = value(metrics, "checks", "passes")?;
    let failed = value(metrics, "checks", "fails")?;
    Ok(passed.zip(failed).map(|(passed, failed)| Checks {
        all: passed + failed,
        failed,
    }))
}

fn latency(metrics: &Value) -> Result<Latency, String> {
    let mut latency = Latency {
        min: of(metrics, "min")?,
        mean: of(metrics, "avg")?,
        max: of(metrics, "max")?,
        ..Latency::default()
    };
    let metric = at(metrics, &[DURATION]);
    let numbers = metric.map(|metric| metric.get("values").unwrap_or(metric));
    let keys = numbers.and_then(Value::as_object).into_iter().flatten();
    for (key, _) in keys {
        let share = match key.as_str() {
            "med" => Some(0.5),
            // As asked for in summaryTrendStats: p(99.9).
            other => other
                .strip_prefix("p(")
                .and_then(|rest| rest.strip_suffix(')'))
                .and_then(|rank| rank.parse::<f64>().ok())
                .map(|rank| rank / 100.0),
        };
        let Some(share) = share.filter(|share| *share > 0.0 && *share < 1.0) else {
            continue;
        };
        if let Some(value) = of(metrics, key)? {
            latency.push(share, value);
        }
    }
    let mut shares = latency.quantiles.iter().map(|one| one.share);
    latency.is_set_of_tool = shares.all(|share| USUAL.contains(&share));
    Ok(latency)
}

fn of(metrics: &Value, key: &str) -> Result<Option<Figure>, String> {
    match time(metrics, &[DURATION, "values", key], MS)? {
        None => time(metrics, &[DURATION, key], MS),
        some => Ok(some),
    }
}

fn value(metrics: &Value, metric: &str, key: &str) -> Result<Option<f64>, String> {
    match number(metrics, &[metric, "values", key])? {
        None => number(metrics, &[metric, key]),
        some => Ok(some),
    }
}
