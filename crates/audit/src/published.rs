//! Other people's results: what in a published table can be believed.
//!
//! [`audit`] applies the rules that a table can be checked against: its figures must fit each
//! other, and the machines that they came from. A rule that lacks a figure is not a finding; it is
//! listed as not checked, with the flag that would let it run. The crate `published` reads the
//! files.

mod clients;
mod code;
mod derived;
mod ended;
mod length;
mod repeats;
mod rig;
mod rules;
mod sentence;

pub use bakeoff_published::{Cell, DecimalComma};
use bakeoff_published::{Published, Row};

pub use code::Code;
pub use derived::Derived;
pub use rig::Rig;

/// What is wrong with a row, or with the whole table.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What.
    pub code: Code,
    /// The figure that breaks the rule; what it counts depends on the code.
    pub value: f64,
    /// What the rule allows.
    pub limit: f64,
    /// One sentence with the figures that it follows from.
    pub text: String,
}

/// A row, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditedRow {
    /// Line, counted from 1 with the header.
    pub line: usize,
    /// Its name: `clients=10 server=nginx`.
    pub key: String,
    /// Clients, if known.
    pub clients: Option<f64>,
    /// What follows from its figures.
    pub derived: Derived,
    /// What is wrong with it; empty if nothing is.
    pub findings: Vec<Finding>,
    /// What is wrong with one of its figures and says nothing of the others.
    pub notes: Vec<Finding>,
}

/// A rule that could not be held against some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct NotChecked {
    /// The rule.
    pub code: Code,
    /// Rows that it could not be held against.
    pub rows: usize,
    /// What was missing, and the flag that gives it.
    pub missing: &'static str,
}

/// A table, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// What wrote the file.
    pub format: &'static str,
    /// Every row, in the order of the file.
    pub rows: Vec<AuditedRow>,
    /// What is wrong with the table as a whole.
    pub table: Vec<Finding>,
    /// What could not be checked.
    pub not_checked: Vec<NotChecked>,
    /// Columns that say nothing known; they are part of a row's name.
    pub unknown_columns: Vec<String>,
    /// Where the decimals of a table stand behind a comma.
    pub comma: Option<DecimalComma>,
}

impl Audit {
    /// Rows without a finding.
    pub fn believable(&self) -> usize {
        let fine = self.rows.iter().filter(|row| row.findings.is_empty());
        fine.count()
    }

    /// Rows as `lines 5-7, 17`.
    pub fn lines(rows: &[&AuditedRow]) -> String {
        sentence::lines_of(rows.iter().map(|row| row.line))
    }

    /// Every code that rows were found to have, with those rows, most rows first.
    pub fn by_code(&self) -> Vec<(Code, Vec<&AuditedRow>)> {
        let has = |row: &AuditedRow, code: Code| row.findings.iter().any(|it| it.code == code);
        let mut codes: Vec<(Code, Vec<&AuditedRow>)> = Code::ALL
            .iter()
            .map(|code| {
                let rows = self.rows.iter().filter(|row| has(row, *code));
                (*code, rows.collect())
            })
            .filter(|(_, rows): &(Code, Vec<&AuditedRow>)| !rows.is_empty())
            .collect();
        codes.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
        codes
    }
}

/// Holds a table against the rules, with what is known of the rig beside it.
pub fn audit(published: &Published, rig: &Rig) -> Audit {
    let mut not_checked = Vec::new();
    let mut rows: Vec<AuditedRow> = published
        .rows
        .iter()
        .map(|row| audited(row, rig, &mut not_checked))
        .collect();
    let table = repeats::find(published, &mut rows);
    Audit {
        format: published.format.name(),
        rows,
        table,
        not_checked,
        unknown_columns: published.unknown.clone(),
        comma: published.comma.clone(),
    }
}

fn audited(row: &Row, rig: &Rig, not_checked: &mut Vec<NotChecked>) -> AuditedRow {
    let subject = derived::Subject::new(row, rig);
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    for (code, outcome) in rules::all(&subject) {
        match outcome {
            Ok(rules::Outcome::Found(finding)) => findings.push(finding),
            Ok(rules::Outcome::Noted(note)) => notes.push(note),
            Ok(rules::Outcome::Passed) => {}
            Err(missing) => count(not_checked, code, missing),
        }
    }
    AuditedRow {
        line: row.line,
        key: row.label(),
        clients: subject.clients().in_flight_most(),
        derived: subject.derived(),
        findings,
        notes,
    }
}

fn count(not_checked: &mut Vec<NotChecked>, code: Code, missing: &'static str) {
    let same = |it: &&mut NotChecked| it.code == code && it.missing == missing;
    match not_checked.iter_mut().find(same) {
        Some(known) => known.rows += 1,
        None => not_checked.push(NotChecked {
            code,
            rows: 1,
            missing,
        }),
    }
}
