//! Reads a table whose header says what its columns hold.
//!
//! `columns.rs` finds out what that is. A number that could be read in two ways is an error, not a
//! guess.

use std::borrow::Cow;

use crate::ROWS_MOST;
use crate::column::{ColumnRule, Quantity};
use crate::columns::{Column, bare, columns, has_numbers, is_in_thousands, is_nothing};
use crate::comma::{DecimalComma, decimal_comma, with_point};
use crate::csv::{self, Record};
use crate::error::{ReadError, excerpt};
use crate::figure::{Figure, number, number_in_thousands};
use crate::row::{Counts, Load, Row, Transfer};
use crate::unit::Unit;

/// Shortest measurement, so that what is divided by it stays a number.
const SECONDS_LEAST: f64 = 1e-9;

/// A table as rows.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// Columns that say nothing known, which name rows.
    pub(crate) unknown: Vec<String>,
    /// Where its decimals stand behind a comma.
    pub(crate) comma: Option<DecimalComma>,
}

pub(crate) fn read(text: &str, rules: &[ColumnRule]) -> Result<Table, ReadError> {
    let separator = csv::separator(text);
    let records = csv::records(text, separator)?;
    let Some((header, records)) = records.split_first() else {
        return Err(ReadError::new(1, "expected a header, found nothing"));
    };
    let marks_between = match separator {
        ';' => Some("semicolons"),
        '\t' => Some("tabs"),
        _ => None,
    };
    of_records(header, records, rules, marks_between)
}

/// The same of cells. `marks_between` is what separates them, where that leaves a comma open.
pub(crate) fn of_records(
    header: &Record,
    records: &[Record],
    rules: &[ColumnRule],
    marks_between: Option<&'static str>,
) -> Result<Table, ReadError> {
    if records.is_empty() {
        let problem = "expected rows below the header, found none";
        return Err(ReadError::new(header.line, problem));
    }
    if records.len() > ROWS_MOST {
        let problem = format!("more than {ROWS_MOST} rows: split the file");
        return Err(ReadError::new(records[ROWS_MOST].line, problem));
    }
    csv::check_even(header, records)?;
    let counts: Vec<bool> = has_numbers(header, rules).collect();
    let comma = decimal_comma(records, |column| counts[column]);
    let mut records = Cow::Borrowed(records);
    if comma.is_some() {
        let cells = records.to_mut().iter_mut().map(|record| &mut record.cells);
        for (cell, _) in cells
            .flat_map(|cells| cells.iter_mut().zip(&counts))
            .filter(|it| *it.1)
        {
            *cell = with_point(cell);
        }
    }
    let mut unknown = Vec::new();
    let columns = columns(header, &records, rules, &mut unknown);
    let columns = columns.map_err(|problem| ReadError::new(header.line, problem))?;
    let read = Reader {
        columns: &columns,
        marks_between: marks_between.filter(|_| comma.is_none()),
    };
    let rows = records.iter().map(|record| read.row(record));
    Ok(Table {
        rows: rows.collect::<Result<_, _>>()?,
        unknown,
        comma,
    })
}

/// Reads the rows below a header.
struct Reader<'a> {
    columns: &'a [Column],
    /// What separates the cells, where `1,234` may be 1.234, and 1.234 requests 1,234: between
    /// semicolons, or tabs, commas often are decimal points, and points stand between thousands.
    marks_between: Option<&'static str>,
}

impl Reader<'_> {
    fn row(&self, record: &Record) -> Result<Row, ReadError> {
        let is_run = |column: &Column| matches!(column.quantity, Quantity::Run);
        let mut row = Row {
            line: record.line,
            is_repetition: self.columns.iter().any(is_run),
            ..Row::default()
        };
        for (cell, column) in record.cells.iter().zip(self.columns) {
            if names(column.quantity) {
                row.name.push((column.name.clone(), cell.clone()));
            }
            let has_number = !matches!(
                column.quantity,
                Quantity::Ignore | Quantity::Name | Quantity::Run
            );
            if has_number && !is_nothing(cell) {
                self.cell(&mut row, column, cell)
                    .map_err(|problem| ReadError::new(record.line, problem))?;
            }
        }
        let by_right = row.counts.ok_share.map(|share| 1.0 - share);
        row.counts.failed_share = row.counts.failed_share.or(by_right);
        Ok(row)
    }

    fn cell(&self, row: &mut Row, column: &Column, cell: &str) -> Result<(), String> {
        if let Some(doubt) = self.doubt(column, cell) {
            return Err(format!("column `{}`: expected a {doubt}", column.name));
        }
        let (figure, unit) = value(cell, column).ok_or_else(|| {
            format!(
                "column `{}`: expected a number of 0 or more, such as 1234.5, found `{}`",
                column.name,
                excerpt(cell)
            )
        })?;
        place(row, column, figure, unit)
    }

    /// What is expected instead of a number whose point or comma may mean two things.
    fn doubt(&self, column: &Column, cell: &str) -> Option<String> {
        const WHOLE: &str = "whole number, such as 1234";
        const POINT: &str = "number without a comma, such as 0.123 or 1234";
        const RATE: &str = "number such as 35.41 or 35409";
        let is_runs = |column: &Column| column.quantity == Quantity::Runs;
        let in_thousands = is_pieces(column) && is_in_thousands(cell);
        let is_rate = matches!(column.unit, Some(Unit::PerS(_)));
        let (expected, why) = match self.marks_between {
            Some(marks) if in_thousands => {
                let why = format!("between {marks} a point may stand between thousands");
                (WHOLE, why)
            }
            Some(marks) if is_rate && !column.has_decimals && is_in_thousands(cell) => {
                let why = format!("between {marks} a point may stand between thousands");
                (RATE, why)
            }
            Some(marks) if is_decimal_or_thousands(cell) => {
                let why = format!("between {marks} a comma may be a decimal point");
                (POINT, why)
            }
            Some(_) => return None,
            None => {
                // A mean over runs may have a fraction.
                let is_one_run = !self.columns.iter().any(is_runs);
                let is_requests = column.quantity == Quantity::Requests;
                if !(in_thousands && is_requests && is_one_run) {
                    return None;
                }
                let why = "the point may stand between thousands; a mean of several runs needs a \
                           column `runs` beside it";
                (WHOLE, why.to_owned())
            }
        };
        Some(format!("{expected}, found `{}`: {why}", excerpt(cell)))
    }
}

