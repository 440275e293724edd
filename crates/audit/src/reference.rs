//! The reference of checks, facts and causes: `docs/checks.md`, made from the same codes, rules,
//! numbers and limits that judge.
//!
//! A family of checks is a file in `reference/`, as in `checks/`. It has the words for people; each
//! limit in them is a constant of [`crate::limits`], so a value is written once. In debug builds
//! each check that is made asserts that the reference [`declares`] its result. This module judges
//! nothing.

use std::fmt::Write as _;

use bakeoff_record::FOREIGN_SUSPECT_CPUS;
use bakeoff_stats::Number;

use crate::check::Level;
use crate::code::Code;
use crate::equivalence::FACTS;
use crate::load::{HINTS, Hint};

mod causes;
mod consistency;
mod correctness;
mod engine;
mod hosts;
mod machine;
mod requirements;
mod rounds;

pub(crate) use causes::CAUSES;

/// A check in the reference.
pub(crate) struct Described {
    code: Code,
    /// What it compares with its limit.
    figure: &'static str,
    /// Its results other than `passed`.
    effects: &'static [Effect],
    /// What a result means and what to do.
    hint: &'static str,
    /// Details, one paragraph each.
    details: &'static [Text],
}

/// When a check has a result, and for which numbers.
pub(crate) struct Effect {
    level: Level,
    /// Empty for a note, which takes nothing away.
    numbers: &'static [Number],
    when: Text,
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
    fn shown(self) -> String {
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

const fn note(when: &'static str, limits: &'static [Limit]) -> Effect {
    effect(Level::Note, &[], when, limits)
}

const fn not_run(numbers: &'static [Number], when: &'static str) -> Effect {
    effect(Level::NotRun, numbers, when, &[])
}

const fn suspect(
    numbers: &'static [Number],
    when: &'static str,
    limits: &'static [Limit],
) -> Effect {
    effect(Level::Suspect, numbers, when, limits)
}

const fn disturbed(
    numbers: &'static [Number],
    when: &'static str,
    limits: &'static [Limit],
) -> Effect {
    effect(Level::Disturbed, numbers, when, limits)
}

const fn invalid(
    numbers: &'static [Number],
    when: &'static str,
    limits: &'static [Limit],
) -> Effect {
    effect(Level::Invalid, numbers, when, limits)
}

const fn effect(
    level: Level,
    numbers: &'static [Number],
    when: &'static str,
    limits: &'static [Limit],
) -> Effect {
    let when = Text(when, limits);
    Effect {
        level,
        numbers,
        when,
    }
}

/// Every check but those of equal work, by family.
const FAMILIES: [(&str, &[Described]); 6] = [
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

const HEAD: Text = Text(
    "# Checks and limits

This page is made from the code that judges: every check, what it compares, its limits, and what its
result does to which number. `BLESS=1 cargo test -p bakeoff-audit --lib reference` writes it.
[method.md](method.md) explains the numbers and verdicts, and [statistics.md](statistics.md) the
tests and intervals. A report gives each check with a text: the figure, and what it means.

A check has one of these results for each number that it guards:

| result | meaning |
| --- | --- |
| passed | the figure is within its limit |
| note | a fact worth knowing; it takes nothing away from a number |
| not-run | the record does not hold what the check needs; counts as suspect |
| suspect | the number is shown and not ranked |
| disturbed | something that is not part of the trial interfered; the block is worth repeating |
| invalid | the number is withheld |

The numbers are rate, latency, CPU, memory and counts. The results hold for one trial. A few rounds
with a bad result do not spoil a number if
[enough others are left](method.md#rounds-that-count). The yardstick itself, and the upstream
without a proxy, are judged without the engine's checks: they saturate the engine on purpose. What a
server used is a share of what others left of its processors: the hypervisor's share is subtracted,
and so is that of other programs if it is above {} processors. A server next to an upstream on the
same processors is judged by what both used.
",
    &[Limit::Plain(FOREIGN_SUSPECT_CPUS)],
);

/// The whole page.
pub fn reference() -> String {
    let mut page = HEAD.shown();
    index(&mut page);
    for (title, checks) in FAMILIES {
        let _ = write!(page, "\n## {title}\n");
        checks.iter().for_each(|check| section(&mut page, check));
    }
    warnings(&mut page);
    equal_work(&mut page);
    causes::write(&mut page);
    requirements::write(&mut page);
    page
}

fn index(page: &mut String) {
    page.push_str(
        "\n## All checks\n| check | rule | numbers that it guards |\n| --- | --- | --- |\n",
    );
    for check in FAMILIES.iter().flat_map(|(_, checks)| *checks) {
        let (name, rule) = (check.code.name(), check.code.rule());
        let guards = names(check.code.guards());
        let _ = writeln!(page, "| [{name}](#{name}) | {rule} | {guards} |");
    }
}

fn section(page: &mut String, check: &Described) {
    let (name, rule) = (check.code.name(), check.code.rule());
    let _ = write!(
        page,
        "\n### {name}\n{rule}. Compares: {}.\n\n",
        check.figure
    );
    page.push_str("| result | numbers | when |\n| --- | --- | --- |\n");
    for effect in check.effects {
        let numbers = match effect.level {
            Level::Note => "none".to_owned(),
            _ => names(effect.numbers),
        };
        let (level, when) = (effect.level.name(), effect.when.shown());
        let _ = writeln!(page, "| {level} | {numbers} | {when} |");
    }
    let _ = write!(page, "\n{}\n", check.hint);
    for text in check.details {
        let _ = write!(page, "\n{}\n", text.shown());
    }
}

fn names(numbers: &[Number]) -> String {
    let names: Vec<&str> = if numbers.len() == Number::ALL.len() {
        vec!["all"]
    } else {
        numbers.iter().map(|number| number.name()).collect()
    };
    names.join(", ")
}

const LOADS: &str = "
## A single load
`bakeoff load` has no rounds and no campaign. It prints these warnings with the numbers, each with
its hint. A load from several hosts may also have `host-lost`, `start-spread` and `clock-error`,
with the limits above. `bakeoff load` ends with exit code 4 when no answer came out right.

| warning | when | hint |
| --- | --- | --- |
";

fn warnings(page: &mut String) {
    page.push_str(LOADS);
    for Hint { code, when, hint } in HINTS {
        let _ = writeln!(page, "| `{code}` | {} | {hint} |", when.shown());
    }
}

const EQUAL: &str = "
## Equal work
Contenders are compared at the same workload and protocol. A fact that differs makes the comparison
*unfair*, or merely *differs*. [method.md](method.md#equal-work) explains what follows.

| fact | what it is | rule | unfair when | meaning | read from |
| --- | --- | --- | --- | --- | --- |
";

const NOT_EQUAL: &str = "
The number of workers of different servers only differs: one server may do with a thread what
another does with a process. Redirects, error pages with status 200 and wrong bodies fail a trial
before its load, with the answer that came. Not seen: a log to a socket, buffering inside a
server, resumption where clients offer it (a record counts resumed handshakes), and the processors
that a runtime such as Go's limits itself to.
";

fn equal_work(page: &mut String) {
    page.push_str(EQUAL);
    for fact in &FACTS {
        let (code, rule, title) = (fact.code, fact.rule, fact.title);
        let (unfair, meaning) = (fact.unfair.shown(), fact.meaning);
        let source = fact.source();
        let _ = writeln!(
            page,
            "| `{code}` | {title} | {rule} | {unfair} | {meaning} | {source} |"
        );
    }
    page.push_str(NOT_EQUAL);
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::disallowed_methods,
        reason = "a test reads its files; the library does not"
    )]

    use super::*;

    /// When a change is wanted: `BLESS=1 cargo test -p bakeoff-audit --lib reference`.
    #[test]
    fn the_page_is_made_from_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks.md");
        let page = reference();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, &page).expect("the page can be written");
        }
        let known = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(
            page, known,
            "run again with BLESS=1 to rewrite docs/checks.md"
        );
    }

