//! What disturbed the hosts that a load came from: what each of them sampled, and on hosts of one
//! kernel what all of them used.

use super::{busy, cpu_seconds_between, programs, sum, throttled_in, window_s, window_shares};
use crate::hosts::{HostFacts, Hosts};
use crate::trial::TrialRecord;
use crate::usage::Usage;

/// A figure of a host, and its name.
pub type OnHost<'t> = (f64, &'t str);

/// The kernel that the server's own readings are of; `None` where one machine did everything.
fn of_server(trial: &TrialRecord) -> Option<(&Hosts, u32)> {
    let hosts = trial.hosts.as_ref()?;
    Some((hosts, hosts.server()?.kernel))
}

/// Hosts of another kernel than the server's, with what was sampled on them.
fn elsewhere(trial: &TrialRecord) -> impl Iterator<Item = (&HostFacts, &Usage)> {
    let own = of_server(trial).map(|(_, kernel)| kernel);
    let hosts = trial.hosts.iter().flat_map(|hosts| &hosts.hosts);
    let others = hosts.filter(move |host| own.is_some_and(|own| host.kernel != own));
    others.filter_map(|host| Some((host, host.usage.as_ref()?)))
}

fn worst<'t>(found: impl Iterator<Item = OnHost<'t>>) -> Option<OnHost<'t>> {
    found.max_by(|left, right| left.0.total_cmp(&right.0))
}

/// Largest share of a processor's time that the hypervisor took from a host elsewhere, mean over
/// the window.
pub(crate) fn steal_elsewhere(trial: &TrialRecord) -> Option<OnHost<'_>> {
    let window_s = window_s(trial)?;
    worst(elsewhere(trial).filter_map(|(host, usage)| {
        let shares = window_shares(usage, window_s, |cpu| cpu.steal)?;
        let most = shares.into_iter().map(|(_, share)| share);
        Some((most.reduce(f64::max)?, host.name.as_str()))
    }))
}

/// Largest share of the window in which a quota of CPU time held a generator back.
pub fn throttled_elsewhere(trial: &TrialRecord) -> Option<OnHost<'_>> {
    let window_s = window_s(trial)?;
    worst(
        elsewhere(trial)
            .filter_map(|(host, usage)| Some((throttled_in(usage, window_s)?, host.name.as_str()))),
    )
}

/// Processors of a host elsewhere that programs had which do not belong to the trial, where they
/// were most. `None` where there is no such host, or its readings do not cover the window.
pub fn foreign_elsewhere(trial: &TrialRecord) -> Option<OnHost<'_>> {
    let window_s = window_s(trial)?;
    worst(elsewhere(trial).filter_map(|(host, usage)| {
        // Where the kernel does not say, interrupts are taken for the trial's own packets.
        let shares = match usage.interrupts_apart {
            Some(false) => window_shares(usage, window_s, busy)?,
            _ => window_shares(usage, window_s, programs)?,
        };
        // Other hosts of its kernel have the same processors.
        let same = elsewhere(trial).filter(|(other, _)| other.kernel == host.kernel);
        let used = same.map(|(_, usage)| cpus_of_trees(usage, 0.0, window_s));
        let used: Option<f64> = used.sum();
        Some((sum(&shares) - used?, host.name.as_str()))
    }))
}

/// Processors that generators and the upstream had on other hosts of the server's kernel, and a
/// generator on the server's own host; `None` where a generator was not sampled.
pub(super) fn beside_the_server(trial: &TrialRecord, from_s: f64, to_s: f64) -> Option<f64> {
    let Some((hosts, kernel)) = of_server(trial) else {
        return Some(0.0);
    };
    let is_lost = |host: &&HostFacts| hosts.lost.iter().any(|lost| lost.host == host.name);
    let is_generator = |name: &str| hosts.generators.iter().any(|part| part.host == name);
    let beside = hosts.hosts.iter().filter(|host| host.kernel == kernel);
    let beside = beside.filter(|host| !is_lost(host));
    let used = beside.map(|host| match &host.usage {
        Some(usage) => cpus_of_trees(usage, from_s, to_s),
        // A built-in server has no upstream, and the server's own samples are those of the trial.
        None => (!is_generator(&host.name)).then_some(0.0),
    });
    used.sum()
}

/// Processors that the sampled programs of a host had.
fn cpus_of_trees(usage: &Usage, from_s: f64, to_s: f64) -> Option<f64> {
    let seconds = usage.trees.iter();
    let seconds = seconds.map(|tree| cpu_seconds_between(&tree.ticks, from_s, to_s));
    let seconds: Option<f64> = seconds.sum();
    Some(seconds? / (to_s - from_s))
}
