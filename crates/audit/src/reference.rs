//! The reference of checks and causes, for `docs/checks.md`: the same codes, rules, numbers and
//! limits that judge.
//!
//! A family of checks is a file in `reference/`, as in `checks/`. It has the words for people; each
//! limit in them is a constant of [`crate::limits`], so a value is written once. In debug builds
//! each check that is made asserts that the reference [`declares`] its result. This module judges
//! nothing.

use bakeoff_stats::Number;

use crate::code::{Code, Level};

pub(crate) mod causes;
mod consistency;
mod correctness;
mod engine;
mod hosts;
mod machine;
pub(crate) mod requirements;
mod rounds;

/// A check in the reference.
pub(crate) struct Described {
    pub(crate) code: Code,
    /// What it compares with its limit.
    pub(crate) figure: &'static str,
    /// Its results other than `passed`.
    pub(crate) effects: &'static [Effect],
    /// What a result means and what to do.
    pub(crate) hint: &'static str,
    /// Details, one paragraph each.
    pub(crate) details: &'static [Text],
}

/// When a check has a result, and for which numbers.
pub(crate) struct Effect {
    pub(crate) level: Level,
    /// Empty for a note, which takes nothing away.
    pub(crate) numbers: &'static [Number],
    pub(crate) when: Text,
}

/// A text with a limit in place of each `{}`.
#[derive(Clone, Copy)]
pub(crate) struct Text(pub(crate) &'static str, pub(crate) &'static [Limit]);

/// A limit in the form in which it is read.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// A share, shown as per cent.
    Percent(f64),
    /// Nanoseconds, shown as milliseconds.
    Ms(f64),
    /// As it is.
    Plain(f64),
    /// A count.
    Count(u64),
}

impl Limit {
    fn shown(self) -> String {
        match self {
            // The nearest number of few digits: 0.0025 as a share is 0.25 %, not 0.250000001 %.
            Self::Percent(share) => format!("{} %", (share * 1e8).round() / 1e6),
            Self::Ms(ns) => format!("{} ms", ns / 1e6),
            Self::Plain(value) => value.to_string(),
            Self::Count(value) => value.to_string(),
        }
    }
}

impl Text {
    pub(crate) fn shown(self) -> String {
        let mut limits = self.1.iter();
        let mut parts = self.0.split("{}");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            let limit = limits.next().map(|limit| limit.shown());
            text + &limit.unwrap_or_default() + part
        })
    }
}

const fn check(
    code: Code,
    figure: &'static str,
    effects: &'static [Effect],
    hint: &'static str,
) -> Described {
    let details = &[];
    Described {
        code,
        figure,
        effects,
        hint,
        details,
    }
}

type Numbers = &'static [Number];
type Limits = &'static [Limit];

const fn note(when: &'static str, limits: Limits) -> Effect {
    effect(Level::Note, &[], when, limits)
}

const fn not_run(numbers: Numbers, when: &'static str) -> Effect {
    effect(Level::NotRun, numbers, when, &[])
}

const fn suspect(numbers: Numbers, when: &'static str, limits: Limits) -> Effect {
    effect(Level::Suspect, numbers, when, limits)
}

const fn disturbed(numbers: Numbers, when: &'static str, limits: Limits) -> Effect {
    effect(Level::Disturbed, numbers, when, limits)
}

const fn invalid(numbers: Numbers, when: &'static str, limits: Limits) -> Effect {
    effect(Level::Invalid, numbers, when, limits)
}

const fn effect(level: Level, numbers: Numbers, when: &'static str, limits: Limits) -> Effect {
    let when = Text(when, limits);
    Effect {
        level,
        numbers,
        when,
    }
}

/// Every check but those of equal work, by family.
pub(crate) const FAMILIES: [(&str, &[Described]); 6] = [
    ("Right answers", &correctness::CHECKS),
    ("The load engine and its schedule", &engine::CHECKS),
    ("Counts and times that must agree", &consistency::CHECKS),
    ("The machine", &machine::CHECKS),
    ("Several hosts", &hosts::CHECKS),
    ("Rounds and campaign", &rounds::CHECKS),
];

/// Whether the reference says that a check can have this result for this number. Facts of equal
/// work have a table of their own.
pub(crate) fn declares(code: Code, number: Number, level: Level) -> bool {
    if level == Level::Passed || matches!(code, Code::Equal(_)) {
        return true;
    }
    let mut all = FAMILIES.iter().flat_map(|(_, checks)| *checks);
    let effects = all.find(|check| check.code == code).map(|it| it.effects);
    let mut effects = effects.unwrap_or_default().iter();
    effects.any(|it| it.level == level && (level == Level::Note || it.numbers.contains(&number)))
}
