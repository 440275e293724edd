//! Histories as a document: the changes, a line for each history, machines, and what is left out.

use super::extract::HistoryMetric;
use super::view::{ChangeRow, History, PointRow, SeriesRow};
use crate::document::{Document, Extent, Line, Part, Rows, Section, Unit, fitted};
use crate::number::{count, counted, plain};
use crate::view::Tone;
use bakeoff_plan::grouped;

/// Changes that are named in the answer; the lines of the histories name the others.
const CHANGES_SHOWN: usize = 8;
/// Reasons for which records are left out that are named, and records of each.
const REASONS_SHOWN: usize = 12;
const RECORDS_SHOWN: usize = 6;
/// Characters that the course of a history takes at the most.
const COURSE: usize = 20;
/// Levels of a character.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What the height of the course spans at least, as a ratio: noise of 1 % is no mountain.
const SPAN_LEAST: f64 = 1.25;

pub(super) fn draw(history: &History) -> Document {
    let mut sections = vec![answer(history)];
    for metric in HistoryMetric::ALL {
        sections.extend(series(history, metric));
    }
    sections.push(machines(history));
    sections.extend(left_out(history));
    sections.push(points(history));
    let document = Document {
        title: "history".to_owned(),
        sections,
    };
    fitted(document)
}

/// The day of a time as in RFC 3339.
pub(super) fn day(time: &str) -> String {
    plain(&time.chars().take(10).collect::<String>())
}

pub(super) fn unit(metric: HistoryMetric) -> Unit {
    crate::document::unit_of(metric.metric())
}

/// What the numbers are, with their unit.
pub(super) fn title(metric: HistoryMetric) -> &'static str {
    match metric {
        HistoryMetric::Rate => "Rate, ok/s, closed loops",
        HistoryMetric::P99 => "p99, ms, open loops",
        HistoryMetric::Cpu => "CPU time per request, µs",
    }
}

/// `html-small, c50, nginx-default`, with what sets it apart from others of that name.
pub(super) fn name(history: &History, one: &SeriesRow) -> String {
    let mut name = format!("{}, {}, {}", one.contender, one.workload, one.load);
    if history.machines.len() > 1 {
        name.push_str(&format!(", machine {}", one.machine));
    }
    if one.edition > 1 {
        name.push_str(&format!(", edition {}", one.edition));
    }
    plain(&name)
}

/// `-10.2 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        large if large >= 99.95 => format!("{percent:+.0} %"),
        _ => format!("{percent:+.1} %"),
    }
}

fn answer(history: &History) -> Section {
    let changes = history.changes();
    let looked_at = history.series.iter();
    let looked_at = looked_at
        .filter(|one| one.why_not_looked_at.is_none())
        .count();
    let records = history.records.count as u64;
    let mut lines = Vec::new();
    let counts = match changes.len() as u64 {
        _ if looked_at == 0 && is_rate_found_alone(history) => {
            "No history can be looked at".to_owned()
        }
        _ if looked_at == 0 => "Too few records for a history yet".to_owned(),
        0 => format!("No change in {}", histories(looked_at)),
        some => format!("{} in {}", counted(some, "change"), histories(looked_at)),
    };
    let span = match (&history.records.first, &history.records.last) {
        (Some(first), Some(last)) if day(first) != day(last) => {
            format!(", {} to {}", day(first), day(last))
        }
        (Some(first), _) => format!(", {}", day(first)),
        _ => String::new(),
    };
    let tone = if changes.is_empty() {
        Tone::Note
    } else {
        Tone::Good
    };
    lines.push(Line::toned(
        tone,
        format!("{counts}: {}{span}", counted(records, "record")),
    ));
    for (one, change) in changes.iter().take(CHANGES_SHOWN) {
        lines.push(Line::new(sentence(history, one, change)).below());
    }
    if changes.len() > CHANGES_SHOWN {
        let more = counted((changes.len() - CHANGES_SHOWN) as u64, "more change");
        lines.push(Line::new(format!("and {more}, in the tables")).below());
    }
    lines.extend(not_looked_at(history));
    Section::new("answer", "", vec![Part::Lines(lines)])
}

/// Whether more records would help none of the histories that there are.
fn is_rate_found_alone(history: &History) -> bool {
    !history.series.is_empty() && history.series.iter().all(|one| one.rate_was_found)
}

