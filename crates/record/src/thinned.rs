//! Halves the readings of samples: those of a host with very many processors, or of a very long
//! trial, would fill records and links.
//!
//! Counters lose nothing by it, because they add up from the first reading on. Shares of time
//! become those of the longer time. Accept queues keep every reading.

use crate::usage::{CpuShares, HostTick, TcpTick, TreeTick, Usage};

impl Usage {
    /// Puts two readings each together, but for the first one. Returns whether there are fewer now.
    pub fn thin(&mut self) -> bool {
        let before = self.readings();
        halve(&mut self.host, |tick| tick.at_s, HostTick::with_earlier);
        halve(
            &mut self.tcp,
            |tick| tick.at_s,
            |later: TcpTick, _, _| later,
        );
        for tree in &mut self.trees {
            halve(&mut tree.ticks, |tick| tick.at_s, TreeTick::with_earlier);
        }
        self.readings() < before
    }

    fn readings(&self) -> usize {
        let of_trees = self.trees.iter().map(|tree| tree.ticks.len());
        self.host.len() + self.tcp.len() + of_trees.sum::<usize>()
    }
}

/// Puts the readings after the first one together in pairs. `together` gets the later one, the
/// earlier one, and the share of their time that was the earlier one's.
fn halve<T>(ticks: &mut Vec<T>, at_s: impl Fn(&T) -> f64, together: impl Fn(T, T, f64) -> T) {
    let mut rest = std::mem::take(ticks).into_iter();
    let Some(first) = rest.next() else { return };
    let mut before_s = at_s(&first);
    ticks.push(first);
    while let Some(earlier) = rest.next() {
        let Some(later) = rest.next() else {
            ticks.push(earlier);
            return;
        };
        let (middle_s, end_s) = (at_s(&earlier), at_s(&later));
        let share = (middle_s - before_s) / (end_s - before_s);
        let share = if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.5
        };
        ticks.push(together(later, earlier, share));
        before_s = end_s;
    }
}

impl HostTick {
    /// What is not read each time is that of the last reading that has it.
    fn with_earlier(self, earlier: Self, share: f64) -> Self {
        Self {
            at_s: self.at_s,
            cpus: shares_of_both(self.cpus, &earlier.cpus, share),
            load_average_1m: self.load_average_1m.or(earlier.load_average_1m),
            memory_available_bytes: self
                .memory_available_bytes
                .or(earlier.memory_available_bytes),
            context_switches: self.context_switches.or(earlier.context_switches),
            pressure: self.pressure.or(earlier.pressure),
            frequency_mhz: self.frequency_mhz.or(earlier.frequency_mhz),
            softnet: self.softnet.or(earlier.softnet),
            net: self.net.or(earlier.net),
            conntrack: self.conntrack.or(earlier.conntrack),
            throttled_us: self.throttled_us.or(earlier.throttled_us),
        }
    }
}

/// How processors spent the time of both readings, of which `share` was the earlier one's. A
/// processor that only one of them has is as it was in that one.
fn shares_of_both(later: Vec<CpuShares>, earlier: &[CpuShares], share: f64) -> Vec<CpuShares> {
    let is_alone = |one: &&CpuShares| later.iter().all(|other| other.cpu != one.cpu);
    let mut alone: Vec<CpuShares> = earlier.iter().filter(is_alone).cloned().collect();
    let both = later.into_iter().map(|now| {
        let Some(before) = earlier.iter().find(|before| before.cpu == now.cpu) else {
            return now;
        };
        let mean = |now: f64, before: f64| now * (1.0 - share) + before * share;
        CpuShares {
            cpu: now.cpu,
            user: mean(now.user, before.user),
            system: mean(now.system, before.system),
            irq: mean(now.irq, before.irq),
            softirq: mean(now.softirq, before.softirq),
            steal: mean(now.steal, before.steal),
            iowait: mean(now.iowait, before.iowait),
            idle: mean(now.idle, before.idle),
        }
    });
    let mut all: Vec<CpuShares> = both.collect();
    all.append(&mut alone);
    all.sort_by_key(|one| one.cpu);
    all
}

impl TreeTick {
    fn with_earlier(self, earlier: Self, share: f64) -> Self {
        let both = |now: Option<f64>, before: Option<f64>| match (now, before) {
            (Some(now), Some(before)) => Some(now * (1.0 - share) + before * share),
            (now, before) => now.or(before),
        };
        Self {
            pss_bytes: self.pss_bytes.or(earlier.pss_bytes),
            open_files: self.open_files.or(earlier.open_files),
            major_faults: self.major_faults.or(earlier.major_faults),
            busiest_thread: both(self.busiest_thread, earlier.busiest_thread),
            busiest_thread_waited: both(self.busiest_thread_waited, earlier.busiest_thread_waited),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::{Role, TreeUsage};

    fn host(at_s: f64, cpus: &[(u32, f64)], load: Option<f64>, switches: u64) -> HostTick {
        let cpus = cpus.iter().map(|(cpu, user)| CpuShares {
            cpu: *cpu,
            user: *user,
            idle: 1.0 - user,
            ..CpuShares::default()
        });
        HostTick {
            at_s,
            cpus: cpus.collect(),
            load_average_1m: load,
            context_switches: Some(switches),
            ..HostTick::default()
        }
    }

    #[test]
    fn pairs_have_the_shares_of_both_and_the_counts_of_the_later_one() {
        let mut usage = Usage {
            host: vec![
                host(0.0, &[(0, 1.0)], Some(9.0), 1),
                host(1.0, &[(0, 1.0), (2, 0.5)], Some(8.0), 2),
                host(4.0, &[(0, 0.0), (1, 0.25)], None, 5),
                host(5.0, &[(0, 0.5)], None, 6),
            ],
            ..Usage::default()
        };
        assert!(usage.thin());
        let pair = host(4.0, &[(0, 0.25), (1, 0.25), (2, 0.5)], Some(8.0), 5);
        let first = host(0.0, &[(0, 1.0)], Some(9.0), 1);
        let last = host(5.0, &[(0, 0.5)], None, 6);
        assert_eq!(usage.host, [first, pair, last]);
        assert!(usage.thin());
        assert_eq!(usage.host.len(), 2);
        assert!(!usage.thin(), "no fewer than the first one and another");
        assert_eq!(usage.host[1].context_switches, Some(6));
    }

    #[test]
    fn what_is_read_now_and_then_is_not_lost() {
        let tick = |at_s, pss_bytes, share| TreeTick {
            at_s,
            cpu_user_s: at_s,
            pss_bytes,
            busiest_thread: share,
            busiest_thread_waited: None,
            ..TreeTick::default()
        };
        let mut usage = Usage {
            trees: vec![TreeUsage {
                role: Role::Server,
                cpu_source: String::new(),
                ticks: vec![
                    tick(0.0, Some(1), None),
                    tick(1.0, Some(2), Some(0.25)),
                    tick(2.0, None, Some(0.75)),
                    tick(3.0, Some(4), Some(0.5)),
                    tick(4.0, None, None),
                ],
                ended: None,
            }],
            ..Usage::default()
        };
        assert!(usage.thin());
        let expected = [
            tick(0.0, Some(1), None),
            tick(2.0, Some(2), Some(0.5)),
            tick(4.0, Some(4), Some(0.5)),
        ];
        assert_eq!(usage.trees[0].ticks, expected);
        assert!(!Usage::default().thin());
    }
}
