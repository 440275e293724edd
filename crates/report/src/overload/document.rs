//! An overload as a document: the answer, the classes with their figures, each server over time,
//! the ladder, and every step.

use bakeoff_audit::overload::{Kind, Kinds, OverloadRamp, Rung, Spread, Step};

use super::view::OverloadRow;
use super::{OverloadReport, sentence, sparks};
use crate::document::{Extent, Line, Part, Rows, Section, Unit, known};
use crate::number::{counted, percent, plain};
use crate::own::{answer_section, heading};

/// With `sparks`, each server over time as lines of characters.
pub(super) fn sections(report: &OverloadReport, sparks: bool) -> Vec<Section> {
    let mut sections = vec![answer_section(report)];
    if sparks {
        sections.extend(over_time(report));
    }
    sections.push(beyond(report));
    sections.push(evidence(report));
    sections.extend(ladder(report));
    sections.push(heading(report));
    sections.push(steps(report));
    sections
}

/// With the overload that a row is of, for eyes where there are several.
fn with_overload<R>(
    table: Rows<R>,
    report: &OverloadReport,
    of: impl Fn(&R) -> &OverloadRow,
) -> Part {
    let overload = |row: &R| of(row).overload.clone();
    let table = table.text("overload", "overload", overload);
    let is_needed = sentence::has_several(&report.rows);
    table.shown_if(is_needed).part()
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
    let parts: Vec<Part> = report.rows.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| Section::new("over-time", "Over time", parts))
}

fn beyond(report: &OverloadReport) -> Section {
    let why = |row: &OverloadRow| {
        let unsaid = row.beyond.unsaid.first().map(ToString::to_string);
        row.lost.clone().or(unsaid)
    };
    let median =
        |row: &OverloadRow, all: Option<Spread>| known(all.and_then(|it| it.median), &why(row));
    let table = Rows::new("beyond", &report.rows)
        .text("contender", "contender", |row| row.contender.clone())
        .text("workload", "workload", |row| row.workload.clone())
        .per_second("capacity_per_s", "capacity", |row| {
            known(row.capacity_per_s, &why(row))
        })
        .count("rounds", "rounds", |row| row.beyond.rounds)
        .text("classes", "beyond it", |row| classes(row))
        .per_second("peak_per_s", "peak", |row| {
            median(row, row.beyond.peak_per_s)
        })
        .percent("goodput_at_twice", "goodput at 2 x", |row| {
            median(row, row.beyond.goodput_at_twice)
        })
        .text("recovery", "recovers in", |row| match row.beyond.recovery {
            Some(_) if row.beyond.was_never_over() => "was never over it".to_owned(),
            Some(it) => it.text(),
            None => "not known".to_owned(),
        });
    let parts = vec![with_overload(table, report, |row| row)];
    Section::new("beyond", "Beyond the capacity", parts)
}

fn classes(row: &OverloadRow) -> String {
    let classes: Vec<&str> = row
        .beyond
        .classes
        .iter()
        .map(|one| one.class.name())
        .collect();
    let is_known = row.lost.is_none() && sentence::undecided(row).is_none();
    match (classes.is_empty(), is_known) {
        (false, _) => classes.join(", "),
        (true, true) => "none".to_owned(),
        (true, false) => "-".to_owned(),
    }
}

/// Each class with the figures that it rests on.
fn evidence(report: &OverloadReport) -> Section {
    let mut lines = Vec::new();
    for row in &report.rows {
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
            lines.push(Line::new(sentence::named(row, &report.rows)));
            lines.extend(all.into_iter().map(|line| Line::new(line).below()));
        }
    }
    Section::new("evidence", "Figures behind it", vec![Part::Lines(lines)])
}

fn ladder(report: &OverloadReport) -> Option<Section> {
    let rows = report.rows.iter();
    let rows = rows.filter_map(|row| Some((row, row.ladder.as_ref()?)));
    let rows = rows.flat_map(|(row, ladder)| ladder.rungs.iter().map(move |rung| (row, rung)));
    let rows: Vec<(&OverloadRow, &Rung)> = rows.collect();
    let has_any = !rows.is_empty();
    let table = Rows::new("ladder", rows)
        .text("contender", "contender", |(row, _)| row.contender.clone())
        .text("workload", "workload", |(row, _)| row.workload.clone())
        .count("clients", "clients", |(_, rung)| rung.clients)
        .per_second("ok_per_s", "right answers/s", |(_, rung)| {
            known(rung.ok_per_s, &rung.why)
        })
        .percent("failed_share", "failed", |(_, rung)| {
            known(rung.failed_share, &rung.why)
        })
        .text("failures", "how", |(_, rung)| {
            kinds(&rung.failed, rung.failed.sum())
        })
        .milliseconds("p50_ns", "p50", |(_, rung)| known(rung.p50_ns, &rung.why))
        .milliseconds("p99_ns", "p99", |(_, rung)| known(rung.p99_ns, &rung.why))
        .count("clients_without", "without answer", |(_, rung)| {
            known(rung.clients_without, &rung.why)
        })
        .text("classes", "what it does", |(_, rung)| {
            let classes: Vec<&str> = rung.classes.iter().map(|class| class.name()).collect();
            match (rung.rounds, classes.is_empty()) {
                (0, _) => "not measured".to_owned(),
                (_, true) => "answers".to_owned(),
                (_, false) => classes.join(", "),
            }
        });
    let parts = vec![with_overload(table, report, |(row, _)| row)];
    has_any.then(|| Section::new("ladder", "Ladder of closed loops", parts))
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

/// A step of a round, by its place.
struct StepPlace<'r> {
    row: &'r OverloadRow,
    ramp: &'r OverloadRamp,
    at: usize,
    step: &'r Step,
}

fn steps(report: &OverloadReport) -> Section {
    let rows = report.rows.iter().flat_map(|row| {
        row.ramps.iter().flat_map(move |ramp| {
            let steps = ramp.series.iter().flat_map(|series| &series.steps);
            let steps = steps.enumerate();
            steps.map(move |(at, step)| StepPlace {
                row,
                ramp,
                at,
                step,
            })
        })
    });
    let mut table = Rows::new("steps", rows)
        .text("contender", "contender", |it| it.row.contender.clone())
        .text("workload", "workload", |it| it.row.workload.clone())
        .count("round", "round", |it| it.ramp.round)
        .ratio("share", "of capacity", |it| it.step.share)
        .per_second("offered_per_s", "offered/s", |it| it.step.rate_per_s)
        .per_second("goodput_per_s", "goodput/s", |it| it.step.ok_per_s)
        .milliseconds("p50_ns", "p50", |it| it.step.p50_ns)
        .milliseconds("p99_ns", "p99", |it| it.step.p99_ns)
        .text("failures", "failed", |it| {
            kinds(&it.step.failed, it.step.due)
        })
        .percent("engine_busy", "engine", |it| it.step.engine_busy)
        .text("classes", "first seen", |it| {
            let first_seen = it.ramp.classes.iter().filter(|one| one.step == it.at);
            let first_seen: Vec<&str> = first_seen.map(|one| one.class.name()).collect();
            first_seen.join(", ")
        });
    for kind in Kind::ALL {
        let name = kind.name().replace(' ', "_");
        table = table.data(&name, Unit::Count, |it| it.step.failed.of(kind));
    }
    let parts = vec![with_overload(table, report, |it| it.row)];
    Section::new("steps", "Steps", parts).within(Extent::Full)
}
