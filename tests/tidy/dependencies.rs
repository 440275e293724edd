//! The crates of others: where they come from, under which licences, and which of them are there
//! twice. The rules are those of `deny.toml`, which cargo-deny reads; this checks the same where
//! there is no cargo-deny, from `Cargo.lock` and from what cargo says of the crates.
//!
//! It asks no database of advisories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::files::root;
use crate::rules::Offence;

/// Lock files that name what is built.
const LOCKS: [&str; 1] = ["Cargo.lock"];
/// End of the address of the one registry.
const REGISTRY: &str = "/crates.io-index";
/// Fewer crates than this were never locked: the file was not understood.
const CRATES_MIN: usize = 50;

/// A package of a lock file.
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
    has_checksum: bool,
}

/// Crates from elsewhere than the registry, or without a checksum.
pub(crate) fn foreign_sources() -> Vec<Offence> {
    let mut offences = Vec::new();
    for lock in LOCKS {
        let packages = locked(lock);
        assert!(packages.len() >= CRATES_MIN, "{lock} was not understood");
        for package in packages {
            let is_ours = package.source.is_none() && package.name.starts_with("bakeoff");
            let source = package.source.unwrap_or_default();
            let is_of_registry = source.starts_with("registry+") && source.ends_with(REGISTRY);
            let is_known = is_of_registry && package.has_checksum;
            if !(is_ours || is_known) {
                let text = format!(
                    "{} {} is from `{source}`; crates come from the registry, with a checksum",
                    package.name, package.version
                );
                offences.push(offence(lock, text));
            }
        }
    }
    offences
}

/// Second versions that `deny.toml` does not list, and listed ones that nobody needs.
pub(crate) fn unlisted_duplicates() -> Vec<Offence> {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in locked(LOCKS[0]) {
        versions
            .entry(package.name)
            .or_default()
            .insert(package.version);
    }
    duplicate_faults(&versions, &skipped())
}

fn duplicate_faults(
    versions: &BTreeMap<String, BTreeSet<String>>,
    skipped: &BTreeSet<String>,
) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut needed = BTreeSet::new();
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        // cargo-deny compares versions without their build metadata.
        let names = versions.iter().map(|version| {
            let version = version.split('+').next().unwrap_or(version);
            format!("{name}@{version}")
        });
        let (listed, others): (Vec<String>, Vec<String>) =
            names.partition(|name| skipped.contains(name));
        needed.extend(listed);
        if others.len() > 1 {
            let text = format!(
                "several versions of one crate: {}; use one, or list the others in `skip` with \
                 who needs them",
                others.join(", ")
            );
            offences.push(offence("deny.toml", text));
        }
    }
    let idle = skipped.difference(&needed);
    offences.extend(idle.map(|name| {
        let text = format!("`skip` lists {name}, which is not there twice: remove it");
        offence("deny.toml", text)
    }));
    offences
}

/// Crates whose licence is not among those allowed in `deny.toml`.
pub(crate) fn foreign_licences() -> Vec<Offence> {
    let deny = table("deny.toml");
    let allowed = texts(&deny["licenses"]["allow"]);
    let packages = described();
    assert!(
        packages.len() >= CRATES_MIN,
        "cargo described {} crates",
        packages.len()
    );
    let mut offences = Vec::new();
    for (name, licence) in packages {
        if !licence
            .as_deref()
            .is_some_and(|licence| is_allowed(licence, &allowed))
        {
            let licence = licence.unwrap_or_else(|| "none".to_owned());
            let text = format!("{name}: its licence is `{licence}`; allowed is {allowed:?}");
            offences.push(offence("deny.toml", text));
        }
    }
    offences
}

/// Crates of others that are built for this platform, and the licence that each names.
fn described() -> Vec<(String, Option<String>)> {
    let metadata = metadata();
    let used: BTreeSet<&str> = list(&metadata["resolve"]["nodes"])
        .iter()
        .filter_map(|node| node["id"].as_str())
        .collect();
    let packages = list(&metadata["packages"]).iter().filter(|package| {
        let id = package["id"].as_str().unwrap_or_default();
        !package["source"].is_null() && used.contains(id)
    });
    packages
        .map(|package| {
            let text = |key: &str| package[key].as_str().map(str::to_owned);
            let name = format!(
                "{} {}",
                text("name").unwrap_or_default(),
                text("version").unwrap_or_default()
            );
            (name, text("license"))
        })
        .collect()
}

/// What cargo says of the crates that are built for this platform.
pub(crate) fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(cargo)
        .current_dir(root())
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", &host])
        .output()
        .expect("cargo can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {errors}");
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

