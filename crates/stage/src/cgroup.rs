//! A group of one's own for each started process tree, where the machine has one to give.
//!
//! A group counts the CPU time of a whole tree exactly, daemonised processes too, and kills it in
//! one step. Only version 2 does both: a group under version 1 would add nothing to what the
//! keeper can do, so none is made there. No controller is ever switched on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal};

use crate::{host, tree};

/// What this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CgroupKind {
    /// Version 2 as the main mount, and this process may make groups in it.
    V2,
    /// Version 2 beside version 1, without controllers; CPU time and killing work all the same.
    V2BesideV1,
    /// Version 1 only: no group is made.
    V1,
    /// None, or none that this process may use.
    None,
}

impl CgroupKind {
    /// The name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V2BesideV1 => "v2-beside-v1",
            Self::V1 => "v1",
            Self::None => "none",
        }
    }
}

/// The place where groups are made.
#[derive(Debug)]
pub(crate) struct Cgroups {
    kind: CgroupKind,
    base: Option<PathBuf>,
}

/// Finds out what kind of groups this machine gives to this process.
pub fn cgroup_kind() -> CgroupKind {
    Cgroups::detect().kind
}

/// Numbers groups over all stages of this process.
static MADE: AtomicU32 = AtomicU32::new(0);

impl Cgroups {
    pub(crate) fn detect() -> Self {
        if host::is_without("groups") {
            let (kind, base) = (CgroupKind::None, None);
            return Self { kind, base };
        }
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let found = Found::read(&mounts, &own);
        let base = found.base.filter(|base| may_group_in(base));
        let kind = match (&base, found.version_1) {
            (Some(_), false) => CgroupKind::V2,
            (Some(_), true) => CgroupKind::V2BesideV1,
            (None, true) => CgroupKind::V1,
            (None, false) => CgroupKind::None,
        };
        Self { kind, base }
    }

    pub(crate) fn kind(&self) -> CgroupKind {
        self.kind
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.base.as_deref()
    }

    /// Makes a new group, or says why there is none.
    pub(crate) fn make(&self) -> Option<PathBuf> {
        let base = self.base.as_ref()?;
        make_in(base)
    }

    /// Removes the groups of bakeoffs that have ended, and what still runs in them. Of a PID
    /// namespace that is gone, empty groups are removed.
    pub(crate) fn remove_left_over(&self) {
        if let Some(base) = &self.base {
            remove_left_over_in(base, &tree::namespaces);
        }
    }
}

/// The same below `base`; `namespaces` says which PID namespaces have a process, where that can be
/// known of all. It is asked after the groups were listed, so that no owner comes between.
fn remove_left_over_in(base: &Path, namespaces: &dyn Fn() -> Option<BTreeSet<u64>>) {
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    let (mut elsewhere, mut here) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.file_name().to_str().and_then(owner) {
            Some(owner) if owner.is_elsewhere() => elsewhere.push((owner, entry.path())),
            Some(owner) if !owner.is_running() => here.push(entry.path()),
            _ => {}
        }
    }
    here.iter().for_each(|group| remove(group));
    let Some(live) = (!elsewhere.is_empty()).then(namespaces).flatten() else {
        return;
    };
    for (owner, group) in elsewhere {
        if !live.contains(&owner.namespace) {
            // The kernel refuses it while anything runs in it.
            let _ = std::fs::remove_dir(group);
        }
    }
}

