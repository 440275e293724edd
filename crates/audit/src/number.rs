//! The numbers of a cell, each of which is believed or not by itself.

use bakeoff_stats::Measure;
use serde::Serialize;

/// A kind of number. What takes away one of them may leave the others standing: an engine that
/// was late is in the latencies and not in the CPU time of the server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Number {
    /// Right answers per second.
    Rate,
    /// Latencies.
    Latency,
    /// CPU time of the server.
    Cpu,
    /// Memory of the server.
    Memory,
    /// Requests, outcomes and their shares.
    Counts,
}

impl Number {
    /// Every kind of number, in the order of tables.
    pub const ALL: [Self; 5] = [
        Self::Rate,
        Self::Latency,
        Self::Cpu,
        Self::Memory,
        Self::Counts,
    ];

    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Latency => "latency",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Counts => "counts",
        }
    }
}

/// The kind of number that a measure is.
pub fn number_of(measure: Measure) -> Number {
    match measure {
        Measure::RatePerS => Number::Rate,
        Measure::CpuNsPerRequest | Measure::CpuCores => Number::Cpu,
        Measure::MemoryPeakBytes => Number::Memory,
        Measure::Requests | Measure::ErrorShare => Number::Counts,
        Measure::LatencyMinNs
        | Measure::LatencyP50Ns
        | Measure::LatencyMeanNs
        | Measure::LatencyP90Ns
        | Measure::LatencyP95Ns
        | Measure::LatencyP99Ns
        | Measure::LatencyP999Ns
        | Measure::LatencyMaxNs => Number::Latency,
    }
}