/// A line for each kind of reason for which histories are not looked at.
fn not_looked_at(history: &History) -> impl Iterator<Item = Line> {
    let of_kind = |rate_was_found: bool| {
        let series = history.series.iter();
        let without = series.filter(|one| one.why_not_looked_at.is_some());
        let same: Vec<&SeriesRow> = without
            .filter(|one| one.rate_was_found == rate_was_found)
            .collect();
        let records = same.iter().map(|one| one.points.len());
        let why = match (records.clone().min()?, records.max()?) {
            // They have different numbers of records, and the same reason.
            (least, most) if !rate_was_found && least != most => {
                format!(
                    "too few records for a change ({least} to {most} of at least {})",
                    history.method.records_least
                )
            }
            _ => same.first()?.why_not_looked_at.clone()?,
        };
        let without = histories(same.len());
        Some(Line::new(format!("{without} not looked at: {why}")))
    };
    [of_kind(false), of_kind(true)].into_iter().flatten()
}

fn histories(count: usize) -> String {
    match count {
        1 => "1 history".to_owned(),
        more => format!("{more} histories"),
    }
}

/// What changed, by how much, when, and what was another then.
fn sentence(history: &History, one: &SeriesRow, change: &ChangeRow) -> String {
    let verb = if change.is_better { "better" } else { "worse" };
    let mut text = format!(
        "{}: {} {} ({} to {}), {verb}, since {} ({})",
        name(history, one),
        one.metric.name(),
        percent(change.size),
        percent(change.low),
        percent(change.high),
        day(&change.after.started_at),
        plain(&change.after.record),
    );
    text.push_str(&versions(change));
    text
}

/// The versions around a change.
pub(super) fn versions(change: &ChangeRow) -> String {
    let known = |version: &Option<String>| plain(version.as_deref().unwrap_or("unknown"));
    let (before, after) = (known(&change.before.version), known(&change.after.version));
    if before == after {
        format!("; version {after} before and after")
    } else {
        format!("; version {before} before, {after} since")
    }
}

/// A line for each history of a number.
fn series(history: &History, metric: HistoryMetric) -> Option<Section> {
    let rows: Vec<&SeriesRow> = history
        .series
        .iter()
        .filter(|one| one.metric == metric)
        .collect();
    rows.first()?;
    let many = history.machines.len() > 1;
    let editions = rows.iter().any(|one| one.edition > 1);
    let mut table = Rows::new(metric.name(), &rows)
        .text("", "contender", |one| one.contender.clone())
        .text("", "workload", |one| one.workload.clone())
        .text("", "load", |one| one.load.clone());
    if many {
        table = table.count("", "machine", |one| one.machine);
    }
    if editions {
        table = table.count("", "edition", |one| one.edition);
    }
    let table = table
        .text("", "course", |one| course(&one.points))
        .count("", "records", |one| one.points.len())
        .text("", "last change", |one| last_change(history, one))
        .text("", "last", |one| {
            let last = one.points.last();
            last.map_or(String::new(), |point| shown(point, metric))
        });
    let mut parts = vec![table.part()];
    let suspect = rows.iter().flat_map(|one| &one.points);
    let suspect = suspect.filter(|point| point.verdict == "suspect").count() as u64;
    if suspect > 0 {
        let are = if suspect == 1 { "is" } else { "are" };
        let line = format!("{} of these points {are} suspect", count(suspect));
        parts.push(Part::Lines(vec![Line::new(line)]));
    }
    Some(Section::new(metric.name(), title(metric), parts))
}

/// A number with its interval, which one round has not.
fn shown(point: &PointRow, metric: HistoryMetric) -> String {
    let [value, low, high] = [point.value, point.low, point.high].map(|one| unit(metric).show(one));
    if point.has_interval() {
        format!("{value} ({low}-{high})")
    } else {
        value
    }
}

fn last_change(history: &History, one: &SeriesRow) -> String {
    match (&one.why_not_looked_at, one.changes.last()) {
        (Some(_), _) if one.rate_was_found => "rate varies".to_owned(),
        (Some(_), _) => {
            let least = history.method.records_least;
            format!("too few: {} of {least}", one.points.len())
        }
        (None, None) => match history.method.records_most {
            most if one.points.len() > most => format!("none in the latest {most}"),
            _ => "none".to_owned(),
        },
        (None, Some(change)) => {
            let since = day(&change.after.started_at);
            let more = match one.changes.len() {
                1 => String::new(),
                more => format!(", and {} before", more - 1),
            };
            format!("{} since {since}{more}", percent(change.size))
        }
    }
}

