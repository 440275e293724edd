//! What Vegeta reports of an attack, for cells at a constant rate: the form of the comparison of
//! 2022.
//!
//! One value of each measured round, then the median over rounds, as everywhere.

use std::collections::BTreeMap;

use bakeoff_plan::{Arrival, LoadModel};
use bakeoff_record::{LoadResult, Outcome, OutcomeCounts, Record};
use bakeoff_stats::{Cell as Trials, Metric, median};
use schemars::JsonSchema;
use serde::Serialize;

/// One contender's figures in Vegeta's form. What is null has its reason in `missing`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Vegeta {
    /// Requests of a round, and how fast they went.
    pub requests: Attacked,
    /// How long a round took.
    pub duration: Duration,
    /// Latencies of `ok` responses, from the intended send time. Vegeta's begin when a request is
    /// sent, however late that is, and hold failed requests too.
    pub latencies: Latencies,
    /// Bodies of whole responses.
    pub bytes_in: Amount,
    /// Bodies of requests, as sent.
    pub bytes_out: Amount,
    /// Share of right answers in the requests due, all rounds together, 0 to 1. To Vegeta any
    /// status from 200 to 399 is a success.
    pub success_share: Option<f64>,
    /// Responses by status, all rounds together.
    pub status_codes: BTreeMap<u16, u64>,
    /// Requests that did not come out `ok` by outcome, all rounds together.
    pub errors: BTreeMap<&'static str, u64>,
    /// Why a figure is null, by its name, such as `wait_s`.
    pub missing: BTreeMap<&'static str, String>,
}

/// Requests of a round.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Attacked {
    /// Requests that ended.
    pub total: Option<f64>,
    /// Requests begun per second of the attack. In a load by count n requests have n - 1 gaps, so
    /// it comes out a little above the rate that was asked for, as Vegeta's does.
    pub rate_per_s: Option<f64>,
    /// `ok` responses per second of the whole.
    pub throughput_per_s: Option<f64>,
}

/// How long a round took, seconds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Duration {
    /// The measured time.
    pub total_s: Option<f64>,
    /// Time from the first request to the last, by the schedule.
    pub attack_s: Option<f64>,
    /// Time from then to the end of the last answer; known of loads by count.
    pub wait_s: Option<f64>,
}

/// Latencies, ns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Latencies {
    /// Arithmetic mean.
    pub mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<f64>,
    /// 95th percentile.
    pub p95_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// Largest.
    pub max_ns: Option<f64>,
}

/// Bytes of a round.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Amount {
    /// All together.
    pub total: Option<f64>,
    /// For each request that ended.
    pub mean: Option<f64>,
}

/// The figures of a cell that was measured in an open loop of equal gaps; `known` gives a measure's
/// estimate, or why there is none, and `totals` is of all rounds together.
pub(super) fn draw(
    record: &Record,
    trials: &Trials<'_>,
    totals: (&BTreeMap<u16, u64>, &OutcomeCounts),
    known: &dyn Fn(Metric) -> Result<f64, String>,
) -> Option<Vegeta> {
    let measured = trials.measured();
    let results: Vec<&LoadResult> = measured.filter_map(|it| it.result.as_ref()).collect();
    let rate_per_s = constant_rate(results.first()?)?;
    let share = trials.error_share().map(|share| 1.0 - share);
    let mut vegeta = figures(&results, rate_per_s, known);
    (vegeta.success_share, vegeta.status_codes) = (share, totals.0.clone());
    vegeta.errors = errors(totals.1);
    match request_body_bytes(record, &trials.key.workload) {
        Some(bytes) => {
            let sent = |result: &&LoadResult| (bytes * result.requests.started) as f64;
            let sent: Vec<f64> = results.iter().map(sent).collect();
            vegeta.bytes_out.total = median(&sent);
            vegeta.bytes_out.mean = Some(bytes as f64);
        }
        None => {
            let reason = "requests differ in their bodies, which are not counted apart";
            vegeta.missing.insert("bytes_out", reason.to_owned());
        }
    }
    Some(vegeta)
}

