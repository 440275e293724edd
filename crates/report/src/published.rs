//! What `bakeoff audit` prints: other people's results, judged, as text, Markdown and JSON.
//!
//! The audit has judged already; nothing here decides or computes. Names of rows and columns are
//! foreign text, and each format escapes them.

use bakeoff_audit::published::{Audit, AuditedRow, Cell, DecimalComma, Finding};
use bakeoff_plan::grouped;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};

use crate::safe::pretty_json;

mod markdown;
mod text;

pub use markdown::published_markdown;
pub use text::published_text;

/// Version of the document.
pub const PUBLISHED_SCHEMA: &str = "bakeoff.audit/1";

/// The audit as the document that scripts rely on.
pub fn published_json(audit: &Audit) -> String {
    pretty_json(&Document(audit))
}

/// The document, whose rows are drawn one after the other: a tree of a hundred thousand of them
/// takes many times the room of their text. Keys are in the order of the alphabet.
struct Document<'a>(&'a Audit);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self(audit) = self;
        let not_checked = audit.not_checked.iter().map(|it| {
            json!({"code": it.code.name(), "rule": it.code.rule(), "rows": it.rows,
                   "missing": it.missing})
        });
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("believable", &audit.believable())?;
        map.serialize_entry("decimal_comma", &audit.comma.is_some())?;
        map.serialize_entry("format", audit.format)?;
        map.serialize_entry("not_checked", &not_checked.collect::<Vec<_>>())?;
        map.serialize_entry("rows", &Rows(&audit.rows))?;
        map.serialize_entry("schema", PUBLISHED_SCHEMA)?;
        map.serialize_entry("table", &findings(&audit.table))?;
        map.serialize_entry("unknown_columns", &audit.unknown_columns)?;
        map.end()
    }
}

struct Rows<'a>(&'a [AuditedRow]);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.0.iter().map(row))
    }
}

fn row(row: &AuditedRow) -> Value {
    let derived = &row.derived;
    json!({
        "line": row.line,
        "key": row.key,
        "derived": {
            "rate_per_s": derived.rate_per_s,
            "ok_per_s": derived.ok_per_s,
            "in_flight": derived.in_flight,
            "link_share": derived.link_share,
            "duration_min_s": derived.duration_min_s,
        },
        "findings": findings(&row.findings),
        "notes": findings(&row.notes),
    })
}

fn findings(findings: &[Finding]) -> Vec<Value> {
    let all = findings.iter().map(|it| {
        json!({
            "code": it.code.name(),
            "rule": it.code.rule(),
            "value": it.value,
            "limit": it.limit,
            "text": it.text,
        })
    });
    all.collect()
}

/// The answer in one line.
fn answer(audit: &Audit) -> String {
    let (fine, all) = (audit.believable(), audit.rows.len());
    let rows = if all == 1 { "row" } else { "rows" };
    match all - fine {
        0 if all == 1 => "The one row can be believed as far as it can be checked.".to_owned(),
        0 => format!("All {all} rows can be believed as far as they can be checked."),
        1 if all == 1 => "The one row cannot be believed.".to_owned(),
        bad => format!("{fine} of {all} {rows} can be believed, {bad} cannot."),
    }
}

/// What could not be checked, by what is missing: codes, rows and the missing figure.
fn not_checked(audit: &Audit) -> Vec<String> {
    let codes = audit.not_checked.iter();
    let lines = grouped(codes.map(|it| ((it.missing, it.rows), it.code.name())));
    let line = |((missing, rows), codes): &((&str, usize), Vec<&str>)| {
        let of = if *rows == audit.rows.len() {
            String::new()
        } else {
            format!(", in {rows} of {} rows", audit.rows.len())
        };
        let needs = if codes.len() == 1 { "needs" } else { "need" };
        format!("{}: {needs} {missing}{of}", codes.join(", "))
    };
    lines.iter().map(line).collect()
}

/// Requests in flight, of how many that there could be.
fn in_flight(row: &AuditedRow) -> String {
    match (row.derived.in_flight, row.clients) {
        (Some(all), Some(most)) => format!("{} of {}", short(all), short(most)),
        (Some(all), None) => short(all),
        _ => "-".to_owned(),
    }
}

/// Columns that are taken as names; one may have none itself.
fn unknown_columns(audit: &Audit) -> Vec<String> {
    let names = audit.unknown_columns.iter().map(|name| {
        if name.is_empty() {
            "(no name)".to_owned()
        } else {
            crate::safe::plain(name)
        }
    });
    names.collect()
}

/// How numbers were read whose decimals stand behind a comma.
fn decimal_comma(audit: &Audit) -> Option<String> {
    let DecimalComma { because, fits_both } = audit.comma.as_ref()?;
    let cell = |cell: &Cell| format!("`{}` in line {}", crate::safe::plain(&cell.text), cell.line);
    let both = fits_both.as_ref().map(|both| {
        let both = cell(both);
        format!("; so was {both}, which could have a decimal point as well")
    });
    Some(format!(
        "read with decimal commas and points between thousands, because of {}{}",
        cell(because),
        both.unwrap_or_default()
    ))
}

fn per_s(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), short)
}

fn link(row: &AuditedRow) -> String {
    let share = row.derived.link_share;
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// A number with its thousands apart, and one decimal below 100.
fn short(value: f64) -> String {
    if value < 100.0 && value.fract() != 0.0 {
        format!("{value:.1}")
    } else {
        crate::number::whole(value)
    }
}
