//! One tree of processes: who belongs to it, and what its members use together.
//!
//! With a control group of its own, members and CPU time are the kernel's, daemons and the
//! shortest lives included. Without, members are a root's descendants, and once a member always
//! one: a process whose parent ends goes on belonging here. What may be missed then is a process
//! that starts and loses its parent between two readings.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use bakeoff_record::{EndedProcess, Role, TreeTick, TreeUsage};

use crate::file::{self, KeptFile};
use crate::kernel;
use crate::limits::Limits;
use crate::member::{self, Member};
use crate::parse::{self, Cpu};

/// Readings between two looks at threads: each has files of its own.
const THREADS_EVERY: u64 = 5;

/// Readings between two counts of open files where the kernel has no number at hand.
const FILES_EVERY: u64 = 10;

/// Readings between two looks at all processes of the machine, where children are not listed.
const SCAN_EVERY: u64 = 10;

/// Shortest time that a share of it says something, nanoseconds.
const SHARE_LEAST_NS: f64 = 50e6;

/// Own time from which the end of a process is kept, nanoseconds: less is no share in any work.
const ENDED_LEAST_NS: u64 = 10_000_000;

/// Ends that are kept, where a process ends with each request.
const ENDED_MAX: usize = 200;

/// Threads that are asked for switches or children at a reading: about 15 us each.
const THREADS_MAX: usize = 256;

/// A tree of processes.
#[derive(Debug, Clone)]
pub struct TreeSource {
    /// Who it is. bakeoff's own process is `root` alone, because the other trees are mostly its
    /// children; the probe's own thread is part of it.
    pub role: Role,
    /// The process that the tree grows from.
    pub root: u32,
    /// Whether the root belongs to the tree, or only what it started.
    pub include_root: bool,
    /// A control group (version 2) that holds all of the tree and nothing else. When its
    /// `cpu.stat` cannot be read, the tree is sampled as if there was none.
    pub cgroup: Option<PathBuf>,
    /// A process of it that limits of its own hold; `None` where there are none.
    pub limited: Option<u32>,
}

/// A tree and its readings so far.
#[derive(Debug)]
pub(crate) struct Tree {
    source: TreeSource,
    group: Option<Group>,
    limits: Option<Limits>,
    members: Vec<Member>,
    /// Numbers that belong to other trees, which end the descent.
    foreign: Vec<u32>,
    ended: Ended,
    cpu: Cpu,
    threads: Threads,
    open_files: Option<u32>,
    ticks: Vec<TreeTick>,
    path: String,
    found: Vec<u32>,
}

#[derive(Debug)]
struct Group {
    folder: PathBuf,
    cpu: KeptFile,
    base: Cpu,
}

/// What members did that ended.
#[derive(Debug, Default)]
struct Ended {
    /// Use of those whose parent does not belong to the tree.
    cpu: Cpu,
    major_faults: u64,
    /// Those that had used most, in the order in which they ended.
    processes: Vec<EndedProcess>,
}

/// What threads did, each since it was last looked at.
#[derive(Debug, Default)]
struct Threads {
    seen: HashMap<u32, Seen>,
    looked_at_s: Option<f64>,
    /// Whether there may have been more at the last look than were looked at.
    is_cut: bool,
    /// Context switches since the first look.
    voluntary: u64,
    involuntary: u64,
}

/// A thread at its last look.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    voluntary: u64,
    involuntary: u64,
    /// Time on a processor, and time in which it wanted one and had none.
    times_ns: Option<(u64, u64)>,
}

/// What this reading includes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Depth {
    /// Number of the reading, from 0.
    pub(crate) index: u64,
    /// Proportional memory is due.
    pub(crate) pss: bool,
    /// No other reading follows.
    pub(crate) last: bool,
}

impl Tree {
    /// A tree as it stands; `foreign` are the roots of the other trees.
    pub(crate) fn new(source: TreeSource, foreign: Vec<u32>, buffer: &mut Vec<u8>) -> Self {
        let group = source
            .cgroup
            .as_ref()
            .and_then(|folder| Group::open(folder, buffer));
        let limits = source.limited.map(|process| Limits::of(process, buffer));
        let mut tree = Self {
            source,
            group,
            limits,
            members: Vec::new(),
            foreign,
            ended: Ended::default(),
            cpu: Cpu::default(),
            threads: Threads::default(),
            open_files: None,
            ticks: Vec::new(),
            path: String::new(),
            found: Vec::new(),
        };
        if tree.group.is_none() && tree.source.include_root {
            tree.members
                .extend(Member::open(tree.source.root, true, buffer));
        }
        tree
    }

