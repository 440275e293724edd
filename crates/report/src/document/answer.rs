//! The answer: findings, ratios to the first contender, how far to trust it, what comes next.

use bakeoff_audit::{ConfirmAnswer, Grade, Level, NumberTrust, percent};
use bakeoff_stats::{Metric, Number};

use super::{Column, Field, Figure, Line, Part, Point, Section, Table, Unit, Value};
use crate::number::{counted, plain};
use crate::view::{RatioCell, RatioRow, RatioTable, Report, Tone, failing_at_work};

/// What the lines on trust stand under.
pub(crate) const TRUST: &str = "How far to trust it";

pub(super) fn draw(report: &Report) -> Vec<Section> {
    let mut found = findings(report);
    found.extend(failing(report));
    let found = Part::Lines(found);
    let mut sections = vec![Section::new("findings", "Answer", vec![found])];
    let mut ratios = Vec::new();
    for table in &report.answer.tables {
        ratios.push(Part::Table(ratio_table(table)));
        ratios.push(Part::Figure(figure(report, table)));
    }
    let rows = report.answer.tables.iter().flat_map(|table| &table.rows);
    let legend = legend(&rows.flat_map(marks_of).collect::<Vec<_>>(), "; ");
    if !legend.is_empty() {
        ratios.push(Part::Lines(vec![Line::new(format!("Marks: {legend}."))]));
    }
    if !ratios.is_empty() {
        sections.push(Section::new("ratios", "", ratios));
    }
    sections.push(Section::new("trust", TRUST, vec![trust(report)]));
    sections
}

/// A line for each finding, with what weakens it below, or the one that says that there is none;
/// then for each bottleneck that was put to the test.
pub(crate) fn findings(report: &Report) -> Vec<Line> {
    let rounds = rounds(report);
    let lines = |finding: &bakeoff_audit::Finding| {
        let grade = match finding.grade {
            Grade::Shown => "shown",
            Grade::Plain => "plain, not proven",
            Grade::Indication => "an indication",
            Grade::NotShown => "not shown",
        };
        let text = plain(&finding.text);
        let text = match text.strip_suffix('.') {
            Some(text) => text.to_owned(),
            None => text,
        };
        let line = Line::toned(finding.tone, format!("{text} ({grade}, {rounds})."));
        let weakened_by = finding.weakened_by.iter().map(|it| weakness(it).below());
        let lines: Vec<Line> = std::iter::once(line).chain(weakened_by).collect();
        lines
    };
    let mut lines: Vec<Line> = report.answer.findings.iter().flat_map(lines).collect();
    let without = report.answer.no_finding.iter();
    lines.extend(without.map(|it| Line::new(plain(&it.text()))));
    lines.extend(confirmed(report));
    lines
}

/// A line for each cell in which a contender did not do its work, and for each contender that
/// answered late after its load, or not at all.
pub(crate) fn failing(report: &Report) -> Vec<Line> {
    let failing = report.cells.iter().filter_map(failing_at_work);
    let late = report.answer.late.iter().cloned();
    failing
        .chain(late)
        .map(|it| Line::toned(Tone::Warning, plain(&it)))
        .collect()
}

/// A line for each bottleneck that was put to the test.
fn confirmed(report: &Report) -> impl Iterator<Item = Line> {
    report.cells.iter().flat_map(|cell| {
        let found = cell.bottleneck.iter().flat_map(|it| &it.confirmations);
        found.map(|one| {
            let tone = match one.answer {
                ConfirmAnswer::Confirmed => Tone::Good,
                ConfirmAnswer::NotConfirmed | ConfirmAnswer::NotTested => Tone::Note,
            };
            let (name, workload) = (plain(&cell.contender), plain(&cell.workload));
            let text = plain(&one.text);
            Line::toned(
                tone,
                format!("{name} at {workload}, {}: {text}.", cell.load),
            )
        })
    })
}

/// Rounds behind the numbers: `7 rounds`, `5 to 7 rounds`.
fn rounds(report: &Report) -> String {
    let interval = &report.campaign.interval;
    let most = counted(interval.rounds_most as u64, "round");
    match interval.rounds_least {
        least if least == interval.rounds_most => most,
        least => format!("{least} to {most}"),
    }
}

/// A line for each number, then what else weakens the campaign.
fn trust(report: &Report) -> Part {
    let trust = &report.answer.trust;
    let numbers = trust.numbers.iter().map(number_trust);
    let reasons = trust.reasons.iter().map(weakness);
    Part::Lines(numbers.chain(reasons).collect())
}

/// `requests/s: direction yes, size within 12 %`, and why not more.
pub(crate) fn number_trust(one: &NumberTrust) -> Line {
    let (tone, word) = match (one.direction, one.size) {
        (false, _) => (Tone::Bad, "no".to_owned()),
        (true, None) => (Tone::Warning, "direction yes, size no".to_owned()),
        (true, Some(size)) => {
            let within = percent(size);
            (Tone::Good, format!("direction yes, size within {within} %"))
        }
    };
    let why = one.reason.as_ref();
    let why = why.map_or_else(String::new, |why| format!("; {}", plain(&why.text)));
    Line::toned(tone, format!("{}: {word}{why}", one.metric.phrase()))
}

