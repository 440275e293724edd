//! One value out of one trial, for each thing that is compared over rounds.
//!
//! A value is missing for a reason, and the reason is said; it is never 0 in place of a hole.

use std::fmt;

use bakeoff_record::{LoadResult, TrialEnd, TrialRecord, cpu_seconds_between};
use serde::Serialize;

use crate::usage::{memory_peak, server_tree};

/// What is taken from a trial. Latencies are of `ok` responses, from the intended send time; a
/// percentile counts what had no end too, and there is none where that could move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Smallest latency, ns.
    LatencyMinNs,
    /// Median latency, ns.
    LatencyP50Ns,
    /// Mean latency, ns.
    LatencyMeanNs,
    /// 90th percentile of latency, ns.
    LatencyP90Ns,
    /// 95th percentile of latency, ns.
    LatencyP95Ns,
    /// 99th percentile of latency, ns.
    LatencyP99Ns,
    /// Percentile 99.9 of latency, ns.
    #[serde(rename = "latency_p99_9_ns")]
    LatencyP999Ns,
    /// Largest latency, ns.
    LatencyMaxNs,
    /// Right answers per second.
    RatePerS,
    /// Requests that ended in the window.
    Requests,
    /// Share of them that did not come out `ok`, 0 to 1; in an open loop the share of the
    /// requests due.
    ErrorShare,
    /// CPU time of the server's tree inside the window for each request that ended inside it, ns.
    CpuNsPerRequest,
    /// Mean number of processors that the server's tree kept busy.
    CpuCores,
    /// Largest resident memory of the server's tree, bytes.
    MemoryPeakBytes,
}