    /// Takes a reading, `at_s` seconds after the probe's start.
    pub(crate) fn read(&mut self, at_s: f64, depth: Depth, buffer: &mut Vec<u8>) {
        self.drop_ended(buffer);
        self.find_members(depth, buffer);
        for member in &mut self.members {
            member.since_s = member.since_s.or(Some(at_s));
        }
        let tick = TreeTick {
            at_s,
            ..self.totals(at_s, depth, buffer)
        };
        self.ticks.push(tick);
    }

    /// The readings, with the axis moved so that `zero_s` becomes 0.
    pub(crate) fn into_usage(mut self, zero_s: f64) -> TreeUsage {
        for tick in &mut self.ticks {
            tick.at_s -= zero_s;
        }
        for process in &mut self.ended.processes {
            process.from_s -= zero_s;
            process.last_s -= zero_s;
        }
        let cpu_source = if self.group.is_some() {
            "cgroup"
        } else {
            "process-clock"
        };
        TreeUsage {
            role: self.source.role,
            cpu_source: cpu_source.into(),
            ticks: self.ticks,
            ended: Some(self.ended.processes),
        }
    }

    /// Reads all members and lets parents take over those that are gone, children first.
    fn drop_ended(&mut self, buffer: &mut Vec<u8>) {
        let mut gone = Vec::new();
        let mut index = 0;
        let last_s = self.ticks.last().map_or(0.0, |tick| tick.at_s);
        while index < self.members.len() {
            let member = &mut self.members[index];
            let is_there = member.read(buffer);
            if !is_there || member.has_ended() {
                self.ended.note(member, last_s);
            }
            if is_there {
                index += 1;
            } else {
                gone.push(self.members.remove(index));
            }
        }
        // Members stand in the order they were found in, so a child comes after its parent.
        while let Some(child) = gone.pop() {
            let parent = child.last.parent;
            self.ended.major_faults += child.major_faults();
            let heirs = gone.iter_mut().chain(&mut self.members);
            match heirs.into_iter().find(|member| member.process == parent) {
                Some(heir) => heir.inherit(&child),
                None => self.ended.cpu = self.ended.cpu.plus(&child.used()),
            }
        }
    }

    fn find_members(&mut self, depth: Depth, buffer: &mut Vec<u8>) {
        let first = depth.index == 0;
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        if let Some(group) = &self.group {
            let text = file::read(group.folder.join("cgroup.procs"), buffer).unwrap_or_default();
            found.extend(parse::processes(text));
            self.adopt(&mut found, first, buffer);
        } else if !self.source.role.is_own() {
            if !self.source.include_root {
                root_children(self.source.root, buffer, &mut found);
                self.adopt(&mut found, first, buffer);
            }
            // Members found on the way are asked for children of their own in turn.
            let parents = self.parents(depth, buffer);
            let mut asked = 0;
            while let Some(member) = self.members.get(asked) {
                let process = member.process;
                found.extend(
                    parents
                        .iter()
                        .filter(|one| one.1 == process)
                        .map(|one| one.0),
                );
                member.children(THREADS_MAX, &mut self.path, buffer, &mut found);
                self.adopt(&mut found, first, buffer);
                asked += 1;
            }
        }
        self.found = found;
    }

    /// All processes with their parents, where the kernel keeps no lists of children; expensive, so
    /// not at each reading.
    fn parents(&self, depth: Depth, buffer: &mut Vec<u8>) -> Vec<(u32, u32)> {
        let due = depth.last || depth.index.is_multiple_of(SCAN_EVERY);
        if !due || Path::new("/proc/thread-self/children").exists() {
            return Vec::new();
        }
        member::processes_and_parents(buffer)
    }

    fn adopt(&mut self, found: &mut Vec<u32>, first: bool, buffer: &mut Vec<u8>) {
        for process in found.drain(..) {
            let known = self.members.iter().any(|member| member.process == process);
            if !known && !self.foreign.contains(&process) {
                self.members.extend(Member::open(process, first, buffer));
            }
        }
    }

