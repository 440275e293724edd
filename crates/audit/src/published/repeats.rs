//! Rules over repetitions of one measurement: rows of the same name and length.

use std::collections::BTreeMap;

use bakeoff_published::{Published, Row};

use super::code::Code;
use super::sentence::{amount, lines_of, percent, rate};
use super::{AuditedRow, Finding};
use crate::limits::{RATE_VARIATION, ROUNDS_MIN};

/// How many times as long a measurement may be to be the same one: what is asked for in seconds
/// ends a little before or after.
const LENGTH_APART: f64 = 1.25;

/// Adds findings to rows whose repetitions differ, and gives those of the whole table.
///
/// Only who writes a table says which rows are of one server. What a tool prints names what it was
/// asked for, and servers are often compared at one address: its runs of one name may be
/// repetitions or not, so no row is blamed for the others, and none counts as repeated.
pub(super) fn find(published: &Published, audited: &mut [AuditedRow]) -> Vec<Finding> {
    let rows = &published.rows;
    let named = groups(rows);
    if published.format.is_table() {
        for group in &named {
            differs(group, audited);
        }
        let hint = hint(published, named.len());
        return one_run(rows, &named, &hint).into_iter().collect();
    }
    let tool = published.format.name();
    let hint = if named.len() < rows.len() {
        format!(
            "; runs of one name are repetitions only if they are of one server, which {tool} does \
             not print: a table in CSV with columns for server and run says so"
        )
    } else {
        String::new()
    };
    let each: Vec<Vec<usize>> = (0..rows.len()).map(|index| vec![index]).collect();
    let audited = &*audited;
    let apart = named.iter().filter_map(|group| may_differ(group, audited));
    let found = one_run(rows, &each, &hint).into_iter();
    found.chain(apart).collect()
}

/// R18: what was made a few times says nothing of the next time.
fn one_run(rows: &[Row], same: &[Vec<usize>], hint: &str) -> Option<Finding> {
    let runs = |group: &Vec<usize>| -> f64 {
        let runs = group
            .iter()
            .map(|index| rows[*index].load.runs.unwrap_or(1.0));
        runs.sum()
    };
    let few: Vec<f64> = same
        .iter()
        .map(runs)
        .filter(|runs| *runs < ROUNDS_MIN as f64)
        .collect();
    let fewest = few.iter().copied().reduce(f64::min)?;
    let most = few.iter().copied().fold(fewest, f64::max);
    let often = match most {
        1.0 => "once".to_owned(),
        most => format!("at most {} times", amount(most)),
    };
    let which = match (few.len(), same.len()) {
        (1, 1) => "the one measurement was".to_owned(),
        (few, all) => format!("{few} of {all} measurements were"),
    };
    let text = format!(
        "{which} made {often}: nothing says how far the next run would be off ({ROUNDS_MIN} runs \
         with a fresh server do){hint}"
    );
    Some(Finding {
        code: Code::OneRun,
        value: fewest,
        limit: ROUNDS_MIN as f64,
        text,
    })
}

/// Columns of numbers that nobody said to be names, where rows would be repetitions of each other
/// without them: an index, or a result.
fn hint(published: &Published, measurements: usize) -> String {
    let rows = &published.rows;
    let is_number = |name: &&String| {
        let cells = rows.iter().flat_map(|row| &row.name);
        let mut cells = cells.filter(|(column, _)| column == *name);
        cells.all(|(_, cell)| cell.starts_with(|c: char| c.is_ascii_digit()))
    };
    let columns: Vec<&String> = published.unknown.iter().filter(is_number).collect();
    let without: Vec<Row> = rows.iter().map(|row| without(row, &columns)).collect();
    if columns.is_empty() || groups(&without).len() >= measurements {
        return String::new();
    }
    let names = columns.iter().map(|name| {
        if name.is_empty() {
            "the column without a name".to_owned()
        } else {
            format!("`{name}`")
        }
    });
    let flags = columns
        .iter()
        .map(|name| format!("--column 'ignore={name}'"));
    format!(
        "; rows that differ only in {} count as measurements of their own: if they are \
         repetitions, leave it out with {}",
        names.collect::<Vec<_>>().join(" or "),
        flags.collect::<Vec<_>>().join(" ")
    )
}

