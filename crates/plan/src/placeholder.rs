//! What differs from request to request: `{n}`, `{random 1-1000}`, `{uuid}` and
//! `{csv users.csv name}`, in the path and query of a URL, in headers and in a body of text.
//!
//! Braces are no part of a URL, so there every pair is a placeholder or a mistake. Elsewhere only a
//! known name makes one, because JSON is full of braces. How requests become variants is in
//! `variants`; files are not read here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::random::Random;

const KNOWN: &str = "{n}, {random 1-1000}, {uuid} and {csv FILE COLUMN}";

/// Where a template stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the path and query of a URL: values are encoded, and braces always are placeholders.
    Url,
    /// In a header or body.
    Text,
}

/// A text, cut before and behind its placeholders.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    /// The number of the variant.
    Number,
    Random {
        low: u64,
        high: u64,
    },
    Uuid,
    /// The row that has the number of the variant; behind the last comes the first.
    Csv {
        file: String,
        column: String,
    },
}

/// Tables of values, by what placeholders call their files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(
    from = "BTreeMap<String, ValueTable>",
    into = "BTreeMap<String, ValueTable>"
)]
pub struct Tables(Arc<BTreeMap<String, ValueTable>>);

/// Values in rows and named columns; at least one row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows with a cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// A URL as it was typed, with the blanks in its placeholders encoded.
pub fn joined_placeholders(url: &str) -> String {
    let mut is_inside = false;
    let mut joined = String::new();
    for character in url.chars() {
        is_inside = character == '{' || is_inside && character != '}';
        match character {
            ' ' if is_inside => joined.push_str("%20"),
            other => joined.push(other),
        }
    }
    joined
}

impl Template {
    pub(crate) fn plain(text: &str) -> Self {
        Self {
            parts: vec![Part::Text(text.to_owned())],
        }
    }

    /// # Errors
    /// A placeholder that is not known, or lacks something, and what to write.
    pub(crate) fn parse(text: &str, place: Place) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            plain.push_str(&rest[..at]);
            let (shown, part, length) = Part::at(&rest[at..], place)?;
            plain.push_str(shown);
            if let Some(part) = part {
                parts.push(Part::Text(std::mem::take(&mut plain)));
                parts.push(part);
            }
            rest = &rest[at + length..];
        }
        parts.push(Part::Text(plain + rest));
        Ok(Self { parts })
    }

    /// Its text, if nothing in it differs.
    pub(crate) fn plain_text(&self) -> Option<&str> {
        match &self.parts[..] {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The files and columns that it names.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Csv { file, column } => Some((file.as_str(), column.as_str())),
            Part::Text(_) | Part::Number | Part::Random { .. } | Part::Uuid => None,
        })
    }

    /// Rows of the longest file, where nothing but files makes variants.
    pub(crate) fn rows<'a>(all: impl Iterator<Item = &'a Self>, tables: &Tables) -> Option<u64> {
        let parts = all.flat_map(|template| &template.parts);
        let each = parts.map(|part| match part {
            Part::Text(_) => Some(1),
            Part::Csv { file, .. } => Some(tables.0.get(file).map_or(1, |table| table.rows.len())),
            Part::Number | Part::Random { .. } | Part::Uuid => None,
        });
        let rows: Option<Vec<usize>> = each.collect();
        Some(rows?.into_iter().max()? as u64)
    }

    /// The text of the variant with this number, from 1 on.
    pub(crate) fn filled(
        &self,
        number: u64,
        random: &mut Random,
        tables: &Tables,
        place: Place,
    ) -> String {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Number => filled.push_str(&number.to_string()),
                Part::Random { low, high } => {
                    let value = low + random.below(high - low + 1);
                    filled.push_str(&value.to_string());
                }
                Part::Uuid => filled.push_str(&uuid(random.bits(), random.bits())),
                Part::Csv { file, column } => {
                    let value = tables.value(file, column, number).unwrap_or("");
                    match place {
                        Place::Url => encode(value, &mut filled),
                        Place::Text => filled.push_str(value),
                    }
                }
            }
        }
        filled
    }
}

