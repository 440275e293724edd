//! The list of offences that must stay, each with its reason.

use std::collections::BTreeSet;
use std::fs;

use crate::files::root;
use crate::rules::{Offence, SIZE, TYPE_METHODS_MAX};
use crate::types::Type;

/// Entries of the list. Lowered with each that goes, never raised.
const ENTRIES: usize = 1;

/// Fails for offences against `rules` that are not listed, and for entries that no offence needs.
#[track_caller]
pub(crate) fn judge(rules: &[&str], offences: Vec<Offence>) {
    let text = list();
    let entries: Vec<(&str, &str)> = entries(&text)
        .iter()
        .map(|entry| (entry.rule, entry.path))
        .collect();
    let listed = |offence: &&Offence| entries.contains(&(offence.rule, offence.path.as_str()));
    let needed: BTreeSet<(&str, &str)> = offences
        .iter()
        .map(|offence| (offence.rule, offence.path.as_str()))
        .collect();
    let new = offences
        .iter()
        .filter(|offence| !listed(offence))
        .map(Offence::to_string);
    let idle = entries
        .iter()
        .filter(|(rule, _)| rules.contains(rule))
        .filter(|entry| !needed.contains(*entry))
        .map(|(rule, path)| format!("exceptions.txt: `{rule} {path}` is not needed: remove it"));
    let lines: Vec<String> = new.chain(idle).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

/// Fails for types that are too large and not listed with the size that they have, and for
/// entries that no type needs.
#[track_caller]
pub(crate) fn judge_sizes(large: Vec<Type>) {
    let text = list();
    let entries: Vec<Entry<'_>> = entries(&text)
        .into_iter()
        .filter(|entry| entry.rule == SIZE)
        .collect();
    let lines = size_faults(&large, &entries);
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

fn size_faults(large: &[Type], entries: &[Entry<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for one in large {
        let (place, line, found) = (&one.place, one.line, one.methods);
        let same = |entry: &&Entry<'_>| entry.path == place;
        match entries.iter().find(same).map(Entry::number) {
            None => lines.push(format!(
                "{SIZE} {place} (line {line}): {found}, at most {TYPE_METHODS_MAX}"
            )),
            Some(listed) if found > listed => lines.push(format!(
                "{SIZE} {place} (line {line}): {found}, and exceptions.txt allows {listed}"
            )),
            Some(listed) if found < listed => lines.push(format!(
                "exceptions.txt: `{SIZE} {place}` is down to {found}: write that, not {listed}"
            )),
            Some(_) => {}
        }
    }
    let idle = entries
        .iter()
        .filter(|entry| !large.iter().any(|one| one.place == entry.path));
    lines.extend(idle.map(|entry| {
        let (rule, path) = (entry.rule, entry.path);
        format!("exceptions.txt: `{rule} {path}` is not needed: remove it")
    }));
    lines
}

/// A line of the list.
struct Entry<'text> {
    rule: &'text str,
    path: &'text str,
    reason: &'text str,
}

impl Entry<'_> {
    /// The size that a type is allowed, which its reason begins with.
    fn number(&self) -> usize {
        let number = self.reason.split_whitespace().next().unwrap_or("");
        let parsed = number.parse();
        parsed.unwrap_or_else(|_| panic!("{} {}: name the size first", self.rule, self.path))
    }
}

fn list() -> String {
    fs::read_to_string(root().join("tests/tidy/exceptions.txt"))
        .expect("tests/tidy/exceptions.txt can be read")
}

#[track_caller]
fn entries(text: &str) -> Vec<Entry<'_>> {
    let entries: Vec<Entry<'_>> = text.lines().filter_map(entry).collect();
    assert!(
        entries.len() == ENTRIES,
        "exceptions.txt only shrinks: correct the offence, and lower ENTRIES for one that went \
         ({} are listed)",
        entries.len()
    );
    entries
}

/// Rule and path of a line; the reason follows them.
fn entry(line: &str) -> Option<Entry<'_>> {
    let line = line.trim();
    let (rule, rest) = line.split_once(' ').filter(|_| !line.starts_with('#'))?;
    let (path, reason) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
    assert!(
        !reason.trim().is_empty(),
        "{rule} {path}: an exception has a reason"
    );
    Some(Entry { rule, path, reason })
}

#[test]
fn a_listed_size_fails_when_it_grows_shrinks_or_goes() {
    let list = [entry("type-methods a.rs/A 34 made by hand").unwrap()];
    let check = |found: usize, place: &str, expected: &[&str]| {
        let large = Type {
            place: place.to_owned(),
            line: 1,
            methods: found,
            name: String::new(),
            module: Vec::new(),
        };
        let lines = size_faults(&[large], &list);
        let said = lines
            .iter()
            .zip(expected)
            .all(|(line, part)| line.contains(part));
        assert!(said && lines.len() == expected.len(), "{lines:?}");
    };
    check(34, "a.rs/A", &[]);
    check(35, "a.rs/A", &["35, and exceptions.txt allows 34"]);
    check(33, "a.rs/A", &["is down to 33"]);
    check(33, "a.rs/B", &["33, at most 25", "a.rs/A` is not needed"]);
}
