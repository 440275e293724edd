//! Runs contenders on a host: this one, in this process, or another one, through its agent.
//!
//! Requests and answers are plain values, so the same code serves both. How an agent is reached is
//! not known here.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use bakeoff_load::Pem;
use bakeoff_origin::Counts;
use bakeoff_plan::{Action, Contender, Plan, Protocol, Request, Workload};
use bakeoff_probe::Network;
use bakeoff_record::{
    GrownFile, Hosts, LostHost, Pinned, ServerFacts, Step, StopFacts, TakenUp, TrialEnd,
    TrialRecord, Usage, When, Work,
};
use bakeoff_stage::{Fetched, Running};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::preflight::Finding;
use crate::roles::Roles;

/// A machine that contestants run on.
pub trait Site: std::fmt::Debug + Sync {
    /// Finds the program of each contender, which its trials have from now on: the one of
    /// `earlier` trials of this campaign, or the one that is found now.
    ///
    /// # Errors
    /// A program of earlier trials is not what it was, or the site cannot be asked.
    fn fix_programs(&self, plan: &Plan, earlier: &[TrialRecord]) -> Result<(), SiteError>;

    /// Checks, without starting anything, whether each contender can be measured at each workload.
    ///
    /// # Errors
    /// The site cannot be asked.
    fn preflight(&self, plan: &Plan) -> Result<Vec<Finding>, SiteError>;

    /// Starts each contender for each workload and asks it, except where `known` says that it
    /// cannot be measured.
    ///
    /// # Errors
    /// The site cannot be asked.
    fn first_answers(&self, plan: &Plan, known: &[Finding]) -> Result<FirstAnswers, SiteError>;

    /// Files that a process may open there; `None` for as many as it likes.
    fn open_files(&self) -> Option<u64>;

    /// The clock that its campaigns go by.
    fn clock(&self) -> Clock {
        Clock::default()
    }

    /// Gives the roles other processors from now on.
    fn divide_anew(&mut self, _roles: &Roles) {}

    /// Starts what a trial needs. `step` is called with each step before it begins.
    ///
    /// # Errors
    /// Why it could not be; nothing of it runs then.
    fn start(
        &self,
        order: &StartOrder<'_>,
        step: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Staged>, StartFailed>;
}

/// Why a site does not say what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SiteError {
    /// What was asked for cannot be.
    #[error("{0}")]
    Refused(String),
    /// The machine cannot be reached, or no longer.
    #[error("{0}")]
    Lost(String),
}

/// The result of the first contact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FirstAnswers {
    /// What is wrong, in the order of the plan.
    pub findings: Vec<Finding>,
    /// The plan, with the right answers that it left open.
    pub plan: Plan,
    /// What was found out about answers, for people; also in the notes of the plan's workloads.
    pub notes: Vec<String>,
}

/// What is to be started.
#[derive(Debug, Clone, Copy)]
pub struct StartOrder<'a> {
    /// What is measured.
    pub contender: &'a Contender,
    /// What it answers.
    pub workload: &'a Workload,
    /// Folder for logs.
    pub logs: &'a Path,
    /// Which part of it.
    pub part: Part,
    /// What is to be done to it under load.
    pub action: Option<Action>,
}

/// Which part of a contestant runs on a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The server, and the upstream behind it where the workload has one.
    Whole,
    /// The server alone: its upstream is on another site, at this address.
    ServerBefore(SocketAddr),
    /// The upstream alone.
    Upstream,
}

/// Why a contestant could not be started.
#[derive(Debug)]
pub enum StartFailed {
    /// The trial ends so.
    Trial(TrialEnd),
    /// There is no room for its files, nor for those of any other: what could not be done.
    FullDisk(String),
    /// A machine that was lost earlier cannot be reached again.
    Unreached(LostHost),
    /// The machine was lost meanwhile.
    Lost(LostHost),
}

/// An edge of the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// It is about to open.
    Start,
    /// It has closed.
    End,
}

