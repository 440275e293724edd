//! The oldest Rust that builds this: what Cargo.toml promises is what documents and workflows say,
//! what the crates of others need, and no more than what builds it here.

use std::process::Command;

use crate::dependencies::{list, metadata};
use crate::files::root;
use crate::rules::Offence;

/// Files that name the version, and what stands before it there.
const SAID: [(&str, &str); 2] = [
    ("README.md", "Rust "),
    (".github/workflows/ci.yml", "rustup toolchain install "),
];

/// A version of Rust: 1.88 is (1, 88, 0).
type Version = (u32, u32, u32);

/// Where something else is said than `rust-version` in Cargo.toml, or more is needed.
pub(crate) fn disagreements() -> Vec<Offence> {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).unwrap_or_default();
    let promised = after(&text, "rust-version = \"").expect("Cargo.toml has a rust-version");
    let mut offences = Vec::new();
    for (path, before) in SAID {
        let text = std::fs::read_to_string(root().join(path)).unwrap_or_default();
        if after(&text, before) != Some(promised) {
            let text = format!("`{before}` is not followed by the rust-version of Cargo.toml");
            offences.push(offence(path, text));
        }
    }
    let metadata = metadata();
    for package in list(&metadata["packages"]) {
        let needed = package["rust_version"].as_str().and_then(read);
        if needed.is_some_and(|needed| needed > promised) {
            let text = format!("{} needs a newer Rust than is promised", package["name"]);
            offences.push(offence("Cargo.toml", text));
        }
    }
    let here = Command::new("rustc").arg("--version").output();
    let here = here.expect("rustc can be run").stdout;
    let here = after(&String::from_utf8_lossy(&here), "rustc ").expect("rustc has a version");
    if here < promised {
        let text = format!("{here:?} builds this, which is older than what is promised");
        offences.push(offence("Cargo.toml", text));
    }
    offences
}

/// The version that first follows these words.
fn after(text: &str, words: &str) -> Option<Version> {
    let mut places = text.match_indices(words);
    places.find_map(|(at, _)| {
        let rest = &text[at + words.len()..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        read(rest[..end.unwrap_or(rest.len())].trim_end_matches('.'))
    })
}

fn read(text: &str) -> Option<Version> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let first = parts.next()??;
    Some((first, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

fn offence(path: &str, text: String) -> Offence {
    Offence {
        rule: "toolchain",
        path: path.to_owned(),
        line: 1,
        text,
    }
}

#[test]
fn versions_are_read_and_compared_by_number() {
    assert_eq!(after("Rust is\nRust 1.88, or", "Rust "), Some((1, 88, 0)));
    assert_eq!(read("1.9.2"), Some((1, 9, 2)));
    assert!(read("1.100") > read("1.88.1") && read("nightly").is_none());
}
