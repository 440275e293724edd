//! Tables whose decimals stand behind a comma: `1.234,56` and `12,5 ms`.
//!
//! One cell that can be read in no other way decides for its table. Where another cell can only
//! have a decimal point, or none decides, the numbers are left as they are.

use crate::columns::bare;
use crate::csv::Record;
use crate::error::excerpt;
use crate::figure::THOUSANDS;

/// That a table's decimals stand behind a comma, and what says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecimalComma {
    /// The first cell that can be read in no other way.
    pub because: Cell,
    /// The first cell that could have been read with a decimal point, too.
    pub fits_both: Option<Cell>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Its line, counted from 1 with the header.
    pub line: usize,
    /// What it holds, short enough for a message.
    pub text: String,
}

/// What the marks of a number can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// It has none, or some that no number has.
    Nothing,
    Comma,
    Point,
    Either,
}

/// Whether the decimals of a table stand behind a comma. Only columns that `has_numbers` count.
pub(crate) fn decimal_comma(
    records: &[Record],
    has_numbers: impl Fn(usize) -> bool,
) -> Option<DecimalComma> {
    let cells = records.iter().flat_map(|record| {
        let cells = record.cells.iter().enumerate();
        let cells = cells.filter(|(column, _)| has_numbers(*column));
        cells.map(|(_, cell)| (record.line, cell.as_str()))
    });
    let (mut because, mut fits_both) = (None, None);
    for (line, text) in cells {
        let first = match marks(text) {
            Marks::Point => return None,
            Marks::Comma => &mut because,
            Marks::Either => &mut fits_both,
            Marks::Nothing => continue,
        };
        first.get_or_insert_with(|| Cell {
            line,
            text: excerpt(text),
        });
    }
    Some(DecimalComma {
        because: because?,
        fits_both,
    })
}

/// A cell with a decimal point for its decimal comma.
pub(crate) fn with_point(cell: &str) -> String {
    let cell = bare(cell);
    let (number, rest) = cell.split_at(number_end(cell));
    number.replace('.', "").replace(',', ".") + rest
}

fn marks(cell: &str) -> Marks {
    let cell = bare(cell);
    let number = &cell[..number_end(cell)];
    let has_groups = |text: &str, mark: char| {
        let mut groups = text.split(mark);
        let first = groups.next().unwrap_or("");
        let starts = (1..=3).contains(&first.len()) && !first.starts_with('0');
        starts && groups.all(|group| group.len() == 3)
    };
    let count = |mark| number.matches(mark).count();
    let last = number.rfind([',', '.']).map(|at| number.split_at(at));
    match (count(','), count('.'), last) {
        (1, 0, _) if has_groups(number, ',') => Marks::Either,
        (0, 1, _) if has_groups(number, '.') => Marks::Either,
        (1, 0, Some((whole, _))) if !whole.is_empty() => Marks::Comma,
        (0, 1, _) => Marks::Point,
        (2.., 0, _) if has_groups(number, ',') => Marks::Point,
        (0, 2.., _) if has_groups(number, '.') => Marks::Comma,
        (1, _, Some((whole, rest))) if rest.starts_with(',') && has_groups(whole, '.') => {
            Marks::Comma
        }
        (_, 1, Some((whole, rest))) if rest.starts_with('.') && has_groups(whole, ',') => {
            Marks::Point
        }
        _ => Marks::Nothing,
    }
}

/// Where a number ends that a cell begins with, and its unit begins.
fn number_end(cell: &str) -> usize {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_part = |(at, c): (usize, char)| {
        let behind = &cell[at + c.len_utf8()..];
        is_digit(c) || (c == '.' || THOUSANDS.contains(&c)) && behind.starts_with(is_digit)
    };
    let end = cell.char_indices().find(|&part| !is_part(part));
    match end {
        _ if !cell.starts_with(is_digit) => 0,
        Some((at, _)) => at,
        None => cell.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_the_marks_that_it_can_have() {
        for (cell, expected) in [
            ("1.234,56", Marks::Comma),
            ("12,5 ms", Marks::Comma),
            ("~0,123", Marks::Comma),
            ("1.062.277", Marks::Comma),
            ("1234,567", Marks::Comma),
            ("4,05 ± 0,1", Marks::Comma),
            ("1,234.56", Marks::Point),
            ("12.5ms", Marks::Point),
            ("1,062,277", Marks::Point),
            ("1.5e3", Marks::Point),
            ("1.234", Marks::Either),
            ("1,234 ms", Marks::Either),
            ("1234", Marks::Nothing),
            ("12 345", Marks::Nothing),
            ("", Marks::Nothing),
            (",5", Marks::Nothing),
            ("1,2,3", Marks::Nothing),
            ("1.2,3.4", Marks::Nothing),
            ("v1.2", Marks::Nothing),
        ] {
            assert_eq!(marks(cell), expected, "{cell}");
        }
    }

    #[test]
    fn a_point_takes_the_place_of_the_comma() {
        for (cell, expected) in [
            ("1.234,56", "1234.56"),
            ("12,5 ms", "12.5 ms"),
            ("12 345,6", "12 345.6"),
            ("~41.200 Anfragen/s", "41200 Anfragen/s"),
            ("1,2 ms ± 0,1 ms", "1.2 ms"),
            ("n/a", "n/a"),
        ] {
            assert_eq!(with_point(cell), expected, "{cell}");
        }
    }
}
