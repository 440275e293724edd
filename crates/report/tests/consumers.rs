//! Exports read back by the parsers of those that they are for: `tests/programs.sh parsers` gets
//! them. A test is passed over without them; with `CI=true` only without benchstat.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "a test starts the readers, and says what it passed over; the library does neither"
)]

#[allow(dead_code, unused_imports)]
mod support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bakeoff_report::{
    Gates, Redacted, Report, compare_junit, compare_within, gobench, junit, openmetrics, view,
};
use bakeoff_stats::Measure;
use serde_json::Value;

/// Prints the samples of an OpenMetrics text as JSON.
const OPENMETRICS: &str = r#"
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = text_string_to_metric_families(sys.stdin.read())
print(json.dumps([[s.name, s.labels, s.value] for f in families for s in f.samples]))
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
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.bench/parsers/bin");
    let folder = std::env::var_os("BAKEOFF_PARSERS").map_or(own, PathBuf::from);
    let program = folder.join(name);
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
    view(&support::campaign(7))
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
        let rate = cell.estimate(Measure::RatePerS);
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

#[test]
fn junit_readers_see_every_gate_and_verdict() {
    let record = Redacted::hidden(support::campaign(7));
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
            .and_then(|cell| cell.estimate(Measure::RatePerS))
            .expect("a rate")
            .point;
        // Values of trials have five digits in a report.
        let found = rate(contender).unwrap_or_else(|| panic!("{contender} in:\n{table}"));
        assert!(
            (found / own - 1.0).abs() < 1e-4,
            "{contender}: {found} {own}"
        );
    }
}
