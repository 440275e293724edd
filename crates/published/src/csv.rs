//! Records of a table in text (RFC 4180), with the line each begins in.

use crate::error::ReadError;

/// Most columns of a table.
pub(crate) const COLUMNS_MOST: usize = 256;

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    /// Line that it begins in, counted from 1.
    pub(crate) line: usize,
    /// Its cells, without the blanks around them.
    pub(crate) cells: Vec<String>,
}

/// What may separate cells; of equal ones the first.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// What separates the cells: of comma, semicolon and tab, what the header has most of outside its
/// quotes. Of several, the one by which the rows have as many cells as the header.
pub(crate) fn separator(text: &str) -> char {
    let counts = in_header(text);
    let most = counts.into_iter().max().unwrap_or(0);
    let best = SEPARATORS.into_iter().zip(counts);
    let best: Vec<char> = best
        .filter(|(_, count)| *count == most)
        .map(|(one, _)| one)
        .collect();
    let fitting = best.iter().find(|one| is_even(text, **one));
    let is_tie = most > 0 && best.len() > 1;
    let fitting = fitting.filter(|_| is_tie).or(best.first());
    fitting.copied().unwrap_or(SEPARATORS[0])
}

/// # Errors
/// The first record that has not as many cells as the header.
pub(crate) fn check_even(header: &Record, records: &[Record]) -> Result<(), ReadError> {
    let columns = header.cells.len();
    let mut records = records.iter();
    let Some(other) = records.find(|record| record.cells.len() != columns) else {
        return Ok(());
    };
    let found = other.cells.len();
    let problem = format!("expected {columns} cells as in the header, found {found}");
    Err(ReadError::new(other.line, problem))
}

/// How often the header has each separator outside its quotes.
fn in_header(text: &str) -> [usize; SEPARATORS.len()] {
    let mut counts = [0; SEPARATORS.len()];
    let mut is_quoted = false;
    // Only blanks were in the cell so far.
    let mut is_empty = true;
    let blanks = &text[..text.len() - text.trim_start().len()];
    let begins = blanks.rfind('\n').map_or(0, |at| at + 1);
    for character in text[begins..].chars() {
        let at = SEPARATORS.iter().position(|one| *one == character);
        match (character, at) {
            // A quote that stands for one in a quoted cell closes and opens again.
            ('"', _) if is_quoted || is_empty => is_quoted = !is_quoted,
            _ if is_quoted => {}
            ('\n', _) => break,
            (_, Some(at)) => {
                counts[at] += 1;
                is_empty = true;
            }
            (other, None) => is_empty &= other.is_whitespace(),
        }
    }
    counts
}

/// Whether all rows have as many cells as the header.
fn is_even(text: &str, separator: char) -> bool {
    let Ok(records) = records(text, separator) else {
        return false;
    };
    let cells = records.first().map_or(0, |header| header.cells.len());
    records.iter().all(|record| record.cells.len() == cells)
}

/// All records; lines without anything in them are none.
pub(crate) fn records(text: &str, separator: char) -> Result<Vec<Record>, ReadError> {
    let mut reader = Reader {
        separator,
        line: 1,
        record: Record {
            line: 1,
            cells: Vec::new(),
        },
        cell: String::new(),
        records: Vec::new(),
    };
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if reader.cell.trim().is_empty() => {
                reader.cell.clear();
                reader.quoted(&mut characters)?;
            }
            '\n' => reader.end_record()?,
            '\r' if matches!(characters.peek(), Some('\n') | None) => {}
            other if other == separator => reader.end_cell()?,
            other => reader.cell.push(other),
        }
    }
    reader.end_record()?;
    Ok(reader.records)
}

struct Reader {
    separator: char,
    line: usize,
    record: Record,
    cell: String,
    records: Vec<Record>,
}

