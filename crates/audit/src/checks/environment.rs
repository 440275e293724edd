//! What the machine did to the trial (R14, R36), and what the tool says against itself.

use std::collections::BTreeSet;

use bakeoff_record::{
    CpuShares, FOREIGN_DISTURBED_CPUS, FOREIGN_SUSPECT_CPUS, Hosts, QuicLedger, Role,
    STEAL_DISTURBED_SHARE, THROTTLED_SHARE, TcpTick, Usage, foreign_cpus, foreign_elsewhere,
    steal_share, throttled_elsewhere, throttled_share,
};

use super::hosts;
use crate::check::{Check, Level, tier};
use crate::code::Code;
use crate::figures::{count, rate};
use crate::limits::{ACCEPT_QUEUE_SHARE, BACKEND_SHARE, STEAL_SUSPECT, UDP_DROPS_SHARE};
use crate::subject::Subject;

/// SYNs that one attempt to connect sends at the most before it gives up, and its first.
const SYNS_MAX: u64 = 4;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(other_load(subject));
    checks.push(steal(subject));
    checks.extend(throttled(subject));
    checks.extend(drift(subject));
    checks.push(listen_overflows(subject));
    checks.extend(accept_queue(subject));
    if let Some(quic) = &subject.result.quic {
        checks.push(udp_drops(subject, quic));
    }
    if subject.may_be_proxied() && subject.is_contender() {
        checks.push(backend(subject));
    }
    checks.push(co_located(subject));
    let warnings = subject
        .result
        .warnings
        .iter()
        .chain(&subject.trial.warnings);
    checks.extend(warnings.map(|warning| {
        let text = format!("{}: {} ({})", warning.code, warning.text, warning.hint);
        Check::note(Code::Warning, text)
    }));
}

/// Processors that programs had which are no part of the trial.
fn other_load(subject: &Subject<'_>) -> Check {
    let Some(foreign) = foreign_cpus(subject.trial) else {
        let text = "what else ran on the machine is not known";
        return Check::not_run(Code::OtherLoad, text);
    };
    if let Some(unsampled) = hosts::unsampled(subject) {
        return Check::not_run(Code::OtherLoad, unsampled);
    }
    let here = foreign.worst();
    let elsewhere = foreign_elsewhere(subject.trial).filter(|(there, _)| *there > here);
    let worst = elsewhere.map_or(here, |(there, _)| there);
    let disturbed = (Level::Disturbed, FOREIGN_DISTURBED_CPUS);
    let (level, limit) = tier(worst, disturbed, (Level::Suspect, FOREIGN_SUSPECT_CPUS));
    let beside = match foreign.on_server {
        Some(cores) if cores > FOREIGN_SUSPECT_CPUS => {
            format!(", {cores:.2} of them where the server runs")
        }
        _ => String::new(),
    };
    let text = match level {
        Level::Passed => "nothing else ran on the machine".to_owned(),
        _ => match elsewhere {
            Some((_, host)) => {
                format!("other programs kept {worst:.2} processors of {host} busy")
            }
            None => format!(
                "other programs kept {worst:.2} of {} processors busy{beside}",
                subject.machine.cpus
            ),
        },
    };
    Check::new(Code::OtherLoad, level, text).figures(worst, limit)
}

fn steal(subject: &Subject<'_>) -> Check {
    let Some(share) = steal_share(subject.trial) else {
        let text = "the host's processors were not read over the whole window";
        return Check::not_run(Code::Steal, text);
    };
    if let Some(unsampled) = hosts::unsampled(subject) {
        return Check::not_run(Code::Steal, unsampled);
    }
    // The server's host, or another one where it was worse.
    let elsewhere = worst_on(subject, |cpu| cpu.steal);
    let elsewhere = elsewhere.filter(|(worst, place)| *worst > share && !place.is_empty());
    let (share, place) = elsewhere.unwrap_or((share, String::new()));
    let disturbed = (Level::Disturbed, STEAL_DISTURBED_SHARE);
    let (level, limit) = tier(share, disturbed, (Level::Suspect, STEAL_SUSPECT));
    let text = format!(
        "the hypervisor took up to {:.1} % of a processor{place} in the window",
        share * 100.0
    );
    Check::new(Code::Steal, level, text).figures(share, limit)
}

