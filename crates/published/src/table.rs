//! Reads a CSV table whose header says what its columns hold.
//!
//! A rule of the user's decides what a column holds; without a rule, the name of the column does
//! (`header.rs`). A table that could be read in two ways is an error, not a guess.

use crate::ROWS_MOST;
use crate::column::{ColumnRule, Quantity};
use crate::csv::{self, Record};
use crate::error::{ReadError, excerpt};
use crate::figure::{Figure, number, number_with_unit};
use crate::header::{BYTES_OR_FAILED, Meaning, meaning};
use crate::row::{Counts, Load, Row, Transfer};
use crate::unit::{KNOWN, Unit};

/// Cells that hold nothing.
const NOTHING: [&str; 7] = ["", "-", "n/a", "na", "null", "none", "nan"];

/// Shortest measurement, so that what is divided by it stays a number.
const SECONDS_LEAST: f64 = 1e-9;

/// A table as rows.
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// Columns that say nothing known, which name rows.
    pub(crate) unknown: Vec<String>,
}

/// A column, and what its numbers are multiplied by.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    /// What only this column is called.
    own: String,
    quantity: Quantity,
    unit: Option<Unit>,
    /// One unit of the last digit of its most exact number: 0.7 among numbers such as 0.53 was 0.70
    /// before somebody dropped the zero.
    step: f64,
    /// Whether some number of it has a point that cannot stand between thousands.
    has_decimals: bool,
    /// Whether its cells have wrk's units: there kB and MB are of 1,024s.
    is_of_wrk: bool,
}

pub(crate) fn read(text: &str, rules: &[ColumnRule]) -> Result<Table, ReadError> {
    let separator = csv::separator(text);
    let records = csv::records(text, separator)?;
    let Some((header, records)) = records.split_first() else {
        return Err(ReadError::new(1, "expected a header, found nothing"));
    };
    if records.is_empty() {
        let problem = "expected rows below the header, found none";
        return Err(ReadError::new(header.line, problem));
    }
    if records.len() > ROWS_MOST {
        let problem = format!("more than {ROWS_MOST} rows: split the file");
        return Err(ReadError::new(records[ROWS_MOST].line, problem));
    }
    if let Some(record) = records
        .iter()
        .find(|record| record.cells.len() != header.cells.len())
    {
        let problem = format!(
            "expected {} cells as in the header, found {}",
            header.cells.len(),
            record.cells.len()
        );
        return Err(ReadError::new(record.line, problem));
    }
    let mut unknown = Vec::new();
    let columns = columns(header, records, rules, &mut unknown);
    let columns = columns.map_err(|problem| ReadError::new(header.line, problem))?;
    let read = Reader {
        columns: &columns,
        marks_between: match separator {
            ';' => Some("semicolons"),
            '\t' => Some("tabs"),
            _ => None,
        },
    };
    let rows = records.iter().map(|record| read.row(record));
    Ok(Table {
        rows: rows.collect::<Result<_, _>>()?,
        unknown,
    })
}

/// What every column holds.
fn columns(
    header: &Record,
    records: &[Record],
    rules: &[ColumnRule],
    unknown: &mut Vec<String>,
) -> Result<Vec<Column>, String> {
    let titles = Title::all(&header.cells);
    let is_of_none = |rule: &&ColumnRule| !titles.iter().any(|title| title.is_of(rule));
    if let Some(rule) = rules.iter().find(is_of_none) {
        return Err(format!(
            "--column names `{}`, which is no column; there are: {}",
            rule.column,
            header.cells.join(", ")
        ));
    }
    let columns = titles
        .iter()
        .enumerate()
        .map(|(index, title)| column(title, index, records, rules, unknown));
    let columns: Vec<Column> = columns.collect::<Result<_, _>>()?;
    check_columns(&columns)?;
    Ok(columns)
}

/// How a column is called.
struct Title {
    /// As the header has it.
    name: String,
    /// What only it is called: of several with one name the second is `name#2`.
    own: String,
}

impl Title {
    fn all(names: &[String]) -> Vec<Self> {
        let title = |(index, name): (usize, &String)| {
            let before = names[..index].iter().filter(|other| *other == name);
            let own = match before.count() {
                0 => name.clone(),
                before => format!("{name}#{}", before + 1),
            };
            Self {
                name: name.clone(),
                own,
            }
        };
        names.iter().enumerate().map(title).collect()
    }

    /// Whether a rule is about this column.
    fn is_of(&self, rule: &ColumnRule) -> bool {
        self.name == rule.column || self.own == rule.column
    }
}

