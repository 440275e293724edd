//! Detects a file's format and its reader: one table of readers, and one of known formats that have
//! none.

use serde_json::Value;

use crate::column::ColumnRule;
use crate::documents::{self, begins};
use crate::error::ReadError;
use crate::row::Row;
use crate::table::{self, Table};
use crate::{
    ab, autocannon, bombardier, fortio, h2load, k6, locust, markdown, oha, own, summary, unread,
    vegeta, wrk,
};

/// Who wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table with a header, separated by commas, semicolons or tabs.
    Csv,
    /// Tables in Markdown, with the prose around them.
    Markdown,
    /// k6's summary as JSON, of `--summary-export` or the data that `handleSummary` gets, or as the
    /// console shows it.
    K6,
    /// `vegeta report`, as JSON or as text.
    Vegeta,
    /// What oha prints, as JSON or as text.
    Oha,
    /// What wrk and wrk2 print.
    Wrk,
    /// What h2load prints.
    H2load,
    /// What hey prints.
    Hey,
    /// What ab prints.
    Ab,
    /// What autocannon prints, as JSON or as tables.
    Autocannon,
    /// What bombardier prints, as JSON or as text.
    Bombardier,
    /// fortio's JSON.
    Fortio,
    /// The file of Locust that ends in `_stats.csv`.
    Locust,
    /// The document of `bakeoff load --json`.
    Bakeoff,
}

/// How a form is read.
pub(crate) enum Reader {
    /// Columns, which the user may name.
    Table(fn(&str, &[ColumnRule]) -> Result<Table, ReadError>),
    /// Runs of a tool.
    Runs(fn(&str) -> Result<Vec<Row>, ReadError>),
}

/// A form.
struct Entry {
    format: Format,
    /// The name used in flags and reports.
    name: &'static str,
    /// Whether a text has it; the tools' forms exclude each other.
    is_of: fn(&Text<'_>) -> bool,
    reader: Reader,
}

/// A text that is asked whose it is.
struct Text<'a> {
    text: &'a str,
    /// Whether a line of it begins a document.
    has_json: bool,
}

impl Text<'_> {
    fn has(&self, parts: &[&str]) -> bool {
        parts.iter().all(|part| self.text.contains(part))
    }

    /// Whether it is JSON with these keys.
    fn has_keys(&self, keys: &[&str]) -> bool {
        let has = |key: &&str| self.text.contains(&format!("\"{key}\""));
        self.has_json && keys.iter().all(has)
    }

    /// Whether each of its first two lines is cut by one of these.
    fn is_csv(&self) -> bool {
        let mut lines = self.text.lines().filter(|line| !line.trim().is_empty());
        let is_cut = |line: &str| line.contains([',', ';', '\t']);
        lines.next().is_some_and(is_cut) && lines.next().is_some_and(is_cut)
    }
}

/// Documents where one begins, else what a tool prints for eyes.
fn either(
    text: &str,
    whose: &str,
    document: fn(&Value) -> Result<Row, String>,
    printed: fn(&str) -> Result<Vec<Row>, ReadError>,
) -> Result<Vec<Row>, ReadError> {
    match begins(text) {
        Some(_) => documents::rows(text, whose, document),
        None => printed(text),
    }
}

