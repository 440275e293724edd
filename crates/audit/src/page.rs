//! `docs/checks.md`, written from the reference of checks, facts of equal work and hints.

use std::fmt::Write as _;

use bakeoff_record::FOREIGN_SUSPECT_CPUS;
use bakeoff_stats::Number;

use crate::code::Level;
use crate::equivalence::FACTS;
use crate::load::{HINTS, Hint};
use crate::reference::{Described, FAMILIES, Limit, Text, causes, requirements};

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
        let others = others.chain(causes::CAUSES.iter().map(|cause| cause.1));
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
