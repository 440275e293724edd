//! One line of `trials.jsonl`: everything that is known about one trial, raw.
//!
//! Plain data only. Verdicts are not stored: they are derived from these values.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bakeoff_plan::{Limits, Load, ServerChoice, Trial};
use serde::{Deserialize, Serialize};

use crate::action::ActionDone;
use crate::answer::AnswerCheck;
use crate::disturbance::Disturbance;
use crate::hosts::{Hosts, LostHost};
use crate::load::{LoadResult, Warning};
use crate::usage::Usage;
use crate::work::Work;

/// Version of a line. A reader refuses any other.
pub const TRIAL_SCHEMA: &str = "bakeoff.trial/1";

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialRecord {
    /// [`TRIAL_SCHEMA`].
    pub schema: String,
    /// Unique in the campaign: `r1-nginx-default-synthetic-c10`.
    pub id: String,
    /// Position in the campaign's order, from 0.
    pub index: usize,
    /// Round, from 1.
    pub round: u32,
    /// Which attempt at this trial, from 1: a block of trials that was disturbed is repeated.
    pub attempt: u32,
    /// What disturbed it, judged by what the machine did and never by what was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<Disturbance>,
    /// What put it in doubt, by lower limits than those from which it is disturbed: a search makes
    /// such a trial again. `None` where the rate was not found in the campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubted: Option<Vec<Disturbance>>,
    /// Contender's name.
    pub contender: String,
    /// What the contender is to the campaign.
    pub kind: ContenderKind,
    /// Workload's name.
    pub workload: String,
    /// Load.
    pub load: Load,
    /// Label of the plan's load, where the rate of this one was found in the campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_name: Option<String>,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// How long each step took.
    pub steps: Vec<StepTime>,
    /// What weakens the numbers, besides the engine's own warnings in `result`.
    pub warnings: Vec<Warning>,
    /// The hosts that took part; absent where it was one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// How it ended.
    pub end: TrialEnd,
    /// The server as it ran; `None` when the trial ended before it was known.
    pub server: Option<ServerFacts>,
    /// Processors that each role was given; empty when not pinned.
    pub pinned: Pinned,
    /// What the engine saw; `None` unless a window was measured.
    pub result: Option<LoadResult>,
    /// What the probe saw.
    pub usage: Usage,
    /// What the origin counted from the start of the window to its end; proxied workloads only.
    pub origin: Option<OriginCounts>,
    /// Answers fetched and compared before and after the window.
    pub answers: Vec<AnswerCheck>,
    /// What was done to the server in the window, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionDone>,
    /// What the server was seen to do for an answer; `None` for references, and where the trial
    /// ended before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

impl TrialRecord {
    /// A trial that was begun, and of which nothing is known yet.
    pub fn of(trial: &Trial) -> Self {
        let (contender, workload) = (&trial.contender.name, &trial.workload.name);
        Self {
            index: trial.index,
            round: trial.round,
            attempt: trial.attempt,
            kind: ContenderKind::of(trial),
            load_name: trial.load_name.clone(),
            ..Self::begun(&trial.id, contender, workload, trial.load.clone())
        }
    }

    /// The same of a contender's first trial, by its names.
    pub fn begun(id: &str, contender: &str, workload: &str, load: Load) -> Self {
        Self {
            schema: TRIAL_SCHEMA.to_owned(),
            id: id.to_owned(),
            index: 0,
            round: 1,
            attempt: 1,
            disturbed: Vec::new(),
            doubted: None,
            contender: contender.to_owned(),
            kind: ContenderKind::Contender,
            workload: workload.to_owned(),
            load,
            load_name: None,
            started_at: String::new(),
            steps: Vec::new(),
            warnings: Vec::new(),
            hosts: None,
            end: TrialEnd::Interrupted,
            server: None,
            pinned: Pinned::default(),
            result: None,
            usage: Usage::default(),
            origin: None,
            answers: Vec::new(),
            actions: Vec::new(),
            work: None,
        }
    }

    /// Whether something disturbed it.
    pub fn is_disturbed(&self) -> bool {
        !self.disturbed.is_empty()
    }

    /// Whether something put it in doubt or disturbed it.
    pub fn is_in_doubt(&self) -> bool {
        let is_doubted = self.doubted.as_ref().is_some_and(|all| !all.is_empty());
        is_doubted || self.is_disturbed()
    }

    /// The hosts that were lost in it.
    pub fn lost(&self) -> &[LostHost] {
        self.hosts.as_ref().map_or(&[], |hosts| &hosts.lost)
    }

    /// What names the load in tables: the label of the plan's load.
    pub fn load_label(&self) -> String {
        self.load_name.clone().unwrap_or_else(|| self.load.label())
    }

    /// The time that its steps took, s.
    pub fn took_s(&self) -> f64 {
        self.steps.iter().map(|step| step.took_s).sum()
    }

    /// Right answers per second of a whole window; `None` where it is 0 or was not measured.
    pub fn ok_per_s(&self) -> Option<f64> {
        let result = self.result.as_ref()?;
        let rate = result.requests.ok as f64 / result.measured_s;
        let counts = self.end == TrialEnd::Measured && rate > 0.0 && rate.is_finite();
        counts.then_some(rate)
    }

    /// How the server ended by itself under load or right after it, if that is how the trial
    /// ended.
    ///
    /// Two other failures have the same steps and say nothing about the server. The load engine
    /// failed: then there is no result. Or a host was lost: then it is named in `hosts`.
    /// The death of a server ends the load, and leaves a result in the warm-up too.
    pub fn server_died(&self) -> Option<&str> {
        match &self.end {
            TrialEnd::Failed {
                step: Step::WarmUp | Step::Measure | Step::CheckAgain,
                cause,
                ..
            } if self.result.is_some() && self.lost().is_empty() => Some(cause),
            _ => None,
        }
    }
}

/// What a contender is to the campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContenderKind {
    /// Compared.
    Contender,
    /// The first contender once more, under another name: what is found between the two is noise.
    Control,
    /// The null server.
    Yardstick,
    /// The upstream, asked directly.
    Origin,
}

