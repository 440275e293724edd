//! Reads the texts of `/proc` and control groups: bytes in, values out, no file and no clock.
//!
//! Formats: `proc(5)`, and `Documentation/admin-guide/cgroup-v2.rst` of Linux. Whatever is not as
//! described gives `None` or is left out; nothing here can panic.

use std::time::Duration;

/// CPU time in its two parts, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
}

/// `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Ended, but not yet waited for.
    pub(crate) zombie: bool,
    pub(crate) parent: u32,
    /// Page faults of its own that waited for a disk.
    pub(crate) major_faults: u64,
    /// Own time, all threads, also those that ended; in steps of a clock tick.
    pub(crate) own: Cpu,
    /// Time of children that ended and were waited for, and of theirs.
    pub(crate) reaped: Cpu,
    pub(crate) threads: u32,
    /// Clock ticks from the start of the machine to that of the process.
    pub(crate) started: u64,
    pub(crate) rss_pages: u64,
}

/// A processor's line of `/proc/stat`, clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    pub(crate) cpu: u32,
    pub(crate) user: u64,
    pub(crate) system: u64,
    pub(crate) idle: u64,
    pub(crate) iowait: u64,
    pub(crate) irq: u64,
    pub(crate) softirq: u64,
    pub(crate) steal: u64,
}

/// `USER_HZ`: the same on every Linux that this program is built for.
pub(crate) const CLOCK_TICK: Duration = Duration::from_millis(10);

impl Cpu {
    /// Both parts together.
    pub(crate) fn total_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    /// Part by part, never below 0.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(other.user_ns),
            system_ns: self.system_ns.saturating_sub(other.system_ns),
        }
    }

    /// Part by part.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_add(other.user_ns),
            system_ns: self.system_ns.saturating_add(other.system_ns),
        }
    }

    /// The larger of each part.
    pub(crate) fn at_least(&self, other: &Self) -> Self {
        Self {
            user_ns: self.user_ns.max(other.user_ns),
            system_ns: self.system_ns.max(other.system_ns),
        }
    }
}

impl CpuTimes {
    /// All that a processor can do, clock ticks.
    pub(crate) fn total(&self) -> u64 {
        let Self {
            cpu: _,
            user,
            system,
            idle,
            iowait,
            irq,
            softirq,
            steal,
        } = self;
        [user, system, idle, iowait, irq, softirq, steal]
            .into_iter()
            .fold(0, |sum: u64, part| sum.saturating_add(*part))
    }
}

/// `/proc/PID/stat`. The name in it may hold anything, brackets and line ends too: what follows
/// its last bracket counts.
pub(crate) fn process_stat(text: &[u8]) -> Option<ProcessStat> {
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = words(text.get(end + 1..)?);
    let zombie = matches!(fields.next()?, b"Z" | b"X");
    let parent = number(fields.next()?)?;
    // Behind the parent: group, session, terminal, its group, flags, four kinds of faults.
    let mut fields = fields.skip(7);
    let major_faults = number(fields.next()?)?;
    let mut fields = fields.skip(1);
    let mut ticks = || Some(clock_ticks_ns(number(fields.next()?)?));
    let own = Cpu {
        user_ns: ticks()?,
        system_ns: ticks()?,
    };
    let reaped = Cpu {
        user_ns: ticks()?,
        system_ns: ticks()?,
    };
    let mut fields = fields.skip(2);
    let threads = number(fields.next()?)?;
    let mut fields = fields.skip(1);
    let started = number(fields.next()?)?;
    let rss_pages = number(fields.nth(1)?)?;
    Some(ProcessStat {
        zombie,
        parent,
        major_faults,
        own,
        reaped,
        threads,
        started,
        rss_pages,
    })
}

/// Voluntary and involuntary context switches in `/proc/PID/task/TID/status`.
pub(crate) fn switches(text: &[u8]) -> Option<(u64, u64)> {
    let voluntary = field(text, b"voluntary_ctxt_switches:")?;
    let involuntary = field(text, b"nonvoluntary_ctxt_switches:")?;
    Some((number(voluntary)?, number(involuntary)?))
}

/// A line `Name:  123 kB`, as in `smaps_rollup` and `meminfo`, in bytes.
pub(crate) fn kibibytes(text: &[u8], name: &[u8]) -> Option<u64> {
    number::<u64>(field(text, name)?)?.checked_mul(1024)
}

/// Process numbers, as in `children` and `cgroup.procs`.
pub(crate) fn processes(text: &[u8]) -> impl Iterator<Item = u32> {
    words(text).filter_map(number)
}

/// `cpu.stat` of a control group.
pub(crate) fn cgroup_cpu(text: &[u8]) -> Option<Cpu> {
    let nanoseconds = |name| number::<u64>(field(text, name)?)?.checked_mul(1000);
    Some(Cpu {
        user_ns: nanoseconds(b"user_usec")?,
        system_ns: nanoseconds(b"system_usec")?,
    })
}

/// The processors' lines of `/proc/stat`. Time for guests is part of the user's already.
pub(crate) fn cpu_times(text: &[u8], times: &mut Vec<CpuTimes>) {
    times.clear();
    let cpus = text
        .split(|byte| *byte == b'\n')
        .take_while(|line| line.starts_with(b"cpu"));
    times.extend(cpus.filter_map(|line| {
        let mut fields = words(line);
        let cpu = number(fields.next()?.strip_prefix(b"cpu")?)?;
        let mut next = || number::<u64>(fields.next()?);
        let (user, nice) = (next()?, next()?);
        let (system, idle) = (next()?, next()?);
        let (iowait, irq, softirq, steal) = (next()?, next()?, next()?, next()?);
        let user = user.saturating_add(nice);
        Some(CpuTimes {
            cpu,
            user,
            system,
            idle,
            iowait,
            irq,
            softirq,
            steal,
        })
    }));
}

