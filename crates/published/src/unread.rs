//! Forms that nothing here reads, so that a message can name them, and say what to ask for instead.

use crate::error::ReadError;

/// Whose it is, what its text has, and what to do.
struct Unread {
    what: &'static str,
    has: &'static [&'static str],
    instead: &'static str,
}

impl Unread {
    fn is_of(&self, text: &str) -> bool {
        self.has.iter().all(|part| text.contains(part))
    }

    fn error(&self) -> ReadError {
        let Self { what, instead, .. } = self;
        let problem = format!("this is {what}, which is not read: {instead}");
        ReadError::new(1, problem)
    }
}

/// Forms that a reader would take for its own.
static IMITATORS: [Unread; 3] = [
    Unread {
        what: "ghz's text",
        has: &["Slowest:", "Status code distribution:", "[OK]"],
        instead: TABLE,
    },
    Unread {
        what: "rewrk's text",
        has: &["Beginning round", "Latencies:", "Req/Sec:"],
        instead: TABLE,
    },
    Unread {
        what: "weighttp's text",
        has: &["finished in ", " microsec", "status codes:"],
        instead: TABLE,
    },
];

/// All others, in the order in which they are looked for.
static UNREAD: [Unread; 38] = [
    Unread {
        what: "fortio's text",
        has: &["Aggregated Function Time"],
        instead: "give the file of `fortio load -json FILE`",
    },
    Unread {
        what: "Hyperfoil's statistics",
        has: &["PHASE", "METRIC", "THROUGHPUT"],
        instead: HYPERFOIL,
    },
    Unread {
        what: "Hyperfoil's JSON",
        has: &["$schema", "hyperfoil"],
        instead: HYPERFOIL,
    },
    Unread {
        what: "Hyperfoil's CSV",
        has: &["Phase,", ",Requests,Responses,", "BlockedTime"],
        instead: HYPERFOIL,
    },
    Unread {
        what: "Locust's history",
        has: &["Timestamp", "User Count", "Requests/s"],
        instead: LOCUST,
    },
    Unread {
        what: "Locust's failures",
        has: &["Method,Name,", "Occurrences"],
        instead: LOCUST,
    },
    Unread {
        what: "Locust's console",
        has: &["# reqs", "# fails"],
        instead: "run it with `--csv NAME` and give the file that ends in _stats.csv",
    },
    Unread {
        what: "k6's stream of samples",
        has: &["\"metric\"", "\"http_reqs\"", "\"Point\""],
        instead: K6,
    },
    Unread {
        what: "k6's list of samples",
        has: &["metric_name,timestamp,metric_value"],
        instead: K6,
    },
    Unread {
        what: "vegeta's list of requests",
        has: &["\"attack\"", "\"seq\"", "\"latency\""],
        instead: "give what `vegeta report -type=json` makes of it",
    },
    Unread {
        what: "vegeta's histogram",
        has: &["Bucket", "Histogram", "[0s,"],
        instead: "give what `vegeta report -type=json` makes of the same attack",
    },
    Unread {
        what: "hey's list of requests",
        has: &["response-time,DNS+dialup"],
        instead: "run hey without `-o csv`",
    },
    Unread {
        what: "oha's list of requests",
        has: &["request-start,DNS"],
        instead: "run it with `--output-format json`",
    },
    Unread {
        what: "ab's list of percentages",
        has: &["Percentage served,"],
        instead: AB,
    },
    Unread {
        what: "ab's list of requests",
        has: &["starttime", "ctime", "dtime", "ttime"],
        instead: AB,
    },
    Unread {
        what: "JMeter's list of samples",
        has: &["timeStamp,elapsed,"],
        instead: JMETER,
    },
    Unread {
        what: "JMeter's list of samples in XML",
        has: &["<testResults"],
        instead: JMETER,
    },
    Unread {
        what: "JMeter's console",
        has: &["summary ", " Avg: ", " Err: "],
        instead: JMETER,
    },
    Unread {
        what: "JMeter's statistics in JSON",
        has: &["\"sampleCount\"", "\"meanResTime\""],
        instead: TABLE,
    },
    Unread {
        what: "siege's text",
        has: &["Transaction rate:", "Availability:"],
        instead: TABLE,
    },
    Unread {
        what: "siege's JSON",
        has: &["\"transaction_rate\"", "\"availability\""],
        instead: TABLE,
    },
    Unread {
        what: "httperf's text",
        has: &["Reply rate [replies/s]", "Connection time [ms]"],
        instead: TABLE,
    },
    Unread {
        what: "Gatling's text",
        has: &["Global Information", "response time"],
        instead: TABLE,
    },
    Unread {
        what: "Gatling's statistics in JSON",
        has: &["\"numberOfRequests\"", "\"meanResponseTime\""],
        instead: TABLE,
    },
    Unread {
        what: "Artillery's report",
        has: &["http.response_time"],
        instead: TABLE,
    },
    Unread {
        what: "drill's text",
        has: &["Median time per request", "Average time per request"],
        instead: TABLE,
    },
    Unread {
        what: "plow's text",
        has: &["Latency Percentile:", "Statistics"],
        instead: TABLE,
    },
    Unread {
        what: "cassowary's text",
        has: &["Server Processing", "Total Req"],
        instead: TABLE,
    },
    Unread {
        what: "loadtest's text",
        has: &["Effective rps:", "Mean latency:"],
        instead: TABLE,
    },
    Unread {
        what: "Nighthawk's report",
        has: &["benchmark_http_client"],
        instead: TABLE,
    },
    Unread {
        what: "Tsung's log",
        has: &["stats: dump at"],
        instead: TABLE,
    },
    Unread {
        what: "TechEmpower's file of a round",
        has: &["\"rawData\"", "\"frameworks\""],
        instead: TABLE,
    },
    Unread {
        what: "what Go's benchmarks print",
        has: &[" ns/op"],
        instead: "they call functions, and no server under load is in them",
    },
    Unread {
        what: "a HAR file, single requests of a browser",
        has: &["\"log\"", "\"creator\"", "\"entries\""],
        instead: TABLE,
    },
    Unread {
        what: "the trials of a record of bakeoff",
        has: &["\"bakeoff.trial/"],
        instead: "`bakeoff report FOLDER` explains it",
    },
    Unread {
        what: "a page in HTML",
        has: &["<table", "<td"],
        instead: "copy its table into a file as CSV or Markdown",
    },
    Unread {
        what: "a table that is drawn with lines",
        has: &["│", "─"],
        instead: "write it as CSV or Markdown",
    },
    Unread {
        what: "the text of `bakeoff load`",
        has: &[" ok/s; ", "measured"],
        instead: "run it with `--json`",
    },
];

