//! A group of one's own for each started process tree, where the machine has one to give.
//!
//! A group counts the CPU time of a whole tree exactly, daemonised processes too, and kills it in
//! one step. Only version 2 does both: a group under version 1 would add nothing to what the
//! keeper can do. What is limited needs a controller. It gets a group where the machine has
//! switched that on: below a group of version 2 above bakeoff's own, or in version 1 a group for
//! each controller. None is ever switched on here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use bakeoff_plan::Limits;
use bakeoff_record::Step;
use rustix::process::{Pid, Signal};

use crate::error::{Cause, StageError};
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

    /// Makes the groups of a tree.
    ///
    /// # Errors
    /// Where it cannot be held to its limits; without any there is no error.
    pub(crate) fn make(&self, limits: Option<Limits>) -> Result<Groups, StageError> {
        let own = || self.base.as_deref().and_then(make_in);
        let Some(limits) = limits else {
            return Ok(Groups {
                own: own(),
                limiting: Vec::new(),
            });
        };
        let settings = Setting::of(limits);
        let above = self.base.iter().flat_map(|base| base.ancestors());
        if let Some(group) = above
            .filter_map(|place| limited_in(place, &settings))
            .next()
        {
            return Ok(Groups {
                own: Some(group.clone()),
                limiting: vec![group],
            });
        }
        let mut groups = Groups::default();
        for setting in &settings {
            let place = place_of_version_1(setting.controller);
            let group = place.and_then(|place| make_in(&place)).filter(|group| {
                let written = setting.version_1.iter().all(|one| one.write(group));
                if !written {
                    remove(group);
                }
                written
            });
            let Some(group) = group else {
                groups.limiting.iter().for_each(|group| remove(group));
                return Err(StageError::new(Step::Start, no_limit(setting.controller)));
            };
            groups.limiting.push(group);
        }
        groups.own = own();
        Ok(groups)
    }

    /// Removes the groups of bakeoffs that have ended, and what still runs in them. Of a PID
    /// namespace that is gone, empty groups are removed.
    pub(crate) fn remove_left_over(&self) {
        let above = self.base.iter().flat_map(|base| base.ancestors());
        let above = above.take_while(|place| place.join("cgroup.procs").exists());
        let limiting = ["cpu", "memory"].into_iter().filter_map(place_of_version_1);
        for place in above.map(Path::to_owned).chain(limiting) {
            remove_left_over_in(&place, &tree::namespaces);
        }
    }
}

fn no_limit(controller: &str) -> Cause {
    Cause::Lacking {
        reason: format!("nothing here holds a server to a limit of its {controller}"),
        fix: format!(
            "run bakeoff as root, where the control group of a process may be made, and its \
             controller `{controller}` is on; or leave the limit out"
        ),
    }
}

/// The groups of a tree that is started.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Where its CPU time is counted and it is killed from.
    pub(crate) own: Option<PathBuf>,
    /// Where it is limited.
    pub(crate) limiting: Vec<PathBuf>,
}

/// A limit of a controller, in the files of both versions.
#[derive(Debug)]
struct Setting {
    controller: &'static str,
    version_1: Vec<Value>,
    version_2: Vec<Value>,
}

/// What is written to a file of a group.
#[derive(Debug)]
struct Value {
    file: &'static str,
    text: String,
    /// Whether the kernel may lack it.
    is_optional: bool,
}

impl Value {
    fn write(&self, group: &Path) -> bool {
        std::fs::write(group.join(self.file), &self.text).is_ok() || self.is_optional
    }
}

impl Setting {
    fn of(limits: Limits) -> Vec<Self> {
        /// Microseconds; the kernel's own default.
        const PERIOD: u32 = 100_000;
        let value = |file, text: String| Value {
            file,
            text,
            is_optional: false,
        };
        let maybe = |file, text: String| Value {
            is_optional: true,
            ..value(file, text)
        };
        let cpus = limits.cpus.map(|cpus| {
            let quota = (cpus * f64::from(PERIOD)).round().max(1_000.0);
            Self {
                controller: "cpu",
                version_1: vec![
                    value("cpu.cfs_period_us", PERIOD.to_string()),
                    value("cpu.cfs_quota_us", quota.to_string()),
                ],
                version_2: vec![value("cpu.max", format!("{quota} {PERIOD}"))],
            }
        });
        let memory = limits.memory_bytes.map(|bytes| {
            let bytes = bytes.to_string();
            Self {
                controller: "memory",
                version_1: vec![
                    value("memory.limit_in_bytes", bytes.clone()),
                    maybe("memory.memsw.limit_in_bytes", bytes.clone()),
                ],
                version_2: vec![
                    value("memory.max", bytes),
                    maybe("memory.swap.max", "0".to_owned()),
                ],
            }
        });
        cpus.into_iter().chain(memory).collect()
    }
}

/// A new group of version 2 below `place` with these limits; `None` where the place has not
/// switched on what they need, or no group may be made.
fn limited_in(place: &Path, settings: &[Setting]) -> Option<PathBuf> {
    let on = std::fs::read_to_string(place.join("cgroup.subtree_control")).ok()?;
    let is_on = |setting: &Setting| on.split_whitespace().any(|one| one == setting.controller);
    if !settings.iter().all(is_on) {
        return None;
    }
    let group = make_in(place)?;
    let mut values = settings.iter().flat_map(|setting| &setting.version_2);
    if values.all(|value| value.write(&group)) {
        return Some(group);
    }
    remove(&group);
    None
}

/// Where groups of a controller of version 1 are made: the group that this process is in.
fn place_of_version_1(controller: &str) -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    version_1_place(&mounts, &own, controller)
}

fn version_1_place(mounts: &str, own: &str, controller: &str) -> Option<PathBuf> {
    let has = |list: &str| list.split(',').any(|one| one == controller);
    let (root, mount) = mounts.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let mut back = back.split(' ');
        let is_it = back.next() == Some("cgroup") && back.nth(1).is_some_and(has);
        let mut front = front.split(' ').skip(3);
        is_it.then_some((front.next()?, front.next()?))
    })?;
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        parts.next().filter(|list| has(list))?;
        parts.next()
    })?;
    let below = Path::new(path).strip_prefix(root).ok()?;
    Some(Path::new(mount).join(below))
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
    fn groups_of_version_1_are_made_below_that_of_this_process() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      31 24 0:27 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let own = "4:memory:/docker/a/b\n2:cpu,cpuacct:/user.slice\n0::/\n";
        let place = |controller| version_1_place(mounts, own, controller);
        assert_eq!(
            place("cpu"),
            Some("/sys/fs/cgroup/cpu,cpuacct/user.slice".into())
        );
        assert_eq!(place("memory"), Some("/sys/fs/cgroup/memory/b".into()));
        assert_eq!(place("pids"), None);
    }

    #[test]
    fn a_limit_of_version_2_is_written_where_its_controllers_are_on() {
        let place = tempfile::tempdir().unwrap();
        let limits = Limits {
            cpus: Some(0.25),
            memory_bytes: Some(64 << 20),
        };
        let settings = Setting::of(limits);
        assert_eq!(limited_in(place.path(), &settings), None);
        std::fs::write(place.path().join("cgroup.subtree_control"), "cpu pids\n").unwrap();
        assert_eq!(limited_in(place.path(), &settings), None);
        std::fs::write(place.path().join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        let group = limited_in(place.path(), &settings).unwrap();
        let text = |file: &str| std::fs::read_to_string(group.join(file)).unwrap();
        assert_eq!(text("cpu.max"), "25000 100000");
        assert_eq!(text("memory.max"), "67108864");
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
