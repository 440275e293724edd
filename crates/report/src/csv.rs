//! The report as CSV: one line for each cell, numbers as they are, in the units of their names.

use crate::document::{Column, Document, Field, Table, Value, draw};
use crate::view::Report;

/// The report as CSV (RFC 4180, but with line feeds), with a line of names on top.
pub fn csv(report: &Report) -> String {
    tables(&draw(report), "cells")
}

/// The tables of a name, which have the same columns, as one.
pub(crate) fn tables(document: &Document, name: &str) -> String {
    let mut out = String::new();
    for table in document.tables(name) {
        if out.is_empty() {
            line(&mut out, names(table));
        }
        for row in &table.rows {
            let wanted = wanted(table).zip(&row.fields);
            let fields = wanted.filter(|((_, is_wanted), _)| *is_wanted);
            line(
                &mut out,
                fields
                    .flat_map(|((column, _), field)| values(column, field))
                    .collect(),
            );
        }
    }
    out
}

/// Every column, and whether machines have a name for it.
fn wanted(table: &Table) -> impl Iterator<Item = (&Column, bool)> {
    table
        .columns
        .iter()
        .map(|column| (column, !column.name.is_empty()))
}

fn names(table: &Table) -> Vec<String> {
    let wanted = wanted(table).filter(|(_, is_wanted)| *is_wanted);
    let names = |column: &Column| {
        let name = &column.name;
        if column.ends {
            vec![name.clone(), format!("{name}_low"), format!("{name}_high")]
        } else {
            vec![name.clone()]
        }
    };
    wanted.flat_map(|(column, _)| names(column)).collect()
}

/// The value as it is; a column of estimates has three. A bound stands in none of them as a value
/// would: only its one end is known. One round has no interval.
fn values(column: &Column, field: &Field) -> Vec<String> {
    let nothing = String::new;
    match (&field.value, column.ends) {
        (Value::Estimate(one), true) => match field.bound {
            Some("<=") => vec![nothing(), nothing(), one.high.to_string()],
            Some(_) => vec![nothing(), one.low.to_string(), nothing()],
            None if one.n < 2 => vec![one.point.to_string(), nothing(), nothing()],
            None => [one.point, one.low, one.high].map(|n| n.to_string()).into(),
        },
        (Value::Number(bound), true) => vec![nothing(), bound.to_string(), nothing()],
        (_, true) => vec![nothing(), nothing(), nothing()],
        (Value::Estimate(one), false) => vec![one.point.to_string()],
        (Value::Number(value), false) => vec![value.to_string()],
        (Value::Text(text), false) => vec![text.clone()],
        (Value::Nothing | Value::Range(..), false) => vec![nothing()],
    }
}

fn line(out: &mut String, fields: Vec<String>) {
    let quoted: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    out.push_str(&quoted.join(","));
    out.push('\n');
}

/// What begins a formula in a spreadsheet; some take the wide forms for the usual ones.
const FORMULA: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// Quotes a field that needs it. A name that a spreadsheet would take for a formula gets an
/// apostrophe in front, since names come from files of others. A lone mark is no formula, and a
/// number stays one.
pub fn quoted(field: &str) -> String {
    let has_digit = field.contains(|c: char| c.is_ascii_digit());
    let is_number = has_digit && field.parse::<f64>().is_ok();
    let is_mark = field.chars().count() < 2;
    let formula = !is_number && !is_mark && field.starts_with(FORMULA);
    let field = if formula {
        format!("'{field}")
    } else {
        field.to_owned()
    };
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_has_one_end_and_one_round_no_interval() {
        let column = Column {
            name: "rate".to_owned(),
            title: String::new(),
            unit: crate::document::Unit::PerSecond,
            ends: true,
            extent: crate::document::Extent::Data,
        };
        let shown = |n, bound| {
            let one = bakeoff_stats::Estimate {
                point: 2.0,
                low: 1.0,
                high: 3.0,
                n,
                interval: bakeoff_stats::IntervalKind::Range,
            };
            let field = Field {
                bound,
                ..Field::of(Value::Estimate(one))
            };
            values(&column, &field).join(",")
        };
        assert_eq!(shown(6, None), "2,1,3");
        assert_eq!(shown(1, None), "2,,");
        assert_eq!(shown(6, Some(">=")), ",1,");
        assert_eq!(shown(6, Some("<=")), ",,3");
    }

    #[test]
    fn fields_are_quoted_where_needed() {
        let rows = [
            ("a", "a"),
            ("=", "="),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("-1.5", "-1.5"),
            ("-1.5e-7", "-1.5e-7"),
            ("-inf", "'-inf"),
            ("=1+1", "'=1+1"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            (
                "=HYPERLINK(\"a\",\"b\")",
                "\"'=HYPERLINK(\"\"a\"\",\"\"b\"\")\"",
            ),
        ];
        for (field, expected) in rows {
            assert_eq!(quoted(field), expected);
        }
    }
}
