//! The audit for a terminal or a log.

use std::fmt::Write as _;

use bakeoff_audit::published::{Audit, AuditedRow};

use super::{answer, decimal_comma, in_flight, link, not_checked, per_s, unknown_columns};
use crate::safe::plain;
use crate::style::{Paint, folded};

/// Columns before the meaning of a finding.
const INDENT: usize = 29;

/// The audit as text of `width` columns: the answer, the findings by code, then row by row.
pub fn published_text(audit: &Audit, width: usize, colour: bool) -> String {
    let width = width.max(crate::style::WIDTH_LEAST);
    let mut out = String::new();
    let tone = if audit.believable() == audit.rows.len() {
        Paint::Green
    } else {
        Paint::Red
    };
    let _ = writeln!(out, "{}", tone.on(&answer(audit), colour));
    by_code(&mut out, audit, width, colour);
    if !audit.table.is_empty() {
        let _ = writeln!(out, "\n{}", Paint::Bold.on("The table as a whole", colour));
        for finding in &audit.table {
            let text = format!(
                "{} ({}): {}",
                finding.code.name(),
                finding.code.rule(),
                finding.text
            );
            lines(&mut out, &text, "  ", width);
        }
    }
    let missing = not_checked(audit);
    if !missing.is_empty() {
        let _ = writeln!(out, "\n{}", Paint::Bold.on("Not checked", colour));
        for text in &missing {
            lines(&mut out, text, "  ", width);
        }
    }
    if !audit.unknown_columns.is_empty() {
        let text = format!(
            "Columns taken as names: {} (--column gives them a meaning)",
            unknown_columns(audit).join(", ")
        );
        out.push('\n');
        lines(&mut out, &text, "", width);
    }
    if let Some(comma) = decimal_comma(audit) {
        out.push('\n');
        lines(&mut out, &format!("Numbers: {comma}"), "", width);
    }
    by_row(&mut out, audit, width, colour);
    out
}

fn by_code(out: &mut String, audit: &Audit, width: usize, colour: bool) {
    let codes = audit.by_code();
    let mut block = |rows: usize, name: &str, text: &str| {
        let title = format!("{rows:>5}  {name:<20}  ");
        let indent = " ".repeat(INDENT);
        let folded = folded(text, "", width.saturating_sub(INDENT).max(20));
        let below = folded.join(&format!("\n{indent}"));
        let _ = writeln!(out, "{}{below}", Paint::Bold.on(&title, colour));
    };
    for (code, rows) in &codes {
        let text = format!("{}: {}", code.meaning(), Audit::lines(rows));
        block(rows.len(), code.name(), &text);
    }
    let fine: Vec<&AuditedRow> = fine(audit);
    if !codes.is_empty() && !fine.is_empty() {
        block(fine.len(), "no finding", &Audit::lines(&fine));
    }
}

fn fine(audit: &Audit) -> Vec<&AuditedRow> {
    let rows = audit.rows.iter();
    rows.filter(|row| row.findings.is_empty()).collect()
}

fn by_row(out: &mut String, audit: &Audit, width: usize, colour: bool) {
    let says = |row: &&AuditedRow| !row.findings.is_empty() || !row.notes.is_empty();
    if !audit.rows.iter().any(|row| says(&row)) {
        return;
    }
    let _ = writeln!(out, "\n{}", Paint::Bold.on("Row by row", colour));
    for row in audit.rows.iter().filter(says) {
        let head = format!("line {}: {}", row.line, plain(&row.key));
        lines(out, &head, "", width);
        let mut figures = vec![
            format!("{} requests/s", per_s(row.derived.rate_per_s)),
            format!("{} right", per_s(row.derived.ok_per_s)),
            format!("{} in flight", in_flight(row)),
        ];
        if row.derived.link_share.is_some() {
            figures.push(format!("{} of the link", link(row)));
        }
        let figures = format!("  {}", figures.join(", "));
        let _ = writeln!(out, "{}", Paint::Dim.on(&figures, colour));
        for finding in &row.findings {
            let text = format!("- {}: {}", finding.code.name(), finding.text);
            lines(out, &text, "  ", width);
        }
        for note in &row.notes {
            let text = format!("- a note, {}: {}", note.code.name(), note.text);
            lines(out, &text, "  ", width);
        }
    }
}

/// A text folded to the width, each line with an indent.
fn lines(out: &mut String, text: &str, indent: &str, width: usize) {
    for line in folded(text, indent, width) {
        let _ = writeln!(out, "{line}");
    }
}
