//! An overload as a document: the answer, the classes with their figures, each server over time,
//! the ladder, and every step.

use bakeoff_audit::overload::{Kind, Kinds, OverloadRamp, Rung, Step};

use super::view::{OverloadReport, OverloadRow};
use super::{sentence, sparks};
use crate::document::{
    Column, Document, Extent, Field, Line, Part, Section, Table, Unit, Value, fitted,
};
use crate::number::{counted, percent, plain};
use crate::own::{answer_section, heading};

/// With `sparks`, each server over time as lines of characters.
pub(super) fn draw(report: &OverloadReport, sparks: bool) -> Document {
    let mut sections = vec![answer_section(&report.answer, &report.tones)];
    if sparks {
        sections.extend(over_time(report));
    }
    sections.push(beyond(report));
    sections.push(evidence(report));
    sections.extend(ladder(report));
    sections.push(heading(&report.description, &report.machine));
    sections.push(steps(report));
    let document = Document {
        title: plain(&report.name),
        sections,
    };
    fitted(document)
}

/// The overload that a row is of, for eyes where there are several.
fn overload_column(report: &OverloadReport) -> Column {
    let extent = if sentence::has_several(&report.contenders) {
        Extent::Short
    } else {
        Extent::Data
    };
    Column::new("overload", "overload", Unit::Text).within(extent)
}

/// What each server did over time, in characters.
fn over_time(report: &OverloadReport) -> Option<Section> {
    let part = |row: &OverloadRow| {
        let ramp = row.shown()?;
        let series = ramp.series.as_ref()?;
        Some(Part::Verbatim {
            title: format!(
                "{} ({}), round {}",
                plain(&row.contender),
                plain(&row.workload),
                ramp.round
            ),
            lines: sparks::lines(series),
            brief: Vec::new(),
        })
    };
    let parts: Vec<Part> = report.contenders.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| Section::new("over-time", "Over time", parts))
}

fn beyond(report: &OverloadReport) -> Section {
    let columns = vec![
        Column::new("contender", "contender", Unit::Text),
        Column::new("workload", "workload", Unit::Text),
        Column::new("capacity_per_s", "capacity", Unit::PerSecond),
        Column::new("rounds", "rounds", Unit::Count),
        Column::new("classes", "beyond it", Unit::Text),
        Column::new("peak_per_s", "peak", Unit::PerSecond),
        Column::new("goodput_at_twice", "goodput at 2 x", Unit::Percent),
        Column::new("recovery", "recovers in", Unit::Text),
        overload_column(report),
    ];
    let rows = report.contenders.iter().map(beyond_row);
    let parts = vec![Part::Table(Table::of("beyond", columns, rows.collect()))];
    Section::new("beyond", "Beyond the capacity", parts)
}

fn beyond_row(row: &OverloadRow) -> Vec<Field> {
    let beyond = &row.beyond;
    let known = |value: Option<f64>| {
        let why = row
            .lost
            .clone()
            .or_else(|| beyond.unsaid.first().map(ToString::to_string));
        Field {
            reason: why.filter(|_| value.is_none()),
            ..Field::number(value)
        }
    };
    let classes: Vec<&str> = beyond.classes.iter().map(|one| one.class.name()).collect();
    let is_known = row.lost.is_none() && sentence::undecided(row).is_none();
    let classes = match (classes.is_empty(), is_known) {
        (false, _) => classes.join(", "),
        (true, true) => "none".to_owned(),
        (true, false) => "-".to_owned(),
    };
    vec![
        Field::text(plain(&row.contender)),
        Field::text(plain(&row.workload)),
        known(row.capacity_per_s),
        Field::of(Value::Number(beyond.rounds as f64)),
        Field::text(classes),
        known(beyond.peak_per_s.and_then(|it| it.median)),
        known(beyond.goodput_at_twice.and_then(|it| it.median)),
        Field::text(match beyond.recovery {
            Some(_) if beyond.was_never_over() => "was never over it".to_owned(),
            Some(it) => it.text(),
            None => "not known".to_owned(),
        }),
        Field::text(plain(&row.overload)),
    ]
}

/// Each class with the figures that it rests on.
fn evidence(report: &OverloadReport) -> Section {
    let mut lines = Vec::new();
    for row in &report.contenders {
        let beyond = &row.beyond;
        let disturbed = (!row.disturbed.is_empty()).then(|| {
            let count = counted(row.disturbed.len() as u64, "trial");
            format!("careful: other load on the machine disturbed {count}")
        });
        let seen = |one: &bakeoff_audit::overload::ClassSeen| {
            let rounds = format!("{} of {} rounds", one.rounds, beyond.rounds);
            format!("{} ({rounds}): {}", one.class.name(), plain(&one.evidence))
        };
        let seldom = beyond.seldom.iter();
        let seldom = seldom.map(|one| format!("not in most rounds: {}", seen(one)));
        let all = beyond.classes.iter().map(seen).chain(seldom);
        let all: Vec<String> = all.chain(disturbed).collect();
        if !all.is_empty() {
            lines.push(Line::new(sentence::named(row, &report.contenders)));
            lines.extend(all.into_iter().map(|line| Line::new(line).below()));
        }
    }
    Section::new("evidence", "Figures behind it", vec![Part::Lines(lines)])
}

