//! An invented server, and the upstream behind it.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use bakeoff_origin::Counts;
use bakeoff_plan::{Action, Protocol, Request, ServerChoice, Workload};
use bakeoff_record::{
    CertificateFacts, ConfigFile, Crew, GrownFile, ServerFacts, Step, StopFacts, TrialEnd, Usage,
    When, Work,
};
use bakeoff_stage::Fetched;

use super::usage::Seen;
use super::world::Server;
use super::{Invented, Load, STEP};
use crate::site::{Answer, Ask, Reached, Staged, StartOrder, Started};

/// Where it would listen.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// Connections that it keeps to its upstream.
const KEPT: u64 = 64;

/// A server in one trial.
pub(super) struct Contestant {
    world: Invented,
    server: Server,
    choice: ServerChoice,
    name: String,
    logs: String,
    is_proxied: bool,
    /// What its upstream counted before the load.
    observed: Counts,
}

impl Contestant {
    pub(super) fn new(world: Invented, server: Server, order: &StartOrder<'_>) -> Self {
        Self {
            world,
            server,
            choice: order.contender.server.clone(),
            name: order.contender.name.clone(),
            logs: order
                .logs
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            is_proxied: order.workload.proxied,
            observed: Counts::default(),
        }
    }

    fn load(&self) -> Option<Load> {
        self.world.now().load.clone()
    }

    /// How it ended, if it has.
    fn is_dead(&self) -> bool {
        self.load().is_some_and(|load| {
            let at_s = load.at_s(&self.world.clock);
            load.traffic.dies_s.is_some_and(|dies_s| dies_s <= at_s)
        })
    }

    /// What its upstream counts of some requests.
    fn asked(&self, requests: u64) -> Counts {
        let work = &self.server.work;
        let requests = if work.asks_upstream { requests } else { 0 };
        let old = if work.http_1_0 { requests } else { 0 };
        Counts {
            requests,
            connections: if work.keeps_upstream {
                requests.min(KEPT)
            } else {
                requests
            },
            http_1_0: old,
            http_1_1: requests - old,
            close: if work.keeps_upstream { 0 } else { requests },
            bytes_read: requests * 96,
            bytes_written: requests * 140,
            ..Counts::default()
        }
    }
}

impl Staged for Contestant {
    fn started(&self) -> Started {
        Started {
            facts: self.facts(),
            pinned: self.world.roles.pinned.clone(),
            reached: Reached {
                address: ADDRESS,
                host: None,
                authority: None,
                network: None,
            },
        }
    }

    fn ask(&mut self, ask: Ask) -> Answer {
        match ask {
            Ask::Fetch {
                request,
                protocol,
                when,
                within,
            } => match self.fetch(&request, protocol, when, within) {
                Ok(fetched) => Answer::Fetched(Box::new(fetched)),
                Err(end) => Answer::Failed(end),
            },
            Ask::Observe { workload, requests } => {
                Answer::Work(Box::new(self.observe(&workload, requests)))
            }
            Ask::Grown => {
                let ended = self.load().map(|load| load.traffic.ended_by(f64::MAX));
                let (ok, errors) = ended.unwrap_or_default();
                Answer::Grown(self.log(ok + errors))
            }
            Ask::LogTail => Answer::LogTail(String::new()),
            Ask::OriginCounts => Answer::OriginCounts(Some(Box::new(self.origin_counts()))),
            Ask::MayAct(Action::None) => Answer::Done,
            Ask::MayAct(_) => {
                Answer::of(self.server.change.unsupported.clone().map_or(Ok(()), Err))
            }
            Ask::Act(_) => Answer::of(self.server.change.fails.clone().map_or(Ok(()), Err)),
            Ask::TakenUp => Answer::TakenUp(None),
            Ask::MakeReady(_)
            | Ask::NoteWritten
            | Ask::Behave { .. }
            | Ask::Sample { .. }
            | Ask::NoteEdge(_) => Answer::Done,
        }
    }

    fn died(&mut self) -> Option<String> {
        self.is_dead().then(|| "exit status 3".to_owned())
    }

    fn sampled(&mut self, start: Option<Instant>) -> Usage {
        let Some((load, _)) = self.load().zip(start) else {
            return Usage::default();
        };
        let seen = Seen {
            server: &self.server,
            traffic: &load.traffic,
            pinned: &self.world.roles.pinned,
            processors: self.world.world.processors,
            is_proxied: self.is_proxied,
            until_s: load.at_s(&self.world.clock),
        };
        seen.usage()
    }