/// The values in characters, latest to the right.
fn course(points: &[PointRow]) -> String {
    let shown = &points[points.len().saturating_sub(COURSE)..];
    let logs: Vec<f64> = shown.iter().map(|point| point.value.ln()).collect();
    let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = (most - least).max(SPAN_LEAST.ln());
    let floor = (least + most - span) / 2.0;
    let level = |log: &f64| {
        let share = (log - floor) / span * (LEVELS.len() - 1) as f64;
        LEVELS[(share.round() as usize).min(LEVELS.len() - 1)]
    };
    logs.iter().map(level).collect()
}

fn machines(history: &History) -> Section {
    let many = history.machines.len() > 1;
    let mut lines = Vec::new();
    for one in &history.machines {
        let records = counted(one.records.len() as u64, "record");
        let number = if many {
            format!("machine {}, ", one.number)
        } else {
            String::new()
        };
        lines.push(Line::new(format!(
            "{number}{}: {records}",
            plain(&one.text)
        )));
        if !one.differs.is_empty() {
            let differs = plain(&one.differs.join("; "));
            let number = one.number - 1;
            let text = format!("not joined with machine {number}, which differs in {differs}");
            lines.push(Line::new(text).below());
        }
    }
    Section::new("machines", "Machines", vec![Part::Lines(lines)])
}

/// The metric that records lack, where they lack one of several, and why.
type Lack<'h> = (Option<HistoryMetric>, &'h str);

/// Records without a number, those with the same reason together.
fn left_out(history: &History) -> Option<Section> {
    let lacks = history.left_out.iter();
    let lacks = lacks.map(|one| ((one.metric, one.why.as_str()), one.record.as_str()));
    let reasons = grouped(lacks);
    let line = |((metric, why), records): &(Lack<'_>, Vec<&str>)| {
        let mut named = records[..records.len().min(RECORDS_SHOWN)].join(", ");
        if records.len() > RECORDS_SHOWN {
            named.push_str(&format!(" and {} more", records.len() - RECORDS_SHOWN));
        }
        let of = metric.map_or(String::new(), |metric| format!("{} of ", metric.name()));
        Line::new(format!("{of}{}: {}", plain(&named), plain(why)))
    };
    let mut lines: Vec<Line> = reasons.iter().take(REASONS_SHOWN).map(line).collect();
    if reasons.len() > REASONS_SHOWN {
        let more = counted((reasons.len() - REASONS_SHOWN) as u64, "more reason");
        lines.push(Line::new(format!("and {more}; --format json has all")));
    }
    Section::of_lines("left-out", "Left out", lines)
}

/// Every point, for machines.
fn points(history: &History) -> Section {
    let rows = history.series.iter().flat_map(|one| {
        let each = one.points.iter().enumerate();
        each.map(move |(at, point)| {
            let change = one.changes.iter().find(|change| change.at == at);
            (one, point, change)
        })
    });
    let end = |point: &PointRow, end: f64| Some(end).filter(|_| point.has_interval());
    let table = Rows::new("points", rows)
        .data("metric", Unit::Text, |(one, ..)| one.metric.name())
        .data("contender", Unit::Text, |(one, ..)| one.contender.clone())
        .data("workload", Unit::Text, |(one, ..)| one.workload.clone())
        .data("load", Unit::Text, |(one, ..)| one.load.clone())
        .data("protocol", Unit::Text, |(one, ..)| one.protocol.clone())
        .data("machine", Unit::Count, |(one, ..)| one.machine)
        .data("edition", Unit::Count, |(one, ..)| one.edition)
        .data("record", Unit::Text, |(_, point, _)| point.record.clone())
        .data("started_at", Unit::Text, |(_, point, _)| {
            point.started_at.clone()
        })
        .data("version", Unit::Text, |(_, point, _)| {
            point.version.clone().unwrap_or_default()
        })
        .data("verdict", Unit::Text, |(_, point, _)| point.verdict)
        .data("unit", Unit::Text, |(one, ..)| one.unit)
        .data("value", Unit::Count, |(_, point, _)| point.value)
        .data("low", Unit::Count, |(_, point, _)| end(point, point.low))
        .data("high", Unit::Count, |(_, point, _)| end(point, point.high))
        .data("rounds", Unit::Count, |(_, point, _)| point.n)
        .data("change", Unit::Count, |(.., change)| {
            change.map(|it| it.size)
        })
        .data("change_low", Unit::Count, |(.., change)| {
            change.map(|it| it.low)
        })
        .data("change_high", Unit::Count, |(.., change)| {
            change.map(|it| it.high)
        });
    Section::new("points", "Points", vec![table.part()]).within(Extent::Data)
}
