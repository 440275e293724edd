//! One process of a tree: its own CPU time to the nanosecond, and that of children which ended.
//!
//! The time comes from the process's CPU clock (`clock_getcpuclockid(3)`): the scheduler's own
//! sum over all threads, also those that ended, which is what `schedstat` reports of each thread
//! that still lives. `/proc/PID/stat` says how it divides into user and system time; only the
//! division has that file's steps of 10 ms.

use std::fmt::Write;

use crate::file::{self, KeptFile};
use crate::parse::{self, Cpu, ProcessStat};

/// One process.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) process: u32,
    stat: KeptFile,
    /// The last reading.
    pub(crate) last: ProcessStat,
    /// When it was first part of a reading, seconds from the probe's start.
    pub(crate) since_s: Option<f64>,
    /// Whether its end was noted: a process that nobody waits for is there after it, too.
    pub(crate) is_noted: bool,
    /// The reading that its use is counted from: the first one, or nothing for a process that
    /// was started later.
    base: Base,
    /// Own time since the base.
    own: Cpu,
    /// Children that ended: their use since their bases, as last seen.
    ended: Cpu,
    /// Children that ended: their bases, which the kernel's sum over them still holds.
    ended_base: Cpu,
}

#[derive(Debug, Clone, Copy, Default)]
struct Base {
    clock_ns: u64,
    own: Cpu,
    reaped: Cpu,
    major_faults: u64,
}

impl Member {
    /// Opens a process; `None` when it is gone. One that was there when the probe started has
    /// used CPU before, which does not count.
    pub(crate) fn open(process: u32, from_start: bool, buffer: &mut Vec<u8>) -> Option<Self> {
        let stat = KeptFile::open(format!("/proc/{process}/stat")).ok()?;
        let last = parse::process_stat(stat.read(buffer)?)?;
        let clock_ns = clock_ns(process)?;
        let base = if from_start {
            Base {
                clock_ns,
                own: last.own,
                reaped: last.reaped,
                major_faults: last.major_faults,
            }
        } else {
            Base::default()
        };
        let (own, ended, ended_base) = Default::default();
        let mut member = Self {
            process,
            stat,
            last,
            since_s: None,
            is_noted: false,
            base,
            own,
            ended,
            ended_base,
        };
        member.advance(clock_ns);
        Some(member)
    }

    /// Reads the process again; false when it is gone. The file was opened for this process and
    /// cannot speak of another one that was given its number.
    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>) -> bool {
        let Some(last) = self.stat.read(buffer).and_then(parse::process_stat) else {
            return false;
        };
        self.last = last;
        // The clock goes by number, but until now the process was there to hold it.
        if let Some(clock_ns) = clock_ns(self.process) {
            self.advance(clock_ns);
        }
        true
    }

    /// Whether it has ended and was not waited for. Where only the main thread has ended, others go
    /// on.
    pub(crate) fn has_ended(&self) -> bool {
        self.last.zombie && self.last.threads <= 1
    }

    /// Own time since the base, nanoseconds.
    pub(crate) fn own_ns(&self) -> u64 {
        self.own.total_ns()
    }

    /// Own use and that of ended children since the base.
    pub(crate) fn used(&self) -> Cpu {
        self.own.plus(&self.used_by_ended())
    }

    /// Page faults of its own since the base that waited for a disk.
    pub(crate) fn major_faults(&self) -> u64 {
        self.last
            .major_faults
            .saturating_sub(self.base.major_faults)
    }

    /// The kernel adds a child to its parent when it is waited for. That sum has what the probe
    /// could not see: the child's last moments, and children that lived between two readings. It
    /// stays behind where children are not waited for; then what was last seen stands.
    fn used_by_ended(&self) -> Cpu {
        let reaped = self
            .last
            .reaped
            .minus(&self.base.reaped)
            .minus(&self.ended_base);
        if reaped.total_ns() >= self.ended.total_ns() {
            reaped
        } else {
            self.ended
        }
    }

    /// Takes over a child that is gone.
    pub(crate) fn inherit(&mut self, child: &Self) {
        self.ended = self.ended.plus(&child.used());
        self.ended_base = self
            .ended_base
            .plus(&child.base.own)
            .plus(&child.base.reaped);
    }

    /// Divides the time since the base as `stat` does, so that neither part ever shrinks.
    fn advance(&mut self, clock_ns: u64) {
        let total = clock_ns.saturating_sub(self.base.clock_ns);
        let Some(added) = total.checked_sub(self.own.total_ns()) else {
            return;
        };
        let ticks = self.last.own.minus(&self.base.own);
        let user = match ticks.total_ns() {
            0 => self.own.user_ns + added / 2,
            all => (u128::from(total) * u128::from(ticks.user_ns) / u128::from(all)) as u64,
        };
        let user_ns = user.clamp(self.own.user_ns, self.own.user_ns + added);
        self.own = Cpu {
            user_ns,
            system_ns: total - user_ns,
        };
    }

    /// Its children, added to `found`; asks each thread, because each has its own. False when
    /// there are more threads than `threads_max`, which were not asked.
    pub(crate) fn children(
        &self,
        threads_max: usize,
        path: &mut String,
        buffer: &mut Vec<u8>,
        found: &mut Vec<u32>,
    ) -> bool {
        if self.last.threads as usize > threads_max {
            return false;
        }
        for thread in threads(self.process) {
            path.clear();
            let _ = write!(path, "/proc/{}/task/{thread}/children", self.process);
            if let Some(text) = file::read(&path, buffer) {
                found.extend(parse::processes(text));
            }
        }
        true
    }

    /// Proportional memory, bytes; expensive, because the kernel walks all pages.
    pub(crate) fn pss_bytes(&self, buffer: &mut Vec<u8>) -> Option<u64> {
        let text = file::read(format!("/proc/{}/smaps_rollup", self.process), buffer)?;
        parse::kibibytes(text, b"Pss:")
    }

    /// Number of open files, where the kernel reports it as the size of a folder (since 6.2).
    pub(crate) fn open_files(&self) -> Option<u32> {
        let folder = std::fs::metadata(format!("/proc/{}/fd", self.process)).ok()?;
        u32::try_from(folder.len()).ok().filter(|size| *size > 0)
    }

    /// Number of open files, counted one by one.
    pub(crate) fn count_open_files(&self) -> Option<u32> {
        let folder = std::fs::read_dir(format!("/proc/{}/fd", self.process)).ok()?;
        u32::try_from(folder.count()).ok()
    }
}

