//! Costs of actions as a document: the answer, a table for each workload, where requests got lost,
//! what weakens it, and each action.

use bakeoff_audit::change::{Around, Cost, Each, Repetition};
use bakeoff_plan::Action;

use super::{ChangeReport, sentence};
use crate::document::{Column, Extent, Field, Line, Part, Section, Table, Unit, Value};
use crate::number::{counted, plain};
use crate::own::{answer_section, heading};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

pub(super) fn sections(report: &ChangeReport) -> Vec<Section> {
    let mut sections = vec![answer_section(report), costs(report)];
    let lost = lost(&report.rows);
    sections.extend(Section::of_lines("lost", "Where requests got lost", lost));
    let weak = sentence::weakened_by(&report.rows);
    let weak = weak.iter().map(|line| Line::new(plain(line)));
    sections.extend(Section::of_lines(
        "weakened",
        "What weakens it",
        weak.collect(),
    ));
    sections.push(heading(report));
    sections.push(repetitions(report));
    sections
}

/// A table for each workload.
fn costs(report: &ChangeReport) -> Section {
    let mut workloads: Vec<&str> = report.rows.iter().map(|it| it.workload.as_str()).collect();
    workloads.dedup();
    let has_several = workloads.len() > 1;
    let table = |workload: &str| {
        let rows = report.rows.iter().filter(|cost| cost.workload == workload);
        let table = Table::of("costs", columns(report), rows.map(row).collect());
        let title = if has_several {
            plain(workload)
        } else {
            String::new()
        };
        Part::Table(Table { title, ..table })
    };
    let parts = workloads.into_iter().map(table).collect();
    Section::new("costs", "What it costs", parts)
}

fn columns(report: &ChangeReport) -> Vec<Column> {
    let data = |name: &str, unit| Column::new(name, name, unit).within(Extent::Data);
    let full = |name: &str, title: &str, unit| Column::new(name, title, unit).within(Extent::Full);
    let has_several = report
        .rows
        .iter()
        .any(|it| it.setting != report.rows[0].setting);
    let setting = if has_several {
        Extent::Short
    } else {
        Extent::Data
    };
    vec![
        Column::new("contender", "contender", Unit::Text),
        data("workload", Unit::Text),
        Column::new("setting", "load", Unit::Text).within(setting),
        Column::new("action", "action", Unit::Text),
        full("rate_per_s", "requests/s", Unit::PerSecond),
        Column::new("actions", "times", Unit::Count),
        Column::new("due", "requests", Unit::Count),
        Column::new("lost", "lost", Unit::Count),
        data("lost_share_low", Unit::Percent),
        Column::new("lost_share_high", "lost at most", Unit::Percent),
        full("", "lost in each", Unit::Text),
        data("lost_least", Unit::Count),
        data("lost_mean", Unit::Count),
        data("lost_most", Unit::Count),
        Column::new("", "closed in each", Unit::Text),
        data("closed_least", Unit::Count),
        data("closed_mean", Unit::Count),
        data("closed_most", Unit::Count),
        Column::new("gap_ns", "no answer", Unit::Milliseconds),
        full("gap_ns_max", "longest", Unit::Milliseconds),
        Column::new("p99_before_ns", "p99 before", Unit::Milliseconds),
        Column::new("p99_after_ns", "p99 after", Unit::Milliseconds),
        Column::new("max_after_ns", "max after", Unit::Milliseconds),
        full("first_new_ns", "new answers", Unit::Milliseconds),
        full("last_old_ns", "old answers until", Unit::Milliseconds),
        full("took_ns", "action took", Unit::Milliseconds),
        full("processes_before", "processes", Unit::Count),
        full("processes_peak", "most after", Unit::Count),
        full("processes_at_end", "at the end", Unit::Count),
        full("memory_before_bytes", "memory", Unit::Bytes),
        full("memory_peak_bytes", "most after", Unit::Bytes),
    ]
}

