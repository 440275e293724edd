//! Exports read back by the parsers of those that they are for: `tests/programs.sh parsers` gets
//! them. A test is passed over without them; with `CI=true` only without benchstat.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "a test starts the readers, and says what it passed over; the library does neither"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bakeoff_record::{Outcome, OutcomeCounts};
use bakeoff_report::{
    Gates, LiveCampaign, LiveLoad, LiveTrial, Redacted, Report, compare_junit, compare_within,
    gobench, hgrm, junit, live_campaign, live_load, openmetrics, view, view_of,
};
use bakeoff_stats::Metric;
use serde_json::Value;

/// Prints the samples of an OpenMetrics text as JSON.
const OPENMETRICS: &str = r#"
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = text_string_to_metric_families(sys.stdin.read())
print(json.dumps([[s.name, s.labels, s.value] for f in families for s in f.samples]))
"#;
/// Reads the lines of a file as plotters do (value, percentile, count), and prints beside each the
/// value and count that HdrHistogram finds at that percentile in the stored histogram.
const HDRHISTOGRAM: &str = r#"
import base64, json, re, struct, sys, zlib
from hdrh.histogram import HdrHistogram
COMPRESSED = 0x1c849304 | 0x10
line = re.compile(r"\s+([0-9.]+)\s+([0-9.]+)\s+([0-9]+)(?:\s+[0-9.]+)?\s*$")
asked = json.load(sys.stdin)
body = zlib.compress(base64.b64decode(asked["hdr"]))
whole = base64.b64encode(struct.pack(">ii", COMPRESSED, len(body)) + body)
read = HdrHistogram.decode(whole)
known = [(it.value_iterated_to / 1e6, it.total_count_to_this_value)
         for it in read.get_recorded_iterator()]
total = read.get_total_count()
rows = []
for it in filter(None, map(line.match, asked["file"].splitlines())):
    own = [float(it[1]), int(it[3])]
    wanted = float(it[2]) * total
    theirs = next(one for one in known if one[1] >= wanted - 1e-9 * total)
    rows.append([own, theirs])
print(json.dumps({"rows": rows, "total": total}))
"#;
/// Prints the cases of a JUnit file as JSON: class, name, and how each ended.
const JUNIT: &str = r#"
import json, sys
import junitparser
root = junitparser.JUnitXml.fromstring(sys.stdin.buffer.read())
cases = [[c.classname, c.name, [type(r).__name__ for r in c.result]] for s in root for c in s]
print(json.dumps({"tests": root.tests, "failures": root.failures, "errors": root.errors,
                  "cases": cases}))
"#;

/// The programs that `tests/programs.sh parsers` gets.
fn parser(name: &str) -> Option<PathBuf> {
    let folder = match name {
        "python" => "parsers/bin",
        other => other,
    };
    let own = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../.bench")
        .join(folder);
    let program = own.join(name);
    if program.exists() {
        return Some(program);
    }
    let why = format!(
        "there is no {}: run tests/programs.sh parsers",
        program.display()
    );
    // A fresh machine has Python and need not have Go.
    let is_needed = name == "python" && std::env::var("CI").as_deref() == Ok("true");
    assert!(!is_needed, "{why}");
    eprintln!("PASSED OVER: {why}");
    None
}

fn output(mut command: Command, text: &str) -> String {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the parser starts");
    let mut input = child.stdin.take().expect("it reads");
    input.write_all(text.as_bytes()).expect("it takes the text");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "the parser refused:\n{text}");
    String::from_utf8(output.stdout).expect("it prints text")
}

fn python(script: &str, text: &str) -> Option<Value> {
    let mut command = Command::new(parser("python")?);
    command.args(["-c", script]);
    Some(serde_json::from_str(&output(command, text)).expect("it prints JSON"))
}

fn report() -> Report {
    view(&bakeoff_testing::campaign(7))
}