/// What is asked of a contestant, wherever it runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ask {
    /// One answer, which is compared. It must be whole within this time.
    Fetch {
        /// What is requested.
        request: Box<Request>,
        /// Over what.
        protocol: Protocol,
        /// Before the load or after it.
        when: When,
        /// What it may take.
        within: Duration,
    },
    /// What the server does for so many requests, which are made in turn.
    Observe {
        /// Whose requests.
        workload: Box<Workload>,
        /// How many.
        requests: u32,
    },
    /// To note how large the files are that the server writes.
    NoteWritten,
    /// Those of its files that have grown since that was noted.
    Grown,
    /// The end of the server's output.
    LogTail,
    /// To have the origin do what the workload demands of it, or with `begin` false the right
    /// answer at once.
    Behave {
        /// Whether it begins.
        begin: bool,
    },
    /// What the upstream has counted since its start.
    OriginCounts,
    /// To begin to sample what the contestant and its host use. The server's own counters are read
    /// even where nothing is sampled.
    Sample {
        /// Whether also what crosses the network.
        network: bool,
    },
    /// To read what is counted at an edge of the window. That of the start counts the first time.
    NoteEdge(Edge),
    /// Whether this can be done to it.
    MayAct(Action),
    /// To make what it takes up by this.
    MakeReady(Action),
    /// To do this to it.
    Act(Action),
    /// When it has taken up what was made last.
    TakenUp,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// It was done, and there is nothing to say of it.
    Done,
    /// An answer that came whole.
    Fetched(Box<Fetched>),
    /// None came: how a trial ends by that.
    Failed(TrialEnd),
    /// What was seen.
    Work(Box<Work>),
    /// Files that have grown.
    Grown(Vec<GrownFile>),
    /// The end of an output.
    LogTail(String),
    /// When something was taken up; `None` where its answers do not say.
    TakenUp(Option<TakenUp>),
    /// Counts; `None` where there is no upstream or it does not say.
    OriginCounts(Option<Box<Counts>>),
    /// It cannot be, as text that follows "failed to".
    Cannot(String),
    /// The machine was given up.
    Lost(LostHost),
}

/// Where a server is reached, and by what name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// Address for connections.
    pub address: SocketAddr,
    /// Name that it is asked by, in `Host` and in SNI; `None` to ask by the address.
    pub host: Option<String>,
    /// The authority that its certificate leads to.
    pub authority: Option<Pem>,
    /// The network that its address is in; `None` for that of this process.
    #[serde(skip)]
    pub network: Option<Network>,
}

impl Reached {
    /// Where clients on this machine reach a server that runs on it.
    pub(crate) fn of(server: &Running) -> Self {
        Self {
            address: server.address(),
            host: server.host().map(str::to_owned),
            authority: server.authority().map(Pem::from),
            network: server.network().cloned(),
        }
    }
}

/// A contestant that runs, as it was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// What the record keeps of the server.
    pub facts: ServerFacts,
    /// Processors given to each role.
    pub pinned: Pinned,
    /// Where clients reach it.
    pub reached: Reached,
}

/// A contestant on its site. Dropping it ends all that bakeoff has started of it.
pub trait Staged {
    /// What is known of it.
    fn started(&self) -> Started;

    /// Asks it something.
    fn ask(&mut self, ask: Ask) -> Answer;

    /// How the server ended by itself, if it has. Does not wait.
    fn died(&mut self) -> Option<String>;

    /// Why the server was ended: it was in contact with an address that has no part in the trial.
    /// Does not wait.
    fn strayed(&mut self) -> Option<String> {
        None
    }

    /// Why the machine that it runs on was given up, if it was. Does not wait.
    fn lost(&mut self) -> Option<String> {
        None
    }

    /// The machine that it runs on, where that was given up because it is away, and not for what it
    /// was asked. Does not wait.
    fn away(&mut self) -> Option<LostHost> {
        None
    }

