//! `[[search]]`: the highest rate that meets an objective, as a plan file writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DurationText, default_duration, default_streams, default_timeout};
use crate::model::Arrival;

/// A search for the highest rate at which each contender meets its goals. A plan has searches or
/// loads.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchTable {
    /// Latencies that are asked for; with `errors` each makes a goal. Without any, only failures
    /// count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["p99<10ms"]]))]
    pub(crate) slo: Vec<String>,
    /// Shares of the requests due that may fail.
    #[serde(default = "default_errors")]
    #[schemars(length(min = 1), extend("examples" = [["0.001%", "0.5%"]]))]
    pub(crate) errors: Vec<String>,
    /// Connections that requests are spread over.
    #[serde(default = "default_clients")]
    #[schemars(range(min = 1, max = 10_000), extend("examples" = [100]))]
    pub(crate) clients: u32,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3.
    #[serde(default = "default_streams")]
    #[schemars(range(min = 1, max = 1000), extend("examples" = [32]))]
    pub(crate) streams: u32,
    /// Gaps between requests; without it, poisson.
    #[serde(default = "default_arrival")]
    #[schemars(extend("examples" = ["poisson"]))]
    pub(crate) arrival: Arrival,
    /// Time before measuring, under the same load.
    #[serde(default = "default_warmup")]
    pub(crate) warmup: DurationText,
    /// A request older than this has failed.
    #[serde(default = "default_timeout")]
    pub(crate) timeout: DurationText,
    /// Measured time of a full trial.
    #[serde(default = "default_duration")]
    pub(crate) trial: DurationText,
    /// Measured time after which a rate is decided in any case: at least six trials.
    #[serde(default = "default_sum")]
    pub(crate) sum: DurationText,
    /// Share of that time whose trials may miss a goal at a rate that still meets it.
    #[serde(default = "default_exceed")]
    #[schemars(extend("minimum" = 0, "maximum" = 0.9, "examples" = [0.5]))]
    pub(crate) exceed: f64,
    /// Largest distance between the two bounds, as a share of the upper one.
    #[serde(default = "default_width")]
    #[schemars(extend("minimum" = 0.001, "maximum" = 0.5, "examples" = [0.02]))]
    pub(crate) width: f64,
    /// What all trials may take together.
    #[serde(default = "default_budget")]
    pub(crate) budget: DurationText,
    /// Length of each of the three trials that confirm the rate; 0s leaves them out.
    #[serde(default = "default_confirm")]
    pub(crate) confirm: DurationText,
    /// Shares of that rate at which the latency is measured afterwards.
    #[serde(default = "default_curve")]
    #[schemars(extend("examples" = [[0.25, 0.5, 0.75, 0.9]]))]
    pub(crate) curve: Vec<f64>,
}

fn default_errors() -> Vec<String> {
    vec!["0.001%".to_owned()]
}

fn default_clients() -> u32 {
    100
}

fn default_arrival() -> Arrival {
    Arrival::Poisson
}

fn default_warmup() -> DurationText {
    DurationText(std::time::Duration::from_secs(1))
}

fn default_sum() -> DurationText {
    DurationText(std::time::Duration::from_secs(60))
}

fn default_exceed() -> f64 {
    0.5
}

fn default_width() -> f64 {
    0.02
}

fn default_budget() -> DurationText {
    DurationText(std::time::Duration::from_secs(20 * 60))
}

fn default_confirm() -> DurationText {
    DurationText(std::time::Duration::from_secs(30))
}

fn default_curve() -> Vec<f64> {
    vec![0.25, 0.5, 0.75, 0.9]
}
