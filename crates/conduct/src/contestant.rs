//! What answers in a trial: a program on the stage, or a built-in server in its place.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use bakeoff_origin::{ControlError, Counts};
use bakeoff_plan::{
    Action, CertificateKey, Contender, Delay, Demand, Expected, KnownBy, Protocol, Request,
    ServerChoice, Workload, format_duration,
};
use bakeoff_probe::{Network, within};
use bakeoff_record::{Pinned, Role, Step, StopFacts, When};
use bakeoff_stage::{
    Boxed, Changing, Fetched, Helper, Running, Stage, StageError, Surroundings, Written,
};

mod staged;

use crate::site::{Part, StartOrder};
use staged::Sampling;

/// Time that a server has from its start to its first right answer.
const START_WITHIN: Duration = Duration::from_secs(20);
/// Time that a built-in server has.
const HELPER_WITHIN: Duration = Duration::from_secs(10);
/// What the upstream answers where the plan leaves the answer open.
const UPSTREAM_BODY: &[u8] = b"Hello from upstream\n";
/// Requests that must each be counted by the upstream to be taken for its own.
const ASKED_FOR_COUNTS: u32 = 3;
/// How late a slow upstream answers, and for how long it does.
const SLOW_BY: Duration = Duration::from_millis(500);
const SLOW_FOR: Duration = Duration::from_secs(1);
/// What a built-in server says before the address of its counts.
const COUNTS_PREFIX: &str = "counts on http://";

/// Where a trial's servers run and write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) stage: &'a Stage,
    /// This program, which the built-in servers are a part of.
    pub(crate) bakeoff: &'a Path,
    /// Folder of the trial's logs.
    pub(crate) logs: &'a Path,
    /// Processors of each role; whoever watches has those of the engine. Any where empty.
    pub(crate) pinned: &'a Pinned,
    /// Processors of a role that may use any. Whoever starts it may be on the engine's alone, and
    /// what is started stays there unless it is moved. Empty leaves it where it starts.
    pub(crate) allowed: &'a [usize],
    /// Seed of what the origin draws: the plan's, so that each round draws the same.
    pub(crate) seed: u64,
}

/// An answer, and whose it is.
#[derive(Debug)]
pub struct Answered {
    /// What came.
    pub fetched: Fetched,
    /// Whether the upstream had a part in it, as far as that is known.
    pub of_upstream: bool,
}

/// What answers in a trial, and the upstream behind it.
#[derive(Debug)]
pub struct Contestant {
    /// What is measured.
    pub server: Running,
    /// The upstream of a proxied workload.
    pub origin: Option<Running>,
    /// Where the upstream gives its counts; also of an origin that is asked directly.
    control: Option<SocketAddr>,
    /// Whether something is demanded of the upstream.
    demanded: bool,
    /// The server's files as they were noted last.
    written: Option<Written>,
    sampling: Sampling,
    /// Processors of each role.
    pinned: Pinned,
    /// The role of `server`.
    role: Role,
}

impl<'a> Place<'a> {
    /// Processors that a role may use, of which `given` are those that it is pinned to.
    fn cpus(&self, given: &'a [usize]) -> &'a [usize] {
        match given {
            [] => self.allowed,
            given => given,
        }
    }
}

impl Contestant {
    /// Starts what a trial needs; `step` is called with each step before it begins.
    pub(crate) fn start(
        place: Place<'_>,
        order: &StartOrder<'_>,
        step: &mut dyn FnMut(Step),
    ) -> Result<Self, StageError> {
        let StartOrder {
            contender,
            workload,
            part,
            ..
        } = *order;
        let built_in = match &contender.server {
            _ if part == Part::Upstream => {
                return Self::start_upstream(place, &ordered(workload, order.action), step);
            }
            ServerChoice::Program { .. }
            | ServerChoice::Command(_)
            | ServerChoice::Url(_)
            | ServerChoice::Container(_) => None,
            ServerChoice::Yardstick => Some("yardstick"),
            ServerChoice::Origin => Some("origin"),
        };
        if let Some(name) = built_in {
            step(Step::Start);
            let (cpus, protocol) = (place.cpus(&place.pinned.server), workload.protocol);
            let server = start_helper(place, name, cpus, workload, protocol);
            let server = server.map_err(in_the_servers_place)?;
            let demanded = workload.origin.is_some() && name == "origin";
            return Ok(Self {
                demanded,
                control: control_of(&server),
                ..Self::of(server, place)
            });
        }
        step(Step::Prepare);
        let boxed = Boxed::of(contender, place.stage.servers(), place.stage.listening())?;
        let (origin, upstream) = match part {
            Part::ServerBefore(upstream) => (None, Some(upstream)),
            Part::Whole | Part::Upstream if workload.proxied => {
                step(Step::Origin);
                let cpus = place.cpus(&place.pinned.origin);
                let asked = ordered(workload, order.action);
                let origin = start_upstream(place, cpus, &asked, boxed.clone())?;
                let address = origin.address();
                (Some(origin), Some(address))
            }
            Part::Whole | Part::Upstream => (None, None),
        };
        let surroundings = Surroundings {
            origin: upstream,
            cpus: place.cpus(&place.pinned.server).to_vec(),
            boxed,
            log_folder: place.logs.to_owned(),
            action: order.action,
        };
        let server = start_server(place.stage, contender, workload, &surroundings, step)?;
        let control = origin.as_ref().and_then(control_of);
        Ok(Self {
            origin,
            control,
            demanded: workload.origin.is_some(),
            ..Self::of(server, place)
        })
    }

