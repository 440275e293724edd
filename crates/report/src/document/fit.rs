//! The last step of drawing: every text of a document, made fit for a terminal.
//!
//! Fields of tables are made so here alone. Most lines are so already, where they are drawn, and
//! this is for the one that is forgotten.

use super::{Document, Field, Figure, Part, Table, Value};
use crate::number::plain;

/// Makes every text one line without characters that act on what shows it.
pub(crate) fn make(document: &mut Document) {
    text(&mut document.title);
    for section in &mut document.sections {
        text(&mut section.title);
        section.parts.iter_mut().for_each(part);
    }
}

fn part(part: &mut Part) {
    match part {
        Part::Lines(lines) => lines.iter_mut().for_each(|line| text(&mut line.text)),
        Part::Table(one) => table(one),
        Part::Verbatim {
            title,
            lines,
            brief,
        } => {
            text(title);
            lines.iter_mut().chain(brief).for_each(text);
        }
        Part::Figure(one) => figure(one),
    }
}

fn table(table: &mut Table) {
    text(&mut table.title);
    for column in &mut table.columns {
        text(&mut column.name);
        text(&mut column.title);
    }
    let fields = table.rows.iter_mut().flat_map(|row| &mut row.fields);
    fields.for_each(field);
}

fn field(field: &mut Field) {
    if let Value::Text(value) = &mut field.value {
        text(value);
    }
    field.reason.iter_mut().for_each(text);
}

fn figure(figure: &mut Figure) {
    text(&mut figure.title);
    figure
        .points
        .iter_mut()
        .for_each(|point| text(&mut point.label));
}

fn text(text: &mut String) {
    let safe = plain(text);
    if safe != *text {
        *text = safe;
    }
}
