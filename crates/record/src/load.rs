//! What the load engine saw in one measured window.
//!
//! Plain data with units in the names. Adding up the results of several engines is in `merge.rs`.

use std::collections::BTreeMap;

use bakeoff_plan::{Load, LoadModel, RateShape};
use serde::{Deserialize, Serialize};

use crate::failed::Failed;
use crate::histogram::{Histogram, merge_longer};
use crate::observed::{Balance, Bounds, EngineSettings, Observed, ScheduleKept, ThreadUsage};
use crate::outcome::{Outcome, OutcomeCounts};
use crate::quic::QuicLedger;
use crate::sketch::Sketch;

/// What the load engine saw in one measured window.
///
/// In a closed loop a request belongs to the window when it ends in it or is in flight at its
/// end. In an open loop it belongs to the window when it was *due* in it, and is followed to its
/// end or timeout, also after the window. Either way `started = completed + in_flight_at_end`:
/// the three are counted apart, so that a request that got lost shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadResult {
    /// The load as asked for.
    pub load: Load,
    /// How the rate of an open loop changed.
    pub shape: RateShape,
    /// Protocol and target as asked for.
    pub url: String,
    /// Threads of the engine.
    pub threads: u32,
    /// Seed of the open loop's schedule.
    pub seed: u64,
    /// Length of the window, seconds.
    pub measured_s: f64,
    /// Requests by where they got to.
    pub requests: Requests,
    /// Requests that crossed the window, by the clock.
    pub balance: Balance,
    /// How the schedule was kept; open loop only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleKept>,
    /// Requests that ended, by how.
    pub outcomes: OutcomeCounts,
    /// Whole responses by status.
    pub status: BTreeMap<u16, u64>,
    /// Times from the intended send time to the end of an `ok` response.
    pub latency: Histogram,
    /// Times from the actual send time to the end of an `ok` response.
    pub service: Histogram,
    /// Times from the actual send time to the first byte of an `ok` response.
    pub first_byte: Histogram,
    /// Times from the intended send time to the end of requests that did not come out `ok`, by
    /// outcome.
    pub error_latencies: BTreeMap<Outcome, Histogram>,
    /// Ages of requests that had no end: timed out, in flight or not sent when the window closed.
    /// Their latencies are at least these.
    pub at_least: Histogram,
    /// Times from the start of a connection attempt to its success; warm-up connections included.
    /// Not of QUIC, whose handshake begins at once.
    pub connect: Histogram,
    /// Times from a connection's success to the end of its TLS handshake, or from the start of a
    /// QUIC connection to the end of its; warm-up included.
    pub handshake: Histogram,
    /// Times from the intended to the actual send time, of every request sent; open loop only.
    pub send_lag: Histogram,
    /// How long requests waited on a ready connection because its limit of streams was reached,
    /// of every one that did; HTTP/2 and HTTP/3 only.
    pub blocked: Histogram,
    /// Requests that each connection ended by the server had carried, a count; HTTP/2 and
    /// HTTP/3 only.
    pub carried: Histogram,
    /// Bytes through the sockets.
    pub bytes: Bytes,
    /// Response headers, wire and decoded; HTTP/2 and HTTP/3 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_bytes: Option<HeaderBytes>,
    /// What became of connections.
    pub connections: Connections,
    /// What QUIC did; HTTP/3 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicLedger>,
    /// What was agreed with the server.
    pub negotiated: Negotiated,
    /// What the engine itself used.
    pub engine: EngineUsage,
    /// The window cut into equal parts, in order, by when requests ended.
    pub intervals: Vec<Interval>,
    /// The warm-up cut into parts in the same way.
    pub warmup: Vec<Interval>,
    /// What was observed beside requests.
    pub observed: Observed,
    /// Settings of the engine that shape the numbers.
    pub settings: EngineSettings,
    /// Up to a few response bodies checked byte by byte; the rest by length.
    pub bodies_checked: u64,
    /// For each URL, where several were asked for; else empty.
    pub urls: Vec<UrlResult>,
    /// What weakens the numbers.
    pub warnings: Vec<Warning>,
    /// First error message of each kind, for the reader.
    pub error_samples: BTreeMap<String, String>,
}

/// Requests by where they got to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Number that the schedule held for the window; `None` in a closed loop.
    pub planned: Option<u64>,
    /// Due in the part of the window that was measured; `None` in a closed loop.
    pub due: Option<u64>,
    /// Requests: in a closed loop `carried_in + begun`; in an open loop the requests due in the
    /// window that were begun.
    pub started: u64,
    /// Requests in flight when the window opened, counted from the connections.
    pub carried_in: u64,
    /// Begun in the window; in an open loop, begun of those due in it.
    pub begun: u64,
    /// Ended, in whatever outcome.
    pub completed: u64,
    /// Ended as `ok`.
    pub ok: u64,
    /// Begun and not ended, counted from the connections: when the window closed, in an open loop
    /// when those due in it were not waited for any longer.
    pub in_flight_at_end: u64,
    /// Due and without an end: in flight at the end, never begun, or shed; `None` in a closed
    /// loop.
    pub unended: Option<u64>,
    /// Requests not begun because they had waited past their deadline, warm-up included; open loop
    /// only.
    pub shed: u64,
}

