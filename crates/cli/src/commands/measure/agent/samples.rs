//! What an agent samples of its own host while a load runs there, and how much of it travels.

use std::time::{Duration, Instant};

use bakeoff_plan::Load;
use bakeoff_probe::{Probe, ProbeOptions, TreeSource};
use bakeoff_record::{Role, Usage};

/// Time between two readings.
const PERIOD: Duration = Duration::from_millis(100);
/// Readings of a load that lasts as long as it may.
const READINGS_MAX: u32 = 1_200;
/// Longest text of samples, bytes. A record has those of every trial, and home reads them between
/// two trials. A host with 128 processors comes to that in some three minutes.
const BYTES_MAX: usize = 32 << 20;

/// Sampling in progress; dropping it ends it.
pub(super) struct Samples(Option<Probe>);

impl Samples {
    /// Begins to sample this process, the host and its network. Where that cannot be, the load runs
    /// without, and its checks say so.
    pub(super) fn of(load: &Load) -> Self {
        let engine = TreeSource {
            role: Role::Engine,
            root: std::process::id(),
            include_root: true,
            cgroup: None,
            limited: None,
        };
        let probe = Probe::start(ProbeOptions {
            zero: Instant::now(),
            period: period(load),
            trees: vec![engine],
            listeners: Vec::new(),
            network: true,
            pin: None,
        });
        Self(probe.ok())
    }

    /// Ends sampling; what was sampled, on an axis whose 0 is the start of the window.
    pub(super) fn end(self, window_start: Option<Instant>) -> Option<Usage> {
        let (probe, start) = self.0.zip(window_start)?;
        probe.set_zero(start);
        fitting(probe.stop())
    }
}

/// Longer for a long load.
fn period(load: &Load) -> Duration {
    let length_s = load.warmup_s + load.duration_s + load.timeout_s;
    PERIOD.max(Duration::from_secs_f64(length_s) / READINGS_MAX)
}

/// Samples as they may travel: of more there are fewer readings. `None` where not even those fit.
pub(super) fn fitting(usage: Usage) -> Option<Usage> {
    thinned(usage, BYTES_MAX)
}

/// Samples with as few of the readings as let their text have at most so many bytes.
fn thinned(mut usage: Usage, bytes_max: usize) -> Option<Usage> {
    while serde_json::to_vec(&usage).ok()?.len() > bytes_max {
        if !usage.thin() {
            return None;
        }
    }
    Some(usage)
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::LoadModel;
    use bakeoff_record::{CpuShares, HostTick};

    use super::*;

    #[test]
    fn a_long_load_has_longer_periods() {
        let load = |duration_s| Load {
            timeout_s: 0.0,
            ..Load::new(LoadModel::Closed { clients: 1 }, duration_s)
        };
        assert_eq!(period(&load(60.0)), PERIOD);
        assert_eq!(period(&load(3600.0)), Duration::from_secs(3));
    }

    /// Samples of a host with 128 processors.
    fn usage(readings: u32) -> Usage {
        let cpus = (0..128).map(|cpu| CpuShares {
            cpu,
            user: 1.0 / 3.0,
            idle: 2.0 / 3.0,
            ..CpuShares::default()
        });
        let cpus: Vec<CpuShares> = cpus.collect();
        let tick = |number| HostTick {
            at_s: f64::from(number) / 10.0,
            cpus: cpus.clone(),
            context_switches: Some(u64::from(number)),
            ..HostTick::default()
        };
        Usage {
            host: (0..readings).map(tick).collect(),
            ..Usage::default()
        }
    }

    #[test]
    fn samples_of_many_processors_are_thinned_until_they_fit() {
        let length = |usage: &Usage| serde_json::to_vec(usage).unwrap().len();
        let one = length(&usage(1));
        let fitting = thinned(usage(100), 30 * one).unwrap();
        assert!(length(&fitting) <= 30 * one);
        let last = fitting.host.last().and_then(|tick| tick.context_switches);
        assert_eq!((fitting.host.len(), last), (26, Some(99)));
        assert!(thinned(usage(100), 16).is_none(), "not even one fits");
        assert_eq!(super::fitting(usage(3)), Some(usage(3)));
    }
}
