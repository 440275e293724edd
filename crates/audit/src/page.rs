//! `docs/checks.md`, written from the reference of checks, the facts of equal work and the hints of
//! loads. Only a test does it.

use std::fmt::Write as _;

use bakeoff_plan::Changing;

use crate::code::Code;
use crate::equivalence::FACTS;
use crate::limits;
use crate::load::HINTS;
use crate::reference::{REFERENCE, effect};
use crate::subject::COUNTED_ASIDE;

/// Limits by name, as they are read.
macro_rules! limits {
    ($($shown:ident: $($name:ident)+;)+) => {
        vec![$($((stringify!($name), $shown(limits::$name as f64)),)+)+]
    };
}

fn limits() -> Vec<(&'static str, String)> {
    let mut all = limits! {
        share:
            ACCEPT_QUEUE_SHARE BACKEND_SHARE BODY_BYTES_SHARE BODY_SENT_SHARE CEILING_SHARE
            CLOCK_DRIFT_SHARE CLOCK_ERROR_SHARE CONNTRACK_SHARE COUNTED_SHARE
            CPU_LEVEL_SHARE ENDED_SHARE_INVALID ENDED_SHARE_SUSPECT ENGINE_BUSY_INVALID
            ENGINE_BUSY_SUSPECT ENGINE_KEPT_SUSPECT ENGINE_LAG_SHARE FAILED_SHARE
            FREQUENCY_NOTE_SHARE FREQUENCY_SUSPECT_SHARE GENERATORS_SHARE IDLE_BESIDE_SHARE
            KEPT_DISTURBED_SHARE LINK_CHANGE_SHARE LINK_ROOM_SHARE LITTLE_SHARE
            LOGGED_ERRORS_SHARE ORIGIN_SHARE PRESSURE_SHARE QUEUE_GROWTH_SHARE
            RATE_VARIATION ROUNDS_SHARE SEND_LAG_SHARE SEND_LAG_SHARE_MOST
            SERVER_FILES_SHARE SERVER_PACED SERVER_SATURATED SET_UP_SHARE SOFTIRQ_SHARE
            STARTED_SHARE STARTED_SHARE_PER_SECOND STARVED_SHARE_INVALID
            STARVED_SHARE_SUSPECT STEADY_ROUNDS_SHARE STEADY_SHARE STEADY_TAIL_SHARE
            STEAL_DISTURBED_SHARE STEAL_SUSPECT THREAD_FULL_SHARE THROTTLED_SHARE
            UDP_DROPS_SHARE UPSTREAM_NEW_SHARE WAY_SHARE WORKER_LOST_SHARE WORKER_SHARE;
        milliseconds:
            CLOCK_ERROR_NS SEND_LAG_NS;
        plain:
            DRIFT_LOG_MIN DRIFT_SPREADS ENGINE_WINDOW_S_MIN FOREIGN_DISTURBED_CPUS
            FOREIGN_DROPS_PER_S FOREIGN_SUSPECT_CPUS GENERATORS_ERRORS LOG_BYTES_PER_REQUEST
            MODES_APART ORIGIN_READ_S RECOVERY_S ROUNDS_MIN START_SPREAD_S
            UPSTREAM_REQUESTS_MIN WORKER_CPU_S WORKER_LIVED_S WORKER_LOST_WITHIN_S;
    };
    all.extend([
        ("CHANGING_SHARE", share(Changing::SHARE)),
        ("CHANGING_BYTES", Changing::BYTES.to_string()),
        ("COUNTED_ASIDE", plain(COUNTED_ASIDE)),
    ]);
    all
}