impl Part {
    /// What begins with a brace: text, or a placeholder, and how long it is.
    fn at(text: &str, place: Place) -> Result<(&str, Option<Self>, usize), String> {
        let is_url = place == Place::Url;
        if let Some(escaped) = text.strip_prefix("{{") {
            let inside = escaped.split_once("}}").map(|(inside, _)| inside);
            let is_known = |inside: &&str| is_url || matches!(Self::of(inside), Some(Ok(_)));
            if let Some(inside) = inside.filter(is_known) {
                return Ok((&text[1..inside.len() + 3], None, inside.len() + 4));
            }
        }
        let inside = text[1..].split_once('}').map(|(inside, _)| inside);
        // In a list of URLs no blank can stand.
        let blank = |inside: &str| match place {
            Place::Url => inside.replace("%20", " ").replace(':', " "),
            Place::Text => inside.to_owned(),
        };
        match inside.map(|inside| (inside, Self::of(&blank(inside)))) {
            Some((inside, Some(part))) if is_url || part.is_ok() || inside.contains(' ') => {
                Ok(("", Some(part?), inside.len() + 2))
            }
            Some((inside, _)) if is_url => Err(format!(
                "{{{}}} is no placeholder; there are {KNOWN}; {{{{a}}}} sends {{a}}",
                inside.escape_debug()
            )),
            None if is_url => Err(format!(
                "a brace in a URL has no other behind it; there are {KNOWN}; %7B sends one"
            )),
            _ => Ok((&text[..1], None, 1)),
        }
    }

    /// The placeholder of a name and what it needs; `None` if no name is known.
    fn of(inside: &str) -> Option<Result<Self, String>> {
        let (name, needs) = inside.split_once(' ').unwrap_or((inside, ""));
        let wrong = |expected: &str| {
            let shown = inside.escape_debug();
            Some(Err(format!("{{{shown}}}: expected {expected}")))
        };
        match (name, needs) {
            ("n", "") => Some(Ok(Self::Number)),
            ("uuid", "") => Some(Ok(Self::Uuid)),
            ("random", range) => {
                let bounds = range.split_once('-');
                let bounds = bounds.and_then(|(low, high)| {
                    Some((low.parse::<u32>().ok()?, high.parse::<u32>().ok()?))
                });
                match bounds.filter(|(low, high)| low <= high) {
                    Some((low, high)) => Some(Ok(Self::Random {
                        low: low.into(),
                        high: high.into(),
                    })),
                    None => wrong("two whole numbers, as in {random 1-1000}"),
                }
            }
            ("csv", needs) => match needs.rsplit_once(' ') {
                Some((file, column)) if !file.is_empty() && !column.is_empty() => {
                    Some(Ok(Self::Csv {
                        file: file.to_owned(),
                        column: column.to_owned(),
                    }))
                }
                _ => wrong("a file and a column, as in {csv users.csv name}"),
            },
            _ => None,
        }
    }
}

impl From<BTreeMap<String, ValueTable>> for Tables {
    fn from(tables: BTreeMap<String, ValueTable>) -> Self {
        Self(Arc::new(tables))
    }
}

impl From<Tables> for BTreeMap<String, ValueTable> {
    fn from(tables: Tables) -> Self {
        Arc::unwrap_or_clone(tables.0)
    }
}