impl Reader {
    /// The rest of a cell that began with a quote.
    fn quoted(
        &mut self,
        characters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    ) -> Result<(), ReadError> {
        let begins = self.line;
        loop {
            match characters.next() {
                Some('"') if characters.peek() == Some(&'"') => {
                    self.cell.push('"');
                    characters.next();
                }
                Some('"') => break,
                Some(other) => {
                    self.line += usize::from(other == '\n');
                    self.cell.push(other);
                }
                None => {
                    let problem = "a quote begins here and nothing ends it";
                    return Err(ReadError::new(begins, problem));
                }
            }
        }
        // Only blanks may stand between the quote and the separator.
        while let Some(next) = characters.peek().copied() {
            if next == self.separator || next == '\n' {
                break;
            }
            if !next.is_whitespace() {
                let problem = format!(
                    "`{next}` stands behind a quoted cell; expected `{}` or the end of the line",
                    self.separator
                );
                return Err(ReadError::new(self.line, problem));
            }
            characters.next();
        }
        Ok(())
    }

    fn end_cell(&mut self) -> Result<(), ReadError> {
        if self.record.cells.len() == COLUMNS_MOST {
            let problem = format!("more than {COLUMNS_MOST} columns");
            return Err(ReadError::new(self.line, problem));
        }
        self.record.cells.push(self.cell.trim().to_owned());
        self.cell.clear();
        Ok(())
    }

    fn end_record(&mut self) -> Result<(), ReadError> {
        self.end_cell()?;
        self.line += 1;
        let next = Record {
            line: self.line,
            cells: Vec::new(),
        };
        let record = std::mem::replace(&mut self.record, next);
        if record.cells.iter().any(|cell| !cell.is_empty()) {
            self.records.push(record);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(usize, &[&str])]) {
        let records = records(text, separator(text)).unwrap();
        let found: Vec<(usize, Vec<&str>)> = records
            .iter()
            .map(|one| (one.line, one.cells.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(usize, Vec<&str>)> = expected
            .iter()
            .map(|(line, cells)| (*line, cells.to_vec()))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn lines_are_counted_with_the_header_and_empty_ones() {
        check(
            "a,b\n1,2\n\n3,4",
            &[(1, &["a", "b"]), (2, &["1", "2"]), (4, &["3", "4"])],
        );
        check("a;b\r\n1,5; 2\r\n", &[(1, &["a", "b"]), (2, &["1,5", "2"])]);
        check("a\tb\n,\t\n", &[(1, &["a", "b"]), (2, &[",", ""])]);
        check("", &[]);
    }

    #[test]
    fn cells_are_separated_by_what_the_header_has_most_of() {
        for (text, expected) in [
            ("a,b;c,d\n", ','),
            (
                "server;\"Mean, ms\";\"p99, ms\";\"All, in total\"\nx;1;2;3\n",
                ';',
            ),
            ("\n \"a, \"\"b\"\", c\nd,e\" ;f\n1;2\n", ';'),
            // Within a cell a quote is a letter.
            ("5\" disk,b\tc,d\n", ','),
            // As many of both: the rows decide.
            ("server;mean, ms;p99, ms\nx;1;2\n", ';'),
            ("server,a;b,c;d\nx,1,2\n", ','),
            ("server\tmean, ms\nx\t1\n", '\t'),
            ("a;b,c\n", ','),
            ("a\n1\n", ','),
            ("\t\t\n\ta,b\tc,d\te\n", '\t'),
            ("\t\t\na,b\n1,2\n", ','),
        ] {
            assert_eq!(separator(text), expected, "{text:?}");
        }
    }

    #[test]
    fn quotes_hold_separators_quotes_and_lines() {
        check(
            "a,\"b \"\"c\"\",\nd\" \n1,2",
            &[(1, &["a", "b \"c\",\nd"]), (3, &["1", "2"])],
        );
        check("\"\",x", &[(1, &["", "x"])]);
        for (text, line) in [("a,b\n\"1,2\n3", 2), ("a,b\n\"1\"2,3", 2)] {
            assert_eq!(records(text, ',').unwrap_err().line, line, "{text:?}");
        }
    }
}
