//! Equal work, or what is not equal, in lines and rows that the formats share.

use crate::number::{counted, plain};
use crate::view::{Class, ConfigDiff, Equivalence, FactRow, Inequality};

/// What stands in a row for a value that is not known.
const NOT_KNOWN: &str = "?";

/// The titles of a table's columns.
pub(crate) fn titles(table: &Equivalence) -> Vec<String> {
    let contenders = table.contenders.iter().map(|name| plain(name));
    [String::new()]
        .into_iter()
        .chain(contenders)
        .chain(["comparison".to_owned()])
        .collect()
}

/// The fields of a row.
pub(crate) fn fields(row: &FactRow) -> Vec<String> {
    let class = match row.class {
        Class::Unfair => "unfair",
        Class::Differs => "",
    };
    let values = row
        .values
        .iter()
        .map(|value| value.as_deref().map_or(NOT_KNOWN.to_owned(), plain));
    [row.title.clone()]
        .into_iter()
        .chain(values)
        .chain([class.to_owned()])
        .collect()
}

/// Whether some comparison of the workload is unfair.
pub(crate) fn is_unfair(table: &Equivalence) -> bool {
    !table.inequalities.is_empty()
}

/// The facts that are the same for all; `None` where there is none.
pub(crate) fn equal_line(table: &Equivalence) -> Option<String> {
    let facts: Vec<String> = table
        .equal
        .iter()
        .map(|fact| format!("{} {}", fact.title, plain(&fact.value)))
        .collect();
    (!facts.is_empty()).then(|| format!("equal: {}", facts.join("; ")))
}

/// The facts that differ and matter to no comparison, by their titles alone.
pub(crate) fn differing_line(table: &Equivalence) -> Option<String> {
    let titles: Vec<String> = table.rows.iter().map(|row| plain(&row.title)).collect();
    (!titles.is_empty()).then(|| format!("differs: {}", titles.join("; ")))
}

/// A line for each fact that is not known of some contender.
pub(crate) fn unknown_lines(table: &Equivalence) -> Vec<String> {
    let line = |fact: &crate::view::UnknownFact| {
        format!(
            "not known: {} of {}: {}",
            fact.title,
            plain(&fact.contenders.join(" and ")),
            plain(&fact.reason)
        )
    };
    table.unknown.iter().map(line).collect()
}

/// What is unfair, with code and rule.
pub(crate) fn inequality_line(one: &Inequality) -> String {
    let check = &one.check;
    format!("{} ({}): {}", check.code, check.rule, plain(&check.text))
}

/// What to change in whose configuration.
pub(crate) fn remedy_lines(one: &Inequality) -> Vec<String> {
    let line = |remedy: &crate::view::Remedy| {
        let line = remedy.line.as_deref()?;
        let name = plain(&remedy.contender);
        let server = plain(&remedy.server);
        Some(format!("to change in {name} ({server}): {}", plain(line)))
    };
    one.remedies.iter().filter_map(line).collect()
}

/// The title of a diff.
pub(crate) fn diff_title(diff: &ConfigDiff) -> String {
    format!(
        "{} against {} ({}), {}: {}",
        plain(&diff.second),
        plain(&diff.first),
        plain(&diff.server),
        plain(&diff.workloads.join(", ")),
        counted(diff.changed as u64, "line")
    )
}

/// What a terminal shows of an inequality before the load that it spoils.
pub(crate) fn warning(table: &Equivalence, one: &Inequality) -> String {
    let remedies = remedy_lines(one).into_iter();
    let remedies: String = remedies.map(|line| format!("\n    {line}")).collect();
    let workload = plain(&table.workload);
    format!(
        "unequal work, {workload}: {}{remedies}",
        inequality_line(one)
    )
}