const TABLE: &str = "put its figures into a table in CSV or Markdown whose header names units, \
                     such as `requests,failed,mean_ms,p99_ms,duration_s`";
const HYPERFOIL: &str = "give what its command `wrk` prints, or put the figures of `stats -t` into \
                         a table in CSV or Markdown whose header names units";
const LOCUST: &str = "give the file of `locust --csv NAME` that ends in _stats.csv";
const K6: &str = "give the file of `k6 run --summary-export=FILE`";
const AB: &str = "give what ab prints on the console";
const JMETER: &str = "give the table of the listener Aggregate Report, saved with its header";

/// Why a text is not read that is of a form that is known by name.
pub(crate) fn of(text: &str) -> Option<ReadError> {
    let found = UNREAD.iter().find(|unread| unread.is_of(text));
    found.map(Unread::error)
}

/// The same of what a reader would take for its own.
pub(crate) fn imitator(text: &str) -> Option<ReadError> {
    let found = IMITATORS.iter().find(|unread| unread.is_of(text));
    found.map(Unread::error)
}

#[cfg(test)]
mod tests {
    use crate::Format;

    #[track_caller]
    fn check(text: &str, whose: &str, instead: &str) {
        let error = Format::recognise(text).unwrap_err();
        let begins = format!("this is {whose}");
        assert!(error.problem.starts_with(&begins), "{error}");
        assert!(error.problem.contains(instead), "{error}");
    }

    #[test]
    fn a_form_that_nothing_reads_is_named_with_what_to_ask_for() {
        for (text, whose, instead) in [
            ("Aggregated Function Time : count 5", "fortio's", "-json"),
            (
                "PHASE  METRIC  THROUGHPUT  REQUESTS",
                "Hyperfoil's",
                "`wrk`",
            ),
            (
                "Timestamp,User Count,Type,Name,Requests/s\n1,2,,a,3",
                "Locust's",
                "_stats.csv",
            ),
            (
                "Type Name # reqs # fails | Avg Min\n-----|---\nGET / 1 0 | 2 1",
                "Locust's",
                "--csv",
            ),
            (
                "{\"metric\":\"http_reqs\",\"type\":\"Point\"}",
                "k6's",
                "--summary-export",
            ),
            ("response-time,DNS+dialup,DNS\n1,2,3", "hey's", "-o csv"),
            (
                "timeStamp,elapsed,label\n1,2,3",
                "JMeter's",
                "Aggregate Report",
            ),
        ] {
            check(text, whose, instead);
        }
    }

    #[test]
    fn forms_that_look_like_others_are_named_too() {
        for (text, whose, instead) in [
            (
                "Bucket  #  %  Histogram\n[0s, 1ms]  5  100%  ###",
                "vegeta's histogram",
                "-type=json",
            ),
            (
                "{\"transaction_rate\": 1, \"availability\": 2}",
                "siege's",
                "CSV",
            ),
            (
                "Connection time [ms]: min 0.2\nReply rate [replies/s]: min 1",
                "httperf's",
                "CSV",
            ),
            (
                "summary = 9 in 00:00:50 = 20.0/s Avg: 52 Min: 9 Max: 321 Err: 0",
                "JMeter's console",
                "Aggregate Report",
            ),
            ("<?xml version=\"1.0\"?><testResults>", "JMeter's", "header"),
            // hey's own form, of another protocol.
            (
                "Slowest: 1 ms\nRequests/sec: 1\nStatus code distribution:\n  [OK] 2 responses",
                "ghz's",
                "CSV",
            ),
            (
                "Beginning round 1...\nLatencies:\nTotal: 1 Req/Sec: 2\n\
                 | Percentile | Avg Latency |\n| --- | --- |\n| 99% | 1ms |",
                "rewrk's",
                "CSV",
            ),
            (
                "finished in 1 sec, 2 millisec and 3 microsec\nstatus codes: 1 2xx",
                "weighttp's",
                "CSV",
            ),
            ("┌───┐\n│ a │\n└───┘", "a table that is drawn", "Markdown"),
            (
                "{\"schema\":\"bakeoff.trial/1\"}",
                "the trials",
                "`bakeoff report",
            ),
        ] {
            check(text, whose, instead);
        }
    }
}