/// A counter of `/proc/net/netstat` or `snmp`: there, a line of names that starts with its group
/// comes before a line of values that starts the same.
pub(crate) fn counter(text: &[u8], group: &[u8], name: &[u8]) -> Option<u64> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let mut in_group = || {
        lines
            .by_ref()
            .find(|line| words(line).next() == Some(group))
    };
    let names = in_group()?;
    let values = in_group()?;
    let position = words(names).position(|word| word == name)?;
    number(words(values).nth(position)?)
}

/// A number of `/proc/net/sockstat`: `TCP: inuse 5 orphan 0 tw 3 ...`.
pub(crate) fn socket_count(text: &[u8], group: &[u8], name: &[u8]) -> Option<u64> {
    let line = text
        .split(|byte| *byte == b'\n')
        .find(|line| words(line).next() == Some(group))?;
    let mut fields = words(line).skip_while(|word| *word != name);
    number(fields.nth(1)?)
}

/// The lines of a text, the last one too where nothing ends it.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

/// The first word behind `name` at the start of a line.
pub(crate) fn field<'t>(text: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    text.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = words(line);
        (fields.next()? == name).then(|| fields.next()).flatten()
    })
}

pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// A number, digits only.
pub(crate) fn number<N: std::str::FromStr>(word: &[u8]) -> Option<N> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn clock_ticks_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(CLOCK_TICK.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &[u8] = b"42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 150 250 10 20 20 0 3 0 \
                          9000 1048576 512 18446744073709551615 1 1 0 0";

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = process_stat(STAT).unwrap();
        assert_eq!(
            (stat.parent, stat.threads, stat.started, stat.rss_pages),
            (7, 3, 9000, 512)
        );
        assert_eq!(
            stat.own,
            Cpu {
                user_ns: 1_500_000_000,
                system_ns: 2_500_000_000
            }
        );
        assert_eq!(
            stat.reaped,
            Cpu {
                user_ns: 100_000_000,
                system_ns: 200_000_000
            }
        );
        assert!(!stat.zombie);
        assert_eq!(stat.major_faults, 3);
    }

    #[test]
    fn texts_are_read_as_the_kernel_writes_them() {
        let status = b"Name:\tvoluntary_ctxt_switches:\t9\nvoluntary_ctxt_switches:\t12\n\
                       nonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches(status), Some((12, 3)));
        let rollup =
            b"55d0-7ffc ---p 0 0:0 0 [rollup]\nRss:  900 kB\nPss:  450 kB\nPss_Dirty: 1 kB\n";
        assert_eq!(kibibytes(rollup, b"Pss:"), Some(460_800));
        assert_eq!(processes(b"12 34\n56 x").collect::<Vec<_>>(), [12, 34, 56]);
        let group = b"usage_usec 30\nuser_usec 10\nsystem_usec 20\n";
        assert_eq!(
            cgroup_cpu(group),
            Some(Cpu {
                user_ns: 10_000,
                system_ns: 20_000
            })
        );
        let sockets = b"sockets: used 9\nTCP: inuse 5 orphan 0 tw 3 alloc 6 mem 1\nUDP: inuse 1\n";
        assert_eq!(socket_count(sockets, b"TCP:", b"tw"), Some(3));
    }

    #[test]
    fn counters_are_found_by_name() {
        let text = b"IpExt: A ListenDrops\nIpExt: 1 2\nTcpExt: A ListenOverflows ListenDrops\n\
                     TcpExt: 5 6 7\n";
        assert_eq!(counter(text, b"TcpExt:", b"ListenDrops"), Some(7));
        assert_eq!(counter(text, b"TcpExt:", b"Other"), None);
        assert_eq!(counter(b"TcpExt: A\n", b"TcpExt:", b"A"), None);
        assert_eq!(counter(b"TcpExt: A B\nTcpExt: 1\n", b"TcpExt:", b"B"), None);
    }

    #[test]
    fn processors_are_read_and_their_sum_is_not() {
        let text =
            b"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu2 1 1\ncpu10 0 0 0 9 0 0 \
                     0 0\nintr 5 cpu3\n";
        let mut times = Vec::new();
        cpu_times(text, &mut times);
        assert_eq!(times.iter().map(|one| one.cpu).collect::<Vec<_>>(), [0, 10]);
        let first = times[0];
        assert_eq!(
            (first.user, first.system, first.steal, first.total()),
            (3, 3, 8, 36)
        );
    }

    #[test]
    fn cut_and_damaged_texts_never_panic() {
        let texts: [&[u8]; 5] = [
            STAT,
            b"voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n",
            b"TcpExt: A B\nTcpExt: 1 99999999999999999999\n",
            b"cpu0 1 2 3 4 5 6 7 8\n",
            b"TCP: inuse 5 orphan 0 tw 3\n",
        ];
        for text in texts {
            for end in 0..=text.len() {
                for damage in [b' ', b')', b'\n', b'9', 0, 0xff] {
                    let mut bytes = text[..end].to_vec();
                    if let Some(last) = bytes.last_mut() {
                        *last = damage;
                    }
                    crate::fuzzing::texts(&bytes);
                }
            }
        }
        assert_eq!(process_stat(&STAT[..60]), None);
    }
}
