//! The list of offences that must stay, each with its reason.

use std::collections::BTreeSet;
use std::fs;

use crate::files::root;
use crate::rules::Offence;

/// Entries of the list. Lowered with each that goes, never raised.
const ENTRIES: usize = 0;

/// Fails for offences against `rules` that are not listed, and for entries that no offence needs.
#[track_caller]
pub(crate) fn judge(rules: &[&str], offences: Vec<Offence>) {
    let text = fs::read_to_string(root().join("tests/tidy/exceptions.txt"))
        .expect("tests/tidy/exceptions.txt can be read");
    let entries: Vec<(&str, &str)> = text.lines().filter_map(entry).collect();
    assert!(
        entries.len() == ENTRIES,
        "exceptions.txt only shrinks: mend the offence, and lower ENTRIES for one that went"
    );
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

/// Rule and path of a line; the reason follows them.
fn entry(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    let rule = words.next().filter(|rule| !rule.starts_with('#'))?;
    let path = words.next().expect("an entry is: rule, path, reason");
    assert!(
        words.next().is_some(),
        "{rule} {path}: an exception has a reason"
    );
    Some((rule, path))
}