    fn stop(self: Box<Self>) -> Result<Option<StopFacts>, TrialEnd> {
        self.world.clock.sleep(STEP);
        let is_ours = !matches!(self.choice, ServerChoice::Url(_));
        Ok(is_ours.then(|| StopFacts {
            graceful: true,
            took_s: STEP.as_secs_f64(),
            status: Some("exit status 0".to_owned()),
        }))
    }
}

impl Contestant {
    fn facts(&self) -> ServerFacts {
        let server = match &self.choice {
            ServerChoice::Program { server, .. } => server.as_str(),
            ServerChoice::Command(_) => "command",
            ServerChoice::Container(_) => "image",
            ServerChoice::Url(_) => return ServerFacts::without_folder("url", ADDRESS),
            ServerChoice::Yardstick => "yardstick",
            ServerChoice::Origin => "origin",
        };
        let config = self.server.work.config.iter().map(|text| ConfigFile {
            path: format!("logs/{}/server.conf", self.logs),
            text: text.clone(),
            filled: BTreeMap::new(),
        });
        ServerFacts {
            version: "1.0".to_owned(),
            binary: format!("/invented/{server}"),
            binary_sha256: "0f".repeat(32),
            command: vec![format!("/invented/{server}"), self.name.clone()],
            configs: config.collect(),
            ..ServerFacts::without_folder(server, ADDRESS)
        }
    }

    fn fetch(
        &self,
        request: &Request,
        protocol: Protocol,
        when: When,
        within: Duration,
    ) -> Result<Fetched, TrialEnd> {
        let is_silent = self.server.answer.silent && when == When::After;
        let cause = if self.is_dead() {
            "Connection refused (os error 111)"
        } else if is_silent {
            self.world.clock.sleep(within);
            "no whole answer in time; 0 bytes arrived"
        } else {
            return Ok(self.server.answered(request, protocol, when));
        };
        Err(TrialEnd::Failed {
            step: Step::CheckAgain,
            cause: cause.to_owned(),
            message: None,
        })
    }

    fn observe(&mut self, workload: &Workload, requests: u32) -> Work {
        let work = &self.server.work;
        self.observed = if work.keeps_upstream {
            // They come one after the other.
            Counts {
                connections: 1,
                ..self.asked(u64::from(requests))
            }
        } else {
            self.asked(u64::from(requests))
        };
        let processors = match self.world.roles.pinned.server.len() {
            0 => self.world.world.processors,
            some => some,
        };
        let processors = u32::try_from(processors).unwrap_or(u32::MAX);
        let workers = work.workers.unwrap_or(processors);
        Work {
            requests,
            connections: Some(if work.keeps_clients { 1 } else { requests }),
            certificate: workload.protocol.is_secure().then(|| CertificateFacts {
                key: "ECDSA".to_owned(),
                bits: Some(256),
            }),
            grown: Some(self.log(u64::from(requests))),
            crew: Some(Crew {
                processes: workers + 1,
                threads: workers + 1,
                listening: workers,
                loops: workers,
                listening_threads: workers,
                processors,
                open_files: Some(20_000),
                users: vec!["nobody".to_owned()],
            }),
            ..Work::default()
        }
    }

    fn origin_counts(&self) -> Counts {
        let before = self.observed;
        let Some(load) = self.load() else {
            return before;
        };
        let (ok, errors) = load.traffic.ended_by(load.at_s(&self.world.clock));
        let now = self.asked(ok + errors);
        Counts {
            requests: before.requests + now.requests,
            connections: before.connections + now.connections,
            http_1_0: before.http_1_0 + now.http_1_0,
            http_1_1: before.http_1_1 + now.http_1_1,
            close: before.close + now.close,
            bytes_read: before.bytes_read + now.bytes_read,
            bytes_written: before.bytes_written + now.bytes_written,
            ..before
        }
    }

    /// Its log, as these requests make it grow.
    fn log(&self, requests: u64) -> Vec<GrownFile> {
        let bytes = self.server.work.log_bytes * requests;
        let grown = (bytes > 0).then(|| GrownFile {
            path: "/invented/access.log".to_owned(),
            bytes,
        });
        grown.into_iter().collect()
    }
}
