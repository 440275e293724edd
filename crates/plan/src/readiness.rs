//! When a server of the user's own counts as started.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a command counts as started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ReadyTable")]
pub struct Readiness {
    /// Request target that is asked; without it, that of the workload.
    #[schemars(extend("examples" = ["/health"]))]
    pub path: Option<String>,
    /// Status that it must have; without it, any below 500.
    #[schemars(range(min = 200, max = 599), extend("examples" = [200]))]
    pub status: Option<u16>,
}

impl Readiness {
    /// Whether it is ready when it answers the workload's first request.
    pub fn is_first_answer(&self) -> bool {
        self.path.is_none() && self.status.is_none()
    }
}