    /// Starts the upstream of a server on another site.
    fn start_upstream(
        place: Place<'_>,
        workload: &Workload,
        step: &mut dyn FnMut(Step),
    ) -> Result<Self, StageError> {
        step(Step::Origin);
        let cpus = place.cpus(&place.pinned.origin);
        let upstream = start_upstream(place, cpus, workload, None)?;
        Ok(Self {
            control: control_of(&upstream),
            demanded: workload.origin.is_some(),
            role: Role::Origin,
            ..Self::of(upstream, place)
        })
    }

    fn of(server: Running, place: Place<'_>) -> Self {
        Self {
            server,
            origin: None,
            control: None,
            demanded: false,
            written: None,
            sampling: Sampling::default(),
            pinned: place.pinned.clone(),
            role: Role::Server,
        }
    }

    /// Stops the server, then the origin behind it. A server that ran already goes on.
    pub(crate) fn stop_all(self) -> Result<Option<StopFacts>, StageError> {
        let Self { server, origin, .. } = self;
        let stopped = server.is_kept().then(|| server.stop()).transpose();
        let origin = origin.map(Running::stop).transpose();
        let stopped = stopped?;
        origin?;
        Ok(stopped)
    }

    /// Has the origin do what the workload demands of it, or with `begin` false the right answer
    /// at once: what is checked before and after the load is what a proxy makes of a right answer.
    pub(crate) fn behave(&self, begin: bool) -> Result<(), ControlError> {
        match self.control {
            Some(control) if self.demanded => {
                let behave = || bakeoff_origin::behave(control, begin).map(drop);
                within(self.upstreams_network(), behave).unwrap_or_else(|source| {
                    let address = control;
                    Err(ControlError::Ask { address, source })
                })
            }
            _ => Ok(()),
        }
    }

    /// Asks the server outside of a load. That the upstream had a part in the answer is seen by the
    /// body, and where the server has made another of it by the upstream's counts: a check of its
    /// health may fall into one request, and not into several.
    ///
    /// # Errors
    /// Where no whole answer comes within `limit`.
    pub fn ask(
        &self,
        request: &Request,
        protocol: Protocol,
        limit: Duration,
    ) -> Result<Answered, StageError> {
        let mut first = self.ask_once(request, protocol, limit)?;
        let mut asked = 1;
        while first.of_upstream && first.fetched.body != UPSTREAM_BODY && asked < ASKED_FOR_COUNTS {
            first.of_upstream = self.ask_once(request, protocol, limit)?.of_upstream;
            asked += 1;
        }
        Ok(first)
    }

    fn ask_once(
        &self,
        request: &Request,
        protocol: Protocol,
        limit: Duration,
    ) -> Result<Answered, StageError> {
        let counted = || self.origin_counts().map(|counts| counts.requests);
        let before = counted();
        let fetched = self.server.fetch(request, protocol, When::Before, limit)?;
        let of_upstream = match (before, counted()) {
            (Some(before), Some(after)) => after > before || fetched.body == UPSTREAM_BODY,
            // Who does not count is taken to be asked.
            _ => self.origin.is_some(),
        };
        Ok(Answered {
            fetched,
            of_upstream,
        })
    }

    /// Whether this can be done under load.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn may_act(&mut self, action: Action) -> Result<(), String> {
        if !action.is_of_upstream() {
            return Changing::of(&mut self.server).may_act(action);
        }
        match self.control {
            None => Err("it has no upstream in this workload".to_owned()),
            Some(_) if action == Action::UpstreamSlow && self.demanded => {
                Err("what the workload demands of the upstream leaves no room for it".to_owned())
            }
            Some(_) => Ok(()),
        }
    }

    /// Does this to the server, or to the upstream.
    ///
    /// # Errors
    /// Why it could not be done, as text that follows "failed to".
    pub(crate) fn act(&mut self, action: Action) -> Result<(), String> {
        let control = self.control.ok_or("find the upstream");
        match action {
            Action::UpstreamRestart => {
                let restarted = bakeoff_origin::restart(control?);
                restarted.map(drop).map_err(|error| error.to_string())
            }
            Action::UpstreamSlow => slow_down(control?),
            _ => Changing::of(&mut self.server).act(action),
        }
    }

