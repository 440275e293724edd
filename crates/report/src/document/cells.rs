//! The table of every workload and load, one row for each contender.
//!
//! One list of columns serves all: people see the first, a full report more of them, and the
//! machine-readable table has every one, with the ends of each interval.

use bakeoff_audit::{Level, Verdict};
use bakeoff_record::Outcome;
use bakeoff_stats::{Metric, Number};

use super::answer::{ratio, unit_of};
use super::{Column, Extent, Field, Line, Part, Rows, Section, Table, Unit, Value};
use crate::export::MEASURES;
use crate::number::{count, counted, percent, plain};
use crate::view::{Cell, RatioCell, Report, Tone};
use crate::{h2load, vegeta};

pub(super) fn draw(report: &Report) -> Vec<Section> {
    let same =
        |left: &Cell, right: &Cell| left.workload == right.workload && left.load == right.load;
    let groups = report.cells.chunk_by(same);
    let mut sections: Vec<Section> = groups.map(|cells| group(report, cells)).collect();
    if sections.is_empty() {
        let empty = Section::new("cells", "", vec![Part::Table(table(report, &[]))]);
        sections.push(empty.within(Extent::Data));
    }
    sections
}

/// Columns of cells.
type Cells<'r> = Rows<&'r Cell>;

fn table(report: &Report, cells: &[Cell]) -> Table {
    let columns = first_numbers(names(Rows::new("cells", cells)), report);
    let mut table = counts(other_numbers(columns, report)).table;
    for (row, cell) in table.rows.iter_mut().zip(cells) {
        row.reference = !cell.is_contender();
    }
    table
}

fn group(report: &Report, cells: &[Cell]) -> Section {
    let mut parts = vec![Part::Table(table(report, cells))];
    let remarks: Vec<Line> = cells.iter().flat_map(remarks).collect();
    if !remarks.is_empty() {
        parts.push(Part::Lines(remarks));
    }
    for lines in [h2load::lines(cells), vegeta::lines(report, cells)] {
        if !lines.is_empty() {
            let (title, brief) = (String::new(), Vec::new());
            parts.push(Part::Verbatim {
                title,
                lines,
                brief,
            });
        }
    }
    Section::new("cells", title(report, &cells[0]), parts)
}

fn title(report: &Report, cell: &Cell) -> String {
    let mut loads = report.campaign.loads.iter();
    let load = loads.find(|load| load.label == cell.load);
    let load = load.map_or(cell.load.as_str(), |load| load.title.as_str());
    format!("{}, {}", plain(&cell.workload), plain(load))
}

/// What stands below the table: errors by kind, what no histogram holds, why latencies are gone.
fn remarks(cell: &Cell) -> Vec<Line> {
    let name = plain(&cell.contender);
    let mut lines = Vec::new();
    if let Some(kinds) = errors_by_kind(cell) {
        let status = statuses(cell).map_or(String::new(), |text| format!("; status {text}"));
        lines.push(Line::new(format!("errors of {name}: {kinds}{status}")));
    }
    if cell.over_range > 0 {
        let beyond = counted(cell.over_range, "response");
        lines.push(Line::new(format!(
            "latencies of {name}: {beyond} over 73 minutes, beyond the range of percentiles"
        )));
    }
    let gone = cell
        .missing
        .get(&Metric::LatencyP50Ns)
        .filter(|_| cell.rounds_measured > 0 && cell.at_least.is_empty());
    if let Some(reason) = gone {
        lines.push(Line::new(format!(
            "no latency of {name}: {}",
            plain(reason)
        )));
    }
    lines
}