/// The threads of a process; none when it is gone.
pub(crate) fn threads(process: u32) -> impl Iterator<Item = u32> {
    let folder = std::fs::read_dir(format!("/proc/{process}/task"));
    let entries = folder.into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// All processes of the machine, each with its parent.
pub(crate) fn processes_and_parents(buffer: &mut Vec<u8>) -> Vec<(u32, u32)> {
    let entries = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let with_parent = processes.filter_map(|process| {
        let text = file::read(format!("/proc/{process}/stat"), buffer)?;
        Some((process, parse::process_stat(text)?.parent))
    });
    with_parent.collect()
}

/// CPU time of a process since its start, nanoseconds.
fn clock_ns(process: u32) -> Option<u64> {
    let mut clock = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: both calls write to the one place given and keep no pointer to it.
    let read = unsafe {
        libc::clock_getcpuclockid(i32::try_from(process).ok()?, &mut clock) == 0
            && libc::clock_gettime(clock, &mut time) == 0
    };
    if !read {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(time.tv_nsec).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_processes_are_found_with_their_parents() {
        let own = (std::process::id(), std::os::unix::process::parent_id());
        assert!(processes_and_parents(&mut Vec::new()).contains(&own));
    }

    #[test]
    fn a_child_that_ended_counts_once_whether_or_not_it_was_waited_for() {
        let mut buffer = Vec::new();
        let open = |buffer: &mut Vec<u8>| Member::open(std::process::id(), true, buffer).unwrap();
        let cpu = |user_ns, system_ns| Cpu { user_ns, system_ns };
        let (mut parent, mut child) = (open(&mut buffer), open(&mut buffer));
        (parent.own, parent.base.reaped) = (Cpu::default(), Cpu::default());
        parent.last.reaped = Cpu::default();
        // The child had used 30 ms before the first reading and was last seen 50 ms later.
        (child.base.own, child.own) = (cpu(20_000_000, 10_000_000), cpu(40_000_000, 10_000_000));
        child.base.reaped = Cpu::default();
        child.last.reaped = Cpu::default();
        parent.inherit(&child);
        assert_eq!(parent.used(), cpu(40_000_000, 10_000_000), "not waited for");
        // In the end it had used 90 ms in all, and another child 100 ms that nobody saw.
        parent.last.reaped = cpu(160_000_000, 30_000_000);
        assert_eq!(parent.used(), cpu(140_000_000, 20_000_000), "waited for");
    }
}
