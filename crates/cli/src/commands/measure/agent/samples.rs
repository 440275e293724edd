//! What an agent samples of its own host while a load runs there, and how samples travel.

use std::time::{Duration, Instant};

use bakeoff_hosts::in_parts;
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

    /// Ends sampling; what was sampled, on an axis whose 0 is the start of the window, in parts.
    /// None where nothing was.
    pub(super) fn end(self, window_start: Option<Instant>) -> Vec<Vec<u8>> {
        let Some((probe, start)) = self.0.zip(window_start) else {
            return Vec::new();
        };
        probe.set_zero(start);
        packed(probe.stop()).unwrap_or_default()
    }
}

/// Longer for a long load.
fn period(load: &Load) -> Duration {
    let length_s = load.warmup_s + load.duration_s + load.timeout_s;
    PERIOD.max(Duration::from_secs_f64(length_s) / READINGS_MAX)
}

/// Samples as they travel: one text in parts. Of more than may go there are fewer readings.
/// `None` where they have no text.
pub(super) fn packed(usage: Usage) -> Option<Vec<Vec<u8>>> {
    Some(in_parts(&text_of(usage, BYTES_MAX)?))
}

/// The samples again; `None` where it is another text.
pub(crate) fn unpacked(parts: &[Vec<u8>]) -> Option<Usage> {
    serde_json::from_slice(&parts.concat()).ok()
}

/// The text of samples, with as few of the readings as let it have at most so many bytes.
fn text_of(mut usage: Usage, bytes_max: usize) -> Option<Vec<u8>> {
    loop {
        let text = serde_json::to_vec(&usage).ok()?;
        if text.len() <= bytes_max {
            return Some(text);
        }
        if !usage.thin() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Connect, LoadModel};
    use bakeoff_record::{CpuShares, HostTick};

    use super::*;

    #[test]
    fn a_long_load_has_longer_periods() {
        let load = |duration_s| Load {
            model: LoadModel::Closed { clients: 1 },
            connect: Connect::First,
            streams: 1,
            requests: None,
            warmup_s: 0.0,
            duration_s,
            timeout_s: 0.0,
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
        let one = text_of(usage(1), BYTES_MAX).unwrap().len();
        let fitting = text_of(usage(100), 30 * one).unwrap();
        assert!(fitting.len() <= 30 * one);
        let fitting = unpacked(&[fitting]).unwrap();
        let last = fitting.host.last().and_then(|tick| tick.context_switches);
        assert_eq!((fitting.host.len(), last), (26, Some(99)));
        assert!(text_of(usage(100), 16).is_none(), "not even one fits");
    }

    #[test]
    fn samples_arrive_as_they_were_sent() {
        let sent = usage(3);
        assert_eq!(unpacked(&packed(sent.clone()).unwrap()), Some(sent));
        assert_eq!(unpacked(&[]), None);
        assert_eq!(unpacked(&[b"{\"trees\":".to_vec(), b"1}".to_vec()]), None);
    }
}