/// Errors by kind, most frequent first; `None` without errors.
fn errors_by_kind(cell: &Cell) -> Option<String> {
    let all = cell.outcomes.iter().filter(|(kind, _)| **kind != "ok");
    let mut kinds: Vec<(&str, u64)> = all.map(|(kind, n)| (*kind, *n)).collect();
    kinds.sort_by_key(|(kind, n)| (std::cmp::Reverse(*n), *kind));
    kinds.extend(
        cell.unended
            .filter(|n| *n > 0)
            .map(|n| ("without an end", n)),
    );
    let asked = cell.due.unwrap_or(cell.completed).max(1);
    let one = |(kind, n): &(&str, u64)| {
        let share = percent(*n as f64 / asked as f64);
        format!("{} {kind} ({share} %)", count(*n))
    };
    let kinds: Vec<String> = kinds.iter().map(one).collect();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// How often each unexpected status came; `None` when all were expected ones.
fn statuses(cell: &Cell) -> Option<String> {
    if !cell.outcomes.contains_key("status") {
        return None;
    }
    let one = |(status, n): (&u16, &u64)| format!("{status}: {}", count(*n));
    Some(cell.status.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn names(columns: Cells<'_>) -> Cells<'_> {
    columns
        .data("workload", Unit::Text, |cell| cell.workload.clone())
        .data("load", Unit::Text, |cell| cell.load.clone())
        .data("contender", Unit::Text, |cell| cell.contender.clone())
        // References stand in brackets: they are measured beside the contenders.
        .text("", "contender", |cell| {
            let name = plain(&cell.contender);
            if cell.is_contender() {
                name
            } else {
                format!("({name})")
            }
        })
        .data("kind", Unit::Text, |cell| kind_name(cell.kind))
        .data("rounds", Unit::Count, |cell| cell.rounds)
        .data("rounds_measured", Unit::Count, |cell| cell.rounds_measured)
}

pub(crate) fn kind_name(kind: bakeoff_record::ContenderKind) -> &'static str {
    use bakeoff_record::ContenderKind;
    match kind {
        ContenderKind::Contender => "contender",
        ContenderKind::Control => "control",
        ContenderKind::Yardstick => "yardstick",
        ContenderKind::Origin => "origin",
    }
}

/// What a reader looks for first.
fn first_numbers<'r>(columns: Cells<'r>, report: &Report) -> Cells<'r> {
    columns
        .estimate(Metric::RatePerS, "req/s")
        .per_second("", "low to high", |cell| {
            let rate = cell.estimate(Metric::RatePerS).filter(|rate| rate.n > 1);
            Field::of(rate.map_or(Value::Nothing, |rate| Value::Range(rate.low, rate.high)))
        })
        .ratio("", "ratio", |cell| {
            let main = [Metric::RatePerS, Metric::LatencyP99Ns];
            let mut found = main
                .into_iter()
                .filter_map(|metric| Some(ratio(metric, ratio_of(report, cell, metric)?)));
            found.next().unwrap_or_default()
        })
        .estimate(Metric::LatencyP50Ns, "p50")
        .estimate(Metric::LatencyP99Ns, "p99")
        .percent("error_share", "errors", |cell| cell.error_share)
        .estimate(Metric::CpuNsPerRequest, "CPU/req")
        .estimate(Metric::MemoryPeakBytes, "memory")
        .text("", "verdict", |cell| verdict(cell))
}

fn other_numbers<'r>(mut columns: Cells<'r>, report: &Report) -> Cells<'r> {
    for (metric, title) in [
        (Metric::LatencyMinNs, "min"),
        (Metric::LatencyMeanNs, "average"),
        (Metric::LatencyP90Ns, "p90"),
        (Metric::LatencyP95Ns, "p95"),
        (Metric::LatencyP999Ns, "p99.9"),
        (Metric::LatencyMaxNs, "max"),
        (Metric::Requests, "requests"),
    ] {
        columns = columns.estimate(metric, title).within(Extent::Full);
    }
    columns = columns
        .estimate(Metric::CpuCores, "CPUs")
        .within(Extent::Data);
    for metric in Metric::RANKED {
        let name = format!("ratio_{}", metric.name());
        let found = |cell: &&Cell| ratio_of(report, cell, metric);
        columns = columns
            .data(&name, Unit::Ratio, |cell| {
                found(cell).map_or_else(Field::default, |found| ratio(metric, found))
            })
            .with_ends()
            .data(&format!("{name}_mark"), Unit::Text, |cell| {
                found(cell).map_or("", |found| found.mark)
            });
    }
    columns
}