    fn totals(&mut self, at_s: f64, depth: Depth, buffer: &mut Vec<u8>) -> TreeTick {
        let cpu = match &self.group {
            Some(group) => group.used(buffer),
            None => self
                .members
                .iter()
                .fold(self.ended.cpu, |sum, one| sum.plus(&one.used())),
        };
        // A reading that fails, or steps of 10 ms, must not make used time shrink.
        self.cpu = self.cpu.at_least(&cpu);
        let busiest = if depth.last || depth.index.is_multiple_of(THREADS_EVERY) {
            self.threads
                .look(&self.members, at_s, &mut self.path, buffer)
        } else {
            None
        };
        self.read_open_files(depth);
        let limits = self.limits.as_ref();
        let living = || self.members.iter().filter(|member| !member.last.zombie);
        let page = rustix::param::page_size() as u64;
        TreeTick {
            at_s: 0.0,
            cpu_user_s: seconds(self.cpu.user_ns),
            cpu_system_s: seconds(self.cpu.system_ns),
            rss_bytes: living().map(|member| member.last.rss_pages * page).sum(),
            pss_bytes: if depth.pss || depth.last {
                living().map(|member| member.pss_bytes(buffer)).sum()
            } else {
                None
            },
            processes: living().count() as u32,
            threads: living().map(|member| member.last.threads).sum(),
            open_files: self.open_files,
            switches_voluntary: self.threads.voluntary,
            switches_involuntary: self.threads.involuntary,
            major_faults: Some(
                self.members
                    .iter()
                    .fold(self.ended.major_faults, |sum, one| sum + one.major_faults()),
            ),
            busiest_thread: busiest.map(|(ran, _)| ran),
            busiest_thread_waited: busiest.map(|(_, waited)| waited),
            limited_us: limits.and_then(|limits| limits.throttled_us(buffer)),
            memory_kills: limits.and_then(|limits| limits.memory_kills(buffer)),
        }
    }

    fn read_open_files(&mut self, depth: Depth) {
        let living = || self.members.iter().filter(|member| !member.last.zombie);
        let reported: Option<u32> = living().map(Member::open_files).sum();
        self.open_files = match reported {
            Some(reported) => Some(reported),
            None if depth.last || depth.index.is_multiple_of(FILES_EVERY) => {
                living().map(Member::count_open_files).sum()
            }
            None => self.open_files,
        };
    }
}

impl Ended {
    /// Notes the end of a member that was there at `last_s`, once.
    fn note(&mut self, member: &mut Member, last_s: f64) {
        let used_ns = member.own_ns();
        let Some(from_s) = member.since_s.filter(|_| !member.is_noted) else {
            return;
        };
        member.is_noted = true;
        if used_ns < ENDED_LEAST_NS {
            return;
        }
        self.processes.push(EndedProcess {
            from_s,
            last_s,
            cpu_s: seconds(used_ns),
        });
        if self.processes.len() > ENDED_MAX {
            let all = self.processes.iter().enumerate();
            let least = all.min_by(|one, other| one.1.cpu_s.total_cmp(&other.1.cpu_s));
            if let Some(index) = least.map(|(index, _)| index) {
                self.processes.remove(index);
            }
        }
    }
}

impl Group {
    fn open(folder: &Path, buffer: &mut Vec<u8>) -> Option<Self> {
        let cpu = KeptFile::open(folder.join("cpu.stat")).ok()?;
        let base = parse::cgroup_cpu(cpu.read(buffer)?)?;
        Some(Self {
            folder: folder.to_owned(),
            cpu,
            base,
        })
    }

    fn used(&self, buffer: &mut Vec<u8>) -> Cpu {
        let now = self.cpu.read(buffer).and_then(parse::cgroup_cpu);
        now.unwrap_or_default().minus(&self.base)
    }
}