/// Whether a licence in the notation of SPDX can be met with those allowed.
fn is_allowed(licence: &str, allowed: &[String]) -> bool {
    // `/` is how crates once wrote OR.
    let spaced = licence
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let is_met = either(&mut rest, allowed);
    rest.is_empty() && is_met == Some(true)
}

/// One of several that are joined by OR; `None` where it cannot be read.
fn either(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut is_met = both(words, allowed)?;
    while take(words, "OR") {
        is_met |= both(words, allowed)?;
    }
    Some(is_met)
}

fn both(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut is_met = one(words, allowed)?;
    while take(words, "AND") {
        is_met &= one(words, allowed)?;
    }
    Some(is_met)
}

fn one(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    if take(words, "(") {
        let is_met = either(words, allowed)?;
        return take(words, ")").then_some(is_met);
    }
    let (name, rest) = words.split_first()?;
    *words = rest;
    if ["OR", "AND", "WITH", ")"].contains(name) {
        return None;
    }
    // An exception only gives more rights, but it is another licence by name.
    let mut name = (*name).to_owned();
    if take(words, "WITH") {
        let (exception, rest) = words.split_first()?;
        *words = rest;
        name = format!("{name} WITH {exception}");
    }
    Some(allowed.contains(&name))
}

fn take(words: &mut &[&str], word: &str) -> bool {
    let is_next = words.first() == Some(&word);
    if is_next {
        *words = &words[1..];
    }
    is_next
}

/// Packages of a lock file.
fn locked(lock: &str) -> Vec<Locked> {
    let packages = table(lock);
    let packages = packages["package"].as_array().expect("packages");
    let package = |package: &toml::Value| {
        let text = |key: &str| {
            package
                .get(key)
                .and_then(toml::Value::as_str)
                .map(str::to_owned)
        };
        Locked {
            name: text("name").expect("a name"),
            version: text("version").expect("a version"),
            source: text("source"),
            has_checksum: text("checksum").is_some(),
        }
    };
    packages.iter().map(package).collect()
}

/// `NAME@VERSION` of each second version that is listed, each with a reason.
fn skipped() -> BTreeSet<String> {
    let deny = table("deny.toml");
    let entries = deny["bans"]["skip"].as_array().expect("a list");
    let name = |entry: &toml::Value| {
        let text = |key: &str| entry.get(key).and_then(toml::Value::as_str);
        let name = text("crate").expect("`crate` of an entry of `skip`");
        let has_reason = text("reason").is_some_and(|reason| !reason.is_empty());
        assert!(has_reason, "deny.toml: {name} has no reason");
        name.to_owned()
    };
    entries.iter().map(name).collect()
}

fn table(path: &str) -> toml::Table {
    let text = fs::read_to_string(root().join(path)).expect(path);
    text.parse().expect(path)
}

fn texts(list: &toml::Value) -> Vec<String> {
    let list = list.as_array().expect("a list").iter();
    list.map(|text| text.as_str().expect("a text").to_owned())
        .collect()
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn offence(path: &str, text: String) -> Offence {
    Offence {
        rule: "dependencies",
        path: path.to_owned(),
        line: 1,
        text,
    }
}

#[test]
fn licences_are_read_as_spdx_has_them() {
    let allowed = ["MIT", "ISC"].map(str::to_owned);
    for (licence, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("MIT AND (Apache-2.0 OR ISC)", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", false),
        ("MIT OR Apache-2.0 AND Unicode-3.0", true),
        ("MIT WITH LLVM-exception", false),
        ("MIT WITH LLVM-exception OR ISC", true),
        ("MIT OR", false),
        ("(MIT", false),
        ("MIT)", false),
        ("MIT ISC", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(licence, &allowed), expected, "{licence}");
    }
}

#[test]
fn a_second_version_is_listed_or_fails_and_a_listed_one_is_needed() {
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let check = |versions: &[&str], skipped: &[&str], expected: &[&str]| {
        let versions = BTreeMap::from([("a".to_owned(), set(versions))]);
        let offences = duplicate_faults(&versions, &set(skipped));
        let lines: Vec<String> = offences.iter().map(Offence::to_string).collect();
        let said = lines
            .iter()
            .zip(expected)
            .all(|(line, part)| line.contains(part));
        assert!(said && lines.len() == expected.len(), "{lines:?}");
    };
    check(&["1.0.0"], &[], &[]);
    check(&["1.0.0", "2.0.0"], &[], &["a@1.0.0, a@2.0.0"]);
    check(&["1.0.0+x", "2.0.0"], &["a@1.0.0"], &[]);
    check(
        &["1.0.0", "2.0.0", "3.0.0"],
        &["a@1.0.0"],
        &["a@2.0.0, a@3.0.0"],
    );
    check(&["2.0.0"], &["a@1.0.0"], &["lists a@1.0.0"]);
}