impl ContenderKind {
    fn of(trial: &Trial) -> Self {
        match trial.contender.server {
            ServerChoice::Yardstick => Self::Yardstick,
            ServerChoice::Origin => Self::Origin,
            _ if trial.is_control => Self::Control,
            _ => Self::Contender,
        }
    }
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrialEnd {
    /// The whole window was measured.
    Measured,
    /// Something went wrong at a step.
    Failed {
        /// The step.
        step: Step,
        /// What went wrong.
        cause: String,
        /// What the server printed last, if anything.
        message: Option<String>,
    },
    /// It was not attempted, because this machine cannot carry it.
    Skipped {
        /// Why.
        reason: String,
        /// How to make it possible.
        fix: String,
    },
    /// The server cannot do this workload.
    Unsupported {
        /// Why.
        reason: String,
    },
    /// Stopped by the user, or not begun because a host was lost and cannot be reached again. A
    /// window cut short is not kept.
    Interrupted,
}

impl TrialEnd {
    /// It failed at a step, without a word of the server.
    pub fn failed(step: Step, cause: impl Into<String>) -> Self {
        Self::Failed {
            step,
            cause: cause.into(),
            message: None,
        }
    }
}

bakeoff_plan::named! {
    /// Steps of a trial, in order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Step {
        /// Files, ports and configuration.
        Prepare = "prepare",
        /// The upstream.
        Origin = "origin",
        /// The server's own check of its configuration.
        CheckConfig = "check-config",
        /// Time from start to the right answer.
        Start = "start",
        /// A few requests, to find out what the server does for an answer.
        Observe = "observe",
        /// Load that is not measured.
        WarmUp = "warm-up",
        /// The window.
        Measure = "measure",
        /// The answer compared once more.
        CheckAgain = "check-again",
        /// Time from the request to stop until all its processes are gone.
        Stop = "stop",
    }
}

