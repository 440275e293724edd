//! What disturbed a trial: decided by what the machine did, never by a rate or a latency that was
//! measured, so that repeating disturbed trials does not choose among results.

mod elsewhere;

use crate::disturbance::Disturbance;
use crate::limits::{
    DRIFT_LOG_MIN, DRIFT_SPREADS, FOREIGN_DISTURBED_CPUS, FOREIGN_SUSPECT_CPUS,
    KEPT_DISTURBED_SHARE, STEAL_DISTURBED_SHARE, STEAL_SUSPECT, THROTTLED_SHARE,
};
use crate::load::LoadResult;
use crate::trial::{Pinned, TrialRecord};
use crate::usage::{CpuShares, HostTick, Role, TreeTick, TreeUsage, Usage};

use self::elsewhere::steal_elsewhere;
pub use self::elsewhere::{OnHost, foreign_elsewhere, throttled_elsewhere};

/// From the median of absolute deviations to a standard deviation of normal values.
pub const DEVIATION_OF_MAD: f64 = 1.4826;
/// Fewest rates that have a median worth comparing with.
const DRIFT_RATES_MIN: usize = 3;
/// Share of the window that the host's readings must cover.
const COVERED_SHARE: f64 = 0.8;
/// How far beyond the last reading an edge may lie and still take its value, seconds.
const EDGE_SLACK_S: f64 = 0.25;
/// By how many processors the trees may use more than the host, where only the clocks differ.
const CLOCK_ERROR_CPUS: f64 = 0.05;

/// Processors that programs had which do not belong to the trial, mean over the window. Slightly
/// below 0 where the clocks of host and programs differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Foreign {
    /// On the whole machine.
    pub machine: f64,
    /// On the processors that the server was given; `None` where roles are not pinned, or share a
    /// part of them only.
    pub on_server: Option<f64>,
}

impl Foreign {
    /// The larger of both.
    pub fn worst(self) -> f64 {
        self.machine
            .max(self.on_server.unwrap_or(f64::NEG_INFINITY))
    }
}

/// What disturbed the trial, by what its probe and its engine's clocks saw. Drift needs the other
/// rounds: [`drift`].
pub fn disturbances(trial: &TrialRecord) -> Vec<Disturbance> {
    let Some(result) = trial.result.as_ref() else {
        return Vec::new();
    };
    let throttled = worse(throttled_share(trial), throttled_elsewhere(trial));
    // What runs on the engine's own processor by plan disturbs nothing.
    let kept = engine_kept_share(result).filter(|_| !shares_the_engines_cpu(&trial.pinned));
    let found = [
        (
            Disturbance::OtherLoad,
            above(worst_foreign(trial), FOREIGN_DISTURBED_CPUS),
        ),
        (
            Disturbance::Steal,
            above(worst_steal(trial), STEAL_DISTURBED_SHARE),
        ),
        (Disturbance::Throttled, above(throttled, THROTTLED_SHARE)),
        (Disturbance::EngineKept, above(kept, KEPT_DISTURBED_SHARE)),
    ];
    those_that_are(found)
}

/// What puts a trial of a rate that was found in the campaign in doubt: the same as disturbs it, by
/// the lower limits from which a number is in doubt. One trial decides much of a search, where the
/// numbers of a campaign rest on many rounds. `None` of other trials.
pub fn doubts(trial: &TrialRecord) -> Option<Vec<Disturbance>> {
    trial.load_name.as_ref()?;
    let found = [
        (
            Disturbance::OtherLoad,
            above(worst_foreign(trial), FOREIGN_SUSPECT_CPUS),
        ),
        (Disturbance::Steal, above(worst_steal(trial), STEAL_SUSPECT)),
    ];
    Some(those_that_are(found))
}

fn those_that_are<const N: usize>(found: [(Disturbance, bool); N]) -> Vec<Disturbance> {
    let are = found.into_iter().filter(|(_, is)| *is);
    are.map(|(what, _)| what).collect()
}

fn above(value: Option<f64>, limit: f64) -> bool {
    value.is_some_and(|value| value > limit)
}

