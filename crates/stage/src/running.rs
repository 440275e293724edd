//! A server on the stage: it was seen to answer, and it can be asked, watched and stopped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bakeoff_plan::{Protocol, Request, Workload};
use bakeoff_probe::{Network, within};
use bakeoff_record::{AnswerCheck, GrownFile, ServerFacts, Step, StopFacts, When, Work};
use serde::{Deserialize, Serialize};

use crate::contacts::Contacts;
use crate::crew::{self, Sizes};
use crate::error::{Cause, StageError};
use crate::fetch::{Approach, Expectation, Trust};
use crate::held::Held;
use crate::kept::Gone;
use crate::listeners;
use crate::listening::LOOPBACK;
use crate::log::{self, Log};
use crate::trial_folder::TrialFolder;

mod changing;
mod taken_up;

pub use changing::Changing;
pub(crate) use changing::{CommandSurroundings, Renewal, Ways};
pub(crate) use taken_up::Numbered;

/// A few requests outside the window may take this long, all together.
const OBSERVE_LIMIT: Duration = Duration::from_secs(10);

/// A running server. Dropping it ends all of its processes by force.
#[derive(Debug)]
pub struct Running {
    pub(crate) kept: Held,
    pub(crate) address: SocketAddr,
    pub(crate) facts: ServerFacts,
    /// Status of its first answer, where that was to the workload's first request.
    pub(crate) first_status: Option<u16>,
    pub(crate) log: Log,
    pub(crate) approach: Approach,
    /// What can be done to it under load.
    pub(crate) ways: Ways,
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) ending: Ending,
    /// With whom it may be in contact, where that is watched.
    pub(crate) contacts: Option<Contacts>,
    /// The network that it is in; `None` for that of this process.
    pub(crate) network: Option<Network>,
    /// Removed when the server is gone.
    pub(crate) _folder: Option<TrialFolder>,
}

/// How a server is asked to end.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Without `SIG`.
    pub(crate) signal: String,
    /// Time until force follows.
    pub(crate) grace: Duration,
}

/// The processes of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The keeper, which is not a part of the server.
    pub keeper_pid: u32,
    /// Its inner process, no part of the server either; every process of the server is below it.
    pub guard_pid: u32,
    /// The program as it was started.
    pub main_pid: u32,
    /// The cgroup (version 2) that holds the server and nothing else.
    pub cgroup: Option<PathBuf>,
}

/// The process whose tree is a server's, for whoever samples it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its number.
    pub pid: u32,
    /// Whether it is a part of the server, or only what started it.
    pub is_server: bool,
    /// The cgroup (version 2) that holds the server and nothing else.
    pub cgroup: Option<PathBuf>,
    /// A process of it that limits hold; `None` where there are none.
    pub limited: Option<u32>,
}

/// An answer outside the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fetched {
    /// What the record keeps of it.
    pub check: AnswerCheck,
    /// Its body as sent, encoding and all.
    #[serde(with = "bakeoff_record::bytes")]
    pub body: Vec<u8>,
}

/// What a server's processes had open for writing at a moment, and how large it was.
#[derive(Debug)]
pub struct Written(Sizes);

