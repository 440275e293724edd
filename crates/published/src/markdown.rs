//! Tables in Markdown, with the prose around them: those whose header names results.
//!
//! A row is cut into cells and freed of its markup; the rest is the work of `table.rs`. A table
//! whose first column names the quantities is turned round first.

use crate::ROWS_MOST;
use crate::column::ColumnRule;
use crate::columns::{is_about, no_column};
use crate::csv::{COLUMNS_MOST, Record};
use crate::error::ReadError;
use crate::header::{Meaning, meaning};
use crate::table::{self, Table};

const EXPECTED: &str = "expected a table in Markdown whose header names requests, a rate or \
                        latencies, such as `| server | requests/s | mean (ms) | p99 (ms) |` with \
                        `| --- | --- | --- | --- |` below it";

/// One table of a text.
struct Found {
    /// The heading above it; empty without one.
    section: String,
    header: Record,
    records: Vec<Record>,
}

/// How sure it is that a table holds results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    Nothing,
    /// A column may mean one thing or another.
    Perhaps,
    Results,
}

/// Whether a text has a table of results.
pub(crate) fn is_in(text: &str) -> bool {
    let mut all = found(text).into_iter().map(|table| table.turned(&[]));
    all.any(|table| table.holds(&[]) > Holds::Nothing)
}

/// The tables of results as one.
pub(crate) fn read(text: &str, rules: &[ColumnRule]) -> Result<Table, ReadError> {
    let all: Vec<Found> = found(text)
        .into_iter()
        .map(|one| one.turned(rules))
        .collect();
    let best = all.iter().map(|one| one.holds(rules)).max();
    let Some(best) = best.filter(|best| *best > Holds::Nothing) else {
        return Err(ReadError::new(1, EXPECTED));
    };
    let tables: Vec<&Found> = all.iter().filter(|one| one.holds(rules) == best).collect();
    let is_of_none = |rule: &&ColumnRule| {
        let mut tables = tables.iter();
        !tables.any(|one| is_about(rule, &one.header))
    };
    if let Some(rule) = rules.iter().find(is_of_none) {
        let names: Vec<String> = tables
            .iter()
            .map(|one| one.header.cells.join(", "))
            .collect();
        let problem = no_column(rule, &names.join("; "));
        return Err(ReadError::new(tables[0].header.line, problem));
    }
    let mut whole = Table::default();
    for (index, table) in tables.iter().enumerate() {
        let own = rules.iter().filter(|rule| is_about(rule, &table.header));
        let own: Vec<ColumnRule> = own.cloned().collect();
        let mut read = table::of_records(&table.header, &table.records, &own, None)?;
        // Rows of two tables are no repetitions of each other.
        if tables.len() > 1 {
            let before = tables[..index].iter();
            let twins = before
                .filter(|other| other.section == table.section)
                .count();
            let name = match (table.section.as_str(), twins) {
                (section, 0) if !section.is_empty() => section.to_owned(),
                (section, before) => format!("{section} {}", before + 1).trim().to_owned(),
            };
            for row in &mut read.rows {
                row.name.insert(0, ("table".to_owned(), name.clone()));
            }
        }
        whole.rows.extend(read.rows);
        whole.comma = whole.comma.or(read.comma);
        for name in read.unknown {
            if !whole.unknown.contains(&name) {
                whole.unknown.push(name);
            }
        }
    }
    if whole.rows.len() > ROWS_MOST {
        let problem = format!("more than {ROWS_MOST} rows: split the file");
        return Err(ReadError::new(1, problem));
    }
    Ok(whole)
}

impl Found {
    /// Whether its header names results.
    fn holds(&self, rules: &[ColumnRule]) -> Holds {
        let of = |name: &String| match meaning(name) {
            Meaning::Known(quantity, _) if quantity.is_result() => Holds::Results,
            Meaning::Ambiguous(_) => Holds::Perhaps,
            _ => Holds::Nothing,
        };
        let by_rule = rules
            .iter()
            .any(|rule| rule.quantity.is_result() && is_about(rule, &self.header));
        let best = self.header.cells.iter().map(of).max();
        match best {
            _ if self.records.is_empty() => Holds::Nothing,
            _ if by_rule => Holds::Results,
            best => best.unwrap_or(Holds::Nothing),
        }
    }

