//! Messages from home to the stage of a host, and its answers. Plans, workloads and facts have the
//! form in which records keep them.
//!
//! Bodies, logs and certificates follow a message as files.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use bakeoff_conduct::{Edge, Finding, FirstAnswers, Part, Programs, RolesHere};
use bakeoff_origin::Counts;
use bakeoff_plan::{Contender, Pinning, Plan, Protocol, Request, Workload};
use bakeoff_record::{
    AnswerCheck, GrownFile, Machine, Pinned, ServerFacts, Step, StopFacts, TrialEnd, When, Work,
};
use bakeoff_stage::Leads;
use serde::{Deserialize, Serialize};

/// What home says to a stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum StageOrder {
    /// The first one.
    SetUp(Box<SetUp>),
    /// Fixes the program of each contender: that in `before`, or the one that is found now.
    Programs { plan: Box<Plan>, before: Programs },
    /// Looks whether each contender can be measured.
    Preflight { plan: Box<Plan> },
    /// Asks each contender once, except those of `known`.
    First {
        plan: Box<Plan>,
        known: Vec<Finding>,
    },
    /// Starts what a trial needs, in place of what ran before.
    Start {
        contender: Box<Contender>,
        workload: Box<Workload>,
        /// Name of the folder of logs.
        logs: String,
        part: Part,
    },
    /// What the rest is about: the contestant that runs.
    OfContestant(Of),
}

/// What is asked of a contestant that runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Of {
    Fetch {
        request: Box<Request>,
        protocol: Protocol,
        when: When,
        within_ns: u64,
    },
    Observe {
        workload: Box<Workload>,
        requests: u32,
    },
    NoteWritten,
    Grown,
    LogTail,
    Behave {
        begin: bool,
    },
    OriginCounts,
    Sample {
        network: bool,
    },
    NoteEdge(Edge),
    Sampled {
        /// Start of the window, by the clock of the host.
        start_ns: Option<u64>,
    },
    Stop,
    /// Ends it by force; nobody wants to know more.
    Drop,
}

/// What a stage is made of. The files of servers of the user's own follow, then those of
/// configurations.
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
    /// Names of the files that follow, below the folder of servers.
    pub(crate) library: Vec<String>,
    pub(crate) own: Vec<OwnFolder>,
}

/// A folder with configurations of the user's own. Its files follow in this order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnFolder {
    /// Where it is at home.
    pub(crate) folder: PathBuf,
    /// Configurations as the plan names them, and where each is below the folder.
    pub(crate) configs: BTreeMap<PathBuf, PathBuf>,
    pub(crate) files: Vec<OwnFile>,
    /// Paths in their texts that lead elsewhere on the host.
    pub(crate) leads: Leads,
    /// Files that they take in and that must be on the host already.
    pub(crate) elsewhere: BTreeSet<PathBuf>,
}

/// A file in such a folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnFile {
    pub(crate) below: PathBuf,
    /// Who may read it.
    pub(crate) mode: u32,
    /// Whether paths in it mean something.
    pub(crate) is_text: bool,
}

/// What comes from a stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum StageReport {
    /// It is set up.
    Ready(Box<StageFacts>),
    /// It was done, and there is nothing to say of it.
    Done,
    Programs(Programs),
    Findings(Vec<Finding>),
    First(Box<FirstAnswers>),
    /// A step of a start begins; the answer is still to come.
    Step(Step),
    Started(Box<Started>),
    /// The body follows as files, in parts.
    Fetched(Box<AnswerCheck>),
    Work(Box<Work>),
    Grown(Vec<GrownFile>),
    LogTail(String),
    OriginCounts(Option<Box<Counts>>),
    /// What was sampled follows as files: one text in parts.
    Sampled,
    Stopped {
        stopped: Result<Option<StopFacts>, TrialEnd>,
        /// Names of the logs, which follow.
        logs: Vec<String>,
    },
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

/// A contestant that runs. What its certificate leads to follows as a file, if there is any.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Started {
    pub(crate) facts: ServerFacts,
    pub(crate) pinned: Pinned,
    pub(crate) address: SocketAddr,
    pub(crate) host: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bakeoff_plan::Builtin;

    use super::*;

    /// What goes over is what was meant: plans and all that is in them.
    #[test]
    fn orders_come_out_as_they_went_in() {
        for name in ["smoke", "matrix"] {
            let text = bakeoff_plan::builtin_plan(name).unwrap();
            let plan = bakeoff_plan::parse(text, name, Path::new("/"), &Builtin).unwrap();
            let order = StageOrder::First {
                plan: Box::new(plan.clone()),
                known: Vec::new(),
            };
            let value = serde_json::to_value(&order).unwrap();
            let bytes = serde_json::to_vec(&value).unwrap();
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let StageOrder::First { plan: again, .. } = serde_json::from_value(value).unwrap()
            else {
                panic!("another order");
            };
            assert_eq!(*again, plan);
        }
    }
}