    /// What the upstream has counted since its start; `None` where there is no upstream or it
    /// does not say.
    pub(crate) fn origin_counts(&self) -> Option<Counts> {
        let control = self.control?;
        let counts = || bakeoff_origin::counts(control).ok();
        within(self.upstreams_network(), counts).ok()?
    }

    /// The network that the upstream is in; `None` for that of this process.
    fn upstreams_network(&self) -> Option<&Network> {
        self.origin.as_ref().and_then(Running::network)
    }
}

/// Starts what a contender is, or finds what runs already.
fn start_server(
    stage: &Stage,
    contender: &Contender,
    workload: &Workload,
    surroundings: &Surroundings,
    step: &mut dyn FnMut(Step),
) -> Result<Running, StageError> {
    match &contender.server {
        ServerChoice::Command(own) => {
            step(Step::Start);
            stage.start_command(contender, own, workload, surroundings, START_WITHIN)
        }
        ServerChoice::Url(running) => {
            step(Step::Start);
            stage.attach(contender, running, workload, surroundings, START_WITHIN)
        }
        ServerChoice::Container(own) => {
            step(Step::Start);
            stage.start_container(contender, own, workload, surroundings, START_WITHIN)
        }
        ServerChoice::Program { .. } | ServerChoice::Yardstick | ServerChoice::Origin => {
            let prepared = stage.prepare(contender, workload, surroundings)?;
            step(Step::CheckConfig);
            prepared.check_config()?;
            step(Step::Start);
            prepared.start(START_WITHIN)
        }
    }
}

/// Starts a contender as a trial would, for `bakeoff debug`.
///
/// # Errors
/// Those of the trial. An origin that does not begin what is demanded of it goes on with
/// right answers.
pub fn start_for_debugging(
    stage: &Stage,
    bakeoff: &Path,
    logs: &Path,
    contender: &Contender,
    workload: &Workload,
) -> Result<Contestant, StageError> {
    let place = Place {
        stage,
        bakeoff,
        logs,
        pinned: &Pinned::default(),
        allowed: &[],
        seed: 1,
    };
    let asked = workload.asked_of(contender);
    let order = StartOrder {
        contender,
        workload: &asked.filled(),
        logs,
        part: Part::Whole,
        action: None,
    };
    let contestant = Contestant::start(place, &order, &mut |_| {})?;
    let _ = contestant.behave(true);
    Ok(contestant)
}

/// Has an upstream answer late for a while.
fn slow_down(control: SocketAddr) -> Result<(), String> {
    bakeoff_origin::behave(control, true).map_err(|error| error.to_string())?;
    let end = move || {
        std::thread::sleep(SLOW_FOR);
        // An upstream that is gone by then answers nobody.
        let _ = bakeoff_origin::behave(control, false);
    };
    let thread = std::thread::Builder::new().name("slow".to_owned());
    let begun = thread.spawn(end).map(drop);
    begun.map_err(|error| format!("start a thread: {error}"))
}

/// The workload with what the upstream has to be started for: it begins that at an order.
fn ordered(workload: &Workload, action: Option<Action>) -> Cow<'_, Workload> {
    if action != Some(Action::UpstreamSlow) || workload.origin.is_some() {
        return Cow::Borrowed(workload);
    }
    let origin = Some(Demand {
        delay: Some(Delay::Constant(SLOW_BY)),
        ..Demand::default()
    });
    Cow::Owned(Workload {
        origin,
        ..workload.clone()
    })
}

fn control_of(helper: &Running) -> Option<SocketAddr> {
    let said = helper.said(COUNTS_PREFIX)?;
    said.split('/').next()?.parse().ok()
}

/// Starts the upstream of a server, in the network of its box where it has one.
fn start_upstream(
    place: Place<'_>,
    cpus: &[usize],
    workload: &Workload,
    boxed: Option<Boxed>,
) -> Result<Running, StageError> {
    let helper = Helper {
        boxed,
        ..helper(place, "origin", cpus, workload, Protocol::H1)
    };
    place.stage.start_helper(&helper)
}

/// Starts a built-in server that gives the workload's right answer over `protocol`: the workload's
/// in the server's place, HTTP/1.1 behind it.
fn start_helper(
    place: Place<'_>,
    name: &str,
    cpus: &[usize],
    workload: &Workload,
    protocol: Protocol,
) -> Result<Running, StageError> {
    let helper = helper(place, name, cpus, workload, protocol);
    place.stage.start_helper(&helper)
}