impl Tables {
    /// Those that templates name, as `read` finds them, without columns that none names.
    ///
    /// # Errors
    /// A file that cannot be read, has no row, or has no such column.
    pub(crate) fn of<'a>(
        templates: impl Iterator<Item = &'a Template>,
        read: &dyn Fn(&str) -> io::Result<ValueTable>,
    ) -> Result<Self, String> {
        let mut tables: BTreeMap<String, (ValueTable, BTreeSet<usize>)> = BTreeMap::new();
        for (file, column) in templates.flat_map(Template::columns) {
            let failed = |problem: String| format!("{{csv {file} {column}}}: {file}{problem}");
            if !tables.contains_key(file) {
                let table = read(file).and_then(ValueTable::checked);
                let table = table.map_err(|error| failed(format!(": {error}")))?;
                tables.insert(file.to_owned(), (table, BTreeSet::new()));
            }
            let Some((table, used)) = tables.get_mut(file) else {
                continue;
            };
            let position = table.columns.iter().position(|name| name == column);
            used.insert(position.ok_or_else(|| {
                let columns = table.columns.join(", ");
                failed(format!(" has no such column; there are {columns}"))
            })?);
        }
        let used = tables.into_iter();
        let used = used.map(|(file, (table, used))| (file, table.with_columns(&used)));
        Ok(used.collect::<BTreeMap<_, _>>().into())
    }

    /// Each with what placeholders call its file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &ValueTable)> {
        self.0.iter().map(|(file, table)| (file.as_str(), table))
    }

    /// Changes each value, of which file and column are said.
    pub fn change(&mut self, change: &mut dyn FnMut(&str, &str, &mut String)) {
        for (file, table) in Arc::make_mut(&mut self.0) {
            for row in &mut table.rows {
                let cells = table.columns.iter().zip(row);
                cells.for_each(|(column, cell)| change(file, column, cell));
            }
        }
    }

    /// All values of a column.
    pub(crate) fn values<'a>(&'a self, file: &str, column: &str) -> impl Iterator<Item = &'a str> {
        let table = self.0.get(file);
        let at = table.and_then(|it| it.columns.iter().position(|name| name == column));
        let rows = table.into_iter().flat_map(|table| &table.rows);
        rows.filter_map(move |row| row.get(at?).map(String::as_str))
    }

    fn value(&self, file: &str, column: &str, number: u64) -> Option<&str> {
        let table = self.0.get(file)?;
        let column = table.columns.iter().position(|name| name == column)?;
        let row = usize::try_from(number.checked_sub(1)?).ok()?;
        let row = row.checked_rem(table.rows.len())?;
        table.rows[row].get(column).map(String::as_str)
    }
}

impl ValueTable {
    /// The table of records whose first is the header.
    pub fn of_records(mut records: Vec<Vec<String>>) -> Self {
        let rows = records.split_off(records.len().min(1));
        Self {
            columns: records.pop().unwrap_or_default(),
            rows,
        }
    }

    /// A table whose rows all have its columns, and that has one.
    fn checked(self) -> io::Result<Self> {
        let columns = self.columns.len();
        let mut rows = (1..).zip(&self.rows);
        let uneven = rows.find(|(_, row)| row.len() != columns);
        let problem = match uneven {
            Some((number, row)) => format!(
                "expected {columns} cells as in the header, found {} in row {number}",
                row.len()
            ),
            None if self.rows.is_empty() => "expected rows below the header, found none".to_owned(),
            None => return Ok(self),
        };
        Err(io::Error::other(problem))
    }

    fn with_columns(self, used: &BTreeSet<usize>) -> Self {
        let of = |cells: Vec<String>| {
            let cells = cells.into_iter().enumerate();
            let cells = cells.filter(|(position, _)| used.contains(position));
            cells.map(|(_, cell)| cell).collect()
        };
        Self {
            columns: of(self.columns),
            rows: self.rows.into_iter().map(of).collect(),
        }
    }

    /// Bytes of its values.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.iter().flatten().map(String::len).sum()
    }
}