impl Running {
    /// Where it answers; always on this machine, in its network.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The network that it is in; `None` for that of this process.
    pub fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }

    /// Whether bakeoff has started it and will stop it.
    pub fn is_kept(&self) -> bool {
        !matches!(self.kept, Held::Already(_))
    }

    /// Where its processes are sampled; `None` where they are unknown, or of several trees.
    pub fn root(&self) -> Option<Root> {
        let (pid, is_server) = self.kept.root()?;
        Some(Root {
            pid: pid.as_raw_pid().unsigned_abs(),
            is_server,
            cgroup: self.kept.group().map(Path::to_owned),
            limited: self
                .kept
                .limited()
                .map(|pid| pid.as_raw_pid().unsigned_abs()),
        })
    }

    /// Where the processes of what was started beside it are sampled: the other services of a
    /// compose file.
    pub fn roots_beside(&self) -> Vec<Root> {
        let Held::Container(container) = &self.kept else {
            return Vec::new();
        };
        let root = |(pid, cgroup): (rustix::process::Pid, _)| Root {
            pid: pid.as_raw_pid().unsigned_abs(),
            is_server: true,
            cgroup,
            limited: None,
        };
        container.beside().map(root).collect()
    }

    /// Its processes. Of a server that ran already both are its first process, and 0 where that is
    /// unknown.
    pub fn tree(&self) -> Tree {
        let number = |pid: Option<rustix::process::Pid>| {
            pid.map_or(0, |pid| pid.as_raw_pid().unsigned_abs())
        };
        Tree {
            keeper_pid: number(self.kept.keeper_pid()),
            guard_pid: number(self.kept.guard_pid()),
            main_pid: number(self.kept.main_pid()),
            cgroup: self.kept.group().map(Path::to_owned),
        }
    }

    /// Where it listens for TCP connections from this machine, in whatever role: at the address
    /// where it answers, or on loopback.
    pub fn listening(&self) -> Vec<SocketAddr> {
        let pids = self.kept.pids();
        let held = within(self.network(), || listeners::held_by(&pids));
        let held = held.unwrap_or_default().into_iter();
        let tcp = held.filter(|one| one.transport == listeners::Transport::Tcp);
        let places = [self.address.ip(), LOOPBACK];
        let mut addresses: Vec<_> = tcp
            .flat_map(|one| places.iter().filter_map(move |ip| one.reached_at(*ip)))
            .collect();
        addresses.sort();
        addresses.dedup();
        addresses
    }

    /// The numbers of its processes now, without the keeper.
    pub fn pids(&self) -> Vec<u32> {
        self.kept
            .pids()
            .into_iter()
            .map(|pid| pid.as_raw_pid().unsigned_abs())
            .collect()
    }

    /// The users that its processes run as now.
    pub fn users(&self) -> Vec<String> {
        crew::users(&self.kept.pids())
    }

    /// What the record keeps of it; `stopped` is for the caller to fill.
    pub fn facts(&self) -> ServerFacts {
        self.facts.clone()
    }

    /// The file with its output.
    pub fn log(&self) -> &Path {
        &self.log.file
    }

    /// The end of its output, for an error message.
    pub fn log_tail(&self) -> String {
        self.kept.copy_log();
        log::tail(&self.log.file, self.log.from)
    }

    /// What follows `beginning` on the first line of its output that begins so; a helper reports
    /// this way where else it can be reached.
    pub fn said(&self, beginning: &str) -> Option<String> {
        let text = log::read(&self.log.file, self.log.from);
        let mut lines = text.lines();
        lines
            .find_map(|line| line.strip_prefix(beginning))
            .map(|rest| rest.trim().to_owned())
    }

    /// Signal, without `SIG`, by which its [`Tree::main_pid`] takes up a changed configuration
    /// and goes on; `None` when it knows none.
    pub fn reload_signal(&self) -> Option<&str> {
        self.ways.reload_signal()
    }

    /// The names of settings such as `workers` in its configuration.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.settings.iter();
        settings.map(|(setting, name)| (setting.as_str(), name.as_str()))
    }

    /// The authority that its certificate leads to, as a PEM file; `None` when it brought its
    /// own certificate, or none.
    pub fn authority(&self) -> Option<&Path> {
        match &self.approach.trust {
            Trust::Authority(file) => Some(file),
            Trust::Anything => None,
        }
    }

    /// The name that it is asked by, in `Host` and over TLS in SNI, instead of its address.
    pub fn host(&self) -> Option<&str> {
        self.approach.host.as_deref()
    }

    /// Status of the answer by which it was found ready, where that was to the workload's first
    /// request. Whoever limits how often it is asked may refuse the next ones.
    pub fn first_status(&self) -> Option<u16> {
        self.first_status
    }

    /// Sends `request` once over `protocol` and compares; `when` is `before` or `after`.
    ///
    /// # Errors
    /// When no whole answer came `within` this time, or when the server is in contact with an
    /// address that has no part in the trial. A wrong answer is no error: it has `right: false`.
    pub fn fetch(
        &self,
        request: &Request,
        protocol: Protocol,
        when: When,
        within: Duration,
    ) -> Result<Fetched, StageError> {
        let expectation = Expectation::of(request, protocol, &self.approach);
        let step = if when == When::After {
            Step::CheckAgain
        } else {
            Step::Start
        };
        let fail = |cause| StageError::new(step, cause).with_message(self.log_tail());
        let (network, address) = (self.network(), self.address);
        let ask = || bakeoff_probe::within(network, || expectation.ask(address, within))?;
        let asked = watched(self.contacts.as_ref(), &self.kept, ask);
        if let Some(contacts) = &self.contacts {
            contacts.check(&self.kept.pids()).map_err(fail)?;
        }
        let answer = asked.map_err(|cause| {
            let scheme = expectation.scheme();
            let url = format!("{scheme}://{}{}", self.address, request.path);
            fail(Cause::Fetch { url, cause })
        })?;
        let right = expectation.is_met_by(&answer);
        Ok(Fetched {
            check: answer.to_check(when, request.name(), right),
            body: answer.body,
        })
    }

    /// Makes so many equal `requests` in turn, as `workload` asks first, and looks at what the
    /// server does for them. Nothing here fails: what cannot be found out is not known, with the
    /// reason. What the upstream saw is for the caller to fill in.
    pub fn observe(&self, workload: &Workload, requests: u32) -> Work {
        let (network, address) = (self.network(), self.address);
        let pids = self.kept.pids();
        let mut work = Work {
            requests,
            crew: within(network, || crew::crew(&pids, address.port())).unwrap_or_default(),
            ..Work::default()
        };
        let usual = "no process of the server seems to hold the listening socket";
        let why_unseen = self.kept.unknown().unwrap_or(usual).to_owned();
        if work.crew.is_none() {
            work.unknown.insert("crew".to_owned(), why_unseen.clone());
        }
        let before = self.written();
        let first = workload.requests.first();
        let expectation = Expectation::of(first, workload.protocol, &self.approach);
        let repeat = || expectation.repeat(address, requests, OBSERVE_LIMIT);
        let repeat = || within(network, repeat)?;
        match watched(self.contacts.as_ref(), &self.kept, repeat) {
            Ok(repeated) => {
                work.connections = Some(repeated.connections);
                work.certificate = repeated.certificate;
                // Of processes that nobody sees, it is not known what they write.
                if self.kept.pids().is_empty() {
                    work.unknown.insert("grown".to_owned(), why_unseen);
                } else {
                    work.grown = Some(self.grown_since(&before))
                }
            }
            Err(cause) => {
                let why = format!("{requests} requests in turn failed: {cause}");
                for fact in ["connections", "certificate", "grown", "upstream"] {
                    work.unknown.insert(fact.to_owned(), why.clone());
                }
            }
        }
        work
    }

    /// The files that it writes, as they are now.
    pub fn written(&self) -> Written {
        let mut sizes = crew::sizes(&self.kept.pids());
        // What a container prints, its engine writes.
        if let Held::Container(container) = &self.kept
            && let Some(path) = container.engine_log()
        {
            sizes.insert(path.to_owned(), log::length(path));
        }
        Written(sizes)
    }

    /// Which of its files have grown since then.
    pub fn grown_since(&self, before: &Written) -> Vec<GrownFile> {
        crew::grown(&before.0, &self.written().0)
    }

    /// How it ended by itself, if it has. Does not wait.
    pub fn died(&mut self) -> Option<String> {
        self.kept.died()
    }

    /// Why it was ended, if it is in contact with an address that has no part in the trial. It is
    /// looked at now and then, so this can be asked often.
    pub fn strayed(&mut self) -> Option<String> {
        let Self { kept, contacts, .. } = self;
        let checked = contacts.as_mut()?.check_at_times(|| kept.pids());
        let cause = checked.err()?;
        kept.end();
        Some(cause.to_string())
    }

    /// Stops it, gracefully and then by force, and sees to it that nothing is left. What ran
    /// already goes on.
    ///
    /// # Errors
    /// When a process or a listening socket is left; everything was tried by then.
    pub fn stop(mut self) -> Result<StopFacts, StageError> {
        let began = Instant::now();
        let before = if self.is_kept() {
            self.kept.pids()
        } else {
            Vec::new()
        };
        let network = self.network.take();
        let network = network.as_ref();
        let sockets = within(network, || listeners::held_by(&before)).unwrap_or_default();
        let gone = self.kept.stop(&self.ending.signal, self.ending.grace);
        let took_s = began.elapsed().as_secs_f64();
        if let Held::Container(container) = &mut self.kept {
            container.end();
        }
        let running = if self.is_kept() {
            self.kept.pids()
        } else {
            Vec::new()
        };
        let running = running.iter();
        let mut left: Vec<String> = running
            .map(|pid| format!("process {pid} still runs"))
            .collect();
        let after = within(network, listeners::listeners).unwrap_or_default();
        let open = sockets.iter().filter(|socket| after.contains(socket));
        left.extend(open.map(|socket| format!("{} is still listened on", socket.address)));
        if !left.is_empty() {
            let cause = Cause::Survived {
                left: left.join(", "),
            };
            return Err(StageError::new(Step::Stop, cause).with_message(self.log_tail()));
        }
        let status = self.kept.status().map(str::to_owned);
        Ok(StopFacts {
            graceful: gone == Gone::Gracefully,
            took_s,
            status,
        })
    }
}

/// Asks while its contacts are watched, where they are.
fn watched<T>(contacts: Option<&Contacts>, kept: &Held, ask: impl FnOnce() -> T) -> T {
    match contacts {
        Some(contacts) => contacts.watch(&kept.pids(), ask),
        None => ask(),
    }
}
