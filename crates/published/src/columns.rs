//! What the columns of a table hold, by the user's rules, their names and their cells.
//!
//! A rule of the user's decides; without a rule, the name of the column does (`header.rs`). What
//! could be read in two ways is an error, not a guess, and all such columns are named at once.

use crate::column::{ColumnRule, Quantity};
use crate::csv::Record;
use crate::error::excerpt;
use crate::figure::{number, number_in_thousands};
use crate::header::{BYTES_OR_FAILED, Meaning, RATE_OR_BYTES, counts_requests, meaning};
use crate::unit::{KNOWN, Unit};
use crate::words::folded;

/// Cells that hold nothing.
const NOTHING: [&str; 7] = ["", "-", "n/a", "na", "null", "none", "nan"];

/// Shares are at most so many per cent; a larger whole number counts.
const PER_CENT_MOST: f64 = 100.0;

/// A column, and what its numbers are multiplied by.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Which cell of a row is its own.
    index: usize,
    pub(crate) name: String,
    /// What only this column is called.
    own: String,
    pub(crate) quantity: Quantity,
    pub(crate) unit: Option<Unit>,
    /// One unit of the last digit of its most exact number: 0.7 among numbers such as 0.53 was 0.70
    /// before somebody dropped the zero.
    pub(crate) step: f64,
    /// Whether some number of it has a point that cannot stand between thousands.
    pub(crate) has_decimals: bool,
    /// Whether its cells have wrk's units: there kB and MB are of 1,024s.
    pub(crate) is_of_wrk: bool,
}

/// What every column holds.
pub(crate) fn columns(
    header: &Record,
    records: &[Record],
    rules: &[ColumnRule],
    unknown: &mut Vec<String>,
) -> Result<Vec<Column>, String> {
    let titles = Title::all(&header.cells);
    if let Some(rule) = rules.iter().find(|rule| !is_about(rule, header)) {
        return Err(no_column(rule, &header.cells.join(", ")));
    }
    let mut columns = Vec::new();
    let mut doubts = Vec::new();
    for (index, title) in titles.iter().enumerate() {
        match column(title, index, records, rules, unknown) {
            Ok(column) => columns.push(column),
            Err(doubt) => doubts.push(doubt),
        }
    }
    settle_counts(&mut columns, records);
    let undecided = columns.iter().filter(|column| column.is_undecided(records));
    // All at once, so that nobody has to ask again for the next column.
    doubts.extend(undecided.map(without_unit));
    if !doubts.is_empty() {
        return Err(format!("{}; units: {KNOWN}", doubts.join("; ")));
    }
    check_columns(&columns)?;
    Ok(columns)
}

/// Whether a rule is about a column of this header.
pub(crate) fn is_about(rule: &ColumnRule, header: &Record) -> bool {
    let titles = Title::all(&header.cells);
    titles.iter().any(|title| title.is_of(rule))
}

/// Which columns hold numbers, by the user's rules and by their names.
pub(crate) fn has_numbers(header: &Record, rules: &[ColumnRule]) -> impl Iterator<Item = bool> {
    let titles = Title::all(&header.cells).into_iter();
    titles.map(move |title| match title.rule(rules) {
        Some(rule) => !rule.quantity.units().is_empty(),
        None => meaning(&title.name) != Meaning::Unknown,
    })
}

/// What to say of a rule that is about no column.
pub(crate) fn no_column(rule: &ColumnRule, names: &str) -> String {
    let column = &rule.column;
    format!("--column names `{column}`, which is no column; there are: {names}")
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

    /// The rule for this column: one that names only it counts more.
    fn rule<'a>(&self, rules: &'a [ColumnRule]) -> Option<&'a ColumnRule> {
        let own = rules.iter().find(|rule| rule.column == self.own);
        own.or_else(|| rules.iter().find(|rule| self.is_of(rule)))
    }

    /// Whether a rule is about this column.
    fn is_of(&self, rule: &ColumnRule) -> bool {
        // What was typed may have its accents in the other spelling.
        let is_it = |name: &str| name == rule.column || folded(name) == folded(&rule.column);
        is_it(&self.name) || self.own == rule.column
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
    let (quantity, unit) = match title.rule(rules) {
        Some(rule) => (rule.quantity, rule.unit),
        None if name.is_empty() && index == 0 && is_index(cells()) => (Quantity::Ignore, None),
        None => match meaning(name) {
            Meaning::Known(quantity, unit) => (quantity, unit),
            Meaning::Unknown => {
                unknown.push(name.to_owned());
                (Quantity::Name, None)
            }
            Meaning::Ambiguous(which) => {
                let may_hold: &[Quantity] = match which {
                    // As in wrk's own line, `1.11GB read`.
                    BYTES_OR_FAILED => &[Quantity::Bytes],
                    RATE_OR_BYTES => &[Quantity::Rate, Quantity::BytesRate],
                    _ => &[],
                };
                let by_cells =
                    |quantity: &&Quantity| cells().all(|cell| says_unit(cell, **quantity));
                let Some(quantity) = may_hold.iter().find(by_cells) else {
                    return Err(format!(
                        "column `{name}` may hold more than one thing ({which}): say which one, as \
                         in --column '{}={name}:UNIT', or --column 'ignore={name}'",
                        which.split(' ').next().unwrap_or(which)
                    ));
                };
                (*quantity, None)
            }
            Meaning::Doubtful(quantity, or) => {
                return Err(format!(
                    "column `{name}` may hold {quantity} {or}: say which one, as in \
                     --column '{quantity}={name}:UNIT', or --column 'ignore={name}'"
                ));
            }
        },
    };
    let numbers = || cells().map(bare).filter(|cell| number(cell).is_some());
    let steps = numbers().filter_map(number).map(|figure| figure.step);
    Ok(Column {
        index,
        name: name.to_owned(),
        own: title.own.clone(),
        quantity,
        unit: unit.or_else(|| only_unit(quantity)),
        step: steps.fold(f64::INFINITY, f64::min),
        has_decimals: numbers().any(is_decimal),
        is_of_wrk: matches!(meaning(name), Meaning::Ambiguous(BYTES_OR_FAILED)),
    })
}