fn counts(columns: Cells<'_>) -> Cells<'_> {
    let mut columns = columns
        .data("completed", Unit::Count, |cell| cell.completed)
        .data("errors", Unit::Count, |cell| cell.errors)
        .data("due", Unit::Count, |cell| cell.due)
        .data("unended", Unit::Count, |cell| cell.unended)
        .data("over_range", Unit::Count, |cell| cell.over_range)
        .data("rate_is_lower_bound", Unit::Text, |cell| {
            cell.rate_is_lower_bound.to_string()
        })
        .data("bottleneck", Unit::Text, |cell| {
            cell.bottleneck.as_ref().map_or("", |one| one.name.name())
        })
        .data("verdict", Unit::Text, |cell| cell.verdict.verdict.name());
    for number in Number::ALL {
        let name = format!("verdict_{}", number.name());
        columns = columns.data(&name, Unit::Text, |cell| cell.verdicts.of(number).name());
    }
    for outcome in Outcome::ALL {
        let name = format!("outcome_{}", outcome.name());
        columns = columns.data(&name, Unit::Count, |cell| {
            cell.outcomes.get(outcome.name()).copied().unwrap_or(0)
        });
    }
    columns = columns.data("checks_not_passed", Unit::Text, |cell| {
        let checks = cell.verdict.checks.iter();
        let bad = checks.filter(|check| check.level > Level::Note);
        let codes: Vec<&str> = bad.map(|check| check.code.name()).collect();
        codes.join(" ")
    });
    for measure in MEASURES {
        // A number may have fewer rounds than its cell: some are set aside for one number alone.
        let name = format!("{}_rounds", measure.name());
        columns = columns.data(&name, Unit::Count, |cell| {
            cell.estimate(measure).map(|one| one.n as f64)
        });
    }
    columns
}

impl Rows<&Cell> {
    /// The column of a measure: its estimate, or at least what it is.
    fn estimate(self, measure: Metric, title: &str) -> Self {
        let is_rate = measure == Metric::RatePerS;
        let column = Column::new(measure.name(), title, unit_of(measure));
        let columns = self.column(column, |cell| {
            let reason = cell.missing.get(&measure).cloned();
            let weak = cell.verdicts.of(measure.number()) != Verdict::Valid;
            match (cell.at_least(measure), cell.estimate(measure)) {
                (Some(bound), _) => Field {
                    bound: Some(">="),
                    reason,
                    weak,
                    ..Field::number(Some(bound))
                },
                (None, Some(one)) => Field {
                    bound: (is_rate && cell.rate_is_lower_bound).then_some(">="),
                    weak,
                    ..Field::of(Value::Estimate(*one))
                },
                (None, None) => Field {
                    reason,
                    ..Field::default()
                },
            }
        });
        columns.with_ends()
    }
}

/// The contender's place in the answer's table of a metric.
fn ratio_of<'r>(report: &'r Report, cell: &Cell, metric: Metric) -> Option<&'r RatioCell> {
    let mut tables = report.answer.tables.iter();
    let table = tables.find(|table| table.metric == metric)?;
    let mut rows = table.rows.iter();
    let row = rows.find(|row| row.workload == cell.workload && row.load == cell.load)?;
    let mut cells = row.cells.iter();
    let found = cells.find(|one| one.contender == cell.contender)?;
    (cell.is_contender() && found.contender != table.baseline).then_some(found)
}

/// The verdict in a word where it is the same for all numbers; else what is not valid. The
/// numbers in brackets are those of the notes.
fn verdict(cell: &Cell) -> Field {
    let worst = cell.verdict.verdict;
    let of = |number: &Number| cell.verdicts.of(*number);
    let mut text = worst.name().to_owned();
    let alike = Number::ALL.iter().all(|number| of(number) == worst);
    if worst <= Verdict::Invalid && !alike {
        let weak = Number::ALL
            .iter()
            .filter(|number| of(number) != Verdict::Valid);
        let parts: Vec<String> = weak
            .map(|number| {
                let own = of(number);
                let name = number.name();
                if own == worst {
                    name.to_owned()
                } else {
                    format!("{name} {}", own.name())
                }
            })
            .collect();
        text = format!("{text}: {}", parts.join(", "));
    }
    Field {
        notes: cell.notes.clone(),
        tone: Some(match worst {
            Verdict::Valid => Tone::Good,
            Verdict::Suspect => Tone::Warning,
            _ => Tone::Bad,
        }),
        ..Field::text(text)
    }
}