/// The row without these columns in its name.
fn without(row: &Row, columns: &[&String]) -> Row {
    let mut row = row.clone();
    row.name.retain(|(name, _)| !columns.contains(&name));
    // Where nothing else names them, they are repetitions of the one measurement.
    row.is_repetition |= row.label().is_empty();
    row
}

/// Rows that are repetitions of each other; what has no name repeats nothing that is known.
fn groups(rows: &[Row]) -> Vec<Vec<usize>> {
    let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut groups = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        match row.label() {
            label if label.is_empty() && !row.is_repetition => groups.push(vec![index]),
            label => named.entry(label).or_default().push(index),
        }
    }
    for group in named.into_values() {
        groups.extend(by_length(group, rows));
    }
    groups
}

/// The rows of a name, apart where one was measured for much longer than the one before.
fn by_length(mut group: Vec<usize>, rows: &[Row]) -> Vec<Vec<usize>> {
    let length = |index: &usize| rows[*index].load.duration_s.unwrap_or(0.0);
    group.sort_by(|one, other| length(one).total_cmp(&length(other)));
    let is_same = |one: &usize, next: &usize| {
        let ended = rows[*next].counts.ended;
        // A column says so; or a number of requests was asked for, which takes as long as it takes.
        let is_said = rows[*next].is_repetition;
        let is_of_as_many = ended.is_some() && ended == rows[*one].counts.ended;
        is_said || is_of_as_many || length(next) <= length(one) * LENGTH_APART
    };
    let parts = group.chunk_by(is_same);
    parts
        .map(|part| {
            let mut part = part.to_vec();
            part.sort_unstable();
            part
        })
        .collect()
}

/// R25: repetitions whose rates vary too much speak for none of them.
fn differs(group: &[usize], audited: &mut [AuditedRow]) {
    let Some(apart) = Apart::of(group, audited) else {
        return;
    };
    let text = format!(
        "{} are repetitions of one measurement: {}",
        apart.lines, apart.rates
    );
    for index in group {
        audited[*index].findings.push(apart.finding(text.clone()));
    }
}

/// The same of rows that are repetitions only if they are of one server.
fn may_differ(group: &[usize], audited: &[AuditedRow]) -> Option<Finding> {
    let apart = Apart::of(group, audited)?;
    let text = format!(
        "{} have one name; if they are of one server, they are repetitions that differ: {}",
        apart.lines, apart.rates
    );
    Some(apart.finding(text))
}

/// Rows of which the rates vary too much for repetitions.
struct Apart {
    /// Their lines: `lines 2-4`.
    lines: String,
    /// What their rates are.
    rates: String,
    /// Coefficient of variation.
    variation: f64,
}

impl Apart {
    fn of(group: &[usize], audited: &[AuditedRow]) -> Option<Self> {
        let derived = group.iter().map(|index| &audited[*index].derived);
        let rates: Vec<f64> = derived
            .filter_map(|derived| derived.ok_per_s.or(derived.rate_per_s))
            .collect();
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        if rates.len() < 2 || mean <= 0.0 {
            return None;
        }
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let variation = (squares / (count - 1.0)).sqrt() / mean;
        if variation.is_nan() || variation < RATE_VARIATION {
            return None;
        }
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        Some(Self {
            lines: lines_of(group.iter().map(|index| audited[*index].line)),
            rates: format!(
                "their rates are {} to {}, a variation of {}",
                rate(least),
                rate(most),
                percent(variation)
            ),
            variation,
        })
    }

    fn finding(&self, text: String) -> Finding {
        Finding {
            code: Code::RepeatDiffers,
            value: self.variation,
            limit: RATE_VARIATION,
            text,
        }
    }
}