impl Threads {
    /// Looks at the threads of all members. Returns the shares of the time since the look before in
    /// which the busiest ran and waited; none at the first look, and where too little time has
    /// passed.
    fn look(
        &mut self,
        members: &[Member],
        at_s: f64,
        path: &mut String,
        buffer: &mut Vec<u8>,
    ) -> Option<(f64, f64)> {
        let first = self.looked_at_s.is_none();
        let passed_ns = (at_s - self.looked_at_s.unwrap_or(at_s)) * 1e9;
        let mut busiest_ns: Option<(u64, u64)> = None;
        let threads = members.iter().flat_map(|member| {
            member::threads(member.process).map(|thread| (member.process, thread))
        });
        let mut seen = HashMap::with_capacity(self.seen.len());
        let (was_cut, mut looked_at) = (self.is_cut, 0);
        for (process, thread) in threads.take(THREADS_MAX) {
            looked_at += 1;
            let Some(now) = Seen::now(process, thread, path, buffer) else {
                continue;
            };
            // Where not all were looked at, one that was not seen yet may be old, and what it did
            // in all its life did not happen since the last look.
            let new = if was_cut { now } else { Seen::default() };
            let before = self.seen.get(&thread).copied().unwrap_or(new);
            if !first {
                self.voluntary += now.voluntary.saturating_sub(before.voluntary);
                self.involuntary += now.involuntary.saturating_sub(before.involuntary);
                busiest_ns = busiest_ns.max(now.times_since(&before));
            }
            seen.insert(thread, now);
        }
        self.seen = seen;
        self.is_cut = looked_at == THREADS_MAX;
        self.looked_at_s = Some(at_s);
        let (ran, waited) = busiest_ns.filter(|_| passed_ns >= SHARE_LEAST_NS)?;
        let share = |ns: u64| (ns as f64 / passed_ns).min(1.0);
        Some((share(ran), share(waited)))
    }
}

impl Seen {
    fn now(process: u32, thread: u32, path: &mut String, buffer: &mut Vec<u8>) -> Option<Self> {
        path.clear();
        let _ = write!(path, "/proc/{process}/task/{thread}/status");
        let (voluntary, involuntary) = file::read(&*path, buffer).and_then(parse::switches)?;
        path.clear();
        let _ = write!(path, "/proc/{process}/task/{thread}/schedstat");
        Some(Self {
            voluntary,
            involuntary,
            times_ns: file::read(&*path, buffer).and_then(kernel::thread_times_ns),
        })
    }

    /// What it ran and waited since an earlier look; `None` where the kernel does not count.
    fn times_since(&self, before: &Self) -> Option<(u64, u64)> {
        let (ran, waited) = self.times_ns?;
        let (ran_before, waited_before) = before.times_ns.unwrap_or_default();
        Some((
            ran.saturating_sub(ran_before),
            waited.saturating_sub(waited_before),
        ))
    }
}

/// Children of a root that is no member itself.
fn root_children(root: u32, buffer: &mut Vec<u8>, found: &mut Vec<u32>) {
    for thread in member::threads(root).take(THREADS_MAX) {
        if let Some(text) = file::read(format!("/proc/{root}/task/{thread}/children"), buffer) {
            found.extend(parse::processes(text));
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread::JoinHandle;

    use super::*;

    /// Switches of each thread before it waits for its end.
    const SWITCHES: u64 = 200;

    /// A thread that has switched often and now waits until its line is dropped.
    fn busy(ready: &mpsc::Sender<()>) -> (mpsc::Sender<()>, JoinHandle<()>) {
        let (line, end) = mpsc::channel::<()>();
        let ready = ready.clone();
        let run = move || {
            for _ in 0..SWITCHES {
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
            ready.send(()).unwrap();
            let _ = end.recv();
        };
        (line, std::thread::spawn(run))
    }

    #[test]
    fn a_thread_that_was_beyond_the_limit_does_not_bring_its_whole_life() {
        let (ready, all_ready) = mpsc::channel();
        let mut all: Vec<_> = (0..THREADS_MAX + 100).map(|_| busy(&ready)).collect();
        all.iter().for_each(|_| all_ready.recv().unwrap());
        let (mut path, mut buffer) = (String::new(), Vec::new());
        let members = vec![Member::open(std::process::id(), true, &mut buffer).unwrap()];
        let mut threads = Threads::default();
        threads.look(&members, 0.0, &mut path, &mut buffer);
        for (line, thread) in all.drain(..100) {
            drop(line);
            thread.join().unwrap();
        }
        threads.look(&members, 1.0, &mut path, &mut buffer);
        let whole_lives = 100 * SWITCHES;
        assert!(threads.voluntary < whole_lives / 2, "{}", threads.voluntary);
    }
}