fn row(cost: &Cost) -> Vec<Field> {
    let known = |value: Option<f64>, why: &str| Field {
        reason: value.is_none().then(|| why.to_owned()),
        ..Field::number(value)
    };
    let untold = (cost.actions == 0).then(|| sentence::untold(cost));
    let number = |value: Option<f64>| known(value, untold.as_deref().unwrap_or("no answer"));
    let counted = |value: u64| number((cost.actions > 0).then_some(value as f64));
    let each = |each: Option<Each>| {
        let text = each.map_or_else(Field::default, |it| Field::text(sentence::range(it)));
        let reason = untold.clone().filter(|_| each.is_none());
        [
            Field { reason, ..text },
            number(each.map(|it| it.least as f64)),
            number(each.map(|it| it.mean)),
            number(each.map(|it| it.most as f64)),
        ]
    };
    let ns = |value: Option<f64>, unit: f64| value.map(|value| value * unit);
    let unseen = match cost.action.is_of_configuration() {
        true => {
            "no answer says which configuration it is of: only bakeoff's own templates have a \
                 header for it, where the server can set one"
        }
        false => "it has no new configuration",
    };
    let around = |around: Option<Around>, value: fn(Around) -> f64| {
        known(around.map(value), "nobody watched its processes")
    };
    let (gap, after) = (cost.gap_s, cost.after);
    let took_s = cost.took_s.filter(|_| cost.action != Action::None);
    let took_s = took_s.and_then(|it| it.median);
    let mut fields = vec![
        Field::text(plain(&cost.contender)),
        Field::text(plain(&cost.workload)),
        Field::text(plain(&cost.setting)),
        Field::text(cost.action.name()),
        number(cost.rate_per_s),
        Field::of(Value::Number(cost.actions as f64)),
        counted(cost.due),
        counted(cost.lost),
        number(cost.lost_share.map(|share| share.low)),
        number(cost.lost_share.map(|share| share.high)),
    ];
    fields.extend(each(cost.lost_each));
    fields.extend(each(cost.closed_each));
    fields.extend([
        number(ns(gap.and_then(|it| it.median), NS_PER_S)),
        number(ns(gap.and_then(|it| it.high), NS_PER_S)),
        number(ns(cost.before.p99_ms.and_then(|it| it.median), NS_PER_MS)),
        number(ns(after.p99_ms.and_then(|it| it.median), NS_PER_MS)),
        number(ns(after.max_ms.and_then(|it| it.high), NS_PER_MS)),
        known(
            ns(cost.first_new_s.and_then(|it| it.median), NS_PER_S),
            unseen,
        ),
        known(
            ns(cost.last_old_s.and_then(|it| it.high), NS_PER_S),
            match cost.first_new_s {
                Some(_) => "it gave no answer after the action",
                None => unseen,
            },
        ),
        known(ns(took_s, NS_PER_S), "nothing was done"),
        around(cost.processes, |it| it.before),
        around(cost.processes, |it| it.peak),
        around(cost.processes, |it| it.at_end),
        around(cost.memory_bytes, |it| it.before),
        around(cost.memory_bytes, |it| it.peak),
    ]);
    fields
}

/// By where requests were and how they ended.
fn lost(costs: &[Cost]) -> Vec<Line> {
    let lines = costs.iter().filter(|cost| cost.lost > 0).map(|cost| {
        let by = cost.lost_by.iter().map(|it| {
            let (place, outcome) = (sentence::place(it.at), it.outcome.name());
            format!("{} {place} ({outcome})", counted(it.requests, "request"))
        });
        let by: Vec<String> = by.collect();
        let said = cost.said.as_deref();
        let said = said.map_or(String::new(), |line| {
            format!("; the server wrote: {}", plain(line))
        });
        Line::new(format!(
            "{}: {}{said}",
            sentence::named(cost, costs),
            by.join(", ")
        ))
    });
    lines.collect()
}

/// Each action that was carried out.
fn repetitions(report: &ChangeReport) -> Section {
    let columns = vec![
        Column::new("contender", "contender", Unit::Text),
        Column::new("workload", "workload", Unit::Text),
        Column::new("action", "action", Unit::Text),
        Column::new("round", "round", Unit::Count),
        Column::new("at_s", "at (s)", Unit::Text),
        Column::new("lost", "lost", Unit::Count),
        Column::new("closed", "closed", Unit::Count),
        Column::new("gap_ns", "no answer", Unit::Milliseconds),
        Column::new("p99_ns", "p99 after", Unit::Milliseconds),
        Column::new("max_ns", "max after", Unit::Milliseconds),
    ];
    let rows = report.rows.iter().flat_map(|cost| {
        let all = cost.repetitions.iter();
        all.map(move |one| repetition(cost, one))
    });
    let parts = vec![Part::Table(Table::of(
        "repetitions",
        columns,
        rows.collect(),
    ))];
    Section::new("repetitions", "Each action", parts).within(Extent::Full)
}

fn repetition(cost: &Cost, one: &Repetition) -> Vec<Field> {
    let ns = |value: Option<f64>, unit: f64| Field {
        reason: value.is_none().then(|| "no answer".to_owned()),
        ..Field::number(value.map(|value| value * unit))
    };
    let count = |value: u64| Field::of(Value::Number(value as f64));
    vec![
        Field::text(plain(&cost.contender)),
        Field::text(plain(&cost.workload)),
        Field::text(cost.action.name()),
        count(one.round.into()),
        Field::text(format!("{:.3}", one.at_s)),
        count(one.lost),
        count(one.closed),
        ns(one.gap_s, NS_PER_S),
        ns(one.p99_ms, NS_PER_MS),
        ns(one.max_ms, NS_PER_MS),
    ]
}