impl Requests {
    /// What a success is a share of: the requests due in an open loop, those that ended in a
    /// closed one.
    pub fn asked(&self) -> u64 {
        self.due.unwrap_or(self.completed)
    }

    /// Share of [`asked`](Self::asked) that did not come out `ok`, 0 to 1; `None` when nothing
    /// was asked.
    pub fn error_share(&self) -> Option<f64> {
        let asked = self.asked();
        (asked > 0).then(|| asked.saturating_sub(self.ok) as f64 / asked as f64)
    }
}

/// The result of one URL of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UrlResult {
    /// The URL or path.
    pub url: String,
    /// Requests that ended, by how.
    pub outcomes: OutcomeCounts,
    /// Times from the intended send time to the end of an `ok` response.
    pub latency: Sketch,
}

impl LoadResult {
    /// A window of `measured_s` seconds under `load` in which nothing happened.
    pub fn empty(load: Load, measured_s: f64) -> Self {
        let nothing = || Histogram::new().trimmed();
        Self {
            load,
            shape: RateShape::Level,
            url: String::new(),
            threads: 1,
            seed: 0,
            measured_s,
            requests: Requests::default(),
            balance: Balance::default(),
            schedule: None,
            outcomes: OutcomeCounts::default(),
            status: BTreeMap::new(),
            latency: nothing(),
            service: nothing(),
            first_byte: nothing(),
            error_latencies: BTreeMap::new(),
            at_least: nothing(),
            connect: nothing(),
            handshake: nothing(),
            send_lag: nothing(),
            blocked: nothing(),
            carried: nothing(),
            bytes: Bytes::default(),
            header_bytes: None,
            connections: Connections::default(),
            quic: None,
            negotiated: Negotiated::default(),
            engine: EngineUsage::default(),
            intervals: Vec::new(),
            warmup: Vec::new(),
            observed: Observed::default(),
            settings: EngineSettings::default(),
            bodies_checked: 0,
            urls: Vec::new(),
            warnings: Vec::new(),
            error_samples: BTreeMap::new(),
        }
    }

    /// Its histograms of the whole window, without those of errors by outcome and of the parts.
    pub fn histograms_mut(&mut self) -> [&mut Histogram; 9] {
        [
            &mut self.latency,
            &mut self.service,
            &mut self.first_byte,
            &mut self.at_least,
            &mut self.connect,
            &mut self.handshake,
            &mut self.send_lag,
            &mut self.blocked,
            &mut self.carried,
        ]
    }

    /// Share `q` (0 to 1) of the latencies that users met, of `ok` responses and of what had no
    /// end: where the quantile lies at the least, with what had no end at the ages it reached,
    /// and at the most, with it at infinity. `None` without any.
    ///
    /// A closed loop's window takes requests by their end: those in flight when it closes stand
    /// for those that were when it opened, whose latencies are in it. So of them only the ones
    /// count that were already older than the quantile.
    pub fn latency_bounds(&self, q: f64) -> Option<Bounds> {
        let mut all = self.latency.clone();
        match (&self.load.model, all.quantile(q)) {
            (LoadModel::Closed { .. }, Some(value)) => {
                merge_longer(&mut all, value, &self.at_least);
            }
            _ => all.merge(&self.at_least),
        }
        let low = all.quantile(q)?;
        let total = all.count();
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total);
        let high = (rank <= self.latency.count())
            .then(|| {
                self.latency
                    .quantile(rank as f64 / self.latency.count() as f64)
            })
            .flatten();
        Some(Bounds { low, high })
    }

    /// Latencies without the lateness of the one thread that sent all requests. `None` where that
    /// was not counted of each, and of several threads, of which each knows its own alone.
    pub fn punctual(&self) -> Option<&Histogram> {
        let punctual = &self.schedule.as_ref()?.punctual;
        let is_whole = punctual.count() > 0 && punctual.count() == self.latency.count();
        (self.threads == 1 && is_whole).then_some(punctual)
    }

    /// Requests that ended while the window was open, by the clock: what CPU time inside the window
    /// went into. In an open loop these are others than those that were due in it, whose ends may
    /// come after it.
    pub fn ended_in_window(&self) -> u64 {
        match self.requests.due {
            None => self.requests.completed,
            Some(_) => self.balance.ended,
        }
    }

    /// Times from the intended send time to the end of every request that did not come out `ok`.
    pub fn error_latency(&self) -> Histogram {
        let mut all = Histogram::new();
        self.error_latencies
            .values()
            .for_each(|ages| all.merge(ages));
        all
    }

    /// Whether bodies were compared byte by byte and none of them was right. Those that were not
    /// compared are right as far as is known, by their length.
    pub fn has_no_right_body(&self) -> bool {
        let wrong = self.observed.bodies_wrong;
        wrong > 0 && wrong == self.bodies_checked
    }

    /// Answers that came out as `ok` and hold nothing of what was asked, where nobody expected
    /// that: redirects, and what has not changed since somebody had it.
    pub fn pages_missing(&self) -> u64 {
        let said = self.observed.said.iter().filter(|said| said.has_no_page());
        said.filter_map(|said| self.status.get(&said.status)).sum()
    }

    /// Latencies of `ok` responses together with the ages of what had no end: the distribution
    /// that a user met. A quantile of it is a lower bound where ages are among what it counts.
    pub fn latency_with_unended(&self) -> Histogram {
        let mut all = self.latency.clone();
        all.merge(&self.at_least);
        all
    }
}

