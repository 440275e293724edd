//! HdrHistogram's percentile distribution (`.hgrm`): a file for each cell, which its plotter and
//! others that read wrk2's output show.
//!
//! A file has one trial's latencies, since those of several rounds are never pooled (R23): the
//! round whose p99, or where one lacks it p50, is the median one. A cell whose latency is not valid
//! has a file of comments.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bakeoff_audit::{Level, Verdict};
use bakeoff_record::{Histogram, LoadResult, TrialRecord};
use bakeoff_stats::{Metric, Number, cells};

use crate::number::{count, counted};
use crate::redaction::Redacted;
use crate::safe::plain;
use crate::view::{Cell, Report};

/// Ending of a file's name.
pub const HGRM_ENDING: &str = "hgrm";
/// What a comment begins with in each file: who wrote it.
pub const HGRM_MARK: &str = "# Written by bakeoff";
/// Lines for each halving of the distance to 100 %, as in HdrHistogram's own output.
const TICKS_PER_HALF: f64 = 5.0;
/// Nanoseconds in the unit of the values, a millisecond.
const UNIT_NS: f64 = 1e6;
/// Fewer latencies beyond a percentile than this say little about the next run.
const BEYOND_LEAST: u64 = 10;
/// Longest name of a file, without its ending and a number.
const NAME_MAX: usize = 120;

/// A cell's latencies as the file of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HgrmFile {
    /// Name of the file: letters, digits, `-`, `_` and `~`, with the ending `.hgrm`.
    pub name: String,
    /// What it holds, with a line end.
    pub text: String,
    /// Whether it has values; else it says in comments why not.
    pub has_values: bool,
}

/// The latencies of each contender's cells, in the order of the report.
pub fn hgrm(report: &Report, redacted: &Redacted) -> Vec<HgrmFile> {
    let grouped = cells(redacted.record());
    let mut names = BTreeMap::new();
    let contenders = report.cells.iter().filter(|cell| cell.is_contender());
    let file = |cell: &Cell| {
        let same = grouped.iter().find(|one| {
            let key = &one.key;
            [&key.contender, &key.workload, &key.load]
                == [&cell.contender, &cell.workload, &cell.load]
        });
        let rounds: Vec<&TrialRecord> = same.map_or(Vec::new(), |one| one.measured().collect());
        let chosen = if cell.verdicts.of(Number::Latency) == Verdict::Valid {
            typical(report, &rounds)
        } else {
            None
        };
        let text = match chosen.and_then(|it| Some((it, it.trial.result.as_ref()?))) {
            Some((chosen, result)) => distribution(report, cell, &chosen, result),
            None => format!(
                "{}# Not exported: {}\n",
                head(report, cell),
                plain(&why_not(cell))
            ),
        };
        HgrmFile {
            name: file_name(cell, &mut names),
            has_values: !text.starts_with('#'),
            text,
        }
    };
    contenders.map(file).collect()
}

/// The round that stands for a cell.
#[derive(Clone, Copy)]
struct Typical<'r> {
    trial: &'r TrialRecord,
    /// The percentile by which it is the median one.
    by: &'static str,
}

/// The round whose p99 is the median one, of an even number the lower; where a p99 is missing,
/// that of the median p50.
fn typical<'r>(report: &Report, rounds: &[&'r TrialRecord]) -> Option<Typical<'r>> {
    let is_usable = |trial: &&TrialRecord| {
        let mut shown = report.trials.iter();
        let shown = shown.find(|one| one.id == trial.id && one.attempt == trial.attempt);
        let level = |check: &bakeoff_audit::Check| check.of(Number::Latency);
        shown.is_some_and(|one| one.checks.iter().all(|it| level(it) < Level::Disturbed))
    };
    let usable: Vec<&TrialRecord> = rounds.iter().copied().filter(is_usable).collect();
    let median = |measure: Metric, by| {
        let value = |trial: &&'r TrialRecord| Some((measure.of(trial).ok()?, *trial));
        let mut valued: Vec<(f64, &TrialRecord)> =
            usable.iter().map(value).collect::<Option<_>>()?;
        valued.sort_by(|left, right| left.0.total_cmp(&right.0));
        let middle = valued.len().checked_sub(1)? / 2;
        let (_, trial) = valued[middle];
        Some(Typical { trial, by })
    };
    median(Metric::LatencyP99Ns, "p99").or_else(|| median(Metric::LatencyP50Ns, "p50"))
}

/// Why a cell has no values.
fn why_not(cell: &Cell) -> String {
    let verdict = cell.verdicts.of(Number::Latency);
    let mut checks = cell.verdict.checks.iter();
    let check = checks.find(|check| check.of(Number::Latency) > Level::Note);
    match (verdict, check) {
        (Verdict::Valid, _) => {
            "no round has a median latency that is more than a bound.".to_owned()
        }
        (_, Some(check)) => format!("latency is {}: {}", verdict.name(), check.text),
        (_, None) => format!("latency is {}", verdict.name()),
    }
}

/// The comments that name the cell and its record.
fn head(report: &Report, cell: &Cell) -> String {
    let name = format!("{}/{}/{}", cell.workload, cell.load, cell.contender);
    let began = plain(&report.campaign.machine.started_at);
    format!(
        "# {}\n{HGRM_MARK}, of the record begun {began}\n",
        plain(&name)
    )
}

