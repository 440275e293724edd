//! The self-test for a terminal or a log.

use std::fmt::Write as _;

use super::{SelfTest, of, seen};
use crate::safe::plain;
use crate::style::{Paint, folded};

/// Columns of a fault's name.
const NAME: usize = 22;

/// The self-test as text of `width` columns: the answer, a line for each fault, and the matrix.
pub fn selftest_text(test: &SelfTest, width: usize, colour: bool) -> String {
    let width = width.max(60);
    let mut out = String::new();
    let tone = if test.holds() {
        Paint::Green
    } else {
        Paint::Red
    };
    for line in test.answer() {
        let _ = writeln!(out, "{}", tone.on(&line, colour));
    }
    let _ = writeln!(out, "{}\n", plain(&test.rig_line()));
    let head = format!(
        "{:<NAME$} {:>8} {:>12}  finding",
        "fault", "named", "twin flagged"
    );
    let _ = writeln!(out, "{}", Paint::Bold.on(&head, colour));
    for row in &test.faults {
        let (with, without) = (&row.with, &row.without);
        let _ = writeln!(
            out,
            "{:<NAME$} {:>8} {:>12}  {}",
            row.name,
            of(with.named, with.runs),
            of(without.named, without.runs),
            plain(&row.finding())
        );
    }
    let title = "What was seen, with the fault (+) and without it (-)";
    let _ = writeln!(out, "\n{}", Paint::Bold.on(title, colour));
    for row in test.faults.iter().filter(|row| row.with.runs > 0) {
        let planted = format!("{}: {}", row.name, row.planted);
        let named_by = format!("named by {}", row.named_by.join(" or "));
        let lines = [
            ("", planted),
            ("  ", named_by),
            ("  ", format!("+ {}", seen(&row.with))),
            ("  ", format!("- {}", seen(&row.without))),
        ];
        for (indent, text) in lines {
            for line in folded(&plain(&text), indent, width) {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out
}