fn worse(here: Option<f64>, there: Option<OnHost<'_>>) -> Option<f64> {
    let there = there.map(|(value, _)| value);
    here.into_iter().chain(there).reduce(f64::max)
}

/// Processors that other programs had, on this machine or a host where they had more.
fn worst_foreign(trial: &TrialRecord) -> Option<f64> {
    let here = foreign_cpus(trial).map(Foreign::worst);
    worse(here, foreign_elsewhere(trial))
}

/// The same of what the hypervisor took.
fn worst_steal(trial: &TrialRecord) -> Option<f64> {
    worse(steal_share(trial), steal_elsewhere(trial))
}

/// Processors that programs had which do not belong to the trial; `None` where the readings do
/// not cover the window, or a tree is missing from them.
pub fn foreign_cpus(trial: &TrialRecord) -> Option<Foreign> {
    let window_s = window_s(trial)?;
    let used = Used::of(trial, 0.0, window_s)?;
    let shares = if interrupts_apart(trial, &used)? {
        window_shares(&trial.usage, window_s, programs)?
    } else {
        window_shares(&trial.usage, window_s, busy)?
    };
    Some(Foreign {
        machine: sum(&shares) - used.all(),
        on_server: used.on_server(&trial.pinned).and_then(|used| {
            let here = |cpu: &usize| shares.iter().find(|(known, _)| known == cpu);
            let there: Option<f64> = trial
                .pinned
                .server
                .iter()
                .map(|cpu| here(cpu).map(|(_, share)| *share))
                .sum();
            Some(there? - used)
        }),
    })
}

/// Processors that programs had which do not belong to the trial, from each reading of the host in
/// the window to the next; `None` where readings are missing.
pub fn foreign_over_time(trial: &TrialRecord) -> Option<Vec<f64>> {
    let window_s = window_s(trial)?;
    let apart = interrupts_apart(trial, &Used::of(trial, 0.0, window_s)?)?;
    let of = |cpu: &CpuShares| if apart { programs(cpu) } else { busy(cpu) };
    let inside = |tick: &HostTick| (0.0..=window_s).contains(&tick.at_s);
    let pairs = trial.usage.host.windows(2);
    let foreign = pairs
        .filter(|pair| inside(&pair[0]) && inside(&pair[1]))
        .map(|pair| {
            let (from_s, to_s) = (pair[0].at_s, pair[1].at_s);
            let used = Used::of(trial, from_s, to_s)?;
            Some(pair[1].cpus.iter().map(of).sum::<f64>() - used.all())
        });
    foreign.collect()
}

/// Whether the kernel charges interrupts to nobody: then they are not in the programs' CPU time,
/// and most of them are this trial's own packets. Where the record does not say which kernel it
/// was, programs that used more than there was without interrupts were charged with them.
fn interrupts_apart(trial: &TrialRecord, used: &Used) -> Option<bool> {
    if trial.usage.interrupts_apart.is_some() {
        return trial.usage.interrupts_apart;
    }
    let beyond = |shares: &[(usize, f64)]| sum(shares) - used.all();
    let window_s = window_s(trial)?;
    let with_interrupts = beyond(&window_shares(&trial.usage, window_s, busy)?);
    let without = beyond(&window_shares(&trial.usage, window_s, programs)?);
    Some(with_interrupts > CLOCK_ERROR_CPUS && without > -CLOCK_ERROR_CPUS)
}

fn sum(shares: &[(usize, f64)]) -> f64 {
    shares.iter().map(|(_, share)| share).sum()
}

/// Largest share of a processor's time that the hypervisor took, mean over the window; `None`
/// where the readings do not cover the window.
pub fn steal_share(trial: &TrialRecord) -> Option<f64> {
    let shares = window_shares(&trial.usage, window_s(trial)?, |cpu| cpu.steal)?;
    shares.into_iter().map(|(_, share)| share).reduce(f64::max)
}