/// The nearest number of few digits: 0.0025 is 0.25 %, not 0.250000001 %.
fn share(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

fn milliseconds(ns: f64) -> String {
    format!("{} ms", ns / 1e6)
}

fn plain(value: f64) -> String {
    value.to_string()
}

/// What a line of the reference is, by what came before it.
enum Place {
    Prose,
    /// What the check compares.
    Figure(Code),
    Effects,
}

/// The whole page.
fn page() -> String {
    let fill =
        |text: String, (name, value): (&str, String)| text.replace(&format!("{{{name}}}"), &value);
    let text = limits().into_iter().fold(REFERENCE.to_owned(), fill);
    let mut page = String::new();
    let mut place = Place::Prose;
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        place = match place {
            Place::Figure(code) => {
                let _ = writeln!(page, "{}. Compares: {line}.\n", code.rule());
                page.push_str("| result | numbers | when |\n| --- | --- | --- |\n");
                Place::Effects
            }
            Place::Effects if !line.is_empty() => {
                let (level, numbers, when) = effect(line);
                let _ = writeln!(page, "| {level} | {numbers} | {when} |");
                Place::Effects
            }
            _ => {
                match (word, rest.split_once(": ")) {
                    ("{index}", _) => index(&mut page),
                    ("warning", Some((code, when))) => warning(&mut page, code, when),
                    ("fact", Some((code, of_it))) => fact(&mut page, code, of_it),
                    _ => page += &format!("{line}\n"),
                }
                match word {
                    "###" => Place::Figure(named(rest)),
                    _ => Place::Prose,
                }
            }
        };
    }
    page
}

fn named(name: &str) -> Code {
    let mut all = Code::LISTED.iter();
    let code = all.find(|code| code.name() == name);
    *code.unwrap_or_else(|| panic!("{name} is no check"))
}

fn index(page: &mut String) {
    page.push_str(
        "\n## All checks\n| check | rule | numbers that it guards |\n| --- | --- | --- |\n",
    );
    let names = REFERENCE
        .lines()
        .filter_map(|line| line.strip_prefix("### "));
    for code in names.map(named) {
        let (name, rule, guards) = (code.name(), code.rule(), code.guards());
        let guards: Vec<&str> = match guards.len() {
            5 => vec!["all"],
            _ => guards.iter().map(|number| number.name()).collect(),
        };
        let guards = guards.join(", ");
        let _ = writeln!(page, "| [{name}](#{name}) | {rule} | {guards} |");
    }
}

fn warning(page: &mut String, code: &str, when: &str) {
    let (_, hint) = HINTS.iter().find(|it| it.0 == code).expect("a known code");
    let _ = writeln!(page, "| `{code}` | {when} | {hint} |");
}

fn fact(page: &mut String, code: &str, of_it: &str) {
    let fact = FACTS.iter().find(|it| it.code == code);
    let fact = fact.expect("a known code");
    let (unfair, source) = of_it
        .split_once(" | ")
        .expect("when it is unfair, and a source");
    let (title, rule, meaning) = (fact.title, fact.rule, fact.meaning);
    let _ = writeln!(
        page,
        "| `{code}` | {title} | {rule} | {unfair} | {meaning} | {source} |"
    );
}

/// When a change is wanted: `BLESS=1 cargo test -p bakeoff-audit --lib reference`.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test reads its files; the library does not"
)]
fn the_reference_page_is_made_from_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks.md");
    let page = page();
    assert!(!page.contains('{'), "no limit has a name in {page}");
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
fn limits_are_read_as_people_write_them() {
    assert_eq!(share(0.000_01), "0.001 %");
    assert_eq!(milliseconds(1e6), "1 ms");
    assert_eq!((plain(0.15), plain(16.0)), ("0.15".into(), "16".into()));
}

#[test]
fn everything_that_judges_is_in_the_reference() {
    let page = page();
    for code in Code::LISTED {
        assert!(page.contains(&format!("\n### {code}\n")), "{code}");
    }
    let causes = crate::Limiter::ALL.iter().map(|cause| cause.name());
    let facts = FACTS.iter().map(|fact| fact.code);
    let rules = Code::LISTED.iter().map(|code| code.rule());
    let rules = rules.chain(FACTS.iter().map(|fact| fact.rule));
    for name in causes.chain(facts).chain(HINTS.iter().map(|hint| hint.0)) {
        assert!(page.contains(&format!("\n| `{name}` |")), "{name}");
    }
    for rule in rules {
        assert!(page.contains(&format!("\n| {rule} |")), "{rule}");
    }
}
