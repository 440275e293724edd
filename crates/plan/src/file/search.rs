//! `[[search]]`: the highest rate that meets an objective, as a plan file writes it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DurationText;
use crate::schedule::Arrival;

/// A search for the highest rate at which each contender meets its goals. A plan has searches or
/// loads.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SearchTable {
    /// Latencies that are asked for; with `errors` each makes a goal. Without any, only failures
    /// count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["p99<10ms"]]))]
    pub(crate) slo: Vec<String>,
    /// Shares of the requests due that may fail.
    #[schemars(length(min = 1), extend("examples" = [["0.001%", "0.5%"]]))]
    pub(crate) errors: Vec<String>,
    /// Connections that requests are spread over.
    #[schemars(range(min = 1, max = 10_000), extend("examples" = [100]))]
    pub(crate) clients: u32,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3.
    #[schemars(range(min = 1, max = 1000), extend("examples" = [32]))]
    pub(crate) streams: u32,
    /// Gaps between requests; without it, poisson.
    #[schemars(extend("examples" = ["poisson"]))]
    pub(crate) arrival: Arrival,
    /// Time before measuring, under the same load.
    pub(crate) warmup: DurationText,
    /// A request older than this has failed.
    pub(crate) timeout: DurationText,
    /// Measured time of a full trial.
    pub(crate) trial: DurationText,
    /// Measured time after which a rate is decided in any case: at least six trials.
    pub(crate) sum: DurationText,
    /// Share of that time whose trials may miss a goal at a rate that still meets it.
    #[schemars(extend("minimum" = 0, "maximum" = 0.9, "examples" = [0.5]))]
    pub(crate) exceed: f64,
    /// Largest distance between the two bounds, as a share of the upper one.
    #[schemars(extend("minimum" = 0.001, "maximum" = 0.5, "examples" = [0.02]))]
    pub(crate) width: f64,
    /// What all trials may take together.
    pub(crate) budget: DurationText,
    /// Length of each of the three trials that confirm the rate; 0s leaves them out.
    pub(crate) confirm: DurationText,
    /// Shares of that rate at which the latency is measured afterwards.
    #[schemars(extend("examples" = [[0.25, 0.5, 0.75, 0.9]]))]
    pub(crate) curve: Vec<f64>,
}

impl Default for SearchTable {
    fn default() -> Self {
        let seconds = |s| DurationText(Duration::from_secs(s));
        Self {
            slo: Vec::new(),
            errors: vec!["0.001%".to_owned()],
            clients: 100,
            streams: 1,
            arrival: Arrival::Poisson,
            warmup: seconds(1),
            timeout: seconds(10),
            trial: seconds(10),
            sum: seconds(60),
            exceed: 0.5,
            width: 0.02,
            budget: seconds(20 * 60),
            confirm: seconds(30),
            curve: vec![0.25, 0.5, 0.75, 0.9],
        }
    }
}
