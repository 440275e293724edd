//! The main table's columns, in the order of the experiment that the project grew from, as text.
//!
//! Terminal, Markdown and the page's static tables take their cells from here.

use bakeoff_stats::Measure;

use crate::h2load;
use crate::number::{bytes, count, counted, digits, milliseconds, percent, plain, whole};
use crate::vegeta;
use crate::view::{Cell, Lost, LostCell, Report};

/// A column of the main table.
pub(crate) struct Column {
    /// Title.
    pub(crate) title: &'static str,
    /// Unit, shown below or beside the title.
    pub(crate) unit: &'static str,
    /// Numbers stand to the right.
    pub(crate) numeric: bool,
    /// Whether it belongs to the latencies, when the table is cut in two.
    pub(crate) half: Half,
    /// The text of a cell; empty where there is no number.
    pub(crate) text: fn(&Cell) -> String,
}

/// Where a column goes when the table is too wide.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    /// Both tables.
    Both,
    /// The first table.
    Latency,
    /// The second table.
    Rest,
}

/// The main table's columns in order.
pub(crate) const COLUMNS: [Column; 15] = [
    column("contender", "", false, Half::Both, name),
    column("min", "ms", true, Half::Latency, |cell| {
        latency(cell, Measure::LatencyMinNs)
    }),
    column("median", "ms", true, Half::Latency, |cell| {
        latency(cell, Measure::LatencyP50Ns)
    }),
    column("average", "ms", true, Half::Latency, |cell| {
        latency(cell, Measure::LatencyMeanNs)
    }),
    column("p90", "ms", true, Half::Latency, |cell| {
        latency(cell, Measure::LatencyP90Ns)
    }),
    column("p95", "ms", true, Half::Latency, |cell| {
        latency(cell, Measure::LatencyP95Ns)
    }),
    column("max", "ms", true, Half::Latency, |cell| {
        latency(cell, Measure::LatencyMaxNs)
    }),
    column("requests", "", true, Half::Rest, |cell| {
        value(cell, Measure::Requests, whole)
    }),
    column("errors", "%", true, Half::Rest, |cell| {
        cell.error_share.map_or(String::new(), percent)
    }),
    column("p99", "ms", true, Half::Latency, |cell| {
        latency(cell, Measure::LatencyP99Ns)
    }),
    column("req/s", "", true, Half::Rest, rate),
    column("low to high", "", true, Half::Rest, spread),
    column("CPU", "µs/req", true, Half::Rest, |cell| {
        value(cell, Measure::CpuNsPerRequest, |ns| digits(ns / 1e3))
    }),
    column("memory", "peak", true, Half::Rest, |cell| {
        value(cell, Measure::MemoryPeakBytes, bytes)
    }),
    column("verdict", "", false, Half::Latency, verdict),
];

const fn column(
    title: &'static str,
    unit: &'static str,
    numeric: bool,
    half: Half,
    text: fn(&Cell) -> String,
) -> Column {
    Column {
        title,
        unit,
        numeric,
        half,
        text,
    }
}

/// The cells of one workload and load.
pub(crate) struct Group<'report> {
    /// Title, with what the workload and the load are.
    pub(crate) title: String,
    /// Contenders in the plan's order, then the references.
    pub(crate) cells: &'report [Cell],
}

/// The report's cells by workload and load.
pub(crate) fn groups(report: &Report) -> Vec<Group<'_>> {
    let same =
        |left: &Cell, right: &Cell| left.workload == right.workload && left.load == right.load;
    let group = |cells| Group {
        title: title(report, cells),
        cells,
    };
    report.cells.chunk_by(same).map(group).collect()
}

fn title(report: &Report, cells: &[Cell]) -> String {
    let cell = &cells[0];
    let load = report
        .campaign
        .loads
        .iter()
        .find(|load| load.label == cell.load);
    let load = load.map_or(cell.load.as_str(), |load| load.title.as_str());
    format!("{}, {load}", plain(&cell.workload))
}

/// The group as h2load and Vegeta tell it, where it has their forms: lines of up to 78 columns.
pub(crate) fn told_by_peers(report: &Report, group: &Group<'_>) -> Vec<String> {
    let mut lines = h2load::lines(group.cells);
    lines.extend(vegeta::lines(report, group.cells));
    lines
}

