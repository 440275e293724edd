//! A contestant on this machine: implements for it what a trial needs.

use std::time::{Duration, Instant};

use bakeoff_probe::{Probe, ProbeOptions, TreeSource, within};
use bakeoff_record::{Role, StopFacts, TrialEnd, Usage};
use bakeoff_stage::{Changing, Root, Running};

use super::Contestant;
use crate::counters::OwnCounters;
use crate::site::{Answer, Ask, Edge, Reached, Staged, Started};

/// Time between two readings of the probe.
const PROBE_PERIOD: Duration = Duration::from_millis(100);

/// What is sampled of a contestant while it is under load.
#[derive(Debug, Default)]
pub(super) struct Sampling {
    probe: Option<Probe>,
    counters: OwnCounters,
}

impl Staged for Contestant {
    fn started(&self) -> Started {
        Started {
            facts: self.server.facts(),
            pinned: self.pinned.clone(),
            reached: Reached::of(&self.server),
        }
    }

    fn ask(&mut self, ask: Ask) -> Answer {
        match ask {
            Ask::Fetch {
                request,
                protocol,
                when,
                within,
            } => match self.server.fetch(&request, protocol, when, within) {
                Ok(fetched) => Answer::Fetched(Box::new(fetched)),
                Err(error) => Answer::Failed(error.trial_end()),
            },
            Ask::Observe { workload, requests } => {
                Answer::Work(Box::new(self.server.observe(&workload, requests)))
            }
            Ask::NoteWritten => {
                self.written = Some(self.server.written());
                Answer::Done
            }
            Ask::Grown => {
                let before = self.written.as_ref();
                let grown = before.map(|before| self.server.grown_since(before));
                Answer::Grown(grown.unwrap_or_default())
            }
            Ask::LogTail => Answer::LogTail(self.server.log_tail()),
            Ask::Behave { begin } => {
                Answer::of(self.behave(begin).map_err(|error| error.to_string()))
            }
            Ask::OriginCounts => Answer::OriginCounts(self.origin_counts().map(Box::new)),
            Ask::Sample { network } => Answer::of(self.sample(network)),
            Ask::NoteEdge(edge) => {
                let counters = &mut self.sampling.counters;
                let note = || match edge {
                    Edge::Start => counters.begin(),
                    Edge::End => counters.end(),
                };
                // Without its counters, nothing is concluded from them.
                let _ = within(self.server.network(), note);
                Answer::Done
            }
            Ask::MayAct(action) => Answer::of(self.may_act(action)),
            Ask::MakeReady(action) => Answer::of(Changing::of(&mut self.server).make_ready(action)),
            Ask::Act(action) => Answer::of(self.act(action)),
            Ask::TakenUp => Answer::TakenUp(Changing::of(&mut self.server).taken_up()),
        }
    }

    fn died(&mut self) -> Option<String> {
        self.server.died()
    }

    fn strayed(&mut self) -> Option<String> {
        self.server.strayed()
    }

    fn sampled(&mut self, start: Option<Instant>) -> Usage {
        let Sampling { probe, counters } = std::mem::take(&mut self.sampling);
        if let (Some(probe), Some(start)) = (&probe, start) {
            probe.set_zero(start);
        }
        Usage {
            server_counters: start.and_then(|start| counters.into_record(start)),
            ..probe.map(Probe::stop).unwrap_or_default()
        }
    }

    fn stop(self: Box<Self>) -> Result<Option<StopFacts>, TrialEnd> {
        self.stop_all().map_err(|error| error.trial_end())
    }
}

impl Contestant {
    fn sample(&mut self, network: bool) -> Result<(), String> {
        let options = self.probe_options(network);
        let inside = self.server.network();
        let started = within(inside, || {
            (Probe::start(options), OwnCounters::find(&self.server))
        });
        let (probe, counters) = started.map_err(|cause| format!("enter the network: {cause}"))?;
        self.sampling.counters = counters;
        self.sampling.probe = Some(probe.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn probe_options(&self, network: bool) -> ProbeOptions {
        let source = |role, root: Root| TreeSource {
            role,
            root: root.pid,
            include_root: root.is_server,
            cgroup: root.cgroup,
            limited: root.limited,
        };
        let origin = self.origin.as_ref();
        let of_server = self.server.root().map(|root| source(self.role, root));
        let of_origin = origin.and_then(Running::root).into_iter();
        let beside = of_origin.chain(self.server.roots_beside());
        let beside = beside.map(|root| source(Role::Origin, root));
        let mut trees: Vec<TreeSource> = of_server.into_iter().chain(beside).collect();
        trees.push(TreeSource {
            role: if network { Role::Bakeoff } else { Role::Engine },
            root: std::process::id(),
            include_root: true,
            cgroup: None,
            limited: None,
        });
        // What ran already may listen on another machine, where this port is somebody else's.
        let server = self.server.address();
        let is_here = self.server.is_kept() || server.ip().is_loopback();
        let mut listeners: Vec<(Role, u16)> = Vec::new();
        listeners.extend(is_here.then_some((self.role, server.port())));
        listeners.extend(origin.map(|origin| (Role::Origin, origin.address().port())));
        let cpus = &self.pinned.engine;
        let pin = (!cpus.is_empty()).then(|| cpus.clone());
        ProbeOptions {
            zero: Instant::now(),
            period: PROBE_PERIOD,
            trees,
            listeners,
            network,
            pin,
        }
    }
}
