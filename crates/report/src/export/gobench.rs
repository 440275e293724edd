//! Lines as `go test -bench` prints them, for benchstat: one for each round.

use std::fmt::Write as _;

use bakeoff_audit::Level;
use bakeoff_stats::Metric;

use super::{Point, points};
use crate::view::{Report, Trial};

/// The valid numbers of a report as lines of `go test -bench`. Each round is a sample, so that
/// benchstat can do its own statistics; it does not know that rounds are pairs.
pub fn gobench(report: &Report) -> String {
    let machine = &report.campaign.machine;
    let mut out = String::from("goos: linux\n");
    if let Some(model) = &machine.cpu_model {
        let _ = writeln!(out, "cpu: {}", crate::safe::plain(model));
    }
    let _ = writeln!(out, "pkg: bakeoff/{}", word(&report.campaign.name));
    for point in points(report) {
        for trial in rounds(report, &point) {
            let Some(value) = trial.exact.get(&point.measure) else {
                continue;
            };
            let requests = trial.requests.as_ref().map_or(1, |one| one.completed);
            let cell = point.cell;
            let _ = writeln!(
                out,
                "Benchmark/workload={}/load={}/contender={} {requests} {value} {}",
                word(&cell.workload),
                word(&cell.load),
                word(&cell.contender),
                unit(point.measure)
            );
        }
    }
    out
}

/// The rounds behind a number: those that its estimate is of.
fn rounds<'r>(report: &'r Report, point: &Point<'_>) -> Vec<&'r Trial> {
    let cell = point.cell;
    let is_believed = |trial: &Trial| {
        let number = point.measure.number();
        let mut checks = trial.checks.iter();
        checks.all(|check| check.of(number) < Level::Disturbed)
    };
    // The attempt of a round that counts stands before those that were set aside.
    let mut rounds: Vec<u32> = Vec::new();
    let mut found: Vec<&Trial> = Vec::new();
    for trial in &report.trials {
        let is_of_cell = trial.contender == cell.contender
            && trial.workload == cell.workload
            && trial.load == cell.load;
        if !is_of_cell || rounds.contains(&trial.round) {
            continue;
        }
        rounds.push(trial.round);
        if is_believed(trial) {
            found.push(trial);
        }
    }
    found
}

fn unit(measure: Metric) -> &'static str {
    match measure {
        Metric::RatePerS => "req/s",
        Metric::LatencyP50Ns => "p50-ns",
        Metric::LatencyP99Ns => "p99-ns",
        Metric::LatencyP999Ns => "p99.9-ns",
        Metric::CpuNsPerRequest => "cpu-ns/req",
        Metric::MemoryPeakBytes => "peak-RSS-bytes",
        other => other.name(),
    }
}

/// A name as one word, without what separates names there.
fn word(text: &str) -> String {
    let plain = |one: char| one.is_ascii_alphanumeric() || "._~@:+-".contains(one);
    let word: String = text
        .chars()
        .map(|one| if plain(one) { one } else { '_' })
        .collect();
    // What ends in a dash and digits would be taken for a number of processors.
    let ends = word.rsplit_once('-').map_or("", |(_, end)| end);
    if !ends.is_empty() && ends.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("{word}_")
    } else {
        word
    }
}
