//! Process trees as `/proc` shows them.
//!
//! A walk over `/proc` is a snapshot and may miss a new process: to kill all, walk again until
//! nothing is left.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{Pid, RawPid};

/// Processes whose parent is `parent`.
pub(crate) fn children(parent: Pid) -> Vec<Pid> {
    let processes = processes();
    let children = processes
        .iter()
        .filter(|process| process.parent == parent.as_raw_pid());
    children
        .filter_map(|process| Pid::from_raw(process.pid))
        .collect()
}

/// Every process below `root`, without `root` itself, parents first.
pub(crate) fn descendants(root: Pid) -> Vec<Pid> {
    let mut by_parent: HashMap<RawPid, Vec<RawPid>> = HashMap::new();
    for process in processes() {
        by_parent
            .entry(process.parent)
            .or_default()
            .push(process.pid);
    }
    let mut found = vec![root.as_raw_pid()];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        // Taking them out ends the walk even if a reused number makes a circle.
        found.extend(by_parent.remove(parent).unwrap_or_default());
        next += 1;
    }
    found
        .into_iter()
        .skip(1)
        .filter_map(Pid::from_raw)
        .collect()
}

/// When a process started, in ticks since the system did: with its number this names a process
/// that no later one can be mistaken for. `None` when it is gone.
pub(crate) fn started(pid: Pid) -> Option<u64> {
    read(pid.as_raw_pid()).map(|process| process.started)
}

/// The parent of a process; `None` when it is gone.
pub(crate) fn parent(pid: Pid) -> Option<Pid> {
    Pid::from_raw(read(pid.as_raw_pid())?.parent)
}

/// Whether this very process runs still, and not a later one of its number.
pub(crate) fn is_running(pid: Pid, started_at: u64) -> bool {
    started(pid) == Some(started_at)
}

/// Processes in a cgroup; empty when the group is gone.
pub(crate) fn members(group: &Path) -> Vec<Pid> {
    let text = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines()
        .filter_map(|line| Pid::from_raw(line.parse().ok()?))
        .collect()
}

/// The name of a process, as the kernel keeps it; empty when it is gone.
pub(crate) fn name(pid: Pid) -> String {
    name_of(pid.as_raw_pid())
}

/// The same by its number.
pub(crate) fn name_of(pid: RawPid) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// Every process there is, by number.
pub(crate) fn all() -> Vec<Pid> {
    processes()
        .into_iter()
        .filter_map(|process| Pid::from_raw(process.pid))
        .collect()
}

/// A process that runs.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: RawPid,
    pub(crate) parent: RawPid,
    pub(crate) session: RawPid,
    /// Ticks since the system started.
    pub(crate) started: u64,
}

/// Every process that runs.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(read).collect()
}

/// Zombies are left out: they are ended and only wait to be collected.
fn read(pid: RawPid) -> Option<Process> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name stands in parentheses and may hold anything, parentheses too.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    // Field 22 of all; the session was field 6.
    let started = fields.nth(15)?.parse().ok()?;
    (state != "Z" && state != "X").then_some(Process {
        pid,
        parent,
        session,
        started,
    })
}

/// The number of a process's PID namespace; `process` is its number, or `self`.
pub(crate) fn namespace_of(process: &str) -> io::Result<u64> {
    let data = std::fs::metadata(format!("/proc/{process}/ns/pid"))?;
    Ok(data.ino())
}

/// The first PID namespace of the system, which has this number in every kernel. From it alone
/// the processes of all others are seen.
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// PID namespaces that have a process; `None` where not all of them can be known.
pub(crate) fn namespaces() -> Option<BTreeSet<u64>> {
    if namespace_of("self").ok()? != FIRST_NAMESPACE {
        return None;
    }
    // Where processes of others are hidden, the first of the system is, too.
    let all = processes();
    let is_first = |process: &&Process| process.pid == 1;
    all.iter().find(is_first)?;
    let mut found = BTreeSet::from([FIRST_NAMESPACE]);
    for process in all.iter().filter(|it| !is_first(it)) {
        match namespace_of(&process.pid.to_string()) {
            Ok(namespace) => {
                found.insert(namespace);
            }
            // It has ended meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_a_descendant_until_it_has_ended() {
        let me = rustix::process::getpid();
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        assert!(descendants(me).contains(&pid));
        assert!(children(me).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!descendants(me).contains(&pid));
    }
}
