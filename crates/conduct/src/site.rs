//! Where contestants are staged: this machine, or another one by a program that runs there.
//!
//! What is asked of a site and of a contestant on it goes over as values, and so does every answer,
//! so that it makes no difference on which machine they are. This machine is a site in this
//! process.

use std::path::Path;
use std::time::{Duration, Instant};

use bakeoff_origin::Counts;
use bakeoff_plan::{Contender, Protocol, Request, Workload};
use bakeoff_record::{GrownFile, ServerFacts, Step, StopFacts, TrialEnd, Usage, When, Work};
use bakeoff_stage::{Fetched, Stage, StageError};

use crate::contestant::{Contestant, Place};
use crate::generators::Reached;
use crate::roles::Roles;

/// A machine that contestants run on.
pub trait Site: std::fmt::Debug + Sync {
    /// Starts what a trial needs, with logs in the folder `logs`. `step` is told each step before
    /// it begins.
    ///
    /// # Errors
    /// Why it could not be; nothing of it runs then.
    fn start(
        &self,
        contender: &Contender,
        workload: &Workload,
        logs: &Path,
        step: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Staged>, StartFailed>;
}

/// Why a contestant could not be started.
#[derive(Debug)]
pub enum StartFailed {
    /// The trial ends so.
    Trial(TrialEnd),
    /// There is no room for its files, nor for those of any other.
    FullDisk(StageError),
}

/// An edge of the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// It is about to open.
    Start,
    /// It has closed.
    End,
}

/// A contestant on its site. Dropping it ends all that bakeoff has started of it.
pub trait Staged {
    /// What the record keeps of the server.
    fn facts(&self) -> ServerFacts;

    /// Where clients on this machine reach it.
    fn reached(&self) -> Reached;

    /// Asks it once and compares.
    ///
    /// # Errors
    /// How a trial ends to which no whole answer came `within` this time.
    fn fetch(
        &self,
        request: &Request,
        protocol: Protocol,
        when: When,
        within: Duration,
    ) -> Result<Fetched, TrialEnd>;

    /// Makes so many requests in turn, and looks at what the server does for them.
    fn observe(&self, workload: &Workload, requests: u32) -> Work;

    /// Notes how large the files are that the server writes.
    fn note_written(&mut self);

    /// Which of its files have grown since that was noted.
    fn grown(&self) -> Vec<GrownFile>;

    /// How the server ended by itself, if it has. Does not wait.
    fn died(&mut self) -> Option<String>;

    /// The end of the server's output.
    fn log_tail(&self) -> String;

    /// Has the origin do what the workload demands of it, or with `begin` false the right answer
    /// at once.
    ///
    /// # Errors
    /// Why it cannot be, as text that follows "failed to".
    fn behave(&self, begin: bool) -> Result<(), String>;

    /// What the upstream has counted since its start; `None` where there is none.
    fn origin_counts(&self) -> Option<Counts>;

    /// Begins to sample what the contestant and its host use; with `network` also what crosses the
    /// network.
    ///
    /// # Errors
    /// Why it cannot be, as text that follows "failed to". The server's own counters are read all
    /// the same.
    fn sample(&mut self, network: bool) -> Result<(), String>;

    /// Reads what is counted at an edge of the window. That of the start counts the first time.
    fn note_edge(&mut self, edge: Edge);

    /// Ends sampling; what was sampled, on an axis whose 0 is `start`, a time of this machine.
    fn sampled(&mut self, start: Option<Instant>) -> Usage;

    /// Stops the server, then the origin behind it. A server that ran already goes on.
    ///
    /// # Errors
    /// How a trial ends of which something is left.
    fn stop(self: Box<Self>) -> Result<Option<StopFacts>, TrialEnd>;
}

/// This machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Here<'a> {
    pub(crate) stage: &'a Stage,
    /// This program, which the built-in servers are a part of.
    pub(crate) bakeoff: &'a Path,
    pub(crate) roles: &'a Roles,
    /// Seed of what the origin draws.
    pub(crate) seed: u64,
}

impl Site for Here<'_> {
    fn start(
        &self,
        contender: &Contender,
        workload: &Workload,
        logs: &Path,
        step: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Staged>, StartFailed> {
        let pinned = &self.roles.pinned;
        let place = Place {
            stage: self.stage,
            bakeoff: self.bakeoff,
            logs,
            server_cpus: &pinned.server,
            origin_cpus: &pinned.origin,
            probe_cpus: &pinned.engine,
            seed: self.seed,
        };
        match Contestant::start(place, contender, workload, step) {
            Ok(contestant) => Ok(Box::new(contestant)),
            Err(error) if error.is_full_disk() => Err(StartFailed::FullDisk(error)),
            Err(error) => Err(StartFailed::Trial(error.trial_end())),
        }
    }
}
