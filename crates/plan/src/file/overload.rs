//! `[[overload]]`: a load beyond the capacity and back, as a plan file writes it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DurationText;
use crate::schedule::Arrival;

/// A load beyond each contender's capacity and back. A plan has this or loads.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OverloadTable {
    /// Shares of the capacity, one step each. The first is the load before, and the last the way
    /// back; both are at most 0.9.
    #[schemars(length(min = 3, max = 12), extend("examples" = [[0.5, 1.1, 1.4, 2.0, 4.0, 0.5]]))]
    pub(crate) steps: Vec<f64>,
    /// Length of each step.
    pub(crate) step: DurationText,
    /// Capacity in requests per second; without it, what a closed loop of each contender shows.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 10_000_000, "examples" = [5000]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity: Option<f64>,
    /// Connections at the most; they are opened as requests need them.
    #[schemars(range(min = 1, max = 10_000), extend("examples" = [1000]))]
    pub(crate) clients: u32,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3.
    #[schemars(range(min = 1, max = 1000), extend("examples" = [32]))]
    pub(crate) streams: u32,
    /// Gaps between requests; without it, poisson.
    #[schemars(extend("examples" = ["poisson"]))]
    pub(crate) arrival: Arrival,
    /// A client gives up after so long. The last step must be at least four times as long where it
    /// is 0.5, and 2 / (1 - share) times in general.
    pub(crate) patience: DurationText,
    /// Time under load before a closed loop is measured.
    pub(crate) warmup: DurationText,
    /// Numbers of clients of the closed loops that follow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 1, max = 10_000)), extend("examples" = [[10, 200, 10_000]]))]
    pub(crate) ladder: Vec<u32>,
    /// Measured time of each closed loop.
    pub(crate) rung: DurationText,
}

impl Default for OverloadTable {
    fn default() -> Self {
        let seconds = |s| DurationText(Duration::from_secs(s));
        Self {
            steps: vec![0.5, 1.1, 1.4, 2.0, 4.0, 0.5],
            step: seconds(60),
            capacity: None,
            clients: 1000,
            streams: 1,
            arrival: Arrival::Poisson,
            patience: seconds(5),
            warmup: seconds(1),
            ladder: Vec::new(),
            rung: seconds(10),
        }
    }
}