fn distribution(report: &Report, cell: &Cell, chosen: &Typical<'_>, result: &LoadResult) -> String {
    let is_open = report.campaign.is_open(&cell.load);
    let latencies = if is_open {
        result.latency_with_unended()
    } else {
        result.latency.clone()
    };
    let mut out = percentiles(&latencies);
    out.push_str(&head(report, cell));
    let rounds = cell.rounds_measured;
    let _ = writeln!(
        out,
        "# Latencies in milliseconds of round {}, one of {rounds} measured, whose {} is the \
         median one; rounds are not pooled.",
        chosen.trial.round, chosen.by
    );
    let unended = result.at_least.count();
    if is_open && unended > 0 {
        let them = counted(unended, "request");
        let _ = writeln!(
            out,
            "# {them} had no end and stand at the age they reached: values are lower bounds."
        );
    }
    if !is_open {
        out.push_str(
            "# A closed loop: a slow server is asked less often, so its latencies look better \
             than at a fixed rate.\n",
        );
    }
    if latencies.count() >= BEYOND_LEAST {
        let share = 1.0 - BEYOND_LEAST as f64 / latencies.count() as f64;
        let beyond = format!("{:.6}", share * 100.0);
        let beyond = beyond.trim_end_matches('0').trim_end_matches('.');
        let _ = writeln!(
            out,
            "# Beyond percentile {beyond} there are fewer than {BEYOND_LEAST} of {} latencies.",
            count(latencies.count())
        );
    }
    out
}

/// The table with HdrHistogram's steps, and its own three comments.
fn percentiles(latencies: &Histogram) -> String {
    let mut out = format!(
        "{:>16} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let (all, mut seen, mut level) = (latencies.count(), 0, 0.0_f64);
    let (min, max) = (latencies.min().unwrap_or(0), latencies.max().unwrap_or(0));
    let over = Some((max, latencies.over_range())).filter(|(_, times)| *times > 0);
    for (middle, times) in latencies.buckets().chain(over) {
        seen += times;
        // The last step of all is 100 %, and only one line leads up to it.
        while 100.0 * seen as f64 / all as f64 >= level {
            let value = middle.clamp(min, max) as f64 / UNIT_NS;
            let share = level / 100.0;
            let odds = 1.0 / (1.0 - share);
            let _ = writeln!(out, "{value:>16.6} {share:2.12} {seen:>10} {odds:>14.2}");
            level += 100.0 / ticks(level);
            if seen == all {
                let value = max as f64 / UNIT_NS;
                let _ = writeln!(out, "{value:>16.6} {:2.12} {seen:>10}", 1.0);
                break;
            }
        }
    }
    let mean = latencies.mean().unwrap_or(0.0) / UNIT_NS;
    let sd = latencies.sd().unwrap_or(0.0) / UNIT_NS;
    let max = max as f64 / UNIT_NS;
    let _ = writeln!(
        out,
        "#[Mean    = {mean:>12.6}, StdDeviation   = {sd:>12.6}]"
    );
    let _ = writeln!(out, "#[Max     = {max:>12.6}, Total count    = {all:>12}]");
    let (buckets, parts) = Histogram::SCALE;
    let _ = writeln!(
        out,
        "#[Buckets = {buckets:>12}, SubBuckets     = {parts:>12}]"
    );
    out
}

/// Steps that 0 to 100 % would have if all were as long as the one that begins at `level`.
fn ticks(level: f64) -> f64 {
    let halvings = (100.0 / (100.0 - level)).log2().floor();
    TICKS_PER_HALF * 2.0_f64.powf(halvings + 1.0)
}

/// A name that any file system takes; the same name twice gets a number.
fn file_name(cell: &Cell, names: &mut BTreeMap<String, u32>) -> String {
    let whole = format!("{}-{}-{}", cell.workload, cell.load, cell.contender);
    let is_kept = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '~');
    let kept = whole.chars().take(NAME_MAX);
    let stem: String = kept
        .map(|one| if is_kept(one) { one } else { '_' })
        .collect();
    let times = names.entry(stem.to_lowercase()).or_insert(0);
    *times += 1;
    match *times {
        1 => format!("{stem}.{HGRM_ENDING}"),
        more => format!("{stem}__{more}.{HGRM_ENDING}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_halved_with_the_distance_to_all() {
        assert_eq!([ticks(0.0), ticks(50.0), ticks(75.0)], [10.0, 20.0, 40.0]);
    }

    #[test]
    fn the_last_line_is_the_longest_latency_and_has_no_odds() {
        let mut latencies = Histogram::new();
        latencies.record(5_000_000);
        let one = percentiles(&latencies);
        let lines: Vec<Vec<&str>> = one
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[1], ["5.000000", "0.000000000000", "1", "1.00"]);
        assert_eq!(lines[2], ["5.000000", "1.000000000000", "1"]);
        assert_eq!(lines.len(), 3, "{one}");
        // Beyond the range of the buckets, and none at all.
        latencies.record(1 << 43);
        assert!(percentiles(&latencies).contains("8796093.022208 1.000000000000"));
        assert!(percentiles(&Histogram::new()).contains("Total count    =            0"));
    }
}
