//! JSON documents, one after the other in a file: the reports of tools that write JSON.

use serde_json::Value;

use crate::ROWS_MOST;
use crate::error::ReadError;
use crate::figure::{Figure, MOST};
use crate::row::Row;

/// One row for each document of a file: from the first line on that begins one.
pub(crate) fn rows(
    text: &str,
    expected: &str,
    row: impl Fn(&Value) -> Result<Row, String>,
) -> Result<Vec<Row>, ReadError> {
    let (before, text) = text.split_at(begins(text).unwrap_or(0));
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut rows = Vec::new();
    let mut line = 1 + before.matches('\n').count();
    let mut counted = 0;
    loop {
        // The document begins behind blanks that belong to none.
        let rest = &text[documents.byte_offset()..];
        let begins = text.len() - rest.trim_start().len();
        line += text[counted..begins].matches('\n').count();
        counted = begins;
        let document = match documents.next() {
            None => break,
            Some(Ok(document)) => document,
            Some(Err(error)) => {
                let problem = format!("expected {expected}, which is JSON: {error}");
                return Err(ReadError::new(line, problem));
            }
        };
        if rows.len() == ROWS_MOST {
            let problem = format!("more than {ROWS_MOST} documents: split the file");
            return Err(ReadError::new(line, problem));
        }
        let fail = |problem| ReadError::new(line, format!("expected {expected}: {problem}"));
        let read = row(&document).map_err(fail)?;
        rows.push(Row { line, ..read });
    }
    if rows.is_empty() {
        return Err(ReadError::new(
            1,
            format!("expected {expected}, found nothing"),
        ));
    }
    Ok(rows)
}

/// Where the first line with a document begins.
pub(crate) fn begins(text: &str) -> Option<usize> {
    let blanks = text.len() - text.trim_start().len();
    let lines = text.match_indices("\n{").map(|(at, _)| at + 1);
    let is_document = |at: &usize| {
        let inside = text[*at..].strip_prefix('{').map(str::trim_start);
        inside.is_some_and(|inside| inside.starts_with(['"', '}']))
    };
    [blanks].into_iter().chain(lines).find(is_document)
}

/// The number at a path of keys; `None` if there is none or it is null.
///
/// # Errors
/// Something else than a number that is 0 or more.
pub(crate) fn number(value: &Value, path: &[&str]) -> Result<Option<f64>, String> {
    let Some(found) = at(value, path) else {
        return Ok(None);
    };
    match found.as_f64() {
        _ if found.is_null() => Ok(None),
        Some(number) if (0.0..=MOST).contains(&number) => Ok(Some(number)),
        _ => {
            let found = crate::error::excerpt(&found.to_string());
            let key = path.join(".");
            Err(format!("`{key}` is {found}, not a number of 0 or more"))
        }
    }
}

/// The number at a path of keys, which must be there.
///
/// # Errors
/// There is no such number.
pub(crate) fn needed(value: &Value, path: &[&str]) -> Result<f64, String> {
    number(value, path)?.ok_or_else(|| format!("there is no `{}`", path.join(".")))
}

/// A time at a path of keys, in units of so many nanoseconds.
///
/// # Errors
/// Those of [`number`].
pub(crate) fn time(value: &Value, path: &[&str], unit_ns: f64) -> Result<Option<Figure>, String> {
    Ok(number(value, path)?.map(|time| Figure::exact(time * unit_ns)))
}

/// What is at a path of keys.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The numbers of an object by key.
///
/// # Errors
/// Something else than a count.
pub(crate) fn counts(value: &Value, path: &[&str]) -> Result<Vec<(String, f64)>, String> {
    let Some(object) = at(value, path).and_then(Value::as_object) else {
        return Ok(Vec::new());
    };
    let keys = object.keys();
    keys.map(|key| {
        let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
        Ok((key.clone(), needed(value, &path)?))
    })
    .collect()
}