/// Length of the body that each request of the workload has; `None` where they differ.
fn request_body_bytes(record: &Record, workload: &str) -> Option<u64> {
    let mut workloads = record.plan.workloads.iter();
    let workload = workloads.find(|one| one.name == workload)?;
    let length = |request: &bakeoff_plan::Request| {
        let body = request.body.as_ref();
        body.map_or(0, |body| body.content.length() as u64)
    };
    let first = length(workload.requests.first());
    let same = |request| length(request) == first;
    workload.requests.iter().all(same).then_some(first)
}

/// Whether the cell was asked in an open loop of equal gaps.
fn constant_rate(result: &LoadResult) -> Option<f64> {
    match result.load.model {
        LoadModel::Open {
            rate_per_s,
            arrival: Arrival::Constant,
            ..
        } => Some(rate_per_s),
        _ => None,
    }
}

fn figures(
    results: &[&LoadResult],
    rate_per_s: f64,
    known: &dyn Fn(Metric) -> Result<f64, String>,
) -> Vegeta {
    let over = |value: &dyn Fn(&LoadResult) -> Option<f64>| {
        let values: Vec<f64> = results.iter().filter_map(|result| value(result)).collect();
        median(&values)
    };
    let mut missing = BTreeMap::new();
    let mut estimated = |name, measure: Metric| {
        let point = known(measure).map_err(|reason| missing.insert(name, reason));
        point.ok()
    };
    let latencies = Latencies {
        mean_ns: estimated("mean_ns", Metric::LatencyMeanNs),
        p50_ns: estimated("p50_ns", Metric::LatencyP50Ns),
        p95_ns: estimated("p95_ns", Metric::LatencyP95Ns),
        p99_ns: estimated("p99_ns", Metric::LatencyP99Ns),
        max_ns: estimated("max_ns", Metric::LatencyMaxNs),
    };
    let throughput_per_s = estimated("throughput_per_s", Metric::RatePerS);
    let attack = |result: &LoadResult| attack_s(result, rate_per_s);
    let wait_s = over(&|result| whole_attack_s(result, rate_per_s).map(|s| result.measured_s - s));
    if wait_s.is_none() {
        let reason = "the load ended by time; what was in flight then is counted, not waited for";
        missing.insert("wait_s", reason.to_owned());
    }
    let per_request = |result: &LoadResult, bytes: u64| {
        let completed = result.requests.completed;
        (completed > 0).then(|| bytes as f64 / completed as f64)
    };
    let body_mean = over(&|result| per_request(result, result.bytes.body));
    if body_mean.is_none() {
        for name in ["bytes_in.mean", "success_share"] {
            missing.insert(
                name,
                "no request that was due in the window ended".to_owned(),
            );
        }
    }
    Vegeta {
        requests: Attacked {
            total: over(&|result| Some(result.requests.completed as f64)),
            rate_per_s: over(&|result| Some(result.requests.started as f64 / attack(result)?)),
            throughput_per_s,
        },
        duration: Duration {
            total_s: over(&|result| Some(result.measured_s)),
            attack_s: over(&attack),
            wait_s,
        },
        latencies,
        bytes_in: Amount {
            total: over(&|result| Some(result.bytes.body as f64)),
            mean: body_mean,
        },
        bytes_out: Amount {
            total: None,
            mean: None,
        },
        success_share: None,
        status_codes: BTreeMap::new(),
        errors: BTreeMap::new(),
        missing,
    }
}

fn errors(outcomes: &OutcomeCounts) -> BTreeMap<&'static str, u64> {
    let failed = outcomes
        .iter()
        .filter(|(it, n)| *it != Outcome::Ok && *n > 0);
    failed.map(|(outcome, n)| (outcome.name(), n)).collect()
}

/// Time over which requests were due. In a load that ended by time that is the whole of it.
fn attack_s(result: &LoadResult, rate_per_s: f64) -> Option<f64> {
    let all = whole_attack_s(result, rate_per_s);
    all.or(Some(result.measured_s)).filter(|s| *s > 0.0)
}

/// The gaps between all requests of a load by count, where all of them ended.
fn whole_attack_s(result: &LoadResult, rate_per_s: f64) -> Option<f64> {
    let requests = result.load.requests?;
    let whole = result.requests.completed == requests && result.requests.in_flight_at_end == 0;
    whole.then(|| requests.saturating_sub(1) as f64 / rate_per_s)
}
