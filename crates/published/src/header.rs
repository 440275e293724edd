//! Finds out which quantity a column holds, and in which unit, from the column's name.
//!
//! A name is cut into tokens, so `p99 (ms)`, `latencyP99Ms` and `http_req_duration_p(99)_ms` mean
//! the same. The unit is taken from the end, fillers are dropped, and the rest must be known as a
//! whole: `cpu_max` is not read as a longest latency.
//!
//! It looks at names only. `table.rs` looks at the cells.

use crate::column::{Quantity, percentile, rounded};
use crate::unit::Unit;
use crate::words::{english, is_mark};

/// What a name comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    /// A quantity; without a unit where the name has none.
    Known(Quantity, Option<Unit>),
    /// More than one quantity: which ones.
    Ambiguous(&'static str),
    /// Perhaps this quantity, in these words, or something else.
    Doubtful(Quantity, &'static str),
    /// Nothing that is known.
    Unknown,
}

/// Tokens that a latency's name may hold besides the statistic.
const FILLERS: [&str; 13] = [
    "latency",
    "latencies",
    "lat",
    "response",
    "time",
    "times",
    "duration",
    "request",
    "req",
    "http",
    "percentile",
    "perc",
    "of",
];

/// What a name such as `read` may hold: bytes, or wrk's errors of sockets.
pub(crate) const BYTES_OR_FAILED: &str = "bytes or failed";

/// What a name such as `throughput` may hold.
pub(crate) const RATE_OR_BYTES: &str = "rate or bytes-rate";

/// How many of them, from the first, name a length of time.
const TIMES: usize = 7;

/// What stands behind `per` or a slash.
const SECONDS: [&str; 3] = ["s", "sec", "second"];

/// Whole names that mean one thing; the tokens joined by blanks, without units.
const WHOLE: [(&[&str], Quantity); 13] = [
    (
        &[
            "clients",
            "client",
            "users",
            "user",
            "vus",
            "vu",
            "virtual users",
            "connections",
            "conns",
            "concurrency",
            "concurrent connections",
            "concurrent users",
            "user count",
        ],
        Quantity::Clients,
    ),
    (
        &["streams", "max concurrent streams", "concurrent streams"],
        Quantity::Streams,
    ),
    (
        &[
            "requests",
            "reqs",
            "request count",
            "total requests",
            "requests total",
            "samples",
            "num requests",
            "completed",
            "http reqs",
        ],
        Quantity::Requests,
    ),
    (
        &[
            "ok",
            "success",
            "successes",
            "succeeded",
            "successful",
            "successful requests",
            "success rate",
            "2xx",
            "success ratio",
        ],
        Quantity::Ok,
    ),
    (
        &[
            "errors",
            "error",
            "failed",
            "failures",
            "failure",
            "fails",
            "failed requests",
            "error rate",
            "err",
            "failure rate",
            "errs",
            "http req failed",
        ],
        Quantity::Failed,
    ),
    (
        &[
            "body",
            "body size",
            "response size",
            "content length",
            "page size",
        ],
        Quantity::Body,
    ),
    (
        &[
            "bytes",
            "bytes in",
            "bytes read",
            "bytes received",
            "data received",
            "received",
            "transfer",
            "transferred",
            "total data",
        ],
        Quantity::Bytes,
    ),
    (&["cpu", "server cpu", "cpu server"], Quantity::Cpu),
    (
        &["client cpu", "generator cpu", "loadgen cpu", "cpu client"],
        Quantity::ClientCpu,
    ),
    (
        &["runs", "repetitions", "repeats", "rounds"],
        Quantity::Runs,
    ),
    (
        &["run", "round", "repetition", "repeat", "trial", "attempt"],
        Quantity::Run,
    ),
    (
        &[
            "duration",
            "elapsed",
            "test duration",
            "run time",
            "runtime",
            "total time",
            "test time",
        ],
        Quantity::Duration,
    ),
    (&["rps", "qps", "tps", "requests per"], Quantity::Rate),
];

/// What a column's name says.
pub(crate) fn meaning(name: &str) -> Meaning {
    let tokens = tokens(name);
    let ending = per_second(&tokens).or_else(|| tokens.last().map(|last| short(last)));
    let is_in_doubt = ending.is_some_and(|unit| Unit::is_in_doubt(&unit));
    match of_tokens(tokens) {
        Meaning::Known(Quantity::BytesRate, _) if is_in_doubt => {
            Meaning::Ambiguous("bytes-rate in bits or in bytes")
        }
        Meaning::Known(quantity, _) if is_in_doubt => Meaning::Ambiguous(match quantity {
            Quantity::Body => "body in bits or in bytes",
            _ => "bytes in bits or in bytes",
        }),
        meaning => meaning,
    }
}

/// Whether a name counts requests, as `failed requests` does and `failed` may not.
pub(crate) fn counts_requests(name: &str) -> bool {
    let last = tokens(name).pop();
    last.is_some_and(|last| last.eq_ignore_ascii_case("requests"))
}

fn of_tokens(tokens: Vec<String>) -> Meaning {
    if let Some(quantity) = shortest_or_minutes(&tokens) {
        return Meaning::Doubtful(quantity, "in minutes, or the shortest of several");
    }
    let (tokens, unit) = if is_shortest(&tokens) {
        (tokens.iter().map(|one| one.to_lowercase()).collect(), None)
    } else {
        unit_apart(tokens)
    };
    let all: Vec<&str> = tokens.iter().map(String::as_str).collect();
    if let Some(Unit::PerS(_)) = unit {
        return rate(&all, unit);
    }
    if let Some(Unit::BytesPerS(_)) = unit {
        let known = [
            "",
            "throughput",
            "transfer",
            "bandwidth",
            "traffic",
            "data",
            "transfer rate",
        ];
        return if known.contains(&all.join(" ").as_str()) {
            Meaning::Known(Quantity::BytesRate, unit)
        } else {
            Meaning::Unknown
        };
    }
    let joined = all.join(" ");
    // `Request Count` counts, and its name has a unit's.
    let counted = matches!(unit, Some(Unit::Count)).then(|| format!("{joined} count"));
    let is_named = |name: &&str| *name == joined || counted.as_deref() == Some(*name);
    let whole = WHOLE.iter().find(|(names, _)| names.iter().any(is_named));
    if let Some((_, quantity)) = whole {
        // `bytes_read` says its unit first.
        let first = all.first().filter(|first| **first == "bytes");
        return known(*quantity, unit.or(first.map(|_| Unit::Bytes(1.0))));
    }
    if joined == "read" {
        return match unit {
            Some(_) => known(Quantity::Bytes, unit),
            None => Meaning::Ambiguous(BYTES_OR_FAILED),
        };
    }
    if let Some(quantity) = statistic(&all) {
        return match quantity {
            // Some write p99 so.
            Quantity::Quantile(rank) if rank < 0.01 => {
                let share = Quantity::Quantile(rounded(rank * 100.0));
                Meaning::Doubtful(share, "or the quantile of less than 1 %")
            }
            _ => known(quantity, unit),
        };
    }
    match joined.as_str() {
        "throughput" | "rate" => Meaning::Ambiguous(RATE_OR_BYTES),
        "latency" | "response time" | "time" if matches!(unit, None | Some(Unit::Time(_))) => {
            Meaning::Ambiguous("mean or median")
        }
        _ => Meaning::Unknown,
    }
}

/// Whether `min` at the end means the shortest, as in `http_req_duration_min`, and no minutes.
/// What has a name of its own, such as `duration_min`, is in minutes.
fn is_shortest(tokens: &[String]) -> bool {
    let lower: Vec<String> = tokens.iter().map(|one| one.to_lowercase()).collect();
    let Some((last, rest)) = lower.split_last() else {
        return false;
    };
    let joined = rest.join(" ");
    let has_name = WHOLE
        .iter()
        .any(|(names, _)| names.contains(&joined.as_str()));
    let is_latency = |word: &String| {
        let word = word.as_str();
        FILLERS[..TIMES].contains(&word)
    };
    let all = rest.iter().all(|word| FILLERS.contains(&word.as_str()));
    last == "min" && !has_name && all && rest.iter().any(is_latency)
}

/// The statistic before a `min` at the end, as in `p99_min`: it may be in minutes, or the shortest
/// of several runs.
fn shortest_or_minutes(tokens: &[String]) -> Option<Quantity> {
    let lower: Vec<String> = tokens.iter().map(|one| one.to_lowercase()).collect();
    let rest: Vec<&str> = lower.iter().map(String::as_str).collect();
    statistic(rest.strip_suffix(&["min"])?)
}

/// A unit that the quantity cannot have makes the name unknown: `requests_ms`.
fn known(quantity: Quantity, unit: Option<Unit>) -> Meaning {
    let fits = |unit: Unit| quantity.units().iter().any(|one| one.is_like(unit));
    match unit {
        Some(unit) if !fits(unit) => Meaning::Unknown,
        _ => Meaning::Known(quantity, unit),
    }
}

/// `requests/s` and its relatives.
fn rate(tokens: &[&str], unit: Option<Unit>) -> Meaning {
    let has = |names: &[&str]| tokens.iter().any(|token| names.contains(token));
    let plain = [
        "requests",
        "request",
        "req",
        "reqs",
        "throughput",
        "rate",
        "http",
        "mean",
        "avg",
        "average",
        "responses",
        "answers",
    ];
    let right = ["ok", "success", "successful", "goodput", "succeeded"];
    let failed = ["failures", "failure", "failed", "errors", "error"];
    let planned = ["target", "planned", "offered", "scheduled"];
    let all: [&[&str]; 4] = [&plain, &right, &failed, &planned];
    let is_known = |token: &&str| all.iter().any(|names| names.contains(token));
    let is_two_things = has(&failed) && (has(&right) || has(&planned));
    if !tokens.iter().all(is_known) || is_two_things {
        Meaning::Unknown
    } else if has(&failed) {
        Meaning::Known(Quantity::FailedRate, unit)
    } else if has(&planned) {
        Meaning::Known(Quantity::PlannedRate, unit)
    } else if has(&right) {
        Meaning::Known(Quantity::OkRate, unit)
    } else {
        Meaning::Known(Quantity::Rate, unit)
    }
}

/// A statistic of latencies, if nothing else is named.
fn statistic(tokens: &[&str]) -> Option<Quantity> {
    let mut rest = tokens.iter().filter(|token| !FILLERS.contains(token));
    let (first, second) = (rest.next()?, rest.next());
    if rest.next().is_some() {
        return None;
    }
    let one = match *first {
        "min" | "minimum" | "fastest" | "shortest" => Some(Quantity::Min),
        "mean" | "avg" | "average" => Some(Quantity::Mean),
        "max" | "maximum" | "slowest" | "longest" => Some(Quantity::Max),
        "median" | "med" => Some(Quantity::Quantile(0.5)),
        _ => None,
    };
    if second.is_none() && one.is_some() {
        return one;
    }
    let rank = match (*first, second) {
        // p(99)
        ("p", Some(rank)) => (*rank).to_owned(),
        // p99_9
        (whole, Some(&"9")) => format!("{}.9", whole.strip_prefix('p')?),
        (rank, None) => {
            let bare = rank.strip_prefix('p').or_else(|| rank.strip_suffix("th"));
            bare.or_else(|| rank.strip_suffix('%'))?.to_owned()
        }
        _ => return None,
    };
    percentile(&rank).map(Quantity::Quantile)
}

/// The tokens of a name as they are written; a unit keeps its case, which may matter.
fn tokens(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    let mut characters = name.chars().filter(|it| !is_mark(*it)).peekable();
    while let Some(character) = characters.next() {
        let next_is_digit = characters.peek().is_some_and(char::is_ascii_digit);
        let in_number = character == '.' && before.is_ascii_digit() && next_is_digit;
        if character.is_alphanumeric() || in_number || matches!(character, '/' | '%') {
            words.last_mut().expect("it has one").push(character);
        } else {
            words.push(String::new());
        }
        before = character;
    }
    let words = with_slashes(words);
    let parts = words.iter().flat_map(|word| humps(word));
    parts.flat_map(translated).collect()
}

/// The English words for a token in another language: `requests/s` for `Anfragen/s`.
fn translated(token: String) -> Vec<String> {
    let translate = |word: &str| english(word).map_or(word.to_owned(), str::to_owned);
    let sides: Vec<String> = token.split('/').map(translate).collect();
    match sides.as_slice() {
        [word] => word.split(' ').map(str::to_owned).collect(),
        sides => vec![sides.join("/")],
    }
}

/// `Requests / sec` is `Requests/sec`. Behind another slash with blanks stands a unit or a word of
/// its own: `p99 / ms` is `p99 ms`.
fn with_slashes(words: Vec<String>) -> Vec<String> {
    let is_second = |word: &str| SECONDS.contains(&word.to_lowercase().as_str());
    let mut found: Vec<String> = Vec::new();
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        let is_behind = found.last().is_some_and(|last| last.ends_with('/')) && is_second(&word);
        let is_per_second = word.strip_prefix('/').is_some_and(is_second);
        match found.last_mut() {
            Some(last) if word == "/" || is_behind || is_per_second => last.push_str(&word),
            _ => found.push(word),
        }
    }
    for word in &mut found {
        word.truncate(word.trim_end_matches('/').len());
    }
    found.retain(|word| !word.is_empty());
    found
}