/// Errors by kind in words, most frequent first; `None` without errors.
pub(crate) fn errors_by_kind(cell: &Cell) -> Option<String> {
    let mut kinds: Vec<(&str, u64)> = cell
        .outcomes
        .iter()
        .filter(|(kind, _)| **kind != "ok")
        .map(|(k, n)| (*k, *n))
        .collect();
    kinds.sort_by_key(|(kind, n)| (std::cmp::Reverse(*n), *kind));
    let unended = cell.unended.filter(|n| *n > 0);
    kinds.extend(unended.map(|n| ("without an end", n)));
    let asked = cell.due.unwrap_or(cell.completed).max(1);
    let words = |(kind, n): &(&str, u64)| {
        let share = percent(*n as f64 / asked as f64);
        format!("{} {kind} ({share} %)", count(*n))
    };
    let kinds: Vec<String> = kinds.iter().map(words).collect();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// Latencies that no histogram holds; `None` without any.
pub(crate) fn beyond_range(cell: &Cell) -> Option<String> {
    let beyond = Some(cell.over_range).filter(|n| *n > 0)?;
    Some(format!(
        "{} over 73 minutes, beyond the range of percentiles",
        counted(beyond, "response")
    ))
}

/// How often each unexpected status came; `None` when all were expected ones.
pub(crate) fn statuses(cell: &Cell) -> Option<String> {
    if !cell.outcomes.contains_key("status") {
        return None;
    }
    let words = |(status, n): (&u16, &u64)| format!("{status}: {}", count(*n));
    Some(cell.status.iter().map(words).collect::<Vec<_>>().join(", "))
}

/// What a number of the table is over rounds.
pub(crate) fn median_of(rounds: u32) -> String {
    match rounds {
        1 => "of one round".into(),
        rounds => format!("the median of {rounds} rounds"),
    }
}

/// A line about trials without a result: one cell by its name, several behind their reason.
pub(crate) fn lost_trials(lost: &Lost) -> String {
    let rounds: Vec<String> = lost.rounds.iter().map(ToString::to_string).collect();
    let contender = plain(&lost.contender);
    let end = format!(
        "{} (round {}): {}",
        lost.verdict.name(),
        rounds.join(", "),
        plain(&lost.text)
    );
    match &lost.cells[..] {
        [cell] => format!(
            "{contender}, {}, {}: {end}",
            plain(&cell.workload),
            cell.load
        ),
        cells => format!("{contender}: {end}; {}", places(cells)),
    }
}

/// Cells by load: `c10: this, that; c200: this`.
fn places(cells: &[LostCell]) -> String {
    let mut by_load: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in cells {
        let workload = plain(&cell.workload);
        match by_load.iter_mut().find(|(load, _)| *load == cell.load) {
            Some((_, workloads)) => workloads.push(workload),
            None => by_load.push((&cell.load, vec![workload])),
        }
    }
    let words =
        |(load, workloads): &(&str, Vec<String>)| format!("{load}: {}", workloads.join(", "));
    by_load.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// References stand in brackets: they are measured beside the contenders and not compared.
fn name(cell: &Cell) -> String {
    let name = plain(&cell.contender);
    if cell.is_contender() {
        name
    } else {
        format!("({name})")
    }
}

fn value(cell: &Cell, measure: Measure, show: fn(f64) -> String) -> String {
    cell.estimate(measure)
        .map_or(String::new(), |estimate| show(estimate.point))
}

fn latency(cell: &Cell, measure: Measure) -> String {
    match cell.at_least(measure) {
        Some(bound) => format!(">= {}", milliseconds(bound)),
        None => value(cell, measure, milliseconds),
    }
}

fn rate(cell: &Cell) -> String {
    let rate = value(cell, Measure::RatePerS, whole);
    if cell.rate_is_lower_bound && !rate.is_empty() {
        format!(">= {rate}")
    } else {
        rate
    }
}

fn spread(cell: &Cell) -> String {
    cell.estimate(Measure::RatePerS)
        .filter(|rate| rate.n > 1)
        .map_or(String::new(), |rate| {
            format!("{} to {}", whole(rate.low), whole(rate.high))
        })
}

fn verdict(cell: &Cell) -> String {
    let notes: Vec<String> = cell.notes.iter().map(ToString::to_string).collect();
    let name = cell.verdict.verdict.name();
    if notes.is_empty() {
        name.into()
    } else {
        format!("{name} [{}]", notes.join(","))
    }
}