/// Every form that is read, in the order of [`Format::ALL`].
static ENTRIES: [Entry; 14] = [
    Entry {
        format: Format::Csv,
        name: "csv",
        // What is of nobody else.
        is_of: |_| false,
        reader: Reader::Table(table::read),
    },
    Entry {
        format: Format::Markdown,
        name: "markdown",
        is_of: |text| !text.text.trim_start().starts_with('{') && markdown::is_in(text.text),
        reader: Reader::Table(markdown::read),
    },
    Entry {
        format: Format::K6,
        name: "k6",
        is_of: |text| {
            let mut names = ["http_reqs", "iterations", "root_group"].into_iter();
            text.has_keys(&["metrics"]) && names.any(|name| text.has_keys(&[name]))
                || text.has(&["http_req_duration.."])
        },
        reader: Reader::Runs(|text| either(text, "k6's summary", k6::row, k6::rows_of_console)),
    },
    Entry {
        format: Format::Vegeta,
        name: "vegeta",
        is_of: |text| {
            text.has_keys(&["latencies", "requests"])
                || text.has(&["Requests", "[total", "Latencies", "Status Codes"])
        },
        reader: Reader::Runs(|text| {
            either(
                text,
                "vegeta's JSON report",
                vegeta::row,
                vegeta::rows_of_text,
            )
        }),
    },
    Entry {
        format: Format::Oha,
        name: "oha",
        is_of: |text| {
            text.has_keys(&["summary", "requestsPerSec"])
                || text.has(&["Success rate:", "Slowest:", "Requests/sec:"])
        },
        reader: Reader::Runs(|text| {
            either(text, "oha's JSON report", oha::row, summary::rows_of_oha)
        }),
    },
    Entry {
        format: Format::Wrk,
        name: "wrk",
        is_of: |text| text.has(&["Thread Stats"]) || text.has(&[" requests in ", "Requests/sec:"]),
        reader: Reader::Runs(wrk::rows),
    },
    Entry {
        format: Format::H2load,
        name: "h2load",
        is_of: |text| {
            text.has(&["time for request:"]) || text.has(&["finished in ", "status codes:"])
        },
        reader: Reader::Runs(h2load::rows),
    },
    Entry {
        format: Format::Hey,
        name: "hey",
        is_of: |text| text.has(&["Slowest:", "Requests/sec:"]) && !text.has(&["Success rate:"]),
        reader: Reader::Runs(summary::rows_of_hey),
    },
    Entry {
        format: Format::Ab,
        name: "ab",
        is_of: |text| text.has(&["Concurrency Level:", "Time taken for tests:"]),
        reader: Reader::Runs(ab::rows),
    },
    Entry {
        format: Format::Autocannon,
        name: "autocannon",
        is_of: |text| {
            text.has_keys(&["latency", "requests", "throughput", "non2xx"])
                || text.has(&["│ Latency", "│ Req/Sec"])
        },
        reader: Reader::Runs(|text| {
            either(text, "autocannon's JSON", autocannon::row, autocannon::rows)
        }),
    },
    Entry {
        format: Format::Bombardier,
        name: "bombardier",
        is_of: |text| {
            text.has_keys(&["spec", "result", "timeTakenSeconds"])
                || text.has(&["Reqs/sec", "HTTP codes:"])
        },
        reader: Reader::Runs(|text| {
            either(text, "bombardier's JSON", bombardier::row, bombardier::rows)
        }),
    },
    Entry {
        format: Format::Fortio,
        name: "fortio",
        is_of: |text| text.has_keys(&["DurationHistogram", "ActualQPS"]),
        reader: Reader::Runs(|text| documents::rows(text, "fortio's JSON", fortio::row)),
    },
    Entry {
        format: Format::Locust,
        name: "locust",
        is_of: |text| {
            let header = text.text.trim_start().lines().next();
            let header = header.unwrap_or("").to_lowercase();
            let is_old = header.contains("# requests") && header.contains("# failures");
            let is_new = header.contains("request count") && header.contains("failure count");
            (is_old || is_new)
                && header.contains("average response time")
                && !header.starts_with("timestamp")
        },
        reader: Reader::Table(locust::read),
    },
    Entry {
        format: Format::Bakeoff,
        name: "bakeoff",
        is_of: |text| text.has_keys(&["bakeoff.load/1"]),
        reader: Reader::Runs(|text| documents::rows(text, "`bakeoff load --json`", own::row)),
    },
];

impl Format {
    /// All of them.
    pub const ALL: [Self; 14] = {
        let mut all = [Self::Csv; 14];
        let mut index = 0;
        while index < all.len() {
            assert!(
                ENTRIES[index].format as usize == index,
                "in the order of the formats"
            );
            all[index] = ENTRIES[index].format;
            index += 1;
        }
        all
    };

    fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }

    /// The name used in flags and reports.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Who reads it.
    pub(crate) fn reader(self) -> &'static Reader {
        &self.entry().reader
    }

    /// Whether its author says which rows are of one server, and not a tool.
    pub fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::Markdown)
    }

    /// Finds the form out from the content.
    pub(crate) fn recognise(text: &str) -> Result<Self, ReadError> {
        let begins_with = text.trim_start();
        if begins_with.is_empty() {
            return Err(unknown("the file is empty"));
        }
        if begins_with.starts_with('[') && begins_with[1..].trim_start().starts_with(['{', ']']) {
            return Err(ReadError::new(1, ARRAY));
        }
        if let Some(imitator) = unread::imitator(text) {
            return Err(imitator);
        }
        let text = Text {
            text,
            has_json: begins(text).is_some(),
        };
        let mut found = ENTRIES.iter().filter(|entry| (entry.is_of)(&text));
        match (found.next(), found.next()) {
            (Some(one), Some(other)) => return Err(mixed(one.name, other.name)),
            (Some(one), None) => return Ok(one.format),
            (None, _) => {}
        }
        if let Some(unread) = unread::of(text.text) {
            return Err(unread);
        }
        if begins_with.starts_with('{') {
            return Err(unknown("this is JSON, but of no tool that is known here"));
        }
        if text.is_csv() {
            return Ok(Self::Csv);
        }
        Err(unknown("no known form was found"))
    }
}

/// The runs of one tool would be left out without a word.
fn mixed(one: &str, other: &str) -> ReadError {
    let problem = format!(
        "this holds results of {one} and of {other}: put each into a file of its own, or read one \
         of them with --from {one} or --from {other}"
    );
    ReadError::new(1, problem)
}

/// What to do with JSON documents in an array.
const ARRAY: &str = "this is a JSON array; expected documents one after the other, as from \
                     `jq '.[]' FILE | bakeoff audit -`, or a table in CSV";

fn unknown(found: &str) -> ReadError {
    let tools: Vec<&str> = ENTRIES[2..].iter().map(|entry| entry.name).collect();
    let problem = format!(
        "{found}; expected a table in CSV or Markdown whose header names units, or the output of \
         one of {} (--from names the form)",
        tools.join(", ")
    );
    ReadError::new(1, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_says_whose_it_is() {
        for (text, format) in [
            ("clients,mean_ms\n1,2\n", Format::Csv),
            ("\n{\"metrics\": {\"http_reqs\": {}}}", Format::K6),
            ("{\"summary\":{\"requestsPerSec\":1}}", Format::Oha),
            ("{\"latencies\":{},\"requests\":1}", Format::Vegeta),
            ("Running 1s test @ x\n  Thread Stats   Avg", Format::Wrk),
            ("finished in 1s\nstatus codes: 1 2xx", Format::H2load),
            (
                "One, two.\n\n| a | rps |\n|---|--:|\n| b | 1 |",
                Format::Markdown,
            ),
            ("  Slowest:\t1 secs\n  Requests/sec:\t1", Format::Hey),
            (
                "Success rate: 1%\nSlowest: 1 s\nRequests/sec: 1",
                Format::Oha,
            ),
            ("Concurrency Level: 1\nTime taken for tests: 1", Format::Ab),
            (
                "http_req_duration..: avg=1ms\n{ expected_response:true }",
                Format::K6,
            ),
            (
                "Type,Name,Request Count,Failure Count,Average Response Time\n",
                Format::Locust,
            ),
            ("{\"schema\": \"bakeoff.load/1\"}", Format::Bakeoff),
            (
                "# x\n{\"DurationHistogram\": {}, \"ActualQPS\": 1}",
                Format::Fortio,
            ),
        ] {
            assert_eq!(Format::recognise(text), Ok(format), "{text}");
        }
        let both = "Thread Stats\nfinished in 1s\nstatus codes: 1 2xx";
        let of_oha = "Thread Stats\n{\"summary\":{\"requestsPerSec\":1}}";
        for (text, part) in [
            (both, "of wrk and of h2load"),
            (of_oha, "of oha and of wrk"),
            ("[{\"a\": 1, \"b\": 2}]", "a JSON array"),
            (" [ {}]", "a JSON array"),
        ] {
            let error = Format::recognise(text).unwrap_err();
            assert!(error.problem.contains(part), "{error}");
        }
        assert_eq!(Format::recognise("[ms],rps\n1,2\n"), Ok(Format::Csv));
        for text in [
            "",
            "  \n",
            "{\"a\": 1}",
            "one word",
            "Prose, with commas.\n\nAnd more.",
        ] {
            assert!(Format::recognise(text).is_err(), "{text}");
        }
    }
}
