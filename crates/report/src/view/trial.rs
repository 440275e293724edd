//! One trial in full detail.

use std::collections::BTreeMap;

use bakeoff_audit::{Check, Judgement, Level, Verdict, Verdicts};
use bakeoff_record::{
    AnswerCheck, Bytes, Connections, ContenderKind, Disturbance, EngineUsage, LoadResult,
    Negotiated, OriginCounts, Pinned, Requests, ServerFacts, StepTime, StopFacts, TrialEnd,
    TrialRecord,
};
use bakeoff_stats::{Metric, Missing};
use schemars::JsonSchema;
use serde::Serialize;

use crate::view::diff::with_variables;
use crate::view::series::{Curve, Detail, Processes, Throughput, curve, processes, throughput};
use crate::view::short;

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Trial {
    /// Unique in the campaign.
    pub id: String,
    /// Position in the campaign's order, from 0.
    pub index: usize,
    /// Round, from 1.
    pub round: u32,
    /// Which attempt at it, from 1: a block of trials that was disturbed is repeated.
    pub attempt: u32,
    /// What disturbed it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<Disturbance>,
    /// Contender's name.
    pub contender: String,
    /// What it is to the campaign.
    pub kind: ContenderKind,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// How it ended.
    pub end: TrialEnd,
    /// The worst of the verdicts on its numbers.
    pub verdict: Verdict,
    /// Whether each of its numbers can be believed.
    pub verdicts: Verdicts,
    /// Checks that did not pass, worst first.
    pub checks: Vec<Check>,
    /// Codes of the checks that passed.
    pub passed: Vec<&'static str>,
    /// Its own value of each measure, withheld or not.
    #[schemars(with = "BTreeMap<String, f64>")]
    pub values: BTreeMap<Metric, f64>,
    /// What a measure is at least, where requests without an end could move it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub at_least: BTreeMap<Metric, f64>,
    /// The values with all their digits, for formats that others calculate with.
    #[serde(skip)]
    pub exact: BTreeMap<Metric, f64>,
    /// The server as it ran.
    pub server: Option<Server>,
    /// Processors given to each role.
    pub pinned: Pinned,
    /// Length of the window, seconds.
    pub measured_s: Option<f64>,
    /// Requests by where they got to.
    pub requests: Option<Requests>,
    /// Requests by outcome, without those that did not occur.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Responses by status.
    pub status: BTreeMap<u16, u64>,
    /// First error message of each kind.
    pub error_samples: BTreeMap<String, String>,
    /// Bytes through the sockets.
    pub bytes: Option<Bytes>,
    /// What became of connections.
    pub connections: Option<Connections>,
    /// What was agreed with the server.
    pub negotiated: Option<Negotiated>,
    /// What the engine itself used.
    pub engine: Option<EngineUsage>,
    /// What the upstream counted.
    pub origin: Option<OriginCounts>,
    /// Answers compared before and after.
    pub answers: Vec<AnswerCheck>,
    /// How long each step took.
    pub steps: Vec<StepTime>,
    /// Processor and memory use over time.
    pub processes: Processes,
    /// Requests over time.
    pub throughput: Throughput,
    /// Latency by percentile. What had no end counts at the age that it reached, so where there is
    /// such the curve is a lower bound.
    pub curve: Curve,
}

/// The server as it ran.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Server {
    /// Folder name in `servers/`.
    pub server: String,
    /// Version.
    pub version: String,
    /// Program.
    pub binary: String,
    /// SHA-256 of the program, hex.
    pub binary_sha256: String,
    /// Command line.
    pub command: Vec<String>,
    /// Configuration files as used.
    pub configs: Vec<Text>,
    /// Address that it answered on.
    pub address: String,
    /// `Server` header as sent.
    pub server_header: Option<String>,
    /// How it was stopped.
    pub stopped: Option<StopFacts>,
}

