//! Reads results that others published into one table of figures.
//!
//! [`read`] takes the text of a file and recognises its format: a table in CSV or Markdown, or what
//! a tool prints. Every reader fills the same [`Row`], so the code that judges them knows no
//! formats. A figure remembers its last published digit, because a rounded mean is a
//! range. What a format does not say is `None`.
//!
//! This crate judges nothing and guesses nothing. A column whose unit or meaning is in doubt is an
//! error, which says how a rule can decide it.

mod ab;
mod autocannon;
mod bombardier;
mod column;
mod columns;
mod comma;
mod csv;
mod documents;
mod error;
mod figure;
mod format;
mod fortio;
mod h2load;
mod header;
mod k6;
mod locust;
mod markdown;
mod oha;
mod own;
mod posted;
mod row;
mod runs;
mod summary;
mod table;
mod unit;
mod unread;
mod vegeta;
mod words;
mod wrk;

pub use column::{ColumnRule, Quantity};
pub use comma::{Cell, DecimalComma};
pub use error::ReadError;
pub use figure::{Figure, parse_bits_per_s, parse_bytes};
pub use format::Format;
pub use row::{Checks, Counts, Hidden, Latency, Load, Quantile, Row, Transfer};
pub use unit::Unit;

use format::Reader;
use table::Table;

/// Most rows that are read of one file; a longer one is an error.
pub const ROWS_MOST: usize = 100_000;

/// A file as a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// What wrote it.
    pub format: Format,
    /// Its measurements, in the order of the file; never empty.
    pub rows: Vec<Row>,
    /// Columns whose names say nothing known. They are part of a row's name.
    pub unknown: Vec<String>,
    /// Where the decimals of a table stand behind a comma.
    pub comma: Option<DecimalComma>,
}

/// Reads a file. Without a `format` its content says which one it is; `rules` name columns of a
/// table.
///
/// # Errors
/// The line that is not as expected, what was expected there, and what to do.
pub fn read(
    text: &str,
    format: Option<Format>,
    rules: &[ColumnRule],
) -> Result<Published, ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = without_colours(text);
    let text = &posted::bare(&text);
    let format = match format {
        Some(format) => format,
        None => Format::recognise(text)?,
    };
    let Table {
        rows,
        unknown,
        comma,
    } = match format.reader() {
        Reader::Table(read) => read(text, rules)?,
        Reader::Runs(_) if !rules.is_empty() => {
            let name = format.name();
            let problem = format!("--column is for tables, and this was read as {name}");
            return Err(ReadError::new(1, problem));
        }
        Reader::Runs(read) => Table {
            rows: read(text)?,
            ..Table::default()
        },
    };
    Ok(Published {
        format,
        rows,
        unknown,
        comma,
    })
}

/// The records of a text in CSV as cells, the header first; there is at least one.
///
/// # Errors
/// The line that cannot be read, or has not as many cells as the header.
pub fn csv_records(text: &str) -> Result<Vec<Vec<String>>, ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let records = csv::records(text, csv::separator(text))?;
    let Some((header, rows)) = records.split_first() else {
        return Err(ReadError::new(1, "expected a header, found nothing"));
    };
    csv::check_even(header, rows)?;
    Ok(records.into_iter().map(|record| record.cells).collect())
}

/// The text without what a terminal takes for colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |plain, part| {
        let end = part
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(0, |at| at + 1);
        plain + &part[end..]
    })
}