/// Kills what is in a group and removes it; a group that is gone already is fine.
pub(crate) fn remove(group: &Path) {
    for _ in 0..100 {
        let text = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        // Zero stands for a process of another PID namespace: such a group is not ours to end.
        if text.lines().any(|line| line == "0") {
            return;
        }
        if std::fs::remove_dir(group).is_ok() || !group.exists() {
            return;
        }
        let _ = std::fs::write(group.join("cgroup.kill"), "1");
        // Kernels before 5.14 have no `cgroup.kill`.
        for pid in tree::members(group) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// The process that made a group.
#[derive(Debug, PartialEq)]
struct Owner {
    pid: Pid,
    started: u64,
    /// PID namespace.
    namespace: u64,
}

impl Owner {
    /// Whether its number is one of another namespace, which says nothing here.
    fn is_elsewhere(&self) -> bool {
        Some(self.namespace) != own_namespace()
    }

    fn is_running(&self) -> bool {
        tree::is_running(self.pid, self.started)
    }
}

/// The process that made the group of this name.
fn owner(name: &str) -> Option<Owner> {
    let parts: Vec<&str> = name.strip_prefix("bakeoff-")?.split('-').collect();
    let [pid, started, namespace, number] = parts.as_slice() else {
        return None;
    };
    number.parse::<u32>().ok()?;
    let pid = pid.parse().ok().filter(|&pid: &i32| pid > 0)?;
    Some(Owner {
        pid: Pid::from_raw(pid)?,
        started: started.parse().ok()?,
        namespace: namespace.parse().ok()?,
    })
}

/// The number of the PID namespace of this process.
fn own_namespace() -> Option<u64> {
    tree::namespace_of("self").ok()
}

fn make_in(base: &Path) -> Option<PathBuf> {
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let me = rustix::process::getpid();
    let started = tree::started(me)?;
    let namespace = own_namespace()?;
    let group = base.join(format!("bakeoff-{me}-{started}-{namespace}-{number}"));
    std::fs::create_dir(&group).ok()?;
    Some(group)
}

/// Making a group is not enough: moving a process into it takes the right to write here as well.
fn may_group_in(base: &Path) -> bool {
    let writable = std::fs::OpenOptions::new()
        .write(true)
        .open(base.join("cgroup.procs"))
        .is_ok();
    let Some(group) = writable.then(|| make_in(base)).flatten() else {
        return false;
    };
    let usable = group.join("cgroup.procs").exists() && group.join("cpu.stat").exists();
    let _ = std::fs::remove_dir(group);
    usable
}

/// What the kernel's own files say.
#[derive(Debug, PartialEq)]
struct Found {
    version_1: bool,
    base: Option<PathBuf>,
}

impl Found {
    fn read(mounts: &str, own: &str) -> Self {
        let mut version_1 = false;
        let mut mount = None;
        for line in mounts.lines() {
            let Some((front, back)) = line.split_once(" - ") else {
                continue;
            };
            match back.split(' ').next() {
                Some("cgroup") => version_1 = true,
                Some("cgroup2") => mount = front.split(' ').nth(4).map(PathBuf::from),
                _ => {}
            }
        }
        let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
        let base = mount.zip(path).map(|(mount, path)| {
            if path.is_empty() {
                mount
            } else {
                mount.join(path)
            }
        });
        Self { version_1, base }
    }
}

/// The group (version 2) that holds a process with all that it has started, and nothing else.
pub(crate) fn of_tree(root: Pid) -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = std::fs::read_to_string(format!("/proc/{root}/cgroup")).ok()?;
    let group = Found::read(&mounts, &own).base?;
    let members = tree::members(&group);
    let below = tree::descendants(root);
    let is_of_tree = |pid: &Pid| *pid == root || below.contains(pid);
    (members.contains(&root) && members.iter().all(is_of_tree)).then_some(group)
}

/// Every process of a tree: those in its group, or else those below its keeper, for which all
/// processes of the machine are read.
pub(crate) fn pids_of(group: Option<&Path>, keeper: Pid) -> Vec<Pid> {
    group.map_or_else(|| tree::descendants(keeper), tree::members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_version_2_wherever_it_is_mounted() {
        let v1 = "30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let beside = "31 24 0:27 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n";
        let main = "25 24 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        let check = |mounts: &str, own: &str, version_1: bool, base: Option<&str>| {
            let expected = Found {
                version_1,
                base: base.map(PathBuf::from),
            };
            assert_eq!(Found::read(mounts, own), expected, "{mounts}{own}");
        };
        check(
            main,
            "0::/user.slice/run-7.scope\n",
            false,
            Some("/sys/fs/cgroup/user.slice/run-7.scope"),
        );
        check(
            &format!("{v1}{beside}"),
            "2:cpu:/\n0::/\n",
            true,
            Some("/sys/fs/cgroup/unified"),
        );
        check(v1, "2:cpu:/\n", true, None);
        check("", "", false, None);
    }

    #[test]
    fn empty_groups_of_namespaces_that_are_gone_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let group = base.path().join(name);
            std::fs::create_dir(&group).unwrap();
            group
        };
        let (gone, alive) = (make("bakeoff-11-5-7-0"), make("bakeoff-11-5-8-0"));
        let full = make("bakeoff-11-5-7-1");
        // The kernel refuses to remove a group with processes, as it does a folder with files.
        std::fs::write(full.join("cgroup.procs"), "0\n").unwrap();
        let other = make("system.slice");
        remove_left_over_in(base.path(), &|| None);
        assert!(gone.exists(), "nothing is known of other namespaces");
        remove_left_over_in(base.path(), &|| Some(BTreeSet::from([8])));
        assert!(!gone.exists());
        assert!(alive.exists() && full.exists() && other.exists());
    }

    #[test]
    fn only_names_of_our_making_have_an_owner() {
        let made = Owner {
            pid: Pid::from_raw(71).unwrap(),
            started: 5,
            namespace: 9,
        };
        assert_eq!(owner("bakeoff-71-5-9-3"), Some(made));
        for name in [
            "bakeoff-71-5-3",
            "bakeoff-71-5-9-3-1",
            "bakeoff-71-5-9-three",
            "system.slice",
        ] {
            assert_eq!(owner(name), None, "{name}");
        }
    }
}
