//! Processes as `/proc` shows them. Only looks, and ends what a test itself has started.

use std::collections::BTreeSet;

use rustix::process::{Pid, Signal};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Ticks from the start of the machine to that of the process.
    started: u64,
    /// Short name of the program.
    pub(crate) name: String,
}

struct Stat {
    process: Process,
    parent: u32,
    ended: bool,
}

/// Everything below `root`, without it. Tests look often, and a machine has many processes, so that
/// the kernel is asked for children.
pub(crate) fn below(root: u32) -> Vec<Process> {
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        let below = children(parent).into_iter().filter_map(stat);
        let below: Vec<Process> = below.map(|stat| stat.process).collect();
        parents.extend(below.iter().map(|process| process.pid));
        found.extend(below);
    }
    found
}

/// The children of all its threads.
fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let mut found = Vec::new();
    for thread in threads.into_iter().flatten().flatten() {
        let Ok(listed) = std::fs::read_to_string(thread.path().join("children")) else {
            continue;
        };
        found.extend(
            listed
                .split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    found
}

/// Everything whose command line or environment holds `marker`.
pub(crate) fn bearing(marker: &str) -> BTreeSet<Process> {
    let bears = |pid: u32| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(marker)
        })
    };
    let alive = all().into_iter().filter(|stat| !stat.ended);
    alive
        .map(|stat| stat.process)
        .filter(|process| bears(process.pid))
        .collect()
}

/// Whether it runs still, and does not merely wait to be collected.
pub(crate) fn is_alive(process: &Process) -> bool {
    stat(process.pid).is_some_and(|stat| !stat.ended && stat.process.started == process.started)
}

/// Whether there is a process of this number that has not ended.
pub(crate) fn exists(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| !stat.ended)
}

/// The process above another one.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    stat(pid).map(|stat| stat.parent)
}

/// Sends a signal to a process that this test has started, or that bakeoff has for it.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended a moment ago.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Sends a signal to a process group, as a terminal does at Ctrl-C.
pub(crate) fn signal_group(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
    let _ = rustix::process::kill_process_group(pid, signal);
}

fn all() -> Vec<Stat> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(stat).collect()
}

fn stat(pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything.
    let (head, rest) = text.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split(' ').collect();
    Some(Stat {
        process: Process {
            pid,
            started: fields.get(19)?.parse().ok()?,
            name,
        },
        parent: fields.get(1)?.parse().ok()?,
        ended: matches!(*fields.first()?, "Z" | "X"),
    })
}