#[test]
fn prometheus_reads_the_same_figures() {
    let report = report();
    let Some(samples) = python(OPENMETRICS, &openmetrics(&report)) else {
        return;
    };
    let samples = samples.as_array().expect("samples");
    let mut compared = 0;
    for cell in report.cells.iter().filter(|cell| cell.is_contender()) {
        let rate = cell.estimate(Metric::RatePerS);
        let found = samples.iter().find(|sample| {
            let labels = &sample[1];
            sample[0] == "bakeoff_rate_per_second"
                && labels["contender"] == *cell.contender
                && labels["workload"] == *cell.workload
                && labels["load"] == *cell.load
                && labels["estimate"] == "point"
        });
        if let Some(sample) = found {
            assert_eq!(sample[2].as_f64(), rate.map(|rate| rate.point));
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared} rates");
    let verdicts = samples.iter().filter(|sample| sample[0] == "bakeoff_valid");
    let cells = report.cells.iter().filter(|cell| cell.is_contender());
    assert_eq!(verdicts.count(), cells.count() * 5);
}

/// At each percentile of a file HdrHistogram finds the same count in the histogram of the record,
/// and the same value but for the width of its buckets.
#[test]
fn hdrhistogram_finds_the_same_percentiles_in_the_stored_histogram() {
    let redacted = Redacted::hidden(bakeoff_testing::campaign(7));
    let report = view_of(&redacted);
    let files = hgrm(&report, &redacted);
    let contenders = report.cells.iter().filter(|cell| cell.is_contender());
    let mut compared = 0;
    for (cell, file) in contenders.zip(files).filter(|(_, file)| file.has_values) {
        let round = file.text.split("of round ").nth(1).expect("the round");
        let round: u32 = round.split(',').next().unwrap_or("").parse().expect("it");
        let mut trials = redacted.record().trials.iter();
        let trial = trials.find(|it| {
            let key = (&it.contender, &it.workload, it.load_label(), it.round);
            key == (&cell.contender, &cell.workload, cell.load.clone(), round)
        });
        let result = trial.and_then(|it| it.result.as_ref()).expect("a result");
        let stored = serde_json::to_value(&result.latency).expect("it is stored");
        let asked = serde_json::json!({ "hdr": stored["hdr"], "file": file.text });
        let Some(read) = python(HDRHISTOGRAM, &asked.to_string()) else {
            return;
        };
        assert_eq!(read["total"], result.latency.count());
        let rows = read["rows"].as_array().expect("rows");
        assert!(rows.len() > 20, "{}", file.text);
        for row in rows {
            assert_eq!(row[0][1], row[1][1], "{row}");
            let values = [0, 1].map(|side| row[side][0].as_f64().expect("a value"));
            assert!((values[0] / values[1] - 1.0).abs() < 1.0 / 128.0, "{row}");
        }
        compared += 1;
    }
    assert!(compared >= 3, "{compared} files");
}

/// What a scraper reads while a load or a campaign runs.
#[test]
fn prometheus_reads_the_live_metrics() {
    let mut failed = OutcomeCounts::default();
    failed.add_many(Outcome::Timeout, 3);
    let load = LiveLoad {
        phase: "measuring",
        ok: 1_200,
        failed: failed.clone(),
        ok_per_s: Some(99.5),
        latency_s: vec![(0.5, 0.000_125), (0.99, 0.004)],
    };
    let Some(samples) = python(OPENMETRICS, &live_load(&load)) else {
        return;
    };
    let value = |samples: &Value, name: &str, label: (&str, &str)| {
        let mut samples = samples.as_array().expect("samples").iter();
        let found = samples.find(|it| it[0] == name && it[1][label.0] == label.1);
        found.and_then(|it| it[2].as_f64())
    };
    let of = |name, label| value(&samples, name, label);
    assert_eq!(
        of("bakeoff_requests_total", ("result", "ok")),
        Some(1_200.0)
    );
    assert_eq!(of("bakeoff_requests_total", ("result", "error")), Some(3.0));
    let timeouts = of("bakeoff_failed_requests_total", ("outcome", "timeout"));
    assert_eq!(timeouts, Some(3.0));
    assert_eq!(
        of("bakeoff_latency_seconds", ("quantile", "0.5")),
        Some(0.000_125)
    );
    assert_eq!(
        of("bakeoff_phase", ("bakeoff_phase", "measuring")),
        Some(1.0)
    );
    assert_eq!(of("bakeoff_phase", ("bakeoff_phase", "ending")), Some(0.0));

    let hostile = "a\"b\\c\n\u{1b}[2J{}";
    let campaign = LiveCampaign {
        trials_ended: 4,
        trials_planned: 12,
        left_s: 61.5,
        trial: Some(LiveTrial {
            id: "r1-nginx-html-c10".to_owned(),
            contender: hostile.to_owned(),
            workload: "html".to_owned(),
            step: "measure",
        }),
        ended: (10, 2),
        ok_per_s: None,
        outcomes: failed,
    };
    let samples = python(OPENMETRICS, &live_campaign(&campaign)).expect("as before");
    let of = |name, label| value(&samples, name, label);
    assert_eq!(of("bakeoff_trial_running", ("workload", "html")), Some(1.0));
    let shown = "a\"b\\c \\u{1b}[2J{}";
    assert_eq!(of("bakeoff_trial_running", ("contender", shown)), Some(1.0));
    let names: Vec<&str> = samples
        .as_array()
        .expect("samples")
        .iter()
        .filter_map(|it| it[0].as_str())
        .collect();
    assert!(names.contains(&"bakeoff_trials_ended_total"), "{names:?}");
    // No load is on, so there is no rate, and none is not 0.
    assert!(!names.contains(&"bakeoff_ok_per_second"), "{names:?}");
    // Nothing at all is a page too.
    python(OPENMETRICS, &live_load(&LiveLoad::default())).expect("as before");
    python(OPENMETRICS, &live_campaign(&LiveCampaign::default())).expect("as before");
}

#[test]
fn junit_readers_see_every_gate_and_verdict() {
    let record = Redacted::hidden(bakeoff_testing::campaign(7));
    let gates = Gates::parse("rate=5%,memory=10%").expect("gates");
    let compare = compare_within(&record, "nginx-default", &["caddy-default"], &gates);
    let compare = compare.expect("both are there");
    let Some(read) = python(JUNIT, &compare_junit(&compare)) else {
        return;
    };
    assert_eq!(read["tests"], compare.rows.len());
    let results = ["Failure", "Error", "Skipped"];
    let counted = results.map(|result| {
        let cases = read["cases"].as_array().expect("cases").iter();
        cases
            .filter(|case| case[2] == serde_json::json!([result]))
            .count()
    });
    assert_eq!(
        [&read["failures"], &read["errors"]],
        [counted[0], counted[1]]
    );
    assert!(counted.iter().all(|count| *count > 0), "{counted:?}");
    let report = report();
    let read = python(JUNIT, &junit(&report)).expect("as before");
    let cells = report.cells.iter().filter(|cell| cell.is_contender());
    assert_eq!(read["tests"], cells.count());
}

#[test]
fn benchstat_finds_the_same_medians() {
    let Some(benchstat) = parser("benchstat") else {
        return;
    };
    let report = report();
    let mut command = Command::new(benchstat);
    command.args(["-format", "csv", "/dev/stdin"]);
    let table = output(command, &gobench(&report));
    let rate = |contender: &str| -> Option<f64> {
        let name = format!("/workload=synthetic/load=c10/contender={contender},");
        table
            .lines()
            .find_map(|line| line.strip_prefix(&name)?.split(',').next()?.parse().ok())
    };
    for contender in ["nginx-default", "caddy-default"] {
        let mut cells = report.cells.iter();
        let cell = cells.find(|cell| {
            cell.contender == contender && cell.workload == "synthetic" && cell.load == "c10"
        });
        let own = cell
            .and_then(|cell| cell.estimate(Metric::RatePerS))
            .expect("a rate")
            .point;
        // benchstat prints six digits or so.
        let found = rate(contender).unwrap_or_else(|| panic!("{contender} in:\n{table}"));
        assert!(
            (found / own - 1.0).abs() < 1e-4,
            "{contender}: {found} {own}"
        );
    }
}
