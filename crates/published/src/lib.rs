//! Reads results that others published into one table of figures.
//!
//! [`read`] takes the text of a file and recognises its format: a table in CSV, or the output of
//! k6, vegeta, oha, wrk or h2load. Every reader fills the same [`Row`], so the code that judges
//! them knows no formats. A figure remembers its last published digit, because a rounded mean is a
//! range. What a format does not say is `None`.
//!
//! This crate judges nothing and guesses nothing. A column whose unit or meaning is in doubt is an
//! error, which says how a rule can decide it.

mod column;
mod csv;
mod documents;
mod error;
mod figure;
mod format;
mod h2load;
mod header;
mod k6;
mod oha;
mod row;
mod table;
mod unit;
mod vegeta;
mod wrk;

pub use column::{ColumnRule, Quantity};
pub use error::ReadError;
pub use figure::Figure;
pub use format::Format;
pub use row::{Checks, Counts, Hidden, Latency, Load, Quantile, Row, Transfer};
pub use unit::{Unit, parse_bits_per_s, parse_bytes};

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
}

/// Reads a file. Without a `format` its content says which one it is; `rules` name columns of CSV.
///
/// # Errors
/// The line that is not as expected, what was expected there, and what to do.
pub fn read(
    text: &str,
    format: Option<Format>,
    rules: &[ColumnRule],
) -> Result<Published, ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = match format {
        Some(format) => format,
        None => Format::recognise(text)?,
    };
    let mut unknown = Vec::new();
    let rows = match format {
        Format::Csv => {
            let table = table::read(text, rules)?;
            unknown = table.unknown;
            table.rows
        }
        Format::K6 => documents::rows(text, "k6's summary", k6::row)?,
        Format::Vegeta => documents::rows(text, "vegeta's JSON report", vegeta::row)?,
        Format::Oha => documents::rows(text, "oha's JSON report", oha::row)?,
        Format::Wrk => wrk::rows(text)?,
        Format::H2load => h2load::rows(text)?,
    };
    if format != Format::Csv && !rules.is_empty() {
        let problem = format!(
            "--column is for CSV, and this was read as {}",
            format.name()
        );
        return Err(ReadError::new(1, problem));
    }
    Ok(Published {
        format,
        rows,
        unknown,
    })
}
