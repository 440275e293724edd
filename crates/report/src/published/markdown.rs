//! The audit as Markdown, to paste where the table was published.

use std::fmt::Write as _;

use bakeoff_audit::published::{Audit, Finding};

use super::{answer, decimal_comma, in_flight, link, not_checked, per_s, unknown_columns};
use crate::markdown::escaped;

/// The audit as Markdown: the answer, the findings by code, then a table of the rows.
pub fn published_markdown(audit: &Audit) -> String {
    let mut out = format!("**{}**\n", answer(audit));
    let codes = audit.by_code();
    if !codes.is_empty() {
        out.push_str(
            "\n| finding | rule | rows | meaning | where |\n| --- | --- | --: | --- | --- |\n",
        );
    }
    for (code, rows) in &codes {
        let (name, rule, meaning) = (code.name(), code.rule(), code.meaning());
        let _ = writeln!(
            out,
            "| {name} | {rule} | {} | {meaning} | {} |",
            rows.len(),
            Audit::lines(rows)
        );
    }
    list(
        &mut out,
        "The table as a whole",
        audit
            .table
            .iter()
            .map(|it| format!("{} ({}): {}", it.code.name(), it.code.rule(), it.text)),
    );
    list(&mut out, "Not checked", not_checked(audit).into_iter());
    let names = unknown_columns(audit).into_iter();
    list(&mut out, "Columns taken as names", names);
    list(&mut out, "Numbers", decimal_comma(audit).into_iter());
    out.push_str("\n## Row by row\n\n");
    out.push_str("| line | row | requests/s | right/s | in flight | link | findings |\n");
    out.push_str("| --: | --- | --: | --: | --: | --: | --- |\n");
    for row in &audit.rows {
        let says = |it: &Finding| format!("{}: {}", it.code.name(), escaped(&it.text));
        let notes = row.notes.iter().map(|it| format!("a note, {}", says(it)));
        let findings: Vec<String> = row.findings.iter().map(says).chain(notes).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.line,
            cell(&row.key),
            per_s(row.derived.rate_per_s),
            per_s(row.derived.ok_per_s),
            in_flight(row),
            link(row),
            findings.join("<br>")
        );
    }
    out
}

fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        let _ = writeln!(out, "\n{title}:\n");
    }
    for item in items {
        let _ = writeln!(out, "- {}", cell(&item));
    }
}

/// Foreign text on one line.
fn cell(text: &str) -> String {
    escaped(&crate::safe::plain(text))
}
