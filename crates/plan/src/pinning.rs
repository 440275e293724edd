//! Processors that the roles of a campaign are given.

use serde::{Deserialize, Serialize};

/// Processors for each role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinning {
    /// The server under test.
    pub server: Cpus,
    /// The load engine.
    pub engine: Cpus,
    /// The upstream behind a proxy.
    pub origin: Cpus,
}

/// A choice of processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cpus {
    /// The conductor divides the machine: half for the engine, half for server and origin.
    #[default]
    Auto,
    /// No pinning: the kernel's scheduler decides.
    Any,
    /// These processors, by the kernel's number.
    List(Vec<usize>),
}
