//! `[[change]]`: what is done to a server under load, as a plan file writes it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DurationText;
use crate::action::Action;
use crate::schedule::Arrival;

/// A load in which something is done to each contender, again and again. A plan has this or loads.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ChangeTable {
    /// What is done.
    #[schemars(extend("examples" = ["reload"]))]
    pub(crate) action: Action,
    /// How often in a trial.
    #[schemars(range(min = 1, max = 100), extend("examples" = [10]))]
    pub(crate) times: u32,
    /// From one to the next.
    pub(crate) every: DurationText,
    /// Requests per second; without it and `capacity_share`, 1,000.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 10_000_000, "examples" = [1000]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<f64>,
    /// The same as a share of what the slowest contender carries in a closed loop of so many
    /// clients, which is measured first.
    #[schemars(extend("minimum" = 0.01, "maximum" = 1, "examples" = [0.5]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity_share: Option<f64>,
    /// Gaps between requests; without it, constant.
    #[schemars(extend("examples" = ["poisson"]))]
    pub(crate) arrival: Arrival,
    /// Connections at the most.
    #[schemars(range(min = 1, max = 10_000), extend("examples" = [50]))]
    pub(crate) clients: u32,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3.
    #[schemars(range(min = 1, max = 1000), extend("examples" = [32]))]
    pub(crate) streams: u32,
    /// Share of the requests that are sent on kept connections.
    #[schemars(extend("minimum" = 0, "maximum" = 1, "examples" = [0.8]))]
    pub(crate) kept: f64,
    /// Time before measuring, under the same load.
    pub(crate) warmup: DurationText,
    /// A request older than this has failed.
    pub(crate) timeout: DurationText,
}

impl Default for ChangeTable {
    fn default() -> Self {
        let seconds = |s| DurationText(Duration::from_secs(s));
        Self {
            action: Action::Reload,
            times: 10,
            every: seconds(3),
            rate: None,
            capacity_share: None,
            arrival: Arrival::Constant,
            clients: 50,
            streams: 1,
            kept: 0.8,
            warmup: seconds(1),
            timeout: seconds(5),
        }
    }
}