fn ladder(report: &OverloadReport) -> Option<Section> {
    let columns = vec![
        Column::new("contender", "contender", Unit::Text),
        Column::new("workload", "workload", Unit::Text),
        Column::new("clients", "clients", Unit::Count),
        Column::new("ok_per_s", "right answers/s", Unit::PerSecond),
        Column::new("failed_share", "failed", Unit::Percent),
        Column::new("failures", "how", Unit::Text),
        Column::new("p50_ns", "p50", Unit::Milliseconds),
        Column::new("p99_ns", "p99", Unit::Milliseconds),
        Column::new("clients_without", "without answer", Unit::Count),
        Column::new("classes", "what it does", Unit::Text),
        overload_column(report),
    ];
    let rows: Vec<Vec<Field>> = report
        .contenders
        .iter()
        .filter_map(|row| Some((row, row.ladder.as_ref()?)))
        .flat_map(|(row, ladder)| ladder.rungs.iter().map(|rung| rung_row(row, rung)))
        .collect();
    let parts = vec![Part::Table(Table::of("ladder", columns, rows.clone()))];
    let title = "Ladder of closed loops";
    (!rows.is_empty()).then(|| Section::new("ladder", title, parts))
}

fn rung_row(row: &OverloadRow, rung: &Rung) -> Vec<Field> {
    let known = |value: Option<f64>| Field {
        reason: rung.why.clone().filter(|_| value.is_none()),
        ..Field::number(value)
    };
    let classes: Vec<&str> = rung.classes.iter().map(|class| class.name()).collect();
    let does = match (rung.rounds, classes.is_empty()) {
        (0, _) => "not measured".to_owned(),
        (_, true) => "answers".to_owned(),
        (_, false) => classes.join(", "),
    };
    vec![
        Field::text(plain(&row.contender)),
        Field::text(plain(&row.workload)),
        Field::of(Value::Number(f64::from(rung.clients))),
        known(rung.ok_per_s),
        known(rung.failed_share),
        Field::text(kinds(&rung.failed, rung.failed.sum())),
        known(rung.p50_ns.map(|ns| ns as f64)),
        known(rung.p99_ns.map(|ns| ns as f64)),
        known(rung.clients_without.map(|count| count as f64)),
        Field::text(does),
        Field::text(plain(&row.overload)),
    ]
}

/// `refused 33 %, timeout 2 %`: shares of `of` requests.
fn kinds(failed: &Kinds, of: u64) -> String {
    let shown = Kind::ALL.into_iter().filter(|kind| failed.of(*kind) > 0);
    let shown: Vec<String> = shown
        .map(|kind| {
            let share = failed.of(kind) as f64 / of.max(1) as f64;
            format!("{} {} %", kind.name(), percent(share))
        })
        .collect();
    shown.join(", ")
}

fn steps(report: &OverloadReport) -> Section {
    let mut columns = vec![
        Column::new("contender", "contender", Unit::Text),
        Column::new("workload", "workload", Unit::Text),
        Column::new("round", "round", Unit::Count),
        Column::new("share", "of capacity", Unit::Ratio),
        Column::new("offered_per_s", "offered/s", Unit::PerSecond),
        Column::new("goodput_per_s", "goodput/s", Unit::PerSecond),
        Column::new("p50_ns", "p50", Unit::Milliseconds),
        Column::new("p99_ns", "p99", Unit::Milliseconds),
        Column::new("failures", "failed", Unit::Text),
        Column::new("engine_busy", "engine", Unit::Percent),
        Column::new("classes", "first seen", Unit::Text),
    ];
    for kind in Kind::ALL {
        let name = kind.name().replace(' ', "_");
        columns.push(Column::new(&name, kind.name(), Unit::Count).within(Extent::Data));
    }
    columns.push(overload_column(report));
    let rows = report.contenders.iter().flat_map(|row| {
        let ramps = row.ramps.iter();
        ramps.flat_map(move |ramp| {
            let steps = ramp.series.iter().flat_map(|series| &series.steps);
            steps
                .enumerate()
                .map(move |(at, step)| step_row(row, ramp, (at, step)))
        })
    });
    let parts = vec![Part::Table(Table::of("steps", columns, rows.collect()))];
    Section::new("steps", "Steps", parts).within(Extent::Full)
}

fn step_row(row: &OverloadRow, ramp: &OverloadRamp, (at, step): (usize, &Step)) -> Vec<Field> {
    let first_seen = ramp.classes.iter().filter(|one| one.step == at);
    let first_seen: Vec<&str> = first_seen.map(|one| one.class.name()).collect();
    let mut fields = vec![
        Field::text(plain(&row.contender)),
        Field::text(plain(&row.workload)),
        Field::of(Value::Number(f64::from(ramp.round))),
        Field::of(Value::Number(step.share)),
        Field::of(Value::Number(step.rate_per_s)),
        Field::number(step.ok_per_s),
        Field::number(step.p50_ns.map(|ns| ns as f64)),
        Field::number(step.p99_ns.map(|ns| ns as f64)),
        Field::text(kinds(&step.failed, step.due)),
        Field::number(step.engine_busy),
        Field::text(first_seen.join(", ")),
    ];
    let counts = Kind::ALL.into_iter().map(|kind| step.failed.of(kind));
    fields.extend(counts.map(|count| Field::of(Value::Number(count as f64))));
    fields.push(Field::text(plain(&row.overload)));
    fields
}
