//! Costs of actions as a document: the answer, a table for each workload, where requests got lost,
//! what weakens it, and each action.

use bakeoff_audit::change::{Around, Cost, Each};
use bakeoff_audit::overload::Spread;
use bakeoff_plan::Action;

use super::{ChangeReport, sentence};
use crate::document::{Extent, Field, Line, Part, Rows, Section, Table, Unit, known};
use crate::number::counted;
use crate::own::{answer_section, heading};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;
/// Why there is no latency and no gap.
const NO_ANSWER: &str = "no answer";

pub(super) fn sections(report: &ChangeReport) -> Vec<Section> {
    let mut sections = vec![answer_section(report), costs(report)];
    let lost = lost(&report.rows);
    sections.extend(Section::of_lines("lost", "Where requests got lost", lost));
    let weak = sentence::weakened_by(&report.rows).into_iter();
    let weak = weak.map(Line::new).collect();
    sections.extend(Section::of_lines("weakened", "What weakens it", weak));
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
        let table = losses(names(Rows::new("costs", rows), report));
        let title = if has_several { workload } else { "" };
        Part::Table(Table {
            title: title.to_owned(),
            ..processes(times(table)).table
        })
    };
    let parts = workloads.into_iter().map(table).collect();
    Section::new("costs", "What it costs", parts)
}

/// Columns of costs.
type Costs<'r> = Rows<&'r Cost>;

fn names<'r>(table: Costs<'r>, report: &ChangeReport) -> Costs<'r> {
    let mut rows = report.rows.iter();
    let has_several = rows.any(|it| it.setting != report.rows[0].setting);
    table
        .text("contender", "contender", |it| it.contender.clone())
        .data("workload", Unit::Text, |it| it.workload.clone())
        .text("setting", "load", |it| it.setting.clone())
        .shown_if(has_several)
        .text("action", "action", |it| it.action.name())
        .data("rate_per_s", Unit::PerSecond, |it| {
            number(it, it.rate_per_s)
        })
        .count("actions", "times", |it| it.actions)
}

fn losses(table: Costs<'_>) -> Costs<'_> {
    let counted = |it: &Cost, n: u64| number(it, (it.actions > 0).then_some(n as f64));
    let table = table
        .count("due", "requests", |it| counted(it, it.due))
        .count("lost", "lost", |it| counted(it, it.lost))
        .data("lost_share_low", Unit::Percent, |it| {
            number(it, it.lost_share.map(|share| share.low))
        })
        .percent("lost_share_high", "lost at most", |it| {
            number(it, it.lost_share.map(|share| share.high))
        });
    let table = each(table, "lost", |it| it.lost_each).within(Extent::Full);
    each(table, "closed", |it| it.closed_each)
}

/// A count for each action: its ends and its mean for machines, then its range.
fn each<'r>(table: Costs<'r>, name: &str, of: fn(&Cost) -> Option<Each>) -> Costs<'r> {
    let data = |table: Costs<'r>, end: &str, value: fn(Each) -> f64| {
        table.data(&format!("{name}_{end}"), Unit::Count, |it| {
            number(it, of(it).map(value))
        })
    };
    let table = data(table, "least", |it| it.least as f64);
    let table = data(table, "mean", |it| it.mean);
    let table = data(table, "most", |it| it.most as f64);
    table.text("", &format!("{name} in each"), |it| {
        let untold = (it.actions == 0).then(|| sentence::untold(it));
        let range = of(it).map_or_else(Field::default, |it| Field::text(sentence::range(it)));
        known(range, &untold)
    })
}

