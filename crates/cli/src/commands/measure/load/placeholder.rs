//! What differs from request to request: `{n}`, `{random 1-1000}`, `{uuid}` and
//! `{csv users.csv name}`, in the path and query of a URL, in headers and in a body of text.
//!
//! Braces are no part of a URL, so there every pair is a placeholder or a mistake. Elsewhere only a
//! known name makes one, because JSON is full of braces. Values come from the seed and are filled
//! in before the load, so a request costs the engine what it costs without them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bakeoff_plan::Random;
use bakeoff_record::read_regular_text;

/// Longest file of values, bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;
const KNOWN: &str = "{n}, {random 1-1000}, {uuid} and {csv FILE COLUMN}";

/// Where a template stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the path and query of a URL: values are encoded, and braces always are placeholders.
    Url,
    /// In a header or body.
    Text,
}

/// A text, cut before and behind its placeholders.
#[derive(Debug, PartialEq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq)]
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

/// Files of values: rows of cells, the header first.
#[derive(Debug, Default)]
pub(super) struct Tables(BTreeMap<String, Vec<Vec<String>>>);

impl Template {
    pub(super) fn plain(text: &str) -> Self {
        Self {
            parts: vec![Part::Text(text.to_owned())],
        }
    }

    /// A URL as it was typed, with the blanks in its placeholders encoded.
    pub(super) fn joined(url: &str) -> String {
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

    /// # Errors
    /// A placeholder that is not known, or lacks something, and what to write.
    pub(super) fn parse(text: &str, place: Place) -> Result<Self, String> {
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

    /// Whether nothing in it differs.
    pub(super) fn is_plain(&self) -> bool {
        self.parts.len() == 1
    }

    /// Rows of the longest file, where nothing but files makes variants.
    pub(super) fn rows<'a>(all: impl Iterator<Item = &'a Self>, tables: &Tables) -> Option<u64> {
        let parts = all.flat_map(|template| &template.parts);
        let each = parts.map(|part| match part {
            Part::Text(_) => Some(1),
            Part::Csv { file, .. } => Some(tables.0.get(file).map_or(1, |rows| rows.len() - 1)),
            Part::Number | Part::Random { .. } | Part::Uuid => None,
        });
        let rows: Option<Vec<usize>> = each.collect();
        Some(rows?.into_iter().max()? as u64)
    }

    /// The text of the variant with this number, from 1 on.
    pub(super) fn filled(
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

impl Tables {
    /// Reads the files that templates name.
    ///
    /// # Errors
    /// A file that cannot be read, or has no such column.
    pub(super) fn read<'a>(templates: impl Iterator<Item = &'a Template>) -> Result<Self, String> {
        let mut tables = Self::default();
        for part in templates.flat_map(|template| &template.parts) {
            let Part::Csv { file, column } = part else {
                continue;
            };
            if !tables.0.contains_key(file) {
                let failed = |error: String| format!("{{csv {file} {column}}}: {file}: {error}");
                let text = read_regular_text(file.as_ref(), FILE_BYTES_MAX);
                let text = text.map_err(|error| failed(error.to_string()))?;
                let rows = bakeoff_published::csv_records(&text);
                let rows = rows.map_err(|error| failed(error.to_string()))?;
                if rows.len() < 2 {
                    return Err(failed(
                        "expected rows below the header, found none".to_owned(),
                    ));
                }
                tables.0.insert(file.clone(), rows);
            }
            let header = &tables.0[file][0];
            if !header.contains(column) {
                return Err(format!(
                    "{{csv {file} {column}}}: {file} has no such column; there are {}",
                    header.join(", ")
                ));
            }
        }
        Ok(tables)
    }

    fn value(&self, file: &str, column: &str, number: u64) -> Option<&str> {
        let (header, rows) = self.0.get(file)?.split_first()?;
        let column = header.iter().position(|name| name == column)?;
        let row = usize::try_from(number - 1).ok()?.checked_rem(rows.len())?;
        Some(&rows[row][column])
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

    fn filled(text: &str, place: Place, number: u64) -> String {
        let template = Template::parse(text, place).expect("it is right");
        let users = ["name,age", "Ann Lee,5", "\"a/b\",6"].join("\n");
        let rows = bakeoff_published::csv_records(&users).expect("a table");
        let tables = Tables([("u.csv".to_owned(), rows)].into());
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
        let none = Template::parse("{csv /no/such.csv a}", Place::Text).expect("it is right");
        let error = Tables::read([&none].into_iter()).expect_err("there is no such file");
        assert!(
            error.contains("{csv /no/such.csv a}: /no/such.csv: "),
            "{error}"
        );
    }

    #[test]
    fn files_alone_make_as_many_variants_as_they_have_rows() {
        let of = |text: &str| {
            let template = Template::parse(text, Place::Text).expect("it is right");
            let rows = vec![vec![String::new()]; 4];
            let tables = Tables([("u.csv".to_owned(), rows)].into());
            Template::rows([&template].into_iter(), &tables)
        };
        assert_eq!(of("{csv u.csv a}"), Some(3));
        assert_eq!(of("{csv u.csv a} {n}"), None);
    }

    #[test]
    fn blanks_in_the_placeholders_of_a_url_are_encoded() {
        let joined = Template::joined("http://a/{random 1-5} b/{n}");
        assert_eq!(joined, "http://a/{random%201-5} b/{n}");
    }
}
