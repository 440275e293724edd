//! What h2load reports of a run, for cells over HTTP/2 and 3: the form of the comparison of 2020.
//!
//! One value of each measured round, then the median over rounds, as everywhere.

use bakeoff_record::{Histogram, LoadResult, Negotiated, Record};
use bakeoff_stats::{Cell as Trials, median};
use schemars::JsonSchema;
use serde::Serialize;

/// One contender's figures in h2load's form.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct H2load {
    /// Times from sending to the end of an `ok` response.
    pub request: Spread,
    /// Times from the start of a connection attempt to its success. h2load's own row of this name
    /// holds the TLS handshake too. Nothing over HTTP/3: QUIC connects by its handshake.
    pub connect: Spread,
    /// Times from a connection's success to the end of its TLS handshake; over HTTP/3, from the
    /// start.
    pub handshake: Spread,
    /// Times from sending to the first byte of an `ok` response. h2load counts from the start of
    /// the connection, once for each.
    pub first_byte: Spread,
    /// Bytes read in a round: frames, headers, bodies, TLS.
    pub read_bytes: Option<f64>,
    /// Bytes of header blocks in a round; null where they were not counted.
    pub header_bytes: Option<f64>,
    /// Share of the headers' length that HPACK or QPACK saved, 0 to 1, below 0 where they took
    /// more than they hold; null where it was not counted.
    pub header_saved_share: Option<f64>,
    /// Bytes of bodies in a round.
    pub body_bytes: Option<f64>,
    /// Requests that came out `ok`, all rounds together.
    pub succeeded: u64,
    /// Requests that ended otherwise, all rounds together.
    pub failed: u64,
    /// What was agreed on in the first measured round.
    pub negotiated: Negotiated,
}

/// How durations spread, ns; null where there are none, or too few.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// Smallest.
    pub min_ns: Option<f64>,
    /// Largest.
    pub max_ns: Option<f64>,
    /// Arithmetic mean.
    pub mean_ns: Option<f64>,
    /// Standard deviation.
    pub sd_ns: Option<f64>,
    /// Share within one standard deviation of the mean, 0 to 1.
    pub within_sd_share: Option<f64>,
}

/// The figures of a cell; `None` unless it was measured over HTTP/2 or 3.
pub(super) fn draw(record: &Record, trials: &Trials<'_>) -> Option<H2load> {
    let mut workloads = record.plan.workloads.iter();
    let workload = workloads.find(|workload| workload.name == trials.key.workload)?;
    if !workload.protocol.has_streams() {
        return None;
    }
    let measured = trials.measured();
    let results: Vec<&LoadResult> = measured.filter_map(|it| it.result.as_ref()).collect();
    let first = results.first()?;
    let over = |value: &dyn Fn(&LoadResult) -> Option<f64>| {
        let values: Vec<f64> = results.iter().filter_map(|result| value(result)).collect();
        median(&values)
    };
    let spread = |histogram: fn(&LoadResult) -> &Histogram| Spread {
        min_ns: over(&|result| histogram(result).min().map(|ns| ns as f64)),
        max_ns: over(&|result| histogram(result).max().map(|ns| ns as f64)),
        mean_ns: over(&|result| histogram(result).mean()),
        sd_ns: over(&|result| histogram(result).sd()),
        within_sd_share: over(&|result| histogram(result).share_within_sd()),
    };
    Some(H2load {
        request: spread(|result| &result.service),
        connect: spread(|result| &result.connect),
        handshake: spread(|result| &result.handshake),
        first_byte: spread(|result| &result.first_byte),
        read_bytes: over(&|result| Some(result.bytes.read as f64)),
        header_bytes: over(&|result| result.header_bytes.map(|bytes| bytes.wire as f64)),
        header_saved_share: over(&|result| result.header_bytes?.saved_share()),
        body_bytes: over(&|result| Some(result.bytes.body as f64)),
        succeeded: results.iter().map(|result| result.requests.ok).sum(),
        failed: results.iter().map(|result| result.outcomes.errors()).sum(),
        negotiated: first.negotiated.clone(),
    })
}