    /// Adds what is known of the machines that it runs on: clocks, samples, and why one was lost.
    fn add_to(&self, _hosts: &mut Hosts) {}

    /// Ends sampling; what was sampled, on an axis whose 0 is `start`, a time of this machine.
    fn sampled(&mut self, start: Option<Instant>) -> Usage;

    /// Stops the server, then the origin behind it. A server that ran already goes on.
    ///
    /// # Errors
    /// How a trial ends of which something is left.
    fn stop(self: Box<Self>) -> Result<Option<StopFacts>, TrialEnd>;
}

impl dyn Staged + '_ {
    /// Asks it once and compares.
    ///
    /// # Errors
    /// How a trial ends to which no whole answer came `within` this time.
    pub(crate) fn fetch(
        &mut self,
        request: &Request,
        protocol: Protocol,
        when: When,
        within: Duration,
    ) -> Result<Fetched, TrialEnd> {
        let request = Box::new(request.clone());
        let answer = self.ask(Ask::Fetch {
            request,
            protocol,
            when,
            within,
        });
        match answer {
            Answer::Fetched(fetched) => Ok(*fetched),
            Answer::Failed(end) => Err(end),
            other => Err(TrialEnd::Failed {
                step: match when {
                    When::Before => Step::Start,
                    When::After => Step::CheckAgain,
                },
                cause: other.why_not(),
                message: None,
            }),
        }
    }

    /// What it does for so many requests.
    pub(crate) fn observe(&mut self, workload: Workload, requests: u32) -> Work {
        let workload = Box::new(workload);
        let why = match self.ask(Ask::Observe { workload, requests }) {
            Answer::Work(work) => return *work,
            other => other.why_not(),
        };
        let mut work = Work {
            requests,
            ..Work::default()
        };
        for fact in ["connections", "certificate", "grown", "crew"] {
            work.unknown.insert(fact.to_owned(), why.clone());
        }
        work
    }

    /// Its files that have grown since that was noted.
    pub(crate) fn grown(&mut self) -> Vec<GrownFile> {
        match self.ask(Ask::Grown) {
            Answer::Grown(grown) => grown,
            _ => Vec::new(),
        }
    }

    /// The end of the server's output.
    pub fn log_tail(&mut self) -> String {
        match self.ask(Ask::LogTail) {
            Answer::LogTail(tail) => tail,
            _ => String::new(),
        }
    }

    /// What the upstream has counted since its start; `None` where there is none.
    pub(crate) fn origin_counts(&mut self) -> Option<Counts> {
        match self.ask(Ask::OriginCounts) {
            Answer::OriginCounts(counts) => counts.map(|counts| *counts),
            _ => None,
        }
    }

    /// When it has taken up what was made for an action; `None` where its answers do not say.
    pub(crate) fn taken_up(&mut self) -> Option<TakenUp> {
        match self.ask(Ask::TakenUp) {
            Answer::TakenUp(taken_up) => taken_up,
            _ => None,
        }
    }

    /// Has it do something of which there is nothing to say.
    ///
    /// # Errors
    /// Why it cannot be, as text that follows "failed to".
    pub(crate) fn have(&mut self, ask: Ask) -> Result<(), String> {
        match self.ask(ask) {
            Answer::Done => Ok(()),
            Answer::Cannot(why) => Err(why),
            Answer::Lost(lost) => Err(format!("ask host {}: {}", lost.host, lost.message)),
            _ => Err("ask its host: it gave another answer than expected".to_owned()),
        }
    }
}

impl Answer {
    /// The answer of something that was done, or cannot be.
    pub(crate) fn of(done: Result<(), String>) -> Self {
        done.map_or_else(Self::Cannot, |()| Self::Done)
    }

    /// Why it is not the one that was expected.
    fn why_not(self) -> String {
        match self {
            Self::Lost(lost) => lost.to_string(),
            Self::Cannot(why) => format!("failed to {why}"),
            _ => "its host gave another answer than expected".to_owned(),
        }
    }
}