/// Time in which a quota held programs back; machines without quotas have none.
fn throttled(subject: &Subject<'_>) -> Option<Check> {
    let here = throttled_share(subject.trial).map(|share| (share, String::new()));
    let there = throttled_elsewhere(subject.trial);
    let there = there.map(|(share, host)| (share, format!(" on {host}")));
    let worst = here.into_iter().chain(there);
    let (share, place) = worst.reduce(|left, right| if right.0 > left.0 { right } else { left })?;
    let text = format!(
        "a quota of CPU time held programs{place} back for {:.1} % of the window",
        share * 100.0
    );
    let level = match share {
        share if share > THROTTLED_SHARE => Level::Disturbed,
        share if share > 0.0 => Level::Note,
        _ => Level::Passed,
    };
    Some(Check::new(Code::Throttled, level, text).figures(share, THROTTLED_SHARE))
}

/// The yardstick of the same block, which does the same work each time.
fn drift(subject: &Subject<'_>) -> Option<Check> {
    let drift = subject.ceilings.drift?;
    let percent = (drift.log.exp() - 1.0) * 100.0;
    let text = format!("the yardstick of this round was {percent:+.0} % off its median");
    let is_off = drift.log.abs() > drift.limit;
    let more = ": the machine was another one for a while";
    let check = Check::passed(Code::Drift, text).worse_if(is_off, Level::Disturbed, more);
    Some(check.figures(drift.log.abs(), drift.limit))
}

/// Overflows are counted for the whole machine. Those beyond the connections that this trial
/// attempted are of another program.
fn listen_overflows(subject: &Subject<'_>) -> Check {
    let Some(overflows) = window_growth(subject, |tick| tick.listen_overflows) else {
        let text = "the kernel's network counters were not read in the window";
        return Check::not_run(Code::ListenOverflows, text);
    };
    let mine = own_overflows(subject, overflows);
    if overflows == 0 {
        let text = "no accept queue overflowed";
        return Check::passed(Code::ListenOverflows, text).figures(0.0, 0.0);
    }
    if mine == 0 {
        let text = format!(
            "accept queues overflowed {} times, and not this trial's: it attempted no connection \
             that could",
            count(overflows)
        );
        return Check::note(Code::ForeignOverflow, text).figures(overflows as f64, 0.0);
    }
    let text = format!(
        "accept queues overflowed {} times: connections waited a second or more for a SYN to be \
         sent again",
        count(mine)
    );
    Check::new(Code::ListenOverflows, Level::Suspect, text).figures(mine as f64, 0.0)
}

/// How full the accept queues of the server and of the upstream were, each against its own limit:
/// what comes while a queue is full is dropped and tried again after a second. Read ten times a
/// second, so that a queue may have been full with no reading that shows it.
fn accept_queue(subject: &Subject<'_>) -> Option<Check> {
    let window = 0.0..=subject.result.measured_s;
    let ticks = subject.trial.usage.listeners.iter();
    let inside = ticks.filter(|tick| window.contains(&tick.at_s));
    let known = inside.filter_map(|tick| {
        let limit = tick.limit.filter(|limit| *limit > 0)?;
        Some((tick.queue as f64 / limit as f64, tick, limit))
    });
    let (share, fullest, limit) = known.max_by(|left, right| left.0.total_cmp(&right.0))?;
    let whose = match fullest.role {
        Role::Origin => "upstream",
        Role::Server | Role::Engine | Role::Bakeoff => "server",
    };
    let text = format!(
        "up to {} of {} connections waited in the {whose}'s accept queue",
        count(fullest.queue),
        count(limit)
    );
    let is_full = share >= ACCEPT_QUEUE_SHARE;
    let more = ": while it is full, new ones are dropped and tried again";
    let check = Check::passed(Code::AcceptQueue, text).worse_if(is_full, Level::Suspect, more);
    Some(check.figures(share, ACCEPT_QUEUE_SHARE))
}

