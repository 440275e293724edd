//! What is measured, each thing once: its names, the kind of number that it is, which way is
//! better, and its value in a trial.
//!
//! A value is missing for a reason, and the reason is said; it is never 0 in place of a hole.

use std::fmt;

use bakeoff_plan::LoadModel;
use bakeoff_record::{LoadResult, TrialEnd, TrialRecord, cpu_seconds_between};
use serde::Serialize;

use crate::usage::{memory_peak, server_tree};

bakeoff_plan::named! {
    /// What is taken from a trial. Latencies are of `ok` responses, from the intended send time; a
    /// percentile counts what had no end too, and there is none where that could move it.
    ///
    /// The variants are in the order of their names, in which JSON has them.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    #[schemars(description = "What two contenders are compared by.")]
    pub enum Metric {
        /// Mean number of processors that the server's tree kept busy.
        #[schemars(skip)]
        CpuCores = "cpu_cores",
        /// CPU time of the server for each request; less is better.
        CpuNsPerRequest = "cpu_ns_per_request",
        /// Share of the requests that ended in the window and did not come out `ok`, 0 to 1; in an
        /// open loop of the requests due.
        #[schemars(skip)]
        ErrorShare = "error_share",
        /// Largest latency, ns.
        #[schemars(skip)]
        LatencyMaxNs = "latency_max_ns",
        /// Mean latency, ns.
        #[schemars(skip)]
        LatencyMeanNs = "latency_mean_ns",
        /// Smallest latency, ns.
        #[schemars(skip)]
        LatencyMinNs = "latency_min_ns",
        /// Median latency; less is better.
        LatencyP50Ns = "latency_p50_ns",
        /// 90th percentile of latency; less is better.
        LatencyP90Ns = "latency_p90_ns",
        /// 95th percentile of latency, ns.
        #[schemars(skip)]
        LatencyP95Ns = "latency_p95_ns",
        /// Percentile 99.9 of latency, ns.
        #[serde(rename = "latency_p99_9_ns")]
        #[schemars(skip)]
        LatencyP999Ns = "latency_p99_9_ns",
        /// 99th percentile of latency; less is better.
        LatencyP99Ns = "latency_p99_ns",
        /// Largest resident memory of the server; less is better.
        MemoryPeakBytes = "memory_peak_bytes",
        /// Right answers per second; more is better.
        RatePerS = "rate_per_s",
        /// Requests that ended in the window.
        #[schemars(skip)]
        Requests = "requests",
    }
}

bakeoff_plan::named! {
    /// A kind of number. What takes away one of them may leave the others standing: an engine that
    /// was late is in the latencies and not in the CPU time of the server.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Number {
        /// Right answers per second.
        Rate = "rate",
        /// Latencies.
        Latency = "latency",
        /// CPU time of the server.
        Cpu = "cpu",
        /// Memory of the server.
        Memory = "memory",
        /// Requests, outcomes and their shares.
        Counts = "counts",
    }
}

/// What a metric is called, and what it is.
struct Facts {
    /// As gates, conditions and the formats of other tools write it.
    short: &'static str,
    /// Inside a sentence.
    phrase: &'static str,
    number: Number,
    quantile: Option<f64>,
}

impl Metric {
    /// What two contenders are compared by, in the order of tables.
    pub const COMPARED: [Self; 6] = [
        Self::RatePerS,
        Self::LatencyP50Ns,
        Self::LatencyP90Ns,
        Self::LatencyP99Ns,
        Self::CpuNsPerRequest,
        Self::MemoryPeakBytes,
    ];

    /// Those of them that have a table of ratios, in the order of tables.
    pub const RANKED: [Self; 4] = [
        Self::RatePerS,
        Self::LatencyP99Ns,
        Self::CpuNsPerRequest,
        Self::MemoryPeakBytes,
    ];

    fn facts(self) -> Facts {
        let of = |number, quantile, short, phrase| Facts {
            short,
            phrase,
            number,
            quantile,
        };
        let count = |short, phrase| of(Number::Counts, None, short, phrase);
        let cpu = |short, phrase| of(Number::Cpu, None, short, phrase);
        let latency = |q, short, phrase| of(Number::Latency, q, short, phrase);
        match self {
            Self::CpuCores => cpu("cores", "processors"),
            Self::CpuNsPerRequest => cpu("cpu", "CPU time per request"),
            Self::ErrorShare => count("errors", "errors"),
            Self::LatencyMaxNs => latency(None, "max", "largest latency"),
            Self::LatencyMeanNs => latency(None, "mean", "mean latency"),
            Self::LatencyMinNs => latency(None, "min", "smallest latency"),
            Self::LatencyP50Ns => latency(Some(0.5), "p50", "median latency"),
            Self::LatencyP90Ns => latency(Some(0.9), "p90", "p90 latency"),
            Self::LatencyP95Ns => latency(Some(0.95), "p95", "p95 latency"),
            Self::LatencyP999Ns => latency(Some(0.999), "p99.9", "p99.9 latency"),
            Self::LatencyP99Ns => latency(Some(0.99), "p99", "p99 latency"),
            Self::MemoryPeakBytes => of(Number::Memory, None, "memory", "memory"),
            Self::RatePerS => of(Number::Rate, None, "rate", "requests/s"),
            Self::Requests => count("requests", "requests"),
        }
    }

    /// As gates and conditions write it.
    pub fn short_name(self) -> &'static str {
        self.facts().short
    }

    /// The metric inside a sentence.
    pub fn phrase(self) -> &'static str {
        self.facts().phrase
    }

    /// The kind of number whose verdict it goes by.
    pub fn number(self) -> Number {
        self.facts().number
    }

    /// The share of latencies that are no longer, of a percentile; `None` of anything else.
    pub fn quantile(self) -> Option<f64> {
        self.facts().quantile
    }

    /// Whether it is a latency.
    pub fn is_latency(self) -> bool {
        self.number() == Number::Latency
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        self == Self::RatePerS
    }

    /// Whether it is tested over the whole campaign; the others are indications.
    pub fn is_tested(self) -> bool {
        self.decides() || self == Self::CpuNsPerRequest
    }

    /// Whether it decides when two contenders are measured no more under a load that it fits.
    pub fn decides(self) -> bool {
        matches!(self, Self::RatePerS | Self::LatencyP99Ns)
    }

    /// Whether it is the server's under a load, and not what the load made of it (R1): a closed
    /// loop gives the latency, an open one the rate.
    pub fn fits(self, model: &LoadModel) -> bool {
        self.fits_loop(model.is_open())
    }

    /// The same, by whether the loop is an open one.
    pub fn fits_loop(self, is_open: bool) -> bool {
        match self.number() {
            Number::Rate => !is_open,
            Number::Latency => is_open,
            Number::Cpu | Number::Memory | Number::Counts => true,
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
        /// The bound, in the unit of the metric.
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
