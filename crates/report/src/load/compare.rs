//! Two documents of `bakeoff load --json` side by side.
//!
//! It states no difference: each is one load, and says nothing about how much its numbers vary.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use super::LOAD_SCHEMA;
use crate::number::digits;

/// What is compared of a document of [`LOAD_SCHEMA`].
#[derive(Debug, Clone, Deserialize)]
pub struct LoadDocument {
    schema: String,
    url: String,
    load: Value,
    measured_s: f64,
    requests: Requests,
    rate_per_s: Rates,
    latency_ns: Quantiles,
    negotiated: Negotiated,
    warnings: Vec<Warning>,
}

#[derive(Debug, Clone, Deserialize)]
struct Requests {
    ok: u64,
    completed: u64,
    due: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
struct Rates {
    ok: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
struct Quantiles {
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    p99_9: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
struct Negotiated {
    protocol: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Warning {
    code: String,
}

impl LoadDocument {
    /// Reads a document.
    ///
    /// # Errors
    /// It is none, or one of another version.
    pub fn read(text: &str) -> Result<Self, String> {
        let wanted = "expected what `bakeoff load --json` prints";
        let read: Self =
            serde_json::from_str(text).map_err(|error| format!("{wanted}: {error}"))?;
        if read.schema != LOAD_SCHEMA {
            let schema = read.schema.escape_debug();
            return Err(format!(
                "{wanted}, of schema {LOAD_SCHEMA}, and found {schema}"
            ));
        }
        Ok(read)
    }

    /// Share of the requests that did not come out `ok`.
    fn errors(&self) -> Option<f64> {
        let asked = self.requests.due.unwrap_or(self.requests.completed);
        (asked > 0).then(|| asked.saturating_sub(self.requests.ok) as f64 / asked as f64)
    }

    /// What was asked for, by name.
    fn asked(&self) -> Vec<(String, String)> {
        let mut asked = vec![
            ("URL".to_owned(), self.url.clone()),
            (
                "measured time".to_owned(),
                format!("{} s", digits(self.measured_s)),
            ),
            (
                "protocol".to_owned(),
                self.negotiated.protocol.clone().unwrap_or_default(),
            ),
        ];
        let load = self.load.as_object().into_iter().flatten();
        asked.extend(load.map(|(name, value)| (name.clone(), value.to_string())));
        asked
    }
}

/// Two loads as a table, with what differs in what was asked for. Each has the name of its file.
pub fn compare_loads(loads: [(&str, &LoadDocument); 2]) -> String {
    let [(first_name, first), (second_name, second)] = loads;
    let width = [first_name, second_name].map(|name| name.chars().count().max(12));
    let mut text = String::new();
    let mut line = |name: &str, one: &str, two: &str, ratio: &str| {
        let [left, right] = width;
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{name:10}  {one:>left$}  {two:>right$}  {ratio:>7}");
    };
    line("", first_name, second_name, "ratio");
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), digits);
    let mut numbers = |name: &str, one: Option<f64>, two: Option<f64>| {
        let ratio = one
            .zip(two)
            .filter(|(one, _)| *one > 0.0)
            .map(|(one, two)| two / one);
        line(name, &shown(one), &shown(two), &shown(ratio));
    };
    let ms = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
    let (one, two) = (&first.latency_ns, &second.latency_ns);
    numbers("ok/s", first.rate_per_s.ok, second.rate_per_s.ok);
    numbers("p50 ms", ms(one.p50), ms(two.p50));
    numbers("p90 ms", ms(one.p90), ms(two.p90));
    numbers("p99 ms", ms(one.p99), ms(two.p99));
    numbers("p99.9 ms", ms(one.p99_9), ms(two.p99_9));
    let percent = |load: &LoadDocument| load.errors().map(|share| share * 100.0);
    numbers("errors %", percent(first), percent(second));
    let asked = first.asked().into_iter().zip(second.asked());
    for ((name, one), (_, two)) in asked.filter(|(one, two)| one != two) {
        let _ = writeln!(text, "differs: {name}: {one} and {two}");
    }
    for (name, load) in loads {
        let codes: Vec<&str> = load.warnings.iter().map(|it| it.code.as_str()).collect();
        if !codes.is_empty() {
            let _ = writeln!(text, "{name} has warnings: {}", codes.join(", "));
        }
    }
    text.push_str(
        "Whether this is a difference cannot be told: one load each does not show how much the \
         numbers vary.\n`bakeoff race URL URL` loads both in turns, and can tell.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_loads_stand_side_by_side_with_what_differs() {
        let golden = include_str!("../../tests/golden/load.json");
        let first = LoadDocument::read(golden).unwrap();
        let faster = golden
            .replace("46611.2", "93222.4")
            .replace("\"clients\": 200", "\"clients\": 9");
        let second = LoadDocument::read(&faster).unwrap();
        let text = compare_loads([("a.json", &first), ("b.json", &second)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>(),
            ["ok/s", "46,611", "93,222", "2.00"]
        );
        assert!(lines.contains(&"differs: clients: 200 and 9"), "{text}");
        assert!(text.contains("cannot be told"), "{text}");
        for (wrong, words) in [("{}", "prints: missing field"), ("[", "EOF")] {
            let error = LoadDocument::read(wrong).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let newer = LoadDocument::read(&golden.replace("bakeoff.load/1", "bakeoff.load/9"));
        assert!(newer.unwrap_err().ends_with("found bakeoff.load/9"));
    }
}
