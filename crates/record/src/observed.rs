//! What the engine observed in addition to requests: requests in flight over time, clients,
//! connection set-up, its own delays, and the settings that affect its numbers.

use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, bucket_of};
use crate::peer::{AddressUse, Said};
use crate::samples::Samples;

/// Where a quantile lies that requests without an end could move, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The lower bound.
    pub low: u64,
    /// The upper bound; `None` where there is none.
    pub high: Option<u64>,
}

impl Bounds {
    /// The one value, where both bounds are in the same bucket of a histogram or in neighbours: a
    /// value near the edge of its bucket is known no worse than another. It is the upper bound.
    pub fn value(self) -> Option<u64> {
        let near = |high: &u64| bucket_of(*high) <= bucket_of(self.low) + 1;
        self.high.filter(near)
    }
}

/// Requests that crossed the window, by the clock: `carried_in + begun = ended + in_flight`. Each
/// is counted by itself, those in flight from the connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Balance {
    /// Requests in flight when the window opened.
    pub carried_in: u64,
    /// Requests begun between its edges.
    pub begun: u64,
    /// Requests that ended between its edges.
    pub ended: u64,
    /// Requests in flight when it closed.
    pub in_flight: u64,
}

impl Balance {
    /// Whether no request was lost or counted twice.
    pub fn holds(self) -> bool {
        self.carried_in + self.begun == self.ended + self.in_flight
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: Self) {
        self.carried_in += other.carried_in;
        self.begun += other.begun;
        self.ended += other.ended;
        self.in_flight += other.in_flight;
    }
}

/// How an open loop kept its schedule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleKept {
    /// Times from the due time until the request was begun, where a client was free, or would have
    /// been had the engine read the answers that it had: the engine's own lateness.
    pub slip: Histogram,
    /// Times from the due time to sending, where the server kept every client busy, else from the
    /// beginning to sending where its connection or a stream had to be waited for: the server's
    /// lateness.
    pub wait: Histogram,
    /// Latencies of `ok` responses, each less the most that the engine's thread was late since
    /// nothing of it was in flight. A server that takes requests in their order ends none later
    /// than by that, so an engine that is never late would have seen these at the least.
    pub punctual: Histogram,
    /// The window by when requests were due.
    pub parts: Vec<DuePart>,
}

/// One part of the window, by when requests were due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuePart {
    /// Start, seconds from the start of the window.
    pub start_s: f64,
    /// Length, seconds.
    pub length_s: f64,
    /// Requests due in it.
    pub due: u64,
    /// Those of them that were begun at any time.
    pub begun: u64,
    /// Those of them that ended at any time, in whatever outcome.
    pub ended: u64,
}

/// What the engine observed beside requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// Requests in flight, looked at in equal steps from the window's start.
    pub in_flight: InFlight,
    /// How answers were spread over clients.
    pub clients: Clients,
    /// What connections did inside the window instead of carrying requests.
    pub set_up: SetUp,
    /// Times from an answer's arrival in the kernel to its reading, of 1 answer in 64; closed loop
    /// only.
    pub engine_lag: Histogram,
    /// Gaps between sends that followed each other, nanoseconds; 1,000 at the most a thread.
    pub send_gaps_ns: Samples,
    /// Latencies of `ok` responses that followed each other, nanoseconds; 10,000 at the most a
    /// thread.
    pub latencies_ns: Samples,
    /// Time from the start of a connection, or from its last answer, until the server closed it
    /// before an answer. Warm-up included.
    pub closed_early_after: Histogram,
    /// Somebody asked to stop before the load was over; absent where it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Interrupted>,
    /// Wrong bodies among those that were compared byte by byte; absent where none is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bodies_wrong: u64,
    /// Connections that the engine closed because bytes came on them while no request was in
    /// flight; absent where there are none. Warm-up included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unasked: u64,
    /// How long the load waited for connections that were opened ahead of it, seconds; absent
    /// where that was a second or less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening_s: Option<f64>,
    /// The addresses of a name that has several; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressUse>,
    /// The first answers of statuses that are none of success and that nobody asked for, a few at
    /// the most. Warm-up included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Said>,
}

/// Whether a count is the usual one, which is not written.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A load that was asked to stop before it was over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interrupted {
    /// Length that the window was to have, seconds; `None` where a count was to end it.
    pub planned_s: Option<f64>,
    /// Requests of an open loop that were due shortly before, and had no time to end. They are in
    /// no other count of what was due or begun in the window.
    pub cut_off: u64,
}

/// Requests in flight over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InFlight {
    /// Seconds of a step with one look in it: 0.01, doubled as often as needed to keep the number
    /// of looks bounded.
    pub step_s: f64,
    /// What was in flight at each look.
    pub counts: Vec<u64>,
}

/// How the `ok` answers of the window were spread over clients: connections, or streams' worth
/// of them on one connection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// Number of connections' places that answers are counted for.
    pub count: u64,
    /// Fewest answers that one of them had.
    pub min: u64,
    /// Answers that 5 % of them had no more than.
    pub p5: u64,
    /// Median of answers.
    pub median: u64,
    /// Most answers.
    pub max: u64,
    /// Number of them that had no answer at all.
    pub none: u64,
    /// Number of them that waited for an answer for more than a quarter of the window, or for ten
    /// times the median latency where that is more.
    pub waiting_long: u64,
    /// Age of the oldest request in flight when the window closed, seconds; `None` without one.
    pub oldest_age_s: Option<f64>,
    /// Answers of each client, ascending, as steps from one to the next. Only in a part of a load
    /// that several engines carried out, so that the parts can be added up.
    #[serde(default, skip_serializing_if = "Samples::is_empty")]
    pub answers: Samples,
    /// Longest waits of clients, of those beyond a quarter of the window, nanoseconds, in the same
    /// form and for the same purpose.
    #[serde(default, skip_serializing_if = "Samples::is_empty")]
    pub long_waits_ns: Samples,
}

/// Time that connections spent inside the window without carrying a request, added up over them,
/// seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUp {
    /// Time spent connecting.
    pub connecting_s: f64,
    /// Time spent in handshakes of TLS or QUIC.
    pub handshaking_s: f64,
    /// Time spent resting after a failure, before the next attempt.
    pub resting_s: f64,
}

/// Settings of the engine that shape the numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// Whether connections were opened before the load began: `first` or `as-needed`.
    pub connect: String,
    /// Whether answers of many streams were let to gather.
    pub gather: bool,
    /// How the schedule was waited for: `nap`, `spin` or `slack`.
    pub waiting: String,
    /// How long past its due time a request may be sent, seconds.
    pub slack_s: f64,
    /// Rest of a client after a failure, seconds.
    pub retry_pause_s: f64,
    /// Gap between the first connections' starts, seconds.
    pub ramp_gap_s: f64,
    /// One body in this many was compared byte by byte; 1 for each.
    pub body_check_one_in: u32,
}

/// What one thread of the engine used in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadUsage {
    /// CPU time, seconds.
    pub cpu_s: f64,
    /// Time in which it wanted a processor and had none, seconds.
    pub kept_s: f64,
    /// Longest time from waking to the next wait, seconds.
    pub longest_turn_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_in_neighbouring_buckets_are_one_value() {
        let check = |low, high, expected| {
            assert_eq!(Bounds { low, high }.value(), expected, "{low} {high:?}");
        };
        check(1_000_000, Some(1_000_000), Some(1_000_000));
        check(1_000_000, Some(1_007_000), Some(1_007_000));
        check(1_000_000, Some(1_020_000), None);
        check(1_000_000, None, None);
    }
}