/// Right and failed requests without a unit are counted where one is more than a share can be, or
/// where both together are the requests.
fn settle_counts(columns: &mut [Column], records: &[Record]) {
    let add_up = {
        let of = |quantity| columns.iter().find(|column| column.quantity == quantity);
        let all = [Quantity::Requests, Quantity::Ok, Quantity::Failed].map(of);
        records.iter().all(|record| {
            let of = |column: Option<&Column>| column?.number(record);
            let [all, right, failed] = all.map(of);
            right
                .zip(failed)
                .is_some_and(|(right, failed)| all == Some(right + failed))
        })
    };
    for column in columns {
        let is_part = matches!(column.quantity, Quantity::Ok | Quantity::Failed);
        let numbers = || records.iter().filter_map(|record| column.number(record));
        let is_more = numbers().any(|number| number > PER_CENT_MOST);
        let are_whole = numbers().all(|number| number.fract() == 0.0);
        let counts = add_up || is_more || counts_requests(&column.name);
        if is_part && column.unit.is_none() && are_whole && counts {
            column.unit = Some(Unit::Count);
        }
    }
}

impl Column {
    /// Its number in a row.
    fn number(&self, record: &Record) -> Option<f64> {
        number(bare(&record.cells[self.index])).map(|figure| figure.value)
    }

    /// Whether some of its numbers may be of any unit.
    fn is_undecided(&self, records: &[Record]) -> bool {
        let mut cells = records.iter().map(|record| &record.cells[self.index]);
        let needs_unit = self.unit.is_none() && !self.quantity.units().is_empty();
        needs_unit && !cells.all(|cell| says_unit(cell, self.quantity))
    }
}

/// What to do about a column whose numbers may be of any unit.
fn without_unit(Column { name, quantity, .. }: &Column) -> String {
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
        "column `{name}` names no unit, and neither do its cells: say which one it is, as in {}",
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
    let cell = bare(cell);
    let carried = number_in_thousands(cell).and_then(|(_, unit)| Unit::parse(unit));
    let fits = |unit: Unit| quantity.units().iter().any(|one| one.is_like(unit));
    let is_of_bytes = matches!(
        quantity,
        Quantity::Body | Quantity::Bytes | Quantity::BytesRate
    );
    is_nothing(cell)
        || carried.is_some_and(fits)
        || number(cell).is_some_and(|figure| figure.value == 0.0 && !is_of_bytes)
}

/// A number without what people write around it: `~41,200`, `1.2 ms ± 0.1 ms`, `41,200 (+3 %)`.
pub(crate) fn bare(cell: &str) -> &str {
    let end = ["±", "+/-", " ("]
        .iter()
        .filter_map(|mark| cell.find(mark))
        .min();
    let cell = &cell[..end.unwrap_or(cell.len())];
    cell.trim_start_matches(['~', '≈']).trim()
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

pub(crate) fn is_nothing(cell: &str) -> bool {
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
    if columns.iter().any(|column| column.quantity.is_result()) {
        return Ok(());
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    Err(format!(
        "expected a header that names requests, a rate or latencies, such as \
         `clients,requests,average_ms,p99_ms`, found `{}`; name columns with --column",
        excerpt(&names.join(","))
    ))
}

/// Whether a number has a point where thousands would: `127.116`.
pub(crate) fn is_in_thousands(cell: &str) -> bool {
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
