//! Plans and workloads as they are written in TOML, and the JSON Schemas that editors take.
//!
//! The types say what may be written and nothing more: `resolve` looks up names and checks keys
//! against each other. Ranges and examples are in the schema attributes only, from which editors
//! and [`crate::check`] take them.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::course::CompareMode;
use crate::duration;
use crate::load::Connect;
use crate::pinning::Pinning;
use crate::protocol::Protocol;
use crate::schedule::Arrival;

mod change;
mod contender;
mod header;
mod overload;
mod search;
mod workload;

pub(crate) use change::ChangeTable;
pub(crate) use contender::{ContenderTable, LimitsTable, OwnAnswerTable, StopTable};
pub(crate) use header::HeaderText;
pub(crate) use overload::OverloadTable;
pub(crate) use search::SearchTable;
pub use workload::LogFormat;
pub(crate) use workload::{
    AnswersName, AnyBody, BodyTable, ClientTable, ConnectionsName, ExpectTable, GeneratedTable,
    ReplayTable, RequestTable, ServedFileTable, ValuesTable, WorkloadFile, default_method,
    default_path,
};

/// The JSON Schema of a plan file, as indented text.
pub fn plan_schema() -> String {
    format!("{:#}\n", plan_schema_value())
}

/// The JSON Schema of a workload file, as indented text.
pub fn workload_schema() -> String {
    format!("{:#}\n", workload_schema_value())
}

/// The same as a value, made once.
pub(crate) fn plan_schema_value() -> &'static serde_json::Value {
    static SCHEMA: OnceLock<serde_json::Value> = OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(PlanFile).to_value())
}

/// The same as a value, made once.
pub(crate) fn workload_schema_value() -> &'static serde_json::Value {
    static SCHEMA: OnceLock<serde_json::Value> = OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(WorkloadFile).to_value())
}

/// A plan: what is compared, what is asked, how hard, how often.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "bakeoff plan")]
pub(crate) struct PlanFile {
    /// Name shown in titles and used for the default result folder.
    #[schemars(extend("examples" = ["quick"]))]
    pub(crate) name: String,
    /// One or two sentences for the reader of a report.
    #[serde(default)]
    #[schemars(extend("examples" = ["Two servers on small files."]))]
    pub(crate) description: String,
    /// How often each trial is repeated with a fresh server; 10 without a `budget`.
    #[schemars(range(min = 1, max = 1000), extend("examples" = [10]))]
    pub(crate) rounds: Option<u32>,
    /// Measure round after round until each difference is decided, and for at most this long. Who
    /// is decided is measured no more. Instead of `rounds`.
    #[schemars(extend("examples" = ["3m"]))]
    pub(crate) budget: Option<DurationText>,
    /// Add rounds until the widest interval of any comparison reaches at most this far to either
    /// side, as a share: 0.03 is 3 %. Needs `max_rounds`.
    #[schemars(extend("minimum" = 0.001, "maximum" = 1, "examples" = [0.03]))]
    pub(crate) until: Option<f64>,
    /// Rounds after which a plan with `until` stops in any case.
    #[schemars(range(min = 1, max = 1000), extend("examples" = [40]))]
    pub(crate) max_rounds: Option<u32>,
    /// What a difference in the work of two contenders does to their comparison: it is named as a
    /// possible cause, or the two are not ranked.
    #[serde(default)]
    #[schemars(extend("examples" = ["as-configured"]))]
    pub(crate) compare: CompareMode,
    /// Seed of the order of trials and of every open-loop schedule.
    #[serde(default = "default_seed")]
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_i64), extend("examples" = [1]))]
    pub(crate) seed: u64,
    /// Pause between the end of one trial and the start of the next.
    #[serde(default = "default_rest")]
    pub(crate) rest: DurationText,
    /// Names of workloads: of files in `workloads/` or of `[[workload]]` tables in this plan.
    /// Without it, every `[[workload]]` of this plan.
    #[schemars(length(min = 1), extend("examples" = [["synthetic"]]))]
    pub(crate) workloads: Option<Vec<String>>,
    /// Ask each workload over each of these; a workload that says so itself is left alone.
    #[schemars(length(min = 1), extend("examples" = [["h1-tls", "h2"]]))]
    pub(crate) protocols: Option<Vec<Protocol>>,
    /// Processors given to each role.
    #[serde(default)]
    pub(crate) pinning: Pinning,
    /// What is measured beside the contenders.
    #[serde(default)]
    pub(crate) references: ReferencesTable,
    /// What is compared.
    #[schemars(length(min = 1))]
    pub(crate) contender: Vec<ContenderTable>,
    /// How hard it is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) load: Vec<LoadTable>,
    /// Rates that are sought, in place of `[[load]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) search: Vec<SearchTable>,
    /// Loads beyond the capacity and back, in place of `[[load]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) overload: Vec<OverloadTable>,
    /// Loads in which something is done to each contender, in place of `[[load]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) change: Vec<ChangeTable>,
    /// Workloads of this plan's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) workload: Vec<WorkloadFile>,
}

