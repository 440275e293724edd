//! The document as the page reads it: every text as people do, and beside it the value as it is.

use bakeoff_audit::Tone;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::{Column, Document, Extent, Field, Part, Row, Section, Table, Unit, Value};

/// A field, with what it has of this alone.
#[derive(Serialize)]
struct Shown<'d> {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tone: Option<Tone>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    weak: bool,
    #[serde(skip_serializing_if = "<[usize]>::is_empty")]
    notes: &'d [usize],
}

/// What a full report shows of the document. `web/src/document.ts` has the same as types.
pub(crate) fn of_page(document: &Document) -> Json {
    json!({
        "title": document.title,
        "sections": document.within(Extent::Full).map(section).collect::<Vec<_>>(),
    })
}

fn section(section: &Section) -> Json {
    json!({
        "name": section.name,
        "title": section.title,
        "parts": section.parts.iter().filter_map(part).collect::<Vec<_>>(),
    })
}

fn part(part: &Part) -> Option<Json> {
    Some(match part {
        Part::Lines(lines) => json!({ "lines": lines }),
        Part::Table(one) => json!({ "table": table(one) }),
        Part::Verbatim { title, lines, .. } => {
            json!({ "verbatim": { "title": title, "lines": lines } })
        }
        // The page has charts of its own, which follow what a reader chooses.
        Part::Figure(_) => return None,
    })
}

fn table(table: &Table) -> Json {
    let columns = table.within(Extent::Full);
    let column = |(_, column): &(usize, &Column)| {
        json!({
            "name": column.name,
            "title": column.title,
            "unit": column.unit.name(),
            "numeric": column.unit.is_numeric(),
        })
    };
    let row = |row: &Row| {
        let fields = columns.iter();
        let fields = fields.map(|(at, column)| field(&row.fields[*at], column.unit));
        (row.reference, fields.collect::<Vec<_>>())
    };
    json!({
        "title": table.title,
        "columns": columns.iter().map(column).collect::<Vec<_>>(),
        "rows": table.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

/// A text alone where there is nothing beside it.
fn field(field: &Field, unit: Unit) -> Json {
    let value = match &field.value {
        Value::Number(value) => Some(*value),
        Value::Estimate(one) => Some(one.point),
        // It stands beside its number, and tables are sorted by its lower end.
        Value::Range(low, _) => Some(*low),
        Value::Nothing | Value::Text(_) => None,
    };
    let shown = Shown {
        text: field.words(unit),
        value,
        bound: field.bound,
        reason: field.reason.as_deref(),
        tone: field.tone,
        weak: field.weak,
        notes: &field.notes,
    };
    match json!(shown) {
        Json::Object(one) if one.len() == 1 => json!(shown.text),
        other => other,
    }
}
