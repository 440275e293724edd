//! Which crate may know which, and what pure crates are forbidden.

use std::fs;

use crate::files::root;
use crate::rules::Offence;

/// Each crate with those of the project that it may depend on, tests included. The measuring
/// half never knows the explaining half (audit, stats, report): they meet in `record`.
const MAY_KNOW: [(&str, &[&str]); 16] = [
    ("plan", &[]),
    ("published", &[]),
    ("wire", &[]),
    ("udp", &[]),
    // Messages about loads and machines pass through it as JSON.
    ("hosts", &[]),
    // For HPACK, QPACK and frames alone, which mean the same to both sides and are written once.
    ("origin", &["udp", "wire"]),
    ("record", &["plan"]),
    ("load", &["plan", "record", "udp", "wire"]),
    ("probe", &["record"]),
    ("stage", &["plan", "record"]),
    // Which trial of a search comes next, and what was found, both from the record alone.
    ("search", &["plan", "record"]),
    (
        "conduct",
        &[
            "load", "origin", "plan", "probe", "record", "search", "stage",
        ],
    ),
    ("stats", &["plan", "record"]),
    ("audit", &["plan", "published", "record", "stats"]),
    (
        "report",
        &["audit", "plan", "published", "record", "search", "stats"],
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