/// Bytes through the sockets in the window, and of the bodies that belong to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bytes {
    /// Read: heads, framing and bodies.
    pub read: u64,
    /// Written.
    pub written: u64,
    /// Bodies of whole responses, without framing; in an open loop of all requests due in the
    /// window, also where their answers came after it.
    pub body: u64,
}

/// Response headers in the window, by what they took on the wire: HTTP/2 compresses them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderBytes {
    /// Length of the header blocks as they came.
    pub wire: u64,
    /// Length of the names and values that they stand for.
    pub decoded: u64,
}

impl HeaderBytes {
    /// Share of the decoded length that was not sent; `None` without headers.
    pub fn saved_share(self) -> Option<f64> {
        (self.decoded > 0).then(|| 1.0 - self.wire as f64 / self.decoded as f64)
    }
}

/// What became of connections, warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Established.
    pub opened: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Established connections that the server ended.
    pub closed_by_server: u64,
    /// Connections whose server asked for another one (GOAWAY); HTTP/2 and
    /// HTTP/3 only.
    pub goaways: u64,
    /// Requests that a connection ended in order had carried and its server not looked at; they
    /// went on the next one, and their time with them. HTTP/2 and HTTP/3 only.
    pub streams_withdrawn: u64,
    /// Requests sent on a connection that had carried one before.
    pub reused: u64,
    /// Full TLS handshakes.
    pub handshakes_full: u64,
    /// Resumed TLS handshakes.
    pub handshakes_resumed: u64,
}

/// What was agreed with the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Negotiated {
    /// Protocol of the responses: `h1`, `h2` over TLS, `h2c` in the clear or `h3` over QUIC.
    pub protocol: String,
    /// TLS version.
    pub tls_version: Option<String>,
    /// Cipher suite.
    pub cipher: Option<String>,
    /// Key exchange group.
    pub group: Option<String>,
    /// Application protocol chosen in the handshake.
    pub alpn: Option<String>,
    /// What the server allows on a connection; HTTP/2 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<PeerSettings>,
}

/// What an HTTP/2 server allows on a connection (RFC 9113, 6.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerSettings {
    /// Streams at most at once; `None` without a limit.
    pub max_concurrent_streams: Option<u32>,
    /// Flow-control window that each stream begins with, for request bodies.
    pub initial_window_bytes: u32,
    /// Longest frame.
    pub frame_bytes_max: u32,
    /// Largest table for header compression.
    pub header_table_bytes: u32,
}

/// What the engine itself used in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineUsage {
    /// User time of the engine's threads, seconds.
    pub cpu_user_s: f64,
    /// System time of the engine's threads, seconds.
    pub cpu_system_s: f64,
    /// Peak resident memory of the process, bytes.
    pub rss_bytes_max: u64,
    /// For each thread, share of the window in which it did not wait for sockets or timers: at
    /// work, or kept from it by others. Near 1 it set the pace.
    pub busy_share: Vec<f64>,
    /// What each thread used.
    pub threads: Vec<ThreadUsage>,
}

/// One part of the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Start, seconds from the start of the window.
    pub start_s: f64,
    /// Length, seconds.
    pub length_s: f64,
    /// Requests that ended as `ok`.
    pub ok: u64,
    /// Requests that ended otherwise.
    pub errors: u64,
    /// Latencies of the `ok` ones; all intervals together are the window's histogram.
    pub latency: Histogram,
    /// How the others ended; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
}

/// Something that weakens a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// Stable name, such as `generator-saturated`.
    pub code: String,
    /// What was seen, with figures.
    pub text: String,
    /// What to do about it.
    pub hint: String,
}