/// Overflows that may be this trial's: no more than it attempted connections, to the server or
/// from it to the upstream. Each attempt may overflow again with each SYN that is sent again.
pub(crate) fn own_overflows(subject: &Subject<'_>, overflows: u64) -> u64 {
    let connections = &subject.result.connections;
    let upstream = subject.trial.origin.as_ref().map_or(0, |it| it.connections);
    // A connection that was refused by a full queue is tried for as long as its timeout.
    let attempts = connections.opened + connections.failed + upstream;
    if overflows > attempts.saturating_mul(SYNS_MAX) {
        return 0;
    }
    overflows
}

/// Datagrams that the kernel threw away because a socket was full: that of the server or of the
/// engine, whichever did not keep up. The ledger counts the whole load, so the drops are of all of
/// it too. Those on another host are held against what its own engine sent and received.
fn udp_drops(subject: &Subject<'_>, quic: &QuicLedger) -> Check {
    if let Some(unsampled) = hosts::unsampled(subject) {
        return Check::not_run(Code::UdpDrops, unsampled);
    }
    let Some(own) = Drops::of(&subject.trial.usage, quic, "") else {
        let text = "the kernel's network counters were not read";
        return Check::not_run(Code::UdpDrops, text);
    };
    let others = subject.hosts().into_iter().flat_map(|hosts| {
        hosts.generators.iter().filter_map(|part| {
            let usage = hosts.host(&part.host)?.usage.as_ref()?;
            Drops::of(usage, part.result.quic.as_ref()?, &part.host)
        })
    });
    let worst = others.fold(own, |worst, one| {
        if one.share() > worst.share() {
            one
        } else {
            worst
        }
    });
    let share = worst.share();
    let (dropped, place) = (count(worst.dropped), worst.place());
    let check = if share <= UDP_DROPS_SHARE {
        let datagrams = count(worst.datagrams);
        let text = format!("sockets{place} had no room for {dropped} of {datagrams} datagrams");
        Check::passed(Code::UdpDrops, text)
    } else {
        let text = format!(
            "sockets{place} had no room for {dropped} datagrams, {:.2} % of those sent and \
                 received: who did not read them in time made QUIC slow down and send again",
            share * 100.0
        );
        Check::new(Code::UdpDrops, Level::Suspect, text)
    };
    check.figures(share, UDP_DROPS_SHARE)
}

/// Datagrams that a host's sockets had no room for.
struct Drops<'r> {
    dropped: u64,
    datagrams: u64,
    /// Its name; empty for that of the server.
    host: &'r str,
}

impl<'r> Drops<'r> {
    fn of(usage: &Usage, quic: &QuicLedger, host: &'r str) -> Option<Self> {
        Some(Self {
            dropped: usage.tcp.last()?.udp_drops,
            datagrams: quic.datagrams_sent + quic.datagrams_received,
            host,
        })
    }

    fn share(&self) -> f64 {
        self.dropped as f64 / self.datagrams.max(1) as f64
    }

    fn place(&self) -> String {
        match self.host {
            "" => String::new(),
            host => format!(" on {host}"),
        }
    }
}

/// A proxy near the rate of its upstream alone: the upstream is what was measured.
fn backend(subject: &Subject<'_>) -> Check {
    if !matches!(
        subject.result.load.model,
        bakeoff_plan::LoadModel::Closed { .. }
    ) {
        let text = "not asked of an open loop, whose rate is given";
        return Check::passed(Code::BackendBound, text);
    }
    let Some(direct) = subject.ceilings.origin.filter(|rate| *rate > 0.0) else {
        let text = match subject.proxied {
            None => "the plan does not know the workload, so neither whether an upstream answers",
            Some(_) => "the upstream was not measured directly in this round at this load",
        };
        return Check::not_run(Code::BackendBound, text);
    };
    let share = subject.rate() / direct;
    let text = format!(
        "{:.0} % of the {} requests/s that the upstream gives directly",
        share * 100.0,
        rate(direct)
    );
    let more = ": the proxy's score is a lower bound";
    Check::passed(Code::BackendBound, text)
        .worse_if(share > BACKEND_SHARE, Level::Suspect, more)
        .figures(share, BACKEND_SHARE)
}