impl Measure {
    /// Every measure, each once.
    pub const ALL: [Self; 14] = [
        Self::LatencyMinNs,
        Self::LatencyP50Ns,
        Self::LatencyMeanNs,
        Self::LatencyP90Ns,
        Self::LatencyP95Ns,
        Self::LatencyMaxNs,
        Self::Requests,
        Self::ErrorShare,
        Self::LatencyP99Ns,
        Self::LatencyP999Ns,
        Self::RatePerS,
        Self::CpuNsPerRequest,
        Self::CpuCores,
        Self::MemoryPeakBytes,
    ];

    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Self::LatencyMinNs => "latency_min_ns",
            Self::LatencyP50Ns => "latency_p50_ns",
            Self::LatencyMeanNs => "latency_mean_ns",
            Self::LatencyP90Ns => "latency_p90_ns",
            Self::LatencyP95Ns => "latency_p95_ns",
            Self::LatencyP99Ns => "latency_p99_ns",
            Self::LatencyP999Ns => "latency_p99_9_ns",
            Self::LatencyMaxNs => "latency_max_ns",
            Self::RatePerS => "rate_per_s",
            Self::Requests => "requests",
            Self::ErrorShare => "error_share",
            Self::CpuNsPerRequest => "cpu_ns_per_request",
            Self::CpuCores => "cpu_cores",
            Self::MemoryPeakBytes => "memory_peak_bytes",
        }
    }

    /// Whether the value rests on how fast requests went, and is withheld from an invalid cell;
    /// the others are counts that stay true whatever slowed the requests.
    pub fn rests_on_timing(self) -> bool {
        !matches!(
            self,
            Self::Requests | Self::ErrorShare | Self::MemoryPeakBytes
        )
    }

    /// Whether it is a latency.
    pub fn is_latency(self) -> bool {
        matches!(
            self,
            Self::LatencyMinNs
                | Self::LatencyP50Ns
                | Self::LatencyMeanNs
                | Self::LatencyP90Ns
                | Self::LatencyP95Ns
                | Self::LatencyP99Ns
                | Self::LatencyP999Ns
                | Self::LatencyMaxNs
        )
    }

    /// The share of latencies that are no longer, of a percentile; `None` of anything else.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::LatencyP50Ns => Some(0.5),
            Self::LatencyP90Ns => Some(0.9),
            Self::LatencyP95Ns => Some(0.95),
            Self::LatencyP99Ns => Some(0.99),
            Self::LatencyP999Ns => Some(0.999),
            _ => None,
        }
    }

    /// The value of one trial.
    ///
    /// # Errors
    /// Says why there is none.
    pub fn of(self, trial: &TrialRecord) -> Result<f64, Missing> {
        let result = match (&trial.end, &trial.result) {
            (TrialEnd::Measured, Some(result)) => result,
            _ => return Err("no window was measured".into()),
        };
        match self {
            Self::RatePerS => Ok(rate(result)?),
            Self::Requests => Ok(result.requests.completed as f64),
            Self::ErrorShare => Ok(result.requests.error_share().ok_or(NOTHING_ASKED)?),
            Self::CpuNsPerRequest => Ok(per_request(result, cpu_s(trial, result)? * 1e9)?),
            Self::CpuCores => Ok(cpu_s(trial, result)? / result.measured_s),
            Self::MemoryPeakBytes => server_tree(&trial.usage)
                .and_then(|tree| memory_peak(tree, result.measured_s))
                .map(|bytes| bytes as f64)
                .ok_or(Missing::Because("the probe read no memory of the server")),
            latency => latency.latency_of(result),
        }
    }

    fn latency_of(self, result: &LoadResult) -> Result<f64, Missing> {
        let latency = &result.latency;
        if latency.count() == 0 {
            return Err("no ok response".into());
        }
        if let Some(q) = self.quantile() {
            return latency_quantile(result, q);
        }
        let value = match self {
            Self::LatencyMinNs => latency.min().map(|ns| ns as f64),
            Self::LatencyMeanNs => latency.mean(),
            Self::LatencyMaxNs => latency.max().map(|ns| ns as f64),
            _ => None,
        };
        value.ok_or(Missing::Because("it is no latency"))
    }
}

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Missing {
    /// The reason as text.
    Because(&'static str),
    /// It lies somewhere above a bound, because requests that had no end could move it.
    AtLeast {
        /// The bound, in the unit of the measure.
        bound: f64,
        /// Requests that had no end.
        unended: u64,
    },
}

impl From<&'static str> for Missing {
    fn from(words: &'static str) -> Self {
        Self::Because(words)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Because(words) => out.write_str(words),
            Self::AtLeast { bound, unended } => {
                let (ms, noun) = (
                    bound / 1e6,
                    if *unended == 1 { "request" } else { "requests" },
                );
                write!(out, "at least {ms:.3} ms: {unended} {noun} had no end")
            }
        }
    }
}

/// Said where a share of nothing is asked for.
const NOTHING_ASKED: &str = "no request ended in the window, or none was due in it";

/// A percentile of what users met: `ok` responses and what had no end, nanoseconds. Only responses
/// support it: no more than an age is known of what had no end.
///
/// # Errors
/// Says why there is none.
pub fn latency_quantile(result: &LoadResult, q: f64) -> Result<f64, Missing> {
    let thin = "fewer than ten responses lie beyond this percentile";
    result.latency.supported_quantile(q).ok_or(thin)?;
    let bounds = result.latency_bounds(q).ok_or(thin)?;
    let value = bounds.value().map(|ns| ns as f64);
    value.ok_or(Missing::AtLeast {
        bound: bounds.low as f64,
        unended: result.at_least.count(),
    })
}

fn rate(result: &LoadResult) -> Result<f64, &'static str> {
    if result.measured_s > 0.0 {
        Ok(result.requests.ok as f64 / result.measured_s)
    } else {
        Err("the window has no length")
    }
}

/// Over the requests that ended while `total` was counted.
fn per_request(result: &LoadResult, total: f64) -> Result<f64, &'static str> {
    match result.ended_in_window() {
        0 => Err("no request ended in the window"),
        ended => Ok(total / ended as f64),
    }
}

fn cpu_s(trial: &TrialRecord, result: &LoadResult) -> Result<f64, &'static str> {
    server_tree(&trial.usage)
        .and_then(|tree| cpu_seconds_between(&tree.ticks, 0.0, result.measured_s))
        .ok_or("the probe did not read the server's CPU time over the whole window")
}
