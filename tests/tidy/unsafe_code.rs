//! `unsafe`: how often each crate has it, and that each block says why it is sound.
//!
//! Whether the reason is a good one is for a reader; clippy looks for the comment as well.

use std::collections::BTreeMap;

use crate::files::Source;
use crate::rules::Offence;

/// How often each part of the project says `unsafe`. Lowered with each that goes. One more needs
/// a reason that a reviewer accepts, and is raised here by hand, in the same commit.
const COUNTS: [(&str, usize); 6] = [
    ("crates/load", 14),
    ("crates/origin", 1),
    ("crates/probe", 4),
    ("crates/stage", 19),
    ("crates/udp", 6),
    ("crates/wire", 5),
];
/// Lines above a block in which its reason must be.
const REASON_WITHIN: usize = 6;
const WORD: &str = "unsafe";

/// Parts that say it more often than they may, or less often than the table says.
pub(crate) fn miscounted(sources: &[Source]) -> Vec<Offence> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let count = places(&source.code).count();
        if count > 0 {
            *counts.entry(part(&source.path)).or_default() += count;
        }
    }
    for (part, _) in COUNTS {
        counts.entry(part.to_owned()).or_default();
    }
    let mut offences = Vec::new();
    for (part, found) in counts {
        let listed = COUNTS.iter().find(|(name, _)| *name == part);
        let allowed = listed.map_or(0, |(_, count)| *count);
        let text = match found.cmp(&allowed) {
            std::cmp::Ordering::Greater => {
                format!("{found} times `unsafe`, and COUNTS has {allowed}")
            }
            std::cmp::Ordering::Less => {
                format!("down to {found}: write that in COUNTS, not {allowed}")
            }
            std::cmp::Ordering::Equal => continue,
        };
        offences.push(offence(part, 1, text));
    }
    offences
}

/// Blocks and implementations without a `SAFETY:` comment above them.
pub(crate) fn without_reason(sources: &[Source]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for at in places(&source.code) {
            let after = source.code[at + WORD.len()..].trim_start();
            if !after.starts_with('{') && !after.starts_with("impl") {
                continue;
            }
            let line = source.code[..at].matches('\n').count();
            let lines: Vec<&str> = source.text.lines().collect();
            let above = &lines[line.saturating_sub(REASON_WITHIN)..=line];
            if !above.iter().any(|line| line.contains("// SAFETY: ")) {
                let text = "say above it why it is sound: `// SAFETY: ...`".to_owned();
                offences.push(offence(source.path.clone(), line + 1, text));
            }
        }
    }
    offences
}

/// Where the word stands in code whose comments and strings are blank.
fn places(code: &str) -> impl Iterator<Item = usize> {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    let places = code.match_indices(WORD).map(|(at, _)| at);
    places.filter(move |at| {
        !code[..*at].ends_with(joins) && !code[at + WORD.len()..].starts_with(joins)
    })
}

/// `crates/NAME`, or the first folder of what belongs to no crate.
fn part(path: &str) -> String {
    let folders = if path.starts_with("crates/") { 2 } else { 1 };
    path.split('/').take(folders).collect::<Vec<_>>().join("/")
}

fn offence(path: String, line: usize, text: String) -> Offence {
    Offence {
        rule: "unsafe",
        path,
        line,
        text,
    }
}

#[test]
fn a_block_without_a_reason_and_one_too_many_are_found() {
    let source = |path: &str, text: &str| Source {
        path: path.to_owned(),
        text: text.to_owned(),
        code: crate::mask::mask(text, true),
    };
    let bare = source("crates/new/src/a.rs", "fn f() {\n    unsafe { g() }\n}\n");
    let good = source(
        "crates/new/src/b.rs",
        "fn f() {\n    // SAFETY: `g` asks for nothing.\n    unsafe { g() }\n}\n",
    );
    let none = source(
        "crates/new/src/c.rs",
        "#[allow(unsafe_code)] // unsafe { }\nfn f() {}\n",
    );
    let all = [bare, good, none];
    let lines: Vec<String> = without_reason(&all)
        .iter()
        .map(Offence::to_string)
        .collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("crates/new/src/a.rs:2"), "{lines:?}");
    let counted = miscounted(&all);
    let lines: Vec<String> = counted.iter().map(Offence::to_string).collect();
    let new: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("crates/new"))
        .collect();
    assert_eq!(new.len(), 1, "{lines:?}");
    assert!(
        new[0].contains("2 times `unsafe`, and COUNTS has 0"),
        "{lines:?}"
    );
    assert_eq!(
        lines.len(),
        1 + COUNTS.len(),
        "each listed part is down to 0: {lines:?}"
    );
}
