//! The host's processors and the kernel's network counters.

use bakeoff_record::{CpuShares, HostTick, TcpTick};

use crate::file::KeptFile;
use crate::kernel;
use crate::more::More;
use crate::parse::{self, CpuTimes};

/// The processors and their readings so far.
#[derive(Debug)]
pub(crate) struct Host {
    stat: Option<KeptFile>,
    before: Vec<CpuTimes>,
    now: Vec<CpuTimes>,
    switches: Option<u64>,
    base_switches: Option<u64>,
    /// Whether interrupts are charged to nobody.
    pub(crate) interrupts_apart: Option<bool>,
    more: More,
    ticks: Vec<HostTick>,
}

/// The network counters and their readings so far.
#[derive(Debug)]
pub(crate) struct Tcp {
    netstat: Option<KeptFile>,
    snmp: Option<KeptFile>,
    sockstat: Option<KeptFile>,
    base: Option<TcpTick>,
    ticks: Vec<TcpTick>,
}

impl Host {
    /// The host as it stands; the first reading is relative to this moment.
    pub(crate) fn new(more: More, buffer: &mut Vec<u8>) -> Self {
        let stat = KeptFile::open("/proc/stat").ok();
        let (before, now, ticks) = Default::default();
        let mut host = Self {
            stat,
            before,
            now,
            switches: None,
            base_switches: None,
            interrupts_apart: None,
            more,
            ticks,
        };
        host.read_times(buffer);
        host.base_switches = host.switches;
        host.interrupts_apart = kernel::interrupts_apart(buffer);
        host
    }

    /// Takes a reading. Too soon after the last one there is nothing to divide, and no tick.
    pub(crate) fn read(&mut self, at_s: f64, index: u64, buffer: &mut Vec<u8>) {
        let stands_at = self.now.clone();
        self.read_times(buffer);
        let cpus = shares(&self.before, &self.now);
        if cpus.is_empty() {
            self.now = stands_at;
            return;
        }
        self.ticks.push(HostTick {
            at_s,
            cpus,
            context_switches: self
                .switches
                .zip(self.base_switches)
                .map(|(now, base)| now.saturating_sub(base)),
            ..self.more.read(index, buffer)
        });
    }

    /// The readings, with the axis moved so that `zero_s` becomes 0.
    pub(crate) fn into_ticks(mut self, zero_s: f64) -> Vec<HostTick> {
        for tick in &mut self.ticks {
            tick.at_s -= zero_s;
        }
        self.ticks
    }

    fn read_times(&mut self, buffer: &mut Vec<u8>) {
        std::mem::swap(&mut self.before, &mut self.now);
        let text = self.stat.as_ref().and_then(|stat| stat.read(buffer));
        let text = text.unwrap_or_default();
        self.switches = kernel::context_switches(text);
        parse::cpu_times(text, &mut self.now);
    }
}

/// What each processor did between two readings; without those for which no tick went by.
pub(crate) fn shares(before: &[CpuTimes], now: &[CpuTimes]) -> Vec<CpuShares> {
    let added = now.iter().filter_map(|now| {
        let before = before.iter().find(|before| before.cpu == now.cpu)?;
        let total = now.total().saturating_sub(before.total());
        // Some of these counters may step back by a little; a share cannot be negative.
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / total as f64;
        (total > 0).then(|| CpuShares {
            cpu: now.cpu,
            user: share(now.user, before.user).min(1.0),
            system: share(now.system, before.system).min(1.0),
            irq: share(now.irq, before.irq).min(1.0),
            softirq: share(now.softirq, before.softirq).min(1.0),
            steal: share(now.steal, before.steal).min(1.0),
            iowait: share(now.iowait, before.iowait).min(1.0),
            idle: share(now.idle, before.idle).min(1.0),
        })
    });
    added.collect()
}

