//! Which crate may know which, what pure crates are forbidden, and what works on every system.

use std::fs;

use crate::files::{Source, root};
use crate::rules::Offence;

/// Each crate with those of the project that it may depend on, tests included. The measuring
/// half never knows the explaining half (audit, stats, report): they meet in `record`.
const MAY_KNOW: [(&str, &[&str]); 17] = [
    ("plan", &[]),
    ("published", &[]),
    ("wire", &[]),
    ("udp", &[]),
    // Messages about loads and machines pass through it as JSON.
    ("hosts", &[]),
    // Of `plan` what is demanded, and of `wire` HPACK, QPACK and frames alone, which mean the same
    // to both sides and are written once.
    ("origin", &["plan", "udp", "wire"]),
    ("record", &["plan"]),
    ("load", &["plan", "record", "udp", "wire"]),
    ("probe", &["record"]),
    ("stage", &["plan", "probe", "record"]),
    // Which trial of a search comes next, and what was found, both from the record alone.
    ("search", &["plan", "record"]),
    (
        "conduct",
        &[
            "load", "origin", "plan", "probe", "record", "search", "stage",
        ],
    ),
    ("stats", &["plan", "record"]),
    // Invented records, for tests.
    ("testing", &["plan", "record", "search"]),
    (
        "audit",
        &["plan", "published", "record", "stats", "testing"],
    ),
    (
        "report",
        &[
            "audit",
            "plan",
            "published",
            "record",
            "search",
            "stats",
            "testing",
        ],
    ),
    (
        "cli",
        &[
            "conduct",
            "hosts",
            "load",
            "origin",
            "plan",
            "probe",
            "published",
            "record",
            "report",
            "stage",
            "testing",
        ],
    ),
];
/// Crates that own no clock, socket, file or process.
const PURE: [&str; 7] = [
    "audit",
    "plan",
    "published",
    "report",
    "search",
    "stats",
    "wire",
];
/// What the `clippy.toml` of a pure crate must ban, at least.
const BANNED: [&str; 6] = [
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "std::fs::File",
    "std::fs::read",
    "std::net::TcpStream",
    "std::process::Command",
];

/// Sources of the command line.
const CLI: &str = "crates/cli/src/";

/// Dependencies against the direction, and crates that the table does not know.
pub(crate) fn unknown_edges() -> Vec<Offence> {
    let mut offences = Vec::new();
    let entries = fs::read_dir(root().join("crates")).expect("crates/ can be read");
    let folders = entries
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").is_file());
    for name in folders.map(|entry| entry.file_name().to_string_lossy().into_owned()) {
        let path = format!("crates/{name}/Cargo.toml");
        let text = read(&path);
        let Some((_, known)) = MAY_KNOW.iter().find(|(crate_name, _)| *crate_name == name) else {
            offences.push(offence(path, 1, "add the crate to MAY_KNOW".to_owned()));
            continue;
        };
        for (index, line) in text.lines().enumerate() {
            let Some(other) = line.strip_prefix("bakeoff-") else {
                continue;
            };
            let other = other.split(['.', ' ', '=']).next().unwrap_or(other);
            if !known.contains(&other) {
                let text = format!("{name} must not know {other}");
                offences.push(offence(path.clone(), index + 1, text));
            }
        }
    }
    offences
}

/// Pure crates whose `clippy.toml` does not ban what it must.
pub(crate) fn missing_bans() -> Vec<Offence> {
    let mut offences = Vec::new();
    for name in PURE {
        let path = format!("crates/{name}/clippy.toml");
        let text = read(&path);
        for banned in BANNED
            .iter()
            .filter(|banned| !text.contains(&format!("\"{banned}\"")))
        {
            offences.push(offence(path.clone(), 1, format!("{banned} is not banned")));
        }
    }
    offences
}

/// What `cli` says of crates that only Linux has, outside of the modules that only Linux has.
pub(crate) fn linux_elsewhere(sources: &[Source]) -> Vec<Offence> {
    let crates = linux_crates();
    let within = |source: &&Source| source.path.starts_with(CLI);
    let of_linux: Vec<String> = sources
        .iter()
        .filter(within)
        .flat_map(linux_modules)
        .collect();
    assert!(
        !crates.is_empty() && !of_linux.is_empty(),
        "cli was not understood"
    );
    let mut offences = Vec::new();
    for source in sources.iter().filter(within) {
        let path = source.path.trim_end_matches(".rs");
        let is_below = |module: &String| {
            path.strip_prefix(module.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if of_linux.iter().any(is_below) {
            continue;
        }
        let mut last = "";
        for (index, line) in source.code.lines().enumerate() {
            let named = crates.iter().find(|name| line.contains(name.as_str()));
            if let Some(name) = named.filter(|_| !is_for_linux(last)) {
                let text = format!("{name} is for Linux only; use it in `commands/measure/`");
                offences.push(offence(source.path.clone(), index + 1, text));
            }
            last = line;
        }
    }
    offences
}

/// The crates that `cli` has on Linux alone, as they are called in code.
fn linux_crates() -> Vec<String> {
    let manifest = read("crates/cli/Cargo.toml");
    let lines = manifest
        .lines()
        .skip_while(|line| !line.starts_with("[target."));
    let names = lines.skip(1).take_while(|line| !line.starts_with('['));
    let names = names.filter_map(|line| line.split_once('.'));
    names.map(|(name, _)| name.replace('-', "_")).collect()
}

/// Paths without `.rs` of the modules that a file declares for Linux alone.
fn linux_modules(source: &Source) -> Vec<String> {
    let path = source.path.trim_end_matches(".rs");
    let home = path.strip_suffix("/main").unwrap_or(path);
    let lines = source.code.lines();
    let pairs = lines.clone().zip(lines.skip(1));
    let modules = pairs.filter_map(|(attribute, line)| {
        let name = line.strip_prefix("mod ")?.strip_suffix(';')?;
        is_for_linux(attribute).then(|| format!("{home}/{name}"))
    });
    modules.collect()
}

/// Whether an attribute keeps the line after it for Linux. Strings are blanked in code.
fn is_for_linux(line: &str) -> bool {
    line.trim_start().starts_with("#[cfg(target_os = ")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

fn offence(path: String, line: usize, text: String) -> Offence {
    Offence {
        rule: "crates",
        path,
        line,
        text,
    }
}