fn times(table: Costs<'_>) -> Costs<'_> {
    table
        .milliseconds("gap_ns", "no answer", |it| {
            number(it, median(it.gap_s, NS_PER_S))
        })
        .milliseconds("gap_ns_max", "longest", |it| {
            number(it, longest(it.gap_s, NS_PER_S))
        })
        .within(Extent::Full)
        .milliseconds("p99_before_ns", "p99 before", |it| {
            number(it, median(it.before.p99_ms, NS_PER_MS))
        })
        .milliseconds("p99_after_ns", "p99 after", |it| {
            number(it, median(it.after.p99_ms, NS_PER_MS))
        })
        .milliseconds("max_after_ns", "max after", |it| {
            number(it, longest(it.after.max_ms, NS_PER_MS))
        })
        .milliseconds("first_new_ns", "new answers", |it| {
            or(median(it.first_new_s, NS_PER_S), unseen(it))
        })
        .within(Extent::Full)
        .milliseconds("last_old_ns", "old answers until", |it| {
            let why = match it.first_new_s {
                Some(_) => "it gave no answer after the action",
                None => unseen(it),
            };
            or(longest(it.last_old_s, NS_PER_S), why)
        })
        .within(Extent::Full)
        .milliseconds("took_ns", "action took", |it| {
            let took_s = it.took_s.filter(|_| it.action != Action::None);
            or(median(took_s, NS_PER_S), "nothing was done")
        })
        .within(Extent::Full)
}

/// Why it is not known when the new configuration answered.
fn unseen(cost: &Cost) -> &'static str {
    if cost.action.is_of_configuration() {
        "no answer says which configuration it is of: only bakeoff's own templates have a header \
         for it, where the server can set one"
    } else {
        "it has no new configuration"
    }
}

/// What a server used at a time around an action.
type Time = fn(Around) -> f64;

fn processes(mut table: Costs<'_>) -> Costs<'_> {
    let of =
        |around: Option<Around>, value: Time| or(around.map(value), "nobody watched its processes");
    let times: [(&str, &str, Time); 3] = [
        ("processes_before", "processes", |it| it.before),
        ("processes_peak", "most after", |it| it.peak),
        ("processes_at_end", "at the end", |it| it.at_end),
    ];
    for (name, title, value) in times {
        table = table.count(name, title, |it| of(it.processes, value));
        table = table.within(Extent::Full);
    }
    let times: [(&str, &str, Time); 2] = [
        ("memory_before_bytes", "memory", |it| it.before),
        ("memory_peak_bytes", "most after", |it| it.peak),
    ];
    for (name, title, value) in times {
        table = table.bytes(name, title, |it| of(it.memory_bytes, value));
        table = table.within(Extent::Full);
    }
    table
}

/// A value, or why there is none.
fn or(value: Option<f64>, why: &str) -> Field {
    known(value, &Some(why.to_owned()))
}

/// A number of all actions, or why there is none.
fn number(cost: &Cost, value: Option<f64>) -> Field {
    let untold = (cost.actions == 0).then(|| sentence::untold(cost));
    or(value, untold.as_deref().unwrap_or(NO_ANSWER))
}

fn median(times: Option<Spread>, unit_ns: f64) -> Option<f64> {
    Some(times?.median? * unit_ns)
}

fn longest(times: Option<Spread>, unit_ns: f64) -> Option<f64> {
    Some(times?.high? * unit_ns)
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
        let said = said.map_or(String::new(), |line| format!("; the server wrote: {line}"));
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
    let rows = report.rows.iter().flat_map(|cost| {
        let all = cost.repetitions.iter();
        all.map(move |one| (cost, one))
    });
    let ns = |value: Option<f64>, unit_ns: f64| or(value.map(|it| it * unit_ns), NO_ANSWER);
    let table = Rows::new("repetitions", rows)
        .text("contender", "contender", |(cost, _)| cost.contender.clone())
        .text("workload", "workload", |(cost, _)| cost.workload.clone())
        .text("action", "action", |(cost, _)| cost.action.name())
        .count("round", "round", |(_, one)| one.round)
        .text("at_s", "at (s)", |(_, one)| format!("{:.3}", one.at_s))
        .count("lost", "lost", |(_, one)| one.lost)
        .count("closed", "closed", |(_, one)| one.closed)
        .milliseconds("gap_ns", "no answer", |(_, one)| ns(one.gap_s, NS_PER_S))
        .milliseconds("p99_ns", "p99 after", |(_, one)| ns(one.p99_ms, NS_PER_MS))
        .milliseconds("max_ns", "max after", |(_, one)| ns(one.max_ms, NS_PER_MS));
    Section::new("repetitions", "Each action", vec![table.part()]).within(Extent::Full)
}
