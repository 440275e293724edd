//! What was done to a server under load, and what its clients noticed.
//!
//! Each action has a stretch of the window: from half of the gap between two actions before it to
//! half of it after it. Times are from the action, unless they are from the window's start: before
//! it they are negative. A request belongs to the stretch in which it was due.

use std::collections::BTreeMap;

use bakeoff_plan::Action;
use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, OutcomeCounts};

/// An action as it was carried out, and what clients noticed of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionDone {
    /// What was done.
    pub action: Action,
    /// When it began, from the window's start, seconds.
    pub at_s: f64,
    /// How long it took to carry out: until the signal was sent or the command had ended, seconds.
    pub took_s: f64,
    /// Why it could not be carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// When the new configuration answered, where it differs from the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_up: Option<TakenUp>,
    /// The last line about a failure that the server wrote from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Requests that did not come out `ok`, by how they ended and where they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Lost>,
    /// Requests due in the stretch.
    pub due: u64,
    /// Kept connections that the server closed, from the action to the end of the stretch. Each
    /// is a client that had to connect again.
    pub closed: u64,
    /// The same in the half of the stretch before the action.
    pub closed_before: u64,
    /// The longest time without an `ok` answer that ends or begins after the action; `None`
    /// without any answer.
    pub gap: Option<Gap>,
    /// Latencies of requests due in the second before the action.
    pub before: Latencies,
    /// The same of the second from the action on.
    pub after: Latencies,
    /// Answers of the stretch by when they ended, in parts of [`Self::PART_MS`].
    pub parts: Vec<ActionPart>,
}

impl ActionDone {
    /// Length of a part, milliseconds.
    pub const PART_MS: i32 = 10;
}

/// When the new configuration answered, seconds from the action.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakenUp {
    /// The first answer of the new one; `None` where there was none.
    pub first_new_s: Option<f64>,
    /// The last answer of the old one; `None` where there was none after the action.
    pub last_old_s: Option<f64>,
}

/// Requests that did not come out `ok`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// Where they were.
    pub at: LostAt,
    /// How they ended.
    pub outcome: Outcome,
    /// How many there were.
    pub requests: u64,
}

impl Lost {
    /// Adds up those of one place and outcome, in the order of tables.
    pub fn summed(all: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut sums = BTreeMap::new();
        for one in all {
            *sums.entry((one.at, one.outcome)).or_default() += one.requests;
        }
        let sum = |((at, outcome), requests)| Self {
            at,
            outcome,
            requests,
        };
        sums.into_iter().map(sum).collect()
    }
}

bakeoff_plan::named! {
    /// Where a request was that got lost.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LostAt {
        /// Due before the action, and ended before it.
        Before = "before",
        /// Sent before the action, and ended after it.
        InFlight = "in_flight",
        /// Sent after the action on a connection that had carried others.
        Kept = "kept",
        /// The first of its connection, after the action, or without any connection.
        New = "new",
    }
}

/// A time without an `ok` answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// When it began, seconds from the action.
    pub from_s: f64,
    /// How long it lasted, seconds.
    pub length_s: f64,
}

/// Latencies of a second, from when requests were due, milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// Requests that came out `ok`.
    pub ok: u64,
    /// Their 99th percentile; `None` without any.
    pub p99_ms: Option<f64>,
    /// The longest of them; `None` without any.
    pub max_ms: Option<f64>,
}

/// A part of a stretch in which something ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionPart {
    /// Start of the part, milliseconds from the action.
    pub at_ms: i32,
    /// Requests that ended in it, by how.
    pub ended: OutcomeCounts,
}