    /// The same with columns for rows, if the quantities stand below each other.
    fn turned(self, rules: &[ColumnRule]) -> Self {
        let cell = |record: &Record, at: usize| record.cells.get(at).cloned().unwrap_or_default();
        let line = self.header.line;
        let column = |at: usize| Record {
            line,
            cells: [&self.header]
                .into_iter()
                .chain(&self.records)
                .map(|record| cell(record, at))
                .collect(),
        };
        if self.records.len() >= COLUMNS_MOST || self.holds(rules) == Holds::Results {
            return self;
        }
        let turned = Self {
            section: self.section.clone(),
            header: column(0),
            records: (1..self.header.cells.len()).map(column).collect(),
        };
        if turned.holds(rules) > self.holds(rules) {
            turned
        } else {
            self
        }
    }
}

/// The tables of a text, in its order.
fn found(text: &str) -> Vec<Found> {
    let lines: Vec<&str> = text.lines().collect();
    let mut tables = Vec::new();
    let mut section = String::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if let Some(heading) = line.strip_prefix('#') {
            section = plain(heading.trim_matches(['#', ' ']));
        }
        let is_header = line.contains('|') && !is_rule(line);
        if !is_header || !lines.get(at + 1).is_some_and(|line| is_rule(line)) {
            at += 1;
            continue;
        }
        let header = Record {
            line: at + 1,
            cells: cells(line),
        };
        let columns = header.cells.len();
        let mut records = Vec::new();
        at += 2;
        while let Some(line) = lines
            .get(at)
            .filter(|line| line.contains('|') || is_rule(line))
        {
            at += 1;
            if !is_rule(line) {
                let mut cells = cells(line);
                // As in Markdown, what is missing is empty and what is too much is left out.
                cells.resize(columns, String::new());
                records.push(Record { line: at, cells });
            }
        }
        if columns <= COLUMNS_MOST {
            tables.push(Found {
                section: section.clone(),
                header,
                records,
            });
        }
    }
    tables
}

/// The line between a header and its rows: `| --- | :-: |`, or `+-----+-----+`.
fn is_rule(line: &str) -> bool {
    let has = |c: char| line.contains(c);
    has('-') && (has('|') || has('+')) && line.trim().chars().all(|c| "|+-: =".contains(c))
}

/// The cells of a row, without markup.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let is_escaped = character == '\\' && characters.peek() == Some(&'|');
        let character = characters.next_if(|_| is_escaped).unwrap_or(character);
        match character {
            '|' if !is_escaped && characters.peek().is_none() => {}
            '|' if !is_escaped => cells.push(String::new()),
            other => cells.last_mut().expect("it has one").push(other),
        }
    }
    cells.iter().map(|cell| plain(cell)).collect()
}

/// A text without emphasis, code, tags, links and signs such as medals around it.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let (kept, length) = marked_up(rest).unwrap_or((&rest[..character.len_utf8()], 0));
        plain.push_str(kept);
        rest = &rest[length.max(character.len_utf8())..];
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    let is_sign = |c: char| c.is_whitespace() || !c.is_ascii() && !c.is_alphanumeric();
    words.join(" ").trim_matches(is_sign).to_owned()
}

/// What is kept of the markup at the beginning of a text, and how long the markup is.
fn marked_up(text: &str) -> Option<(&str, usize)> {
    let first = text.chars().next()?;
    if matches!(first, '*' | '`') {
        return Some(("", 1));
    }
    if text.starts_with("__") || text.starts_with("~~") {
        return Some(("", 2));
    }
    if first == '<' {
        let is_tag = text[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        return text.find('>').filter(|_| is_tag).map(|end| (" ", end + 1));
    }
    // An image says nothing here, and a link what it shows.
    let is_image = text.starts_with("![");
    let (shown, rest) = text
        .strip_prefix(if is_image { "![" } else { "[" })?
        .split_once("](")?;
    let end = text.len() - rest.len() + rest.find(')')? + 1;
    let is_nested = shown.contains(['[', ']']);
    (!is_nested).then_some((if is_image { "" } else { shown }, end))
}