/// What a column holds: by the user's rule, else by its name.
fn column(
    title: &Title,
    index: usize,
    records: &[Record],
    rules: &[ColumnRule],
    unknown: &mut Vec<String>,
) -> Result<Column, String> {
    let cells = || records.iter().map(|record| record.cells[index].as_str());
    let name = title.name.as_str();
    let own = rules.iter().find(|rule| rule.column == title.own);
    let rule = own.or_else(|| rules.iter().find(|rule| title.is_of(rule)));
    let (quantity, unit) = match rule {
        Some(rule) => (rule.quantity, rule.unit),
        None if name.is_empty() && index == 0 && is_index(cells()) => (Quantity::Ignore, None),
        None => match meaning(name) {
            Meaning::Known(quantity, unit) => (quantity, unit),
            Meaning::Unknown => {
                unknown.push(name.to_owned());
                (Quantity::Name, None)
            }
            // As in wrk's own line, `1.11GB read`.
            Meaning::Ambiguous(BYTES_OR_FAILED)
                if cells().all(|cell| says_unit(cell, Quantity::Bytes)) =>
            {
                (Quantity::Bytes, None)
            }
            Meaning::Ambiguous(which) => {
                return Err(format!(
                    "column `{name}` may hold more than one thing ({which}): say which one, as in \
                     --column '{}={name}:UNIT', or --column 'ignore={name}'",
                    which.split(' ').next().unwrap_or(which)
                ));
            }
            Meaning::Doubtful(quantity, or) => {
                return Err(format!(
                    "column `{name}` may hold {quantity} {or}: say which one, as in \
                     --column '{quantity}={name}:UNIT', or --column 'ignore={name}'"
                ));
            }
        },
    };
    let steps = cells().filter_map(number).map(|figure| figure.step);
    let column = Column {
        name: name.to_owned(),
        own: title.own.clone(),
        quantity,
        unit: unit.or_else(|| only_unit(quantity)),
        step: steps.fold(f64::INFINITY, f64::min),
        has_decimals: cells().any(|cell| number(cell).is_some() && is_decimal(cell)),
        is_of_wrk: matches!(meaning(name), Meaning::Ambiguous(BYTES_OR_FAILED)),
    };
    let needs_unit = column.unit.is_none() && !quantity.units().is_empty();
    if needs_unit && !cells().all(|cell| says_unit(cell, quantity)) {
        Err(without_unit(name, quantity))
    } else {
        Ok(column)
    }
}

/// What to do about a column whose numbers may be of any unit.
fn without_unit(name: &str, quantity: Quantity) -> String {
    let units: &[&str] = match quantity {
        Quantity::Ok | Quantity::Failed => &["count", "percent"],
        Quantity::Cpu | Quantity::ClientCpu => &["percent"],
        Quantity::BytesRate => &["MB/s"],
        Quantity::Body | Quantity::Bytes => &["B"],
        _ => &["ms"],
    };
    let flags = units
        .iter()
        .map(|unit| format!("--column '{quantity}={name}:{unit}'"));
    format!(
        "column `{name}` names no unit, and neither do its cells: say which one it is, as in {}; \
         units: {KNOWN}",
        flags.collect::<Vec<_>>().join(" or ")
    )
}

/// The unit of a quantity that has no other.
fn only_unit(quantity: Quantity) -> Option<Unit> {
    match quantity.units() {
        [unit @ (Unit::Count | Unit::PerS(_))] => Some(*unit),
        _ => None,
    }
}

/// Whether a cell needs no unit from its header: it carries one, or holds nothing, or 0. No bytes
/// at all are none in any unit, but a column of them may count something else.
fn says_unit(cell: &str, quantity: Quantity) -> bool {
    let carried = number_with_unit(cell);
    let fits = |unit: Unit| quantity.units().iter().any(|one| one.is_like(unit));
    let is_of_bytes = matches!(
        quantity,
        Quantity::Body | Quantity::Bytes | Quantity::BytesRate
    );
    is_nothing(cell)
        || carried.is_some_and(|(_, unit)| fits(unit))
        || number(cell).is_some_and(|figure| figure.value == 0.0 && !is_of_bytes)
}

/// Whether cells count rows from 0 or 1, as the column without a name that pandas and R write.
fn is_index<'a>(mut cells: impl Iterator<Item = &'a str>) -> bool {
    let first = cells.next().and_then(|cell| cell.parse::<usize>().ok());
    let Some(first) = first.filter(|first| *first <= 1) else {
        return false;
    };
    let mut cells = cells.zip(first + 1..);
    cells.all(|(cell, row)| cell.parse() == Ok(row))
}

fn is_nothing(cell: &str) -> bool {
    NOTHING
        .iter()
        .any(|nothing| cell.eq_ignore_ascii_case(nothing))
}

/// No quantity twice, and something to judge.
fn check_columns(columns: &[Column]) -> Result<(), String> {
    for (index, column) in columns.iter().enumerate() {
        let others = &columns[..index];
        let quantity = column.quantity;
        let other = others.iter().find(|other| other.quantity == quantity);
        if let Some(other) = other.filter(|_| quantity.is_single()) {
            return Err(format!(
                "columns `{}` and `{}` both hold {quantity}: leave one out with \
                 --column 'ignore={}'",
                other.own, column.own, column.own
            ));
        }
    }
    let counts = |column: &Column| {
        matches!(
            column.quantity,
            Quantity::Requests | Quantity::Ok | Quantity::Rate | Quantity::OkRate
        )
    };
    let is_latency = |column: &Column| {
        matches!(
            column.quantity,
            Quantity::Min | Quantity::Mean | Quantity::Max | Quantity::Quantile(_)
        )
    };
    if columns
        .iter()
        .any(|column| counts(column) || is_latency(column))
    {
        return Ok(());
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    Err(format!(
        "expected a header that names requests, a rate or latencies, such as \
         `clients,requests,average_ms,p99_ms`, found `{}`; name columns with --column",
        excerpt(&names.join(","))
    ))
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

/// Whether a number has a point where thousands would: `127.116`.
fn is_in_thousands(cell: &str) -> bool {
    let Some((whole, rest)) = cell.split_once('.') else {
        return false;
    };
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&whole.len())
        && rest.len() == 3
        && are_digits(whole)
        && are_digits(rest)
        && !whole.starts_with('0')
}

/// Whether a number has a point that cannot stand between thousands: `127.1`, `1270.116`.
fn is_decimal(cell: &str) -> bool {
    cell.contains('.') && !is_in_thousands(cell)
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
    if let Some(figure) = number(cell) {
        let unit = column.unit.unwrap_or(Unit::Count);
        let figure = Figure {
            step: column.step,
            ..figure
        };
        return Some((figure.times(unit.factor()), unit));
    }
    let (figure, unit) = number_with_unit(cell)?;
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
