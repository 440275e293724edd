//! Equal work, and what the contenders' configurations say differently.

use super::{Column, Extent, Field, Line, Part, Section, Table, Unit};
use crate::view::{Class, Equivalence, Report, Tone};
use crate::{changes, equal, number::plain};

/// A table for each workload where the work is unequal, a few lines for each where it is not.
pub(super) fn equal_work(report: &Report) -> Vec<Section> {
    let section = |facts: &Equivalence| {
        let title = format!("Equal work: {}", plain(&facts.workload));
        Section::new("equal-work", title, of_workload(facts)).within(Extent::Full)
    };
    report.equivalence.iter().map(section).collect()
}

fn of_workload(facts: &Equivalence) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = Vec::new();
    if equal::is_unfair(facts) {
        parts.push(Part::Table(fact_table(facts)));
    } else {
        lines.push(Line::new("equal in all that matters"));
        lines.extend(equal::differing_line(facts).map(Line::new));
    }
    lines.extend(equal::equal_line(facts).map(Line::new));
    lines.extend(equal::unknown_lines(facts).into_iter().map(Line::new));
    for one in &facts.inequalities {
        lines.push(Line::toned(Tone::Warning, equal::inequality_line(one)));
        let remedies = equal::remedy_lines(one).into_iter();
        lines.extend(remedies.map(|line| Line::new(line).below()));
    }
    parts.push(Part::Lines(lines));
    parts
}

fn fact_table(facts: &Equivalence) -> Table {
    let column = |title: String| Column::new("", &title, Unit::Text).within(Extent::Full);
    let row = |row: &crate::view::FactRow| {
        let tone = match row.class {
            Class::Unfair => Some(Tone::Warning),
            Class::Differs => None,
        };
        let field = |text| Field {
            tone,
            ..Field::text(text)
        };
        equal::fields(row).into_iter().map(field).collect()
    };
    let columns = equal::titles(facts).into_iter().map(column).collect();
    Table::of("facts", columns, facts.rows.iter().map(row).collect())
}

/// Changes of users' own configurations, then what two variants of one server say differently.
pub(super) fn configurations(report: &Report) -> Option<Section> {
    let changed = report.config_changes.iter().map(|one| Part::Verbatim {
        title: changes::title(one),
        lines: changes::lines(one),
        brief: changes::by_reason(one),
    });
    let differing = report.diffs.iter().map(|diff| Part::Verbatim {
        title: equal::diff_title(diff),
        lines: diff.text.lines().map(plain).collect(),
        brief: Vec::new(),
    });
    let parts: Vec<Part> = changed.chain(differing).collect();
    let section = |parts| Section::new("configurations", "Configurations", parts);
    (!parts.is_empty()).then(|| section(parts).within(Extent::Full))
}