/// A random UUID (RFC 9562, version 4) of these bits.
fn uuid(high: u64, low: u64) -> String {
    let high = high & !0xf000 | 0x4000;
    let low = low & !(3 << 62) | 2 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// A value as a URL holds it: only what is never encoded stands as it is (RFC 3986, 2.3).
fn encode(value: &str, into: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(byte.into());
        } else {
            write!(into, "%{byte:02X}").expect("a string takes everything");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users() -> ValueTable {
        let records = [["name", "age"], ["Ann Lee", "5"], ["a/b", "6"]];
        ValueTable::of_records(records.map(|it| it.map(str::to_owned).to_vec()).to_vec())
    }

    fn filled(text: &str, place: Place, number: u64) -> String {
        let template = Template::parse(text, place).expect("it is right");
        let tables = Tables::from(BTreeMap::from([("u.csv".to_owned(), users())]));
        template.filled(
            number,
            &mut Random::labelled(1, "placeholders"),
            &tables,
            place,
        )
    }

    #[test]
    fn values_are_filled_in_by_number_row_and_seed() {
        for (text, expected) in [
            ("/a/{n}?b={n}", "/a/3?b=3"),
            ("/{csv u.csv name}", "/Ann%20Lee"),
            ("/{csv%20u.csv%20age}", "/5"),
            ("/{csv:u.csv:age}", "/5"),
            ("/{{n}}/{{any}}", "/{n}/{any}"),
            ("/plain", "/plain"),
        ] {
            assert_eq!(filled(text, Place::Url, 3), expected, "{text}");
        }
        assert_eq!(filled("{csv u.csv name}", Place::Url, 4), "a%2Fb");
        assert_eq!(filled("{csv u.csv name}", Place::Text, 4), "a/b");
        let one = filled("/{random 5-9}", Place::Url, 1);
        assert!(("/5".."/:").contains(&one.as_str()), "{one}");
        assert_eq!(
            one,
            filled("/{random 5-9}", Place::Url, 1),
            "the seed decides"
        );
        let id = filled("{uuid}", Place::Text, 1);
        assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
        assert!(["8", "9", "a", "b"].contains(&&id[19..20]), "{id}");
    }

    #[test]
    fn braces_of_a_body_stay_unless_they_are_known() {
        for (text, expected) in [
            (
                r#"{"id": {n}, "a": {"b": {}}}"#,
                r#"{"id": 7, "a": {"b": {}}}"#,
            ),
            (
                "query { user { name } } {name} {{x}} {",
                "query { user { name } } {name} {{x}} {",
            ),
            ("{{n}} and {{{n}}", "{n} and {{n}"),
            (
                "{n: 1} {random: 5} { user { random } } {csv}",
                "{n: 1} {random: 5} { user { random } } {csv}",
            ),
        ] {
            assert_eq!(filled(text, Place::Text, 7), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_says_what_to_write() {
        for (text, place, part) in [
            (
                "/{name}",
                Place::Url,
                "{name} is no placeholder; there are {n}, {random",
            ),
            ("/{n", Place::Url, "has no other behind it"),
            ("/{random 9-5}", Place::Url, "as in {random 1-1000}"),
            ("{random x}", Place::Text, "as in {random 1-1000}"),
            ("{csv users.csv}", Place::Text, "as in {csv users.csv name}"),
        ] {
            let error = Template::parse(text, place).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn tables_are_read_once_and_keep_the_columns_that_are_named() {
        let of = |text: &str, table: fn() -> io::Result<ValueTable>| {
            let template = Template::parse(text, Place::Text).expect("it is right");
            Tables::of([&template].into_iter(), &|_| table())
        };
        let tables = of("{csv u.csv age} {csv u.csv age}", || Ok(users())).expect("a table");
        let (file, table) = tables.iter().next().expect("one");
        assert_eq!((file, table.columns.join(",").as_str()), ("u.csv", "age"));
        assert_eq!(table.rows, [["5"], ["6"]]);
        for (table, expected) in [
            (
                (|| Err(io::Error::other("gone"))) as fn() -> io::Result<ValueTable>,
                "{csv u.csv id}: u.csv: gone",
            ),
            (
                || Ok(users()),
                "u.csv has no such column; there are name, age",
            ),
            (
                || Ok(ValueTable::default()),
                "expected rows below the header",
            ),
            (
                || {
                    let mut table = users();
                    table.rows[1].pop();
                    Ok(table)
                },
                "expected 2 cells as in the header, found 1 in row 2",
            ),
        ] {
            let error = of("{csv u.csv id}", table).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn files_alone_make_as_many_variants_as_they_have_rows() {
        let of = |text: &str| {
            let template = Template::parse(text, Place::Text).expect("it is right");
            let tables = Tables::from(BTreeMap::from([("u.csv".to_owned(), users())]));
            Template::rows([&template].into_iter(), &tables)
        };
        assert_eq!(of("{csv u.csv age}"), Some(2));
        assert_eq!(of("{csv u.csv age} {n}"), None);
    }

    #[test]
    fn blanks_in_the_placeholders_of_a_url_are_encoded() {
        let joined = joined_placeholders("http://a/{random 1-5} b/{n}");
        assert_eq!(joined, "http://a/{random%201-5} b/{n}");
    }
}