/// Share of the time of the server's processors that the hypervisor took, mean over them and the
/// window; `None` where the readings do not cover the window.
pub fn steal_from_server(trial: &TrialRecord) -> Option<f64> {
    let shares = window_shares(&trial.usage, window_s(trial)?, |cpu| cpu.steal)?;
    let own = &trial.pinned.server;
    let here = shares
        .iter()
        .filter(|(cpu, _)| own.is_empty() || own.contains(cpu));
    let here: Vec<f64> = here.map(|(_, share)| *share).collect();
    (!here.is_empty()).then(|| here.iter().sum::<f64>() / here.len() as f64)
}

/// Share of the window in which a quota of CPU time held the server or bakeoff back; `None`
/// where no quota was read.
pub fn throttled_share(trial: &TrialRecord) -> Option<f64> {
    throttled_in(&trial.usage, window_s(trial)?)
}

fn throttled_in(usage: &Usage, window_s: f64) -> Option<f64> {
    let at = |limit_s: f64| {
        let before = |tick: &&HostTick| tick.at_s <= limit_s + EDGE_SLACK_S;
        let mut ticks = usage.host.iter().filter(before).rev();
        ticks.find_map(|tick| tick.throttled_us)
    };
    let first = usage.host.iter().find_map(|tick| tick.throttled_us);
    let (before, after) = (at(-EDGE_SLACK_S).or(first)?, at(window_s)?);
    Some(after.saturating_sub(before) as f64 / 1e6 / window_s)
}

/// Largest share of the window in which a thread of the engine wanted a processor and had none;
/// `None` where its threads did not report.
pub fn engine_kept_share(result: &LoadResult) -> Option<f64> {
    let kept = result.engine.threads.iter().map(|thread| thread.kept_s);
    let most = kept.reduce(f64::max)?;
    (result.measured_s > 0.0).then(|| most / result.measured_s)
}

/// Whether the server or the upstream was given a processor of the load engine. A server that is
/// not pinned may use any, the engine's too.
pub fn shares_the_engines_cpu(pinned: &Pinned) -> bool {
    let mut others = pinned.server.iter().chain(&pinned.origin);
    let is_any = pinned.server.is_empty() && !pinned.engine.is_empty();
    is_any || others.any(|cpu| pinned.engine.contains(cpu))
}

/// Whether the yardstick's rate in a block is another than in the other rounds of the same
/// workload and load: farther from their median than three deviations and 15 %. It is a detector
/// of changes of the machine; results are never divided by it. `yardstick_rates` holds the rates
/// of all rounds; with fewer than three there is no drift to be seen.
pub fn drift(yardstick_rates: &[f64], this: f64) -> bool {
    let logs: Vec<f64> = yardstick_rates.iter().map(|rate| rate.ln()).collect();
    if logs.len() < DRIFT_RATES_MIN || logs.iter().any(|log| !log.is_finite()) {
        return false;
    }
    let center = median(logs.clone());
    let spread = median(logs.iter().map(|log| (log - center).abs()).collect());
    let distance = (this.ln() - center).abs();
    distance.is_nan() || distance > DRIFT_LOG_MIN.max(DRIFT_SPREADS * DEVIATION_OF_MAD * spread)
}

/// CPU seconds (user and system) that a tree used from `from_s` to `to_s` on the trial's axis,
/// interpolated between readings; `None` when the readings do not cover the span.
pub fn cpu_seconds_between(ticks: &[TreeTick], from_s: f64, to_s: f64) -> Option<f64> {
    let used = cpu_at(ticks, to_s)? - cpu_at(ticks, from_s)?;
    (to_s > from_s && used >= 0.0).then_some(used)
}

/// Processors that the trial's own programs had.
struct Used {
    server: f64,
    engine: f64,
    origin: f64,
    /// Generators on the same kernel, and the upstream on another host of it, as namespaces are.
    beside: f64,
}

