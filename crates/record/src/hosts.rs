//! The hosts that took part in a trial, and what each of them saw.
//!
//! Hosts have the names that the user's file of hosts gives them. Their addresses, and how they
//! are reached, are not in a record.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::answer::When;
use crate::load::LoadResult;
use crate::usage::{HostTick, NetCounts, Usage};

/// The hosts that took part in a trial; absent where it was one machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Each host.
    pub hosts: Vec<HostFacts>,
    /// What the network between them carried when it was measured.
    pub links: Vec<LinkFacts>,
    /// What each generator saw by itself; together they are the trial's result.
    pub generators: Vec<Generator>,
    /// Hosts that were lost in the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostHost>,
}

/// One host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    /// Its name in the file of hosts; `home` is where the campaign runs.
    pub name: String,
    /// How it is reached: `home`, `ssh`, `netns`, `kubectl` or `command`.
    pub transport: String,
    /// What ran on it.
    pub roles: Vec<HostRole>,
    /// A number for its kernel: hosts of one number share processors and network.
    pub kernel: u32,
    /// Its clock against that of home; `None` for home itself.
    pub clock: Option<HostClock>,
    /// What was sampled there, on the trial's axis. The samples of the server's host are those of
    /// the trial; of a generator on it, its processes are here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What runs on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostRole {
    /// What is measured.
    Server,
    /// The upstream behind it.
    Origin,
    /// An engine that puts a part of the load on it.
    Generator,
}

/// A host's clock against that of home, before the load and after the window.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(deny_unknown_fields)]
pub struct HostClock {
    /// Before the load.
    pub before: ClockReading,
    /// After the window.
    pub after: ClockReading,
}

impl HostClock {
    /// How far a time of the host may be off on home's axis at the most, nanoseconds: the larger
    /// error of the two readings.
    pub fn error_ns(self) -> u64 {
        self.before.error_ns.max(self.after.error_ns)
    }

    /// How far the host's clock went away from that of home between the two readings at the least,
    /// nanoseconds: what their errors do not explain.
    pub fn drift_ns(self) -> u64 {
        let apart = self.after.offset_ns.abs_diff(self.before.offset_ns);
        let errors = self.before.error_ns.saturating_add(self.after.error_ns);
        apart.saturating_sub(errors)
    }
}

/// How far a host's monotonic clock was from that of home, by the fastest of many exchanges.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(deny_unknown_fields)]
pub struct ClockReading {
    /// The host's clock less that of home, nanoseconds.
    pub offset_ns: i64,
    /// How far the offset may be off, nanoseconds: half the round trip.
    pub error_ns: u64,
    /// Round trip of the exchange, nanoseconds.
    pub rtt_ns: u64,
}

/// What the network from some hosts to others carried when nothing else used it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFacts {
    /// Hosts that sent.
    pub from: Vec<String>,
    /// Hosts that received.
    pub to: Vec<String>,
    /// All that it carried, bits per second.
    pub bits_per_s: f64,
    /// Whether a processor at one of its ends was full before it was: then it may carry more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Round trip of a request without load, nanoseconds; `None` where it was not measured.
    pub rtt_ns: Option<u64>,
    /// Before the first round or after the last.
    pub when: When,
}

/// What one of several generators saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// The host's name.
    pub host: String,
    /// When its last thread began the load, after the start that all were given, on home's axis,
    /// nanoseconds; `None` where it did not say.
    pub began_ns: Option<i64>,
    /// What it saw.
    pub result: LoadResult,
}

/// A host that was lost.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LostHost {
    /// Its name.
    pub host: String,
    /// When, seconds on the trial's axis; `None` before the window was known.
    pub at_s: Option<f64>,
    /// What was seen.
    pub message: String,
}

impl fmt::Display for LostHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "host {} was lost: {}", self.host, self.message)
    }
}

impl Hosts {
    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<&HostFacts> {
        self.hosts.iter().find(|host| host.name == name)
    }

    /// The host that the server ran on.
    pub fn server(&self) -> Option<&HostFacts> {
        let is_server = |host: &&HostFacts| host.roles.contains(&HostRole::Server);
        self.hosts.iter().find(is_server)
    }
}

impl Usage {
    /// What crossed the host's network interfaces in the window of `measured_s`; `None` where it
    /// was not sampled.
    pub fn net_in_window(&self, measured_s: f64) -> Option<NetCounts> {
        let at = |limit_s: f64| {
            let mut ticks = self.host.iter().filter(|tick| tick.at_s <= limit_s).rev();
            ticks.find_map(|tick: &HostTick| tick.net)
        };
        let before = at(0.0).or_else(|| self.host.iter().find_map(|tick| tick.net))?;
        Some(at(measured_s)?.since(before))
    }
}