impl Tcp {
    /// Opens the counters of the network namespace that this thread is in.
    pub(crate) fn new() -> Self {
        let open = |name: &str| KeptFile::open(format!("/proc/thread-self/net/{name}")).ok();
        Self {
            netstat: open("netstat"),
            snmp: open("snmp"),
            sockstat: open("sockstat"),
            base: None,
            ticks: Vec::new(),
        }
    }

    /// Takes a reading; where the counters cannot be read there is no tick.
    pub(crate) fn read(&mut self, at_s: f64, buffer: &mut Vec<u8>) {
        let Some(now) = self.read_counters(at_s, buffer) else {
            return;
        };
        let base = self.base.get_or_insert_with(|| now.clone());
        self.ticks.push(TcpTick {
            at_s,
            listen_overflows: now.listen_overflows.saturating_sub(base.listen_overflows),
            listen_drops: now.listen_drops.saturating_sub(base.listen_drops),
            retransmits: now.retransmits.saturating_sub(base.retransmits),
            syn_retransmits: now.syn_retransmits.saturating_sub(base.syn_retransmits),
            resets_sent: now.resets_sent.saturating_sub(base.resets_sent),
            established_resets: now
                .established_resets
                .saturating_sub(base.established_resets),
            attempt_fails: now.attempt_fails.saturating_sub(base.attempt_fails),
            time_wait: now.time_wait,
            established: now.established,
            udp_drops: now.udp_drops.saturating_sub(base.udp_drops),
        });
    }

    /// The readings, with the axis moved so that `zero_s` becomes 0.
    pub(crate) fn into_ticks(mut self, zero_s: f64) -> Vec<TcpTick> {
        for tick in &mut self.ticks {
            tick.at_s -= zero_s;
        }
        self.ticks
    }

    fn read_counters(&self, at_s: f64, buffer: &mut Vec<u8>) -> Option<TcpTick> {
        let text = self.netstat.as_ref()?.read(buffer)?;
        let extended = |name: &[u8]| parse::counter(text, b"TcpExt:", name);
        let listen_overflows = extended(b"ListenOverflows")?;
        let listen_drops = extended(b"ListenDrops")?;
        let syn_retransmits = extended(b"TCPSynRetrans")?;
        let text = self.snmp.as_ref()?.read(buffer)?;
        let basic = |name: &[u8]| parse::counter(text, b"Tcp:", name);
        let retransmits = basic(b"RetransSegs")?;
        let resets_sent = basic(b"OutRsts")?;
        let established_resets = basic(b"EstabResets")?;
        let attempt_fails = basic(b"AttemptFails")?;
        let established = basic(b"CurrEstab")?;
        let udp_drops = parse::counter(text, b"Udp:", b"RcvbufErrors")?;
        let text = self.sockstat.as_ref()?.read(buffer)?;
        let time_wait = parse::socket_count(text, b"TCP:", b"tw")?;
        Some(TcpTick {
            at_s,
            listen_overflows,
            listen_drops,
            retransmits,
            syn_retransmits,
            resets_sent,
            established_resets,
            attempt_fails,
            time_wait,
            established,
            udp_drops,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_whole() {
        let before = CpuTimes {
            cpu: 1,
            user: 10,
            idle: 10,
            ..CpuTimes::default()
        };
        let now = CpuTimes {
            cpu: 1,
            user: 13,
            idle: 15,
            steal: 1,
            softirq: 1,
            ..CpuTimes::default()
        };
        let shares = shares(&[before], &[now]);
        assert_eq!(
            (shares[0].user, shares[0].steal, shares[0].idle),
            (0.3, 0.1, 0.5)
        );
        assert_eq!(shares[0].softirq, 0.1);
    }

    #[test]
    fn a_processor_without_time_or_past_has_no_shares() {
        let one = CpuTimes {
            cpu: 0,
            user: 10,
            ..CpuTimes::default()
        };
        assert_eq!(shares(&[one], &[one]), []);
        assert_eq!(shares(&[], &[one]), []);
    }
}
