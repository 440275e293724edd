//! What home asks of an agent, and what that answers. Each is one message with all that belongs to
//! it: plans, loads, workloads and facts are as they are, and files in base64.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bakeoff_conduct::{self as conduct, Finding, FirstAnswers, Part, Programs, RolesHere, Started};
use bakeoff_load::{ConnectTo, LoadSpec, Target};
use bakeoff_plan::{Action, Contender, Pinning, Plan, Workload};
use bakeoff_record::{
    FileBytes, LoadResult, Machine, Step, StopFacts, TrialEnd, Usage, read_regular,
};
use bakeoff_stage::Along;
use serde::{Deserialize, Serialize};

use super::Look;

/// Longest PEM file.
const PEM_BYTES_MAX: u64 = 16 << 20;

/// What is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Ask {
    /// What machine it is.
    Machine,
    /// What a process may use there.
    Limits,
    /// How the host is, which it watches for half a second.
    Look,
    /// To make a load ready.
    Load(Box<Load>),
    /// To begin the load that is ready, at a time of its own monotonic clock.
    Begin { at_ns: u64 },
    /// To end the load early; its result comes as usual.
    Halt,
    /// To start a built-in server; port 0 takes a free one.
    Serve {
        listen: SocketAddr,
        /// Length of the body of each answer.
        body_bytes: u32,
    },
    /// To end the built-in server.
    Close,
    /// The first thing for its stage.
    SetUp(Box<SetUp>),
    /// To fix the program of each contender: that in `before`, or the one that is found now.
    Programs { plan: Box<Plan>, before: Programs },
    /// Whether each contender can be measured.
    Preflight { plan: Box<Plan> },
    /// What each contender answers, except those of `known`.
    First {
        plan: Box<Plan>,
        known: Vec<Finding>,
    },
    /// To start what a trial needs, in place of what ran before.
    Start {
        contender: Box<Contender>,
        workload: Box<Workload>,
        /// Name of the folder of logs.
        logs: String,
        part: Part,
        action: Option<Action>,
    },
    /// Something of the contestant that runs.
    Contestant(conduct::Ask),
    /// To end sampling.
    Sampled {
        /// Start of the window, by its own clock.
        start_ns: Option<u64>,
    },
    /// To stop the contestant.
    Stop,
    /// To end the contestant by force; nobody wants to know more.
    Drop,
}

/// What is answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Answer {
    Machine(Box<Machine>),
    Limits(Limits),
    Look(Look),
    /// The load is ready to begin.
    Ready,
    /// The load has begun: when its last thread did, by the host's monotonic clock.
    Began {
        at_ns: u64,
    },
    /// How the load goes: requests that ended as `ok` and otherwise.
    Live {
        ok: u64,
        errors: u64,
    },
    /// The load has ended; with what was sampled meanwhile, if anything could be.
    Result(Box<(LoadResult, Option<Usage>)>),
    /// The built-in server accepts connections there.
    Serving {
        address: SocketAddr,
    },
    /// The built-in server has ended.
    Closed {
        /// For how long its busiest thread ran; `None` where that is not counted.
        ran: Option<Duration>,
        /// For how long that thread wanted a processor and had none.
        waited: Duration,
    },
    /// The stage is set up.
    SetUp(Box<StageFacts>),
    Programs(Programs),
    Findings(Vec<Finding>),
    First(Box<FirstAnswers>),
    /// A step of a start begins; the answer is still to come.
    Step(Step),
    Started(Box<Started>),
    Contestant(conduct::Answer),
    Sampled(Box<Usage>),
    Stopped {
        stopped: Result<Option<StopFacts>, TrialEnd>,
        /// Logs by their names.
        logs: Vec<(String, FileBytes)>,
    },
    Dropped,
    /// The trial ends so.
    Failed(TrialEnd),
    /// There is no room for files.
    FullDisk(String),
    /// It cannot be, as text that follows "failed to".
    Cannot(String),
    /// The plan asks for what this host does not have.
    Refused(String),
    /// The server has ended by itself; nobody has asked.
    Died {
        status: String,
        log_tail: String,
    },
}

/// A load for another host.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    pub(crate) spec: LoadSpec,
    /// Where its URL leads, which each host asks its own resolver; `None` where that is known.
    pub(crate) connect_to: Option<ConnectTo>,
}

impl Load {
    /// With the certificates and keys that it names, which other hosts do not have.
    pub(crate) fn new(mut spec: LoadSpec, connect_to: Option<ConnectTo>) -> anyhow::Result<Self> {
        for pem in spec
            .speaking
            .tls_mut()
            .into_iter()
            .flat_map(|it| it.pems_mut())
        {
            if pem.bytes.is_none() {
                let bytes = read_regular(&pem.path, PEM_BYTES_MAX);
                let bytes = bytes.with_context(|| format!("failed to read {}", pem.path.display()));
                pem.bytes = Some(FileBytes(bytes?));
            }
        }
        Ok(Self { spec, connect_to })
    }

    /// What the gaps between its connections come to, which are opened one after the other.
    pub(crate) fn ramp(&self) -> Duration {
        let gap = self.spec.connections.ramp_gap;
        gap.saturating_mul(self.spec.load.clients())
    }

    /// What an engine here is to do, with names resolved.
    pub(super) fn here(self) -> anyhow::Result<LoadSpec> {
        let Self {
            mut spec,
            connect_to,
        } = self;
        if let Some(to) = connect_to {
            spec.target = Target::resolve(&spec.target.url, &to)?;
        }
        if spec.target.endpoints.is_empty() {
            bail!("the load has no address");
        }
        if spec.exchanges.is_empty() {
            bail!("the load has no request");
        }
        let (sent, variants) = (spec.exchanges.len(), spec.pacing.variants.max(1));
        if sent % variants as usize != 0 {
            bail!("{sent} requests are no {variants} variants of each");
        }
        spec.interval = spec.interval.max(Duration::from_nanos(1));
        Ok(spec)
    }
}

/// What a process may use on a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// An agent raises what it may open as far as that.
    pub(crate) open_files: Limit,
    pub(crate) processes: Limit,
    pub(crate) locked_memory_bytes: Limit,
    /// Processors that programs may use, by the kernel's numbers.
    pub(crate) cpus: Vec<usize>,
    pub(crate) quota_cpus: Option<u32>,
}

/// A limit of a process; `None` for as much as it likes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limit {
    pub(crate) soft: Option<u64>,
    pub(crate) hard: Option<u64>,
}

/// What a stage is made of.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetUp {
    /// Where servers listen; without it, where this host was reached.
    pub(crate) address: Option<IpAddr>,
    /// More names by which clients ask.
    pub(crate) names: Vec<String>,
    pub(crate) pinning: Pinning,
    pub(crate) roles: RolesHere,
    pub(crate) seed: u64,
    /// Files of servers of the user's own, by their names below the folder of servers.
    pub(crate) library: Vec<(String, FileBytes)>,
    pub(crate) own: Vec<OwnFolder>,
}

/// A folder with configurations of the user's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnFolder {
    /// Configurations as the plan names them, and where each is below the folder.
    pub(crate) configs: BTreeMap<PathBuf, PathBuf>,
    /// The folder as it is at home, and its files.
    pub(crate) along: Along,
}

/// What a stage says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StageFacts {
    /// Files that a process may open.
    pub(crate) open_files: Option<u64>,
    /// Where it listens.
    pub(crate) address: IpAddr,
    pub(crate) machine: Box<Machine>,
}

#[cfg(test)]
mod tests;