    #[test]
    fn a_limit_takes_each_place_in_its_text() {
        let text = Text(
            "{} or {}, {} and {}",
            &[
                Limit::Percent(0.000_01),
                Limit::Ms(1e6),
                Limit::Plain(0.15),
                Limit::Count(16),
            ],
        );
        assert_eq!(text.shown(), "0.001 % or 1 ms, 0.15 and 16");
    }

    #[test]
    fn texts_have_a_place_for_each_limit() {
        let checks = FAMILIES.iter().flat_map(|(_, checks)| *checks);
        let effects = checks.flat_map(|check| {
            let when = check.effects.iter().map(|effect| effect.when);
            when.chain(check.details.iter().copied())
        });
        let others = FACTS.iter().map(|fact| fact.unfair);
        let others = others.chain(CAUSES.iter().map(|cause| cause.1));
        for Text(text, limits) in effects.chain(others).chain(HINTS.iter().map(|it| it.when)) {
            assert_eq!(text.matches("{}").count(), limits.len(), "{text}");
        }
    }

    #[test]
    fn rules_of_checks_are_requirements() {
        let checks = FAMILIES.iter().flat_map(|(_, checks)| *checks);
        let rules = checks.map(|check| check.code.rule());
        for rule in rules.chain(FACTS.iter().map(|fact| fact.rule)) {
            assert!(
                requirements::ALL.iter().any(|known| known.0 == rule),
                "{rule}"
            );
        }
    }
}
