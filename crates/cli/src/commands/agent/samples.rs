//! What an agent samples of its own host while a load runs there.

use std::time::{Duration, Instant};

use bakeoff_plan::Load;
use bakeoff_probe::{Probe, ProbeOptions, TreeSource};
use bakeoff_record::Role;
use serde_json::Value;

/// Time between two readings.
const PERIOD: Duration = Duration::from_millis(100);
/// Readings of a load that lasts as long as it may: what they come to must fit one frame.
const READINGS_MAX: u32 = 1_200;
/// Longest text of samples, bytes: half of a frame.
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
    pub(super) fn end(self, window_start: Option<Instant>) -> Option<Value> {
        let probe = self.0?;
        probe.set_zero(window_start?);
        let usage = serde_json::to_value(probe.stop()).ok()?;
        (usage.to_string().len() <= BYTES_MAX).then_some(usage)
    }
}

/// Longer for a long load.
fn period(load: &Load) -> Duration {
    let length_s = load.warmup_s + load.duration_s + load.timeout_s;
    PERIOD.max(Duration::from_secs_f64(length_s) / READINGS_MAX)
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Connect, LoadModel};

    use super::*;

    #[test]
    fn a_long_load_has_no_more_readings_than_fit_a_frame() {
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
}