/// Rounds of a plan that says nothing of its end.
const ROUNDS: u32 = 10;

impl PlanFile {
    /// Rounds that are run in any case.
    pub(crate) fn rounds_at_least(&self) -> u32 {
        let unsaid = if self.budget.is_some() { 1 } else { ROUNDS };
        self.rounds.unwrap_or(unsaid)
    }
}

/// What is measured beside the contenders.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReferencesTable {
    /// The null server, for every workload: the fastest answer that this machine can give.
    #[serde(default = "yes")]
    #[schemars(extend("examples" = [true]))]
    pub(crate) yardstick: bool,
    /// The upstream asked directly, for every workload that is proxied.
    #[serde(default = "yes")]
    #[schemars(extend("examples" = [true]))]
    pub(crate) origin: bool,
    /// The first contender measured a second time, to show what two equal servers differ in;
    /// without it, in plans of six rounds or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [true]))]
    pub(crate) control: Option<bool>,
    /// Measured time of a trial of a built-in server; without it, the load's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration: Option<DurationText>,
}

/// How hard a server is asked: a closed loop of clients, or with `rate` or `capacity_share` an
/// open loop.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadTable {
    /// Connections; a list makes one load of each. An open loop spreads its requests over them.
    pub(crate) clients: Option<ClientsText>,
    /// Requests per second over all connections, sent whatever comes back.
    #[schemars(extend("minimum" = 0.001, "maximum" = 10_000_000, "examples" = [500]))]
    pub(crate) rate: Option<f64>,
    /// An open loop at this share of the slowest contender's rate in the plan's closed loops, found
    /// in the first round, so that every contender can carry it.
    #[schemars(extend("minimum" = 0.01, "maximum" = 10, "examples" = [0.5]))]
    pub(crate) capacity_share: Option<f64>,
    /// Gaps between the requests of an open loop; without it, poisson.
    #[schemars(extend("examples" = ["poisson"]))]
    pub(crate) arrival: Option<Arrival>,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3.
    #[serde(default = "default_streams")]
    #[schemars(range(min = 1, max = 1000), extend("examples" = [32]))]
    pub(crate) streams: u32,
    /// End after so many requests, or after `duration`, whichever comes first.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("examples" = [1000]))]
    pub(crate) requests: Option<u64>,
    /// Measured time; at the most, beside `requests`.
    #[serde(default = "default_duration")]
    pub(crate) duration: DurationText,
    /// Time before measuring, under the same load; without it 1s, and none beside `requests`.
    pub(crate) warmup: Option<DurationText>,
    /// A request older than this has failed.
    #[serde(default = "default_timeout")]
    pub(crate) timeout: DurationText,
    /// When connections are opened: all before the load begins, or with the first requests.
    /// Without it, first; beside `requests` in a closed loop, as-needed.
    #[schemars(extend("examples" = ["first"]))]
    pub(crate) connect: Option<Connect>,
}

/// A duration such as `5s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct DurationText(#[serde(with = "duration::text")] pub(crate) Duration);

impl DurationText {
    /// Up to a day, seconds as `f64` keep every nanosecond, so rounding gives back what was read.
    pub(crate) fn of_seconds(seconds: f64) -> Self {
        Self(Duration::from_nanos((seconds * 1e9).round() as u64))
    }
}

impl JsonSchema for DurationText {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^\s*([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns)\s*)+$",
            "examples": ["5s"],
        })
    }
}

/// A number of clients, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Clients", extend("examples" = [[10, 200]]))]
pub(crate) enum ClientsText {
    /// One load.
    One(#[schemars(range(min = 1, max = 10_000))] u32),
    /// One load of each.
    Each(#[schemars(length(min = 1), inner(range(min = 1, max = 10_000)))] Vec<u32>),
}

impl Default for ReferencesTable {
    fn default() -> Self {
        Self {
            yardstick: true,
            origin: true,
            control: None,
            duration: None,
        }
    }
}

fn yes() -> bool {
    true
}

fn default_seed() -> u64 {
    1
}

fn default_rest() -> DurationText {
    DurationText(Duration::from_millis(200))
}

fn default_duration() -> DurationText {
    DurationText(Duration::from_secs(10))
}

fn default_streams() -> u32 {
    1
}

fn default_timeout() -> DurationText {
    DurationText(Duration::from_secs(10))
}