/// A text that is stored once for all trials.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Text {
    /// Path below the record folder.
    pub path: String,
    /// Position in the report's `texts`. In a large campaign the ports and folders that were
    /// filled in for one trial stand there as `{{ port }}`, so that trials share the text.
    pub text: usize,
}

pub(super) fn draw(
    trial: &TrialRecord,
    judgement: Judgement,
    detail: Detail,
    texts: &mut Vec<String>,
) -> Trial {
    let result = trial.result.as_ref();
    let facts = trial.server.as_ref();
    let value = |metric: Metric| Some((metric, short(metric.of(trial).ok()?)));
    let bound = |metric: Metric| match metric.of(trial) {
        Err(Missing::AtLeast { bound, .. }) => Some((metric, short(bound))),
        _ => None,
    };
    let exact = |metric: Metric| Some((metric, metric.of(trial).ok()?));
    let (passed, checks): (Vec<Check>, Vec<Check>) = judgement
        .checks
        .into_iter()
        .partition(|check| check.level == Level::Passed);
    Trial {
        id: trial.id.clone(),
        index: trial.index,
        round: trial.round,
        attempt: trial.attempt,
        disturbed: trial.disturbed.clone(),
        contender: trial.contender.clone(),
        kind: trial.kind,
        workload: trial.workload.clone(),
        load: trial.load_label(),
        started_at: trial.started_at.clone(),
        end: trial.end.clone(),
        verdict: judgement.verdict,
        verdicts: judgement.verdicts,
        checks,
        passed: passed.into_iter().map(|check| check.code.name()).collect(),
        values: Metric::ALL.into_iter().filter_map(value).collect(),
        at_least: Metric::ALL.into_iter().filter_map(bound).collect(),
        exact: Metric::ALL.into_iter().filter_map(exact).collect(),
        server: facts.map(|facts| server(facts, detail, texts)),
        pinned: trial.pinned.clone(),
        measured_s: result.map(|it| it.measured_s),
        requests: result.map(|it| it.requests.clone()),
        outcomes: result.map(outcomes).unwrap_or_default(),
        status: result.map(|it| it.status.clone()).unwrap_or_default(),
        error_samples: result
            .map(|it| it.error_samples.clone())
            .unwrap_or_default(),
        bytes: result.map(|it| it.bytes.clone()),
        connections: result.map(|it| it.connections.clone()),
        negotiated: result.map(|it| it.negotiated.clone()),
        engine: result.map(|it| it.engine.clone()),
        origin: trial.origin.clone(),
        answers: trial.answers.clone(),
        steps: trial.steps.clone(),
        processes: processes(trial, detail),
        throughput: result.map(|it| throughput(it, detail)).unwrap_or_default(),
        curve: result.map(|it| curve(it, detail)).unwrap_or_default(),
    }
}

/// Requests by outcome, without those that did not occur.
fn outcomes(result: &LoadResult) -> BTreeMap<&'static str, u64> {
    let occurred = result.outcomes.iter().filter(|(_, n)| *n > 0);
    occurred.map(|(kind, n)| (kind.name(), n)).collect()
}

fn server(facts: &ServerFacts, detail: Detail, texts: &mut Vec<String>) -> Server {
    let mut configs = Vec::new();
    for config in &facts.configs {
        let used = if detail.exact_texts {
            config.text.clone()
        } else {
            with_variables(&config.text, &config.filled)
        };
        let known = texts.iter().position(|text| *text == used);
        let text = known.unwrap_or_else(|| {
            texts.push(used);
            texts.len() - 1
        });
        configs.push(Text {
            path: config.path.clone(),
            text,
        });
    }
    Server {
        server: facts.server.clone(),
        version: facts.version.clone(),
        binary: facts.binary.clone(),
        binary_sha256: facts.binary_sha256.clone(),
        command: facts.command.clone(),
        configs,
        address: facts.address.clone(),
        server_header: facts.server_header.clone(),
        stopped: facts.stopped.clone(),
    }
}
