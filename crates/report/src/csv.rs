//! The report as CSV: one line for each cell, numbers as they are, in the units of their names.

use bakeoff_record::{ContenderKind, Outcome};
use bakeoff_stats::Measure;

use crate::view::{Cell, Report};

/// The report as CSV (RFC 4180, but with line feeds), with a line of names on top.
pub fn csv(report: &Report) -> String {
    let mut out = String::new();
    line(&mut out, header());
    for cell in &report.cells {
        line(&mut out, fields(cell));
    }
    out
}

fn header() -> Vec<String> {
    let mut names: Vec<String> = [
        "workload",
        "load",
        "contender",
        "kind",
        "verdict",
        "rounds",
        "rounds_measured",
    ]
    .map(String::from)
    .to_vec();
    for measure in Measure::ALL {
        let name = measure.name();
        names.extend([name.into(), format!("{name}_low"), format!("{name}_high")]);
    }
    names.extend(["completed", "errors", "rate_is_lower_bound", "bottleneck"].map(String::from));
    names.extend(Outcome::ALL.map(|outcome| format!("outcome_{}", outcome.name())));
    names.push("checks_not_passed".into());
    names
}

fn fields(cell: &Cell) -> Vec<String> {
    let kind = match cell.kind {
        ContenderKind::Contender => "contender",
        ContenderKind::Control => "control",
        ContenderKind::Yardstick => "yardstick",
        ContenderKind::Origin => "origin",
    };
    let mut fields = vec![
        cell.workload.clone(),
        cell.load.clone(),
        cell.contender.clone(),
        kind.into(),
        cell.verdict.verdict.name().into(),
        cell.rounds.to_string(),
        cell.rounds_measured.to_string(),
    ];
    for measure in Measure::ALL {
        match cell.estimate(measure) {
            Some(one) => fields.extend([one.point, one.low, one.high].map(|n| n.to_string())),
            None => fields.extend([const { String::new() }; 3]),
        }
    }
    fields.extend([
        cell.completed.to_string(),
        cell.errors.to_string(),
        cell.rate_is_lower_bound.to_string(),
        cell.bottleneck
            .as_ref()
            .map_or(String::new(), |one| one.name.into()),
    ]);
    let outcome = |outcome: Outcome| cell.outcomes.get(outcome.name()).unwrap_or(&0).to_string();
    fields.extend(Outcome::ALL.map(outcome));
    let bad = cell
        .verdict
        .checks
        .iter()
        .filter(|check| check.level > bakeoff_audit::Level::Note);
    fields.push(
        bad.map(|check| check.code.name())
            .collect::<Vec<_>>()
            .join(" "),
    );
    fields
}

fn line(out: &mut String, fields: Vec<String>) {
    let quoted: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    out.push_str(&quoted.join(","));
    out.push('\n');
}

/// Quotes a field that needs it. A name that a spreadsheet would take for a formula gets an
/// apostrophe in front, since names come from files of others.
fn quoted(field: &str) -> String {
    let is_number = field.parse::<f64>().is_ok();
    let formula = !is_number && field.starts_with(['=', '+', '-', '@', '\t', '\r']);
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
    fn fields_are_quoted_where_needed() {
        let rows = [
            ("a", "a"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("-1.5", "-1.5"),
            ("=1+1", "'=1+1"),
        ];
        for (field, expected) in rows {
            assert_eq!(quoted(field), expected);
        }
    }
}