fn weakness(one: &bakeoff_audit::Weakness) -> Line {
    let tone = match one.level {
        Level::Passed => Tone::Good,
        Level::Note => Tone::Note,
        Level::NotRun | Level::Suspect | Level::Disturbed => Tone::Warning,
        Level::Invalid => Tone::Bad,
    };
    Line::toned(tone, plain(&one.text))
}

/// A row for each workload and load, with the baseline's own value and the others' ratios to it.
fn ratio_table(table: &RatioTable) -> Table {
    let unit = unit_of(table.metric);
    let column = |title: &str, unit| Column::new("", title, unit);
    let mut columns = vec![column(&table.title, Unit::Text), column("", Unit::Text)];
    for (index, name) in table.columns.iter().enumerate() {
        let unit = if index == 0 { unit } else { Unit::Ratio };
        columns.push(column(&plain(name), unit));
    }
    let row = |row: &crate::view::RatioRow| {
        let mut fields = vec![Field::text(plain(&row.workload)), Field::text(&row.title)];
        let cells = row.cells.iter().enumerate();
        fields.extend(cells.map(|(index, cell)| match index {
            0 => baseline(cell),
            _ => ratio(table.metric, cell),
        }));
        fields
    };
    Table {
        title: format!(
            "{}, and the ratio to {}",
            table.title,
            plain(&table.baseline)
        ),
        ..Table::of("ratios", columns, table.rows.iter().map(row).collect())
    }
}

/// The marks and bounds of the ratios in a row.
pub(crate) fn marks_of(row: &RatioRow) -> impl Iterator<Item = &'static str> {
    let bounds = row
        .cells
        .iter()
        .filter_map(|cell| cell.bound.or(cell.value_bound));
    let ratios = row.cells.iter().filter(|cell| cell.ratio.is_some());
    ratios.map(|cell| cell.mark).chain(bounds)
}

/// What the marks mean, those that were used.
pub(crate) fn legend(used: &[&str], between: &str) -> String {
    let all = [
        ("^", "^ higher"),
        ("v", "v lower"),
        ("=", "= equal"),
        ("~", "~ needs more rounds"),
        (">=", ">= at least"),
        ("<=", "<= at most"),
    ];
    let seen = all.iter().filter(|(mark, _)| used.contains(mark));
    let none = used.contains(&"");
    let none = none.then_some("no mark: not ranked, or no difference shown");
    let meanings: Vec<&str> = seen.map(|(_, meaning)| *meaning).chain(none).collect();
    meanings.join(between)
}

/// The unit that a metric's own values are shown in.
pub(crate) fn unit_of(metric: Metric) -> Unit {
    match metric {
        Metric::CpuCores => Unit::Processors,
        Metric::ErrorShare => Unit::Percent,
        _ => match metric.number() {
            Number::Rate => Unit::PerSecond,
            Number::Latency => Unit::Milliseconds,
            Number::Cpu => Unit::Microseconds,
            Number::Memory => Unit::Bytes,
            Number::Counts => Unit::Count,
        },
    }
}

fn baseline(cell: &RatioCell) -> Field {
    Field {
        value: cell.value.map_or(Value::Nothing, Value::Estimate),
        bound: cell.value_bound,
        reason: cell.reason.clone(),
        ..Field::default()
    }
}

/// A ratio as it stands in every table.
pub(super) fn ratio(metric: Metric, cell: &RatioCell) -> Field {
    let more_is_better = metric.more_is_better();
    let tone = match cell.mark {
        "^" if more_is_better => Some(Tone::Good),
        "v" if !more_is_better => Some(Tone::Good),
        "^" | "v" => Some(Tone::Bad),
        _ => None,
    };
    Field {
        value: cell.ratio.map_or(Value::Nothing, Value::Estimate),
        bound: cell.bound,
        mark: cell.mark,
        reason: cell.reason.clone(),
        tone,
        ..Field::default()
    }
}

fn figure(report: &Report, table: &RatioTable) -> Figure {
    let floors = &report.answer.floors;
    let floor = floors.iter().find(|floor| floor.metric == table.metric);
    let mut points = Vec::new();
    for row in &table.rows {
        for cell in &row.cells {
            if let Some(ratio) = cell.ratio {
                let (workload, whose) = (plain(&row.workload), plain(&cell.contender));
                points.push(Point {
                    label: format!("{workload}, {}: {whose}", row.title),
                    ratio,
                    bound: cell.bound.is_some(),
                });
            }
        }
    }
    Figure {
        name: table.metric.name(),
        title: format!("{}, {} is 1", table.title, plain(&table.baseline)),
        floor: floor.map_or(0.0, |floor| floor.floor),
        points,
    }
}
