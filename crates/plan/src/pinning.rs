//! Processors that the roles of a campaign are given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Processors given to each role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "PinningTable")]
pub struct Pinning {
    /// The server under test.
    pub server: Cpus,
    /// The load engine.
    pub engine: Cpus,
    /// The upstream behind a proxy.
    pub origin: Cpus,
}

/// A choice of processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("examples" = ["auto"]))]
pub enum Cpus {
    /// The conductor divides the machine: half for the engine, half for server and origin.
    #[default]
    Auto,
    /// No pinning: the kernel's scheduler decides.
    Any,
    /// These processors, by the kernel's number.
    #[serde(untagged)]
    List(#[schemars(length(min = 1), inner(range(min = 0, max = 8191)))] Vec<usize>),
}