fn co_located(subject: &Subject<'_>) -> Check {
    if let Some(hosts) = subject.hosts() {
        return roles_of_hosts(hosts);
    }
    let roles: u32 = if subject.proxied == Some(true) { 3 } else { 2 };
    let cpus = subject.machine.cpus;
    let text = if cpus < roles {
        format!(
            "co-located: {roles} roles on {cpus} processors; only ratios within a round mean \
             anything"
        )
    } else {
        format!(
            "co-located: {roles} roles on {cpus} processors; absolute figures are this machine's"
        )
    };
    Check::note(Code::CoLocated, text).figures(f64::from(cpus), f64::from(roles))
}

/// Roles that share a host, or a kernel below several hosts.
fn roles_of_hosts(hosts: &Hosts) -> Check {
    let busy = || hosts.hosts.iter().filter(|host| !host.roles.is_empty());
    if let Some(host) = busy().find(|host| host.roles.len() > 1) {
        let text = format!("co-located: {} roles on {}", host.roles.len(), host.name);
        return Check::note(Code::CoLocated, text).figures(1.0, host.roles.len() as f64);
    }
    let kernels: BTreeSet<u32> = busy().map(|host| host.kernel).collect();
    let (kernels, roles) = (kernels.len(), busy().count());
    let check = if kernels < roles {
        let text = format!(
            "co-located: {roles} hosts share {kernels} kernel{}; only ratios within a round mean \
             anything",
            if kernels == 1 { "" } else { "s" }
        );
        Check::note(Code::CoLocated, text)
    } else {
        Check::passed(Code::CoLocated, "every role had a host of its own")
    };
    check.figures(kernels as f64, roles as f64)
}

/// Mean share over the window's readings, of the processor where it is largest, and on which other
/// host that is, as text that follows "a processor".
pub(crate) fn worst_on(
    subject: &Subject<'_>,
    share: impl Fn(&CpuShares) -> f64,
) -> Option<(f64, String)> {
    let end_s = subject.result.measured_s;
    let own = worst_share(&subject.trial.usage, end_s, &share).map(|it| (it, String::new()));
    let others = subject.hosts().map_or(&[][..], |hosts| &hosts.hosts);
    let others = others.iter().filter_map(|host| {
        let worst = worst_share(host.usage.as_ref()?, end_s, &share)?;
        Some((worst, format!(" of {}", host.name)))
    });
    let all = own.into_iter().chain(others);
    all.max_by(|left, right| left.0.total_cmp(&right.0))
}

fn worst_share(usage: &Usage, end_s: f64, share: &impl Fn(&CpuShares) -> f64) -> Option<f64> {
    let mut sums: Vec<(u32, f64, u32)> = Vec::new();
    let window = usage.host.iter();
    let window = window.filter(|t| t.at_s > 0.0 && t.at_s <= end_s);
    for cpu in window.flat_map(|tick| &tick.cpus) {
        match sums.iter_mut().find(|(number, ..)| *number == cpu.cpu) {
            Some((_, sum, n)) => {
                *sum += share(cpu);
                *n += 1;
            }
            None => sums.push((cpu.cpu, share(cpu), 1)),
        }
    }
    sums.iter()
        .map(|(_, sum, n)| sum / f64::from(*n))
        .reduce(f64::max)
}

/// Growth of a network counter over the window; from the last reading before it.
pub(crate) fn window_growth(
    subject: &Subject<'_>,
    counter: impl Fn(&TcpTick) -> u64,
) -> Option<u64> {
    let ticks = &subject.trial.usage.tcp;
    let start = ticks
        .partition_point(|tick| tick.at_s <= 0.0)
        .saturating_sub(1);
    let end = ticks
        .partition_point(|tick| tick.at_s <= subject.result.measured_s)
        .checked_sub(1)?;
    (end > start).then(|| counter(&ticks[end]).saturating_sub(counter(&ticks[start])))
}
