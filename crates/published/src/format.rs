//! Which form a file has.

use crate::error::ReadError;

/// Who wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table with a header, separated by commas, semicolons or tabs.
    Csv,
    /// k6's summary as JSON: of `--summary-export`, or the data that `handleSummary` gets.
    K6,
    /// `vegeta report -type=json`.
    Vegeta,
    /// oha's JSON.
    Oha,
    /// What wrk and wrk2 print.
    Wrk,
    /// What h2load prints.
    H2load,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Csv,
        Self::K6,
        Self::Vegeta,
        Self::Oha,
        Self::Wrk,
        Self::H2load,
    ];

    /// The name used in flags and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::K6 => "k6",
            Self::Vegeta => "vegeta",
            Self::Oha => "oha",
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
        }
    }

    /// Finds the form out from the content.
    pub(crate) fn recognise(text: &str) -> Result<Self, ReadError> {
        let begins = text.trim_start();
        let has = |part: &str| text.contains(part);
        if begins.is_empty() {
            return Err(unknown("the file is empty"));
        }
        if begins.starts_with('{') {
            return json(text);
        }
        if begins.starts_with('[') && begins[1..].trim_start().starts_with(['{', ']']) {
            return Err(ReadError::new(1, ARRAY));
        }
        let is_wrk = has("Thread Stats") || has("requests in ") && has("Requests/sec:");
        let is_h2load = has("time for request:") || has("finished in ") && has("status codes:");
        let of_json = json(text).ok().filter(|_| is_wrk || is_h2load);
        let found = [
            is_wrk.then_some(Self::Wrk),
            is_h2load.then_some(Self::H2load),
            of_json,
        ];
        let mut found = found.into_iter().flatten();
        match (found.next(), found.next()) {
            (Some(one), Some(other)) => return Err(mixed(one, other)),
            (Some(one), None) => return Ok(one),
            (None, _) => {}
        }
        if has("[total, rate, throughput]") {
            let problem = "this is vegeta's text report; write it as JSON with \
                           `vegeta report -type=json`";
            return Err(ReadError::new(1, problem));
        }
        if begins.starts_with("This is ApacheBench") {
            let problem = "this is ab's text, which is not read: put its figures into a table in \
                           CSV whose header names units";
            return Err(ReadError::new(1, problem));
        }
        let header = begins.lines().next().unwrap_or("");
        if header.contains([',', ';', '\t']) {
            return Ok(Self::Csv);
        }
        Err(unknown("no known form was found"))
    }
}

fn json(text: &str) -> Result<Format, ReadError> {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if has("metrics") && (has("http_reqs") || has("iterations") || has("root_group")) {
        Ok(Format::K6)
    } else if has("summary") && has("requestsPerSec") {
        Ok(Format::Oha)
    } else if has("latencies") && has("requests") {
        Ok(Format::Vegeta)
    } else {
        Err(unknown("this is JSON, but of no tool that is known here"))
    }
}

/// The runs of one tool would be left out without a word.
fn mixed(one: Format, other: Format) -> ReadError {
    let (one, other) = (one.name(), other.name());
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
    let problem = format!(
        "{found}; expected a table in CSV whose header names units, k6's summary as JSON, the \
         JSON of vegeta or oha, or the text of wrk or h2load (--from names the form)"
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
        ] {
            assert_eq!(Format::recognise(text), Ok(format), "{text}");
        }
        let both = "Thread Stats\nfinished in 1s\nstatus codes: 1 2xx";
        let of_oha = "Thread Stats\n{\"summary\":{\"requestsPerSec\":1}}";
        for (text, part) in [
            (both, "of wrk and of h2load"),
            (of_oha, "of wrk and of oha"),
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
            "Requests  [total, rate, throughput] 1",
            "This is ApacheBench, Version 2.3 <$Revision: 1 $>\n",
        ] {
            assert!(Format::recognise(text).is_err(), "{text}");
        }
    }
}
