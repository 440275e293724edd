//! The metrics of a load, from the counters of its live view.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bakeoff_load::{Control, Reading};
use bakeoff_report::{LiveLoad, live_load};

use super::{Endpoint, Serving, Source};

/// What figures of the moment are about: the last second, as nearly as readings come.
const READINGS: usize = 2;
/// Shares of the quantiles.
const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// Fewer latencies beyond a quantile than this say nothing.
const BEYOND_LEAST: f64 = 10.0;

/// The metrics of a load that runs.
pub(crate) struct LoadMetrics {
    control: Arc<Control>,
    recent: VecDeque<Reading>,
}

impl LoadMetrics {
    /// Serves them until what is returned is dropped.
    pub(crate) fn serve(endpoint: Endpoint, control: &Arc<Control>) -> anyhow::Result<Serving> {
        control.live().want_latencies();
        endpoint.serve(Self {
            control: control.clone(),
            recent: VecDeque::new(),
        })
    }

    fn phase(&self) -> &'static str {
        let now = Instant::now();
        match self.control.window() {
            None => "connecting",
            Some((start, _)) if now < start => "warm-up",
            Some((_, end)) if now < end => "measuring",
            Some(_) => "ending",
        }
    }
}

impl Source for LoadMetrics {
    fn tick(&mut self, _now: Instant) {
        self.recent.push_back(self.control.live().reading());
        if self.recent.len() > READINGS {
            self.recent.pop_front();
        }
    }

    fn page(&mut self) -> String {
        let now = self.recent.back().cloned().unwrap_or_default();
        let last = match self.recent.len() {
            0 | 1 => Reading::default(),
            _ => now.since(&self.recent[0]),
        };
        let count = last.latencies() as f64;
        let known = SHARES.into_iter().filter(|share| {
            let beyond = count * (1.0 - share);
            *share <= 0.5 && count > 0.0 || beyond >= BEYOND_LEAST
        });
        let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
        let latency_s = known.filter_map(|share| Some((share, seconds(last.quantile_ns(share)?))));
        live_load(&LiveLoad {
            phase: self.phase(),
            ok: now.ok,
            failed: self.control.live().failed(),
            ok_per_s: (last.covered_s > 0.0).then(|| last.ok as f64 / last.covered_s),
            latency_s: latency_s.collect(),
        })
    }
}