/// Whether a column's cells tell measurements apart: what was loaded, and what was asked for. The
/// length of a measurement is no part of the name, because it often is a result.
fn names(quantity: Quantity) -> bool {
    matches!(
        quantity,
        Quantity::Name
            | Quantity::Clients
            | Quantity::Streams
            | Quantity::PlannedRate
            | Quantity::Body
    )
}

/// Whether a column counts things, of which there is no part.
fn is_pieces(column: &Column) -> bool {
    matches!(column.unit, Some(Unit::Count))
        && !matches!(column.quantity, Quantity::Cpu | Quantity::ClientCpu)
}

/// Whether a number has one comma and no point: `1,234`, or `0,22 ms`.
fn is_decimal_or_thousands(cell: &str) -> bool {
    let mut parts = cell.split(',');
    let (Some(whole), Some(rest), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_whole = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    is_whole && rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains('.')
}

/// A cell's number; the unit that it carries itself counts more than the header's.
fn value(cell: &str, column: &Column) -> Option<(Figure, Unit)> {
    let cell = bare(cell);
    if let Some(figure) = number(cell) {
        let unit = column.unit.unwrap_or(Unit::Count);
        let figure = Figure {
            step: column.step,
            ..figure
        };
        return Some((figure.times(unit.factor()), unit));
    }
    let (figure, unit) = number_in_thousands(cell)?;
    let unit = match unit {
        "" => column.unit?,
        unit => Unit::parse(unit)?,
    };
    let allowed = column.quantity.units();
    let fits = allowed.iter().any(|one| one.is_like(unit));
    let binary = unit.binary().filter(|_| column.is_of_wrk);
    fits.then(|| match binary {
        Some(one) => (figure.times(one), Unit::Bytes(one)),
        None => (figure.times(unit.factor()), unit),
    })
}

fn place(row: &mut Row, column: &Column, figure: Figure, unit: Unit) -> Result<(), String> {
    let Row {
        load,
        counts,
        latency,
        transfer,
        ..
    } = row;
    let is_share = matches!(unit, Unit::Share(_));
    if is_share && figure.value > 1.0 && matches!(column.quantity, Quantity::Ok | Quantity::Failed)
    {
        return Err(format!(
            "column `{}`: expected a share of at most 100 %, found {} %",
            column.name,
            figure.value * 100.0
        ));
    }
    let some = Some(figure.value);
    let most = unit.binary().map(|one| figure.value / unit.factor() * one);
    match column.quantity {
        Quantity::Bytes => (transfer.read_bytes, transfer.read_bytes_most) = (some, most),
        Quantity::BytesRate => {
            (transfer.read_bytes_per_s, transfer.read_bytes_per_s_most) = (some, most);
        }
        Quantity::Min => latency.min = Some(figure),
        Quantity::Mean => latency.mean = Some(figure),
        Quantity::Max => latency.max = Some(figure),
        Quantity::Quantile(share) => latency.push(share, figure),
        Quantity::Ok if is_share => counts.ok_share = some,
        Quantity::Failed if is_share => counts.failed_share = some,
        Quantity::Ok => counts.ok = some,
        Quantity::Failed => counts.failed = some,
        Quantity::Rate => counts.rate_per_s = Some(figure),
        Quantity::OkRate => counts.ok_per_s = Some(figure),
        Quantity::FailedRate => counts.failed_per_s = Some(figure),
        Quantity::Duration => {
            load.duration_s = Some(figure.value / 1e9).filter(|seconds| *seconds >= SECONDS_LEAST);
            load.duration_step_s = figure.step / 1e9;
        }
        other => place_rest(load, counts, transfer, other, figure.value),
    }
    Ok(())
}

fn place_rest(
    load: &mut Load,
    counts: &mut Counts,
    transfer: &mut Transfer,
    quantity: Quantity,
    value: f64,
) {
    let field = match quantity {
        Quantity::Clients => &mut load.clients,
        Quantity::Streams => &mut load.streams,
        Quantity::PlannedRate => &mut load.planned_per_s,
        Quantity::Runs => &mut load.runs,
        Quantity::Cpu => &mut load.server_cpus,
        Quantity::ClientCpu => &mut load.client_cpus,
        Quantity::Requests => &mut counts.ended,
        Quantity::Body => &mut transfer.body_bytes,
        _ => return,
    };
    *field = Some(value);
}