/// `latencyP99Ms` cut before its capitals; `KiB` is one unit.
fn humps(word: &str) -> Vec<String> {
    if word.is_empty() {
        return Vec::new();
    }
    if Unit::parse(word).is_some() {
        return vec![word.to_owned()];
    }
    let mut parts = vec![String::new()];
    let mut before = 'A';
    for character in word.chars() {
        let hump = before.is_lowercase() || before.is_ascii_digit();
        if hump && character.is_uppercase() {
            parts.push(String::new());
        }
        parts.last_mut().expect("it has one").push(character);
        before = character;
    }
    parts
}

/// The tokens without the unit at their end, in lower case, and the unit.
fn unit_apart(mut tokens: Vec<String>) -> (Vec<String>, Option<Unit>) {
    let unit = ending_unit(&mut tokens);
    let lower = tokens.iter().map(|token| token.to_lowercase());
    (lower.collect(), unit)
}

fn ending_unit(tokens: &mut Vec<String>) -> Option<Unit> {
    let last = tokens.last()?.clone();
    let lower = last.to_lowercase();
    // requests_per_s, req per sec
    if let [.., per, _] = tokens.as_slice()
        && per.eq_ignore_ascii_case("per")
        && SECONDS.contains(&lower.as_str())
    {
        tokens.truncate(tokens.len() - 2);
        let bytes = tokens.last().and_then(|token| byte_unit(token));
        if let Some(one) = bytes {
            tokens.pop();
            return Some(Unit::BytesPerS(one));
        }
        return Some(Unit::PerS(1.0));
    }
    let (each, counted) = in_thousands(&last);
    if ["rps", "qps", "tps"].contains(&counted.to_lowercase().as_str()) {
        tokens.pop();
        return Some(Unit::PerS(each));
    }
    // RPS (k)
    if let Some(each) = thousands(&last).filter(|_| tokens.len() > 1) {
        let mut rest = tokens[..tokens.len() - 1].to_vec();
        if let Some(Unit::PerS(one)) = ending_unit(&mut rest) {
            *tokens = rest;
            return Some(Unit::PerS(one * each));
        }
    }
    // requests/sec, MB/s
    if let Some((counted, per)) = last.rsplit_once('/')
        && SECONDS.contains(&per.to_lowercase().as_str())
    {
        tokens.pop();
        if let Some(unit @ Unit::BytesPerS(_)) = Unit::parse_folded(&short(&last)) {
            return Some(unit);
        }
        let (each, counted) = in_thousands(counted);
        tokens.push(counted.to_owned());
        tokens.retain(|token| !token.is_empty());
        return Some(Unit::PerS(each));
    }
    let glued = glued_percent(&last);
    if let Some(word) = glued {
        tokens.pop();
        tokens.push(word);
        return Some(Unit::Share(0.01));
    }
    let is_rank = last.ends_with('%') && last.len() > 1;
    let unit = Unit::parse_folded(&last)?;
    // `requests` and `rate` are quantities before they are units, and `m` alone says nothing.
    let is_unit = !matches!(unit, Unit::Count | Unit::PerS(_)) && lower != "m" && lower != "b";
    let counts = lower == "count";
    // A column called `bytes` holds bytes; `seconds` alone, too, keeps its name.
    let names_itself = matches!(unit, Unit::Bytes(_)) && tokens.len() == 1;
    if names_itself {
        return Some(unit);
    }
    // So does one called `MBps`.
    if matches!(unit, Unit::BytesPerS(_)) && tokens.len() == 1 {
        tokens.pop();
        return Some(unit);
    }
    if is_rank || !(is_unit || counts) || tokens.len() == 1 {
        return None;
    }
    tokens.pop();
    Some(unit)
}