/// The server as it ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerFacts {
    /// Folder name in `servers/`, or `yardstick`, `origin`.
    pub server: String,
    /// Version as the program reports it.
    pub version: String,
    /// Program.
    pub binary: String,
    /// SHA-256 of the program, hex.
    pub binary_sha256: String,
    /// The package that it came from, if `bakeoff install` got it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<PackageFacts>,
    /// Command line.
    pub command: Vec<String>,
    /// Configuration as used, path below the record folder and text.
    pub configs: Vec<ConfigFile>,
    /// What was changed in a user's own files for the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_changes: Vec<ConfigChange>,
    /// Lines of its configuration that make its work equal to that of others, by the name of the
    /// fact: `[remedies]` of its folder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remedies: BTreeMap<String, String>,
    /// What it could use at the most, where the plan limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Address that it answered on.
    pub address: String,
    /// `Server` header of its answer, as sent.
    pub server_header: Option<String>,
    /// Whether all of its processes were gone after the stop, and what that took.
    pub stopped: Option<StopFacts>,
}

impl ServerFacts {
    /// Facts of a server that has no folder in `servers/`: nothing is known but where it answered.
    pub fn without_folder(server: &str, address: SocketAddr) -> Self {
        Self {
            server: server.to_owned(),
            version: String::new(),
            binary: String::new(),
            binary_sha256: String::new(),
            package: None,
            command: Vec::new(),
            configs: Vec::new(),
            config_changes: Vec::new(),
            remedies: BTreeMap::new(),
            limits: None,
            address: address.to_string(),
            server_header: None,
            stopped: None,
        }
    }
}

/// The package that `bakeoff install` got a program from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageFacts {
    /// Kind of the source: `wheel`, `crate` or `go`.
    pub source: String,
    /// Name of the package.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// Digest of its bytes: `sha256:` with hexadecimal digits, or Go's `h1:`.
    pub hash: String,
    /// Whether the server's folder knew that digest for this version; `false` after
    /// `--unverified`.
    pub verified: bool,
}

/// A configuration file as used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    /// Path below the record folder.
    pub path: String,
    /// Text.
    pub text: String,
    /// What bakeoff filled in that changes from trial to trial, by the name of the template's
    /// variable: ports and folders. Two texts are compared without it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub filled: BTreeMap<String, String>,
}

/// A line of a user's own configuration that a trial needed otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigChange {
    /// The user's file.
    pub file: String,
    /// Line in it, from 1.
    pub line: usize,
    /// The line as the user wrote it; several where the server reads them as one.
    pub before: String,
    /// What stands there in the trial; may be several lines, or empty where it was left out.
    pub after: String,
    /// Why.
    pub why: String,
}

impl ConfigChange {
    /// The change on one line: `nginx.conf:3: pid /run/nginx.pid; -> pid "..."; (why)`.
    pub fn on_one_line(&self) -> String {
        let on_one = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join(" | ");
        let after = match on_one(&self.after) {
            nothing if nothing.is_empty() => "left out".to_owned(),
            lines => lines,
        };
        let before = on_one(&self.before);
        let Self { file, line, .. } = self;
        format!("{file}:{line}: {} -> {after} ({})", before.trim(), self.why)
    }
}

/// How a server was stopped.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopFacts {
    /// It ended when asked; otherwise it was killed.
    pub graceful: bool,
    /// Time from the request to the last process gone, seconds.
    pub took_s: f64,
    /// Exit status of the first process, as text; `None` when it could not be learned.
    pub status: Option<String>,
}

/// Processors given to each role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// Server under test.
    pub server: Vec<usize>,
    /// Load engine.
    pub engine: Vec<usize>,
    /// Upstream.
    pub origin: Vec<usize>,
}

/// What the built-in upstream counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginCounts {
    /// Requests answered.
    pub requests: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Requests that came as HTTP/1.0.
    pub http_1_0: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Requests whose answer was to begin later. This one and those below are 0 where nothing was
    /// demanded of the origin, and then left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delayed: u64,
    /// Requests answered with the status of an error, on demand.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u64,
    /// Requests whose connection was reset, on demand.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resets: u64,
    /// Requests whose connection was closed half way through the body, on demand.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub closes: u64,
    /// Requests whose body went in pieces.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slow_bodies: u64,
    /// Requests that had to wait for a worker.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queued: u64,
    /// Requests that there was no room to wait for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queue_full: u64,
    /// Most requests that waited for a worker at once, warm-up included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queued_max: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How long a step took.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepTime {
    /// The step.
    pub step: Step,
    /// Seconds.
    pub took_s: f64,
}
