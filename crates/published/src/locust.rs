//! The file of Locust that ends in `_stats.csv`.
//!
//! Times are in ms, and its quantiles are rounded to two digits. The row of all requests is read
//! alone: the others are parts of it, and nothing says which users sent them.

use crate::column::{ColumnRule, Quantity, percentile};
use crate::csv;
use crate::error::ReadError;
use crate::figure::Figure;
use crate::table::{self, Table};
use crate::unit::Unit;

const MS: f64 = 1e6;
/// What the row of all requests is called, in old versions and in new ones.
const WHOLE: [&str; 2] = ["Aggregated", "Total"];

pub(crate) fn read(text: &str, rules: &[ColumnRule]) -> Result<Table, ReadError> {
    let header = csv::records(text, ',')?.into_iter().next();
    let names = header.map_or(Vec::new(), |header| header.cells);
    let all: Vec<ColumnRule> = rules
        .iter()
        .cloned()
        .chain(names.iter().filter_map(|name| own(name)))
        .collect();
    let mut table = table::read(text, &all)?;
    let is_whole = |row: &crate::Row| {
        let mut cells = row.name.iter();
        cells.any(|(_, cell)| WHOLE.contains(&cell.as_str()))
    };
    if table.rows.iter().any(is_whole) {
        table.rows.retain(is_whole);
    }
    for row in &mut table.rows {
        row.latency.is_set_of_tool = true;
        for quantile in &mut row.latency.quantiles {
            quantile.value = of_two_digits(quantile.value);
        }
    }
    Ok(table)
}

/// What a column of Locust holds.
fn own(name: &str) -> Option<ColumnRule> {
    let rule = |quantity, unit| {
        Some(ColumnRule {
            quantity,
            column: name.to_owned(),
            unit,
        })
    };
    let ms = Some(Unit::Time(MS));
    match name.to_lowercase().as_str() {
        "average response time" => rule(Quantity::Mean, ms),
        "min response time" => rule(Quantity::Min, ms),
        "max response time" => rule(Quantity::Max, ms),
        "request count" | "# requests" => rule(Quantity::Requests, None),
        "failure count" | "# failures" => rule(Quantity::Failed, Some(Unit::Count)),
        // The same as 50 % and the longest; and sizes, which are means.
        "median response time" | "100%" | "average content size" => rule(Quantity::Ignore, None),
        other => rule(
            Quantity::Quantile(percentile(other.strip_suffix('%')?)?),
            ms,
        ),
    }
}

/// 150 ms may be anything from 145 to 155.
fn of_two_digits(figure: Figure) -> Figure {
    let ms = figure.value / MS;
    let step = if ms < 100.0 {
        1.0
    } else {
        10_f64.powf(ms.log10().floor() - 1.0)
    };
    Figure {
        step: step * MS,
        ..figure
    }
}