/// How many one of `kreq` is, and the word without that.
fn in_thousands(word: &str) -> (f64, &str) {
    const COUNTED: [&str; 7] = ["rps", "qps", "tps", "req", "reqs", "request", "requests"];
    let cut = word.char_indices().nth(1).map(|(at, _)| word.split_at(at));
    let counted = cut.filter(|(_, rest)| COUNTED.contains(&rest.to_lowercase().as_str()));
    let found = counted.and_then(|(first, rest)| Some((thousands(first)?, rest)));
    found.unwrap_or((1.0, word))
}

/// How many one is in thousands or millions.
fn thousands(word: &str) -> Option<f64> {
    match word {
        "k" | "K" | "thousand" | "thousands" => Some(1e3),
        "M" | "million" | "millions" => Some(1e6),
        _ => None,
    }
}

/// `MB/s` of `MB/sec`.
fn short(unit: &str) -> String {
    match unit.rsplit_once('/') {
        Some((counted, per)) if SECONDS.contains(&per.to_lowercase().as_str()) => {
            format!("{counted}/s")
        }
        _ => unit.to_owned(),
    }
}

fn byte_unit(token: &str) -> Option<f64> {
    match Unit::parse(token) {
        Some(Unit::Bytes(one)) => Some(one),
        _ => None,
    }
}

/// `MB/s` of `MB per sec`.
fn per_second(tokens: &[String]) -> Option<String> {
    let [.., counted, per, second] = tokens else {
        return None;
    };
    let is_second = SECONDS.contains(&second.to_lowercase().as_str());
    (is_second && per.eq_ignore_ascii_case("per")).then(|| format!("{counted}/s"))
}

/// `errors%`.
fn glued_percent(token: &str) -> Option<String> {
    let word = token.strip_suffix('%')?;
    let letters = word.chars().all(char::is_alphabetic);
    (letters && !word.is_empty()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests;