fn helper(
    place: Place<'_>,
    name: &str,
    cpus: &[usize],
    workload: &Workload,
    protocol: Protocol,
) -> Helper {
    let mut command: Vec<String> = vec![place.bakeoff.display().to_string(), name.to_owned()];
    // Where an upstream or a reference is there, all requests expect one answer.
    let answer = &workload.requests.first().expect;
    command.extend(["--status".to_owned(), answer.status.to_string()]);
    command.extend(["--threads".to_owned(), cpus.len().max(1).to_string()]);
    command.extend(["--protocol".to_owned(), protocol.name().to_owned()]);
    if let Some(demand) = workload.origin.as_ref().filter(|_| name == "origin") {
        command.extend(demand_flags(demand, place.seed));
    }
    Helper {
        name: name.to_owned(),
        command,
        cpus: cpus.to_vec(),
        log: place.logs.join(format!("{name}.log")),
        within: HELPER_WITHIN,
        certificate: protocol.is_secure().then(CertificateKey::default),
        boxed: None,
        body: Some(body_of(answer)),
    }
}

/// Flags of `bakeoff origin` that say `demand`; it begins at an order.
fn demand_flags(demand: &Demand, seed: u64) -> Vec<String> {
    let mut flags = vec!["--later".to_owned()];
    let mut flag = |name: &str, value: Option<String>| {
        flags.extend(value.map(|value| format!("--{name}={value}")));
    };
    flag("seed", Some(seed.to_string()));
    flag("delay", demand.delay.map(|delay| delay.to_string()));
    flag("errors", Some(demand.errors.to_string()));
    flag("error-status", Some(demand.error_status.to_string()));
    flag("resets", Some(demand.resets.to_string()));
    flag("closes", Some(demand.closes.to_string()));
    let slow = demand.slow_body;
    flag(
        "slow-body",
        slow.map(|slow| format!("{}:{}", slow.bytes, format_duration(slow.every))),
    );
    flag("workers", demand.workers.map(|workers| workers.to_string()));
    flag("queue", demand.queue.map(|queue| queue.to_string()));
    flags
}

/// The stage takes a built-in server for the upstream; where it is what is measured, it failed at
/// the server's own step.
fn in_the_servers_place(error: StageError) -> StageError {
    match error.step {
        Step::Origin => StageError {
            step: Step::Start,
            ..error
        },
        _ => error,
    }
}

/// What an upstream answers with.
fn body_of(answer: &Expected) -> Vec<u8> {
    match answer.body_bytes() {
        Some(body) => body,
        // What is behind the server is the upstream's to say.
        None if answer.known_by != KnownBy::Plan => UPSTREAM_BODY.to_vec(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::Builtin;
    use bakeoff_stage::{Servers, StageOptions};

    use super::*;

    /// Starts what a trial of the plan `smoke` needs, where no program can be kept; returns the
    /// steps that were reported, and the one that failed.
    fn failed_at(id: &str, part: Part) -> (Vec<Step>, Step) {
        let text = bakeoff_plan::builtin_plan("smoke").unwrap();
        let plan = bakeoff_plan::parse(text, "smoke", Path::new("/"), &Builtin).unwrap();
        let trials = bakeoff_plan::trials(&plan);
        let trial = trials.iter().find(|trial| trial.id == id).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::new(StageOptions {
            run_folder: folder.path().join("run"),
            keeper: vec!["/bin/false".to_owned()],
            servers: Servers::new(None),
            listening: Default::default(),
        });
        let place = Place {
            stage: &stage.unwrap(),
            bakeoff: Path::new("/bin/false"),
            logs: &folder.path().join("logs/trial"),
            pinned: &Pinned::default(),
            allowed: &[],
            seed: 1,
        };
        let order = StartOrder {
            contender: &trial.contender,
            workload: &trial.workload,
            logs: place.logs,
            part,
            action: None,
        };
        let mut steps = Vec::new();
        let mut step = |step| steps.push(step);
        let started = Contestant::start(place, &order, &mut step);
        (steps, started.unwrap_err().step)
    }

    #[test]
    fn a_built_in_server_fails_at_the_step_of_the_part_that_it_plays() {
        for id in ["r1-yardstick-synthetic-c5", "r1-origin-proxy-c5"] {
            let failed = failed_at(id, Part::Whole);
            assert_eq!(failed, (vec![Step::Start], Step::Start), "{id}");
        }
        let behind_nginx = (vec![Step::Prepare, Step::Origin], Step::Origin);
        let nginx = "r1-nginx-default-proxy-c5";
        assert_eq!(failed_at(nginx, Part::Whole), behind_nginx);
        let alone = (vec![Step::Origin], Step::Origin);
        assert_eq!(failed_at(nginx, Part::Upstream), alone);
        // Its upstream is elsewhere, so that the server itself comes next.
        let elsewhere = Part::ServerBefore(([192, 0, 2, 1], 80).into());
        let (steps, _) = failed_at(nginx, elsewhere);
        assert!(!steps.contains(&Step::Origin), "{steps:?}");
    }
}
