//! The reference of checks: what each compares, its results, and what to do about them.
//!
//! `reference.txt` is `docs/checks.md` with the name of a limit in place of its value, so that a
//! value is written once; `page.rs` makes one from the other. A check has there what it compares, a
//! line for each of its results other than `passed`, its hint, and details. In debug builds each
//! check that is made asserts that the reference [`declares`] its result. This module judges
//! nothing.

use std::collections::HashMap;
use std::sync::LazyLock;

use bakeoff_stats::Number;

use crate::code::{Code, Level};

pub(crate) const REFERENCE: &str = include_str!("reference.txt");

/// The results of each check, a line each.
static EFFECTS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let checks = REFERENCE.split("\n### ").skip(1);
    let effects = checks.filter_map(|check| {
        let (name, rest) = check.split_once('\n')?;
        let (_figure, rest) = rest.split_once('\n')?;
        Some((name, rest.split("\n\n").next()?))
    });
    effects.collect()
});

/// A result's level, its numbers, and when a check has it. A note takes nothing away from a number.
pub(crate) fn effect(line: &str) -> (&str, &str, &str) {
    let (result, when) = line.split_once(": ").unwrap_or((line, ""));
    let (level, numbers) = result.split_once(' ').unwrap_or((result, "none"));
    (level, numbers, when)
}

/// Whether the reference says that a check can have this result for this number. Facts of equal
/// work have a table of their own.
pub(crate) fn declares(code: Code, number: Number, level: Level) -> bool {
    if level == Level::Passed || matches!(code, Code::Equal(_)) {
        return true;
    }
    let effects = EFFECTS.get(code.name()).copied().unwrap_or_default();
    let mut effects = effects.lines().map(effect);
    effects.any(|(known, numbers, _)| {
        let mut numbers = numbers.split(", ");
        known == level.name()
            && (level == Level::Note || numbers.any(|it| it == "all" || it == number.name()))
    })
}