impl Used {
    fn of(trial: &TrialRecord, from_s: f64, to_s: f64) -> Option<Self> {
        let length_s = to_s - from_s;
        let tree = |role: Role| trial.usage.trees.iter().find(|tree| tree.role == role);
        let cpus =
            |tree: &TreeUsage| Some(cpu_seconds_between(&tree.ticks, from_s, to_s)? / length_s);
        Some(Self {
            server: cpus(tree(Role::Server)?)?,
            // Where the load comes from others, the engine's place is that of who follows it.
            engine: cpus(tree(Role::Engine).or_else(|| tree(Role::Bakeoff))?)?,
            beside: elsewhere::beside_the_server(trial, from_s, to_s)?,
            origin: tree(Role::Origin).map_or(Some(0.0), cpus)?,
        })
    }

    fn all(&self) -> f64 {
        self.server + self.engine + self.origin + self.beside
    }

    /// What was used of the server's processors; `None` where that cannot be known.
    fn on_server(&self, pinned: &Pinned) -> Option<f64> {
        // Which processors those beside it had is not known.
        if pinned.server.is_empty() || self.beside > 0.0 {
            return None;
        }
        let part = |cpus: &[usize], used: f64| {
            let inside = cpus
                .iter()
                .filter(|cpu| pinned.server.contains(cpu))
                .count();
            match inside {
                _ if used == 0.0 => Some(0.0),
                _ if cpus.is_empty() => None,
                0 => Some(0.0),
                all if all == cpus.len() => Some(used),
                _ => None,
            }
        };
        let engine = part(&pinned.engine, self.engine)?;
        Some(self.server + engine + part(&pinned.origin, self.origin)?)
    }
}

fn window_s(trial: &TrialRecord) -> Option<f64> {
    let measured_s = trial.result.as_ref()?.measured_s;
    (measured_s > 0.0).then_some(measured_s)
}

fn programs(cpu: &CpuShares) -> f64 {
    cpu.user + cpu.system
}

fn busy(cpu: &CpuShares) -> f64 {
    (1.0 - cpu.idle - cpu.iowait - cpu.steal).max(0.0)
}

/// Mean over the window of a share of each processor's time, by the processor's number.
fn window_shares(
    usage: &Usage,
    window_s: f64,
    share: impl Fn(&CpuShares) -> f64,
) -> Option<Vec<(usize, f64)>> {
    let mut sums: Vec<(usize, f64, f64)> = Vec::new();
    for pair in usage.host.windows(2) {
        // A share is of the time since the tick before.
        let (from_s, to_s) = (pair[0].at_s.max(0.0), pair[1].at_s.min(window_s));
        if to_s <= from_s {
            continue;
        }
        for cpu in &pair[1].cpus {
            let number = cpu.cpu as usize;
            let (value, length_s) = (share(cpu), to_s - from_s);
            match sums.iter_mut().find(|(known, ..)| *known == number) {
                Some((_, sum, covered_s)) => {
                    *sum += value * length_s;
                    *covered_s += length_s;
                }
                None => sums.push((number, value * length_s, length_s)),
            }
        }
    }
    let covered = sums
        .iter()
        .all(|(_, _, length_s)| *length_s >= COVERED_SHARE * window_s);
    let means = sums
        .iter()
        .map(|(cpu, sum, covered_s)| (*cpu, sum / covered_s))
        .collect();
    (covered && !sums.is_empty()).then_some(means)
}

/// Cumulative CPU seconds at a time, between the two readings around it.
fn cpu_at(ticks: &[TreeTick], at_s: f64) -> Option<f64> {
    let total = |tick: &TreeTick| tick.cpu_user_s + tick.cpu_system_s;
    let near = |tick: &TreeTick| (tick.at_s - at_s).abs() <= EDGE_SLACK_S;
    let after = ticks.partition_point(|tick| tick.at_s < at_s);
    let before = after.checked_sub(1).and_then(|before| ticks.get(before));
    match (before, ticks.get(after)) {
        (Some(before), Some(after)) => {
            let share = (at_s - before.at_s) / (after.at_s - before.at_s);
            Some(total(before) + share * (total(after) - total(before)))
        }
        (None, Some(one)) | (Some(one), None) => near(one).then(|| total(one)),
        (None, None) => None,
    }
}

/// Median of at least one value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests;
