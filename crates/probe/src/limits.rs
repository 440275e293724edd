//! What limits of its own did to a tree: by the control groups that hold it and not bakeoff.

use std::path::Path;

use crate::file::{self, KeptFile};
use crate::kernel;

/// The counters of a tree's limits.
#[derive(Debug)]
pub(crate) struct Limits {
    throttled: Vec<Counter>,
    kills: Vec<Counter>,
}

/// A counter in a file of the kernel.
#[derive(Debug)]
pub(crate) struct Counter {
    file: KeptFile,
    value: fn(&[u8]) -> Option<u64>,
    base: u64,
}

impl Limits {
    /// Of the groups that hold `process`.
    pub(crate) fn of(process: u32, buffer: &mut Vec<u8>) -> Self {
        let mut text = |path: &str| file::read(path, buffer).unwrap_or_default().to_vec();
        let (own, ours) = (
            text(&format!("/proc/{process}/cgroup")),
            text("/proc/self/cgroup"),
        );
        let mut counters = |groups: fn(&[u8]) -> Vec<String>, files: &[&str], value| {
            let ours = groups(&ours);
            let below = groups(&own)
                .into_iter()
                .filter(|group| !ours.contains(group));
            let files = below.flat_map(|group| {
                let folder = Path::new(kernel::CONTROL_GROUPS).join(group);
                files
                    .iter()
                    .map(move |file| folder.join(file))
                    .collect::<Vec<_>>()
            });
            files
                .filter_map(|file| Counter::open(&file, value, buffer))
                .collect()
        };
        Self {
            throttled: counters(
                kernel::groups_with_quota,
                &["cpu.stat"],
                kernel::throttled_us,
            ),
            kills: counters(
                kernel::groups_with_memory,
                &["memory.events", "memory.oom_control"],
                kernel::memory_kills,
            ),
        }
    }

    /// Time in which a limit held the tree back, microseconds. Of nested groups the one that was
    /// held back longest.
    pub(crate) fn throttled_us(&self, buffer: &mut Vec<u8>) -> Option<u64> {
        most(&self.throttled, buffer)
    }

    /// Processes that were killed for a limit of memory.
    pub(crate) fn memory_kills(&self, buffer: &mut Vec<u8>) -> Option<u64> {
        most(&self.kills, buffer)
    }
}

/// The largest growth; `None` where none can be read.
pub(crate) fn most(counters: &[Counter], buffer: &mut Vec<u8>) -> Option<u64> {
    counters.iter().filter_map(|one| one.read(buffer)).max()
}

impl Counter {
    /// A counter from now on; `None` where the file does not have it.
    pub(crate) fn open(
        path: &Path,
        value: fn(&[u8]) -> Option<u64>,
        buffer: &mut Vec<u8>,
    ) -> Option<Self> {
        let file = KeptFile::open(path).ok()?;
        let base = value(file.read(buffer)?)?;
        Some(Self { file, value, base })
    }

    /// What was added since it was opened.
    fn read(&self, buffer: &mut Vec<u8>) -> Option<u64> {
        let now = (self.value)(self.file.read(buffer)?)?;
        Some(now.saturating_sub(self.base))
    }
}
