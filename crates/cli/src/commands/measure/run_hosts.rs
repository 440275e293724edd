//! `bakeoff run PLAN --hosts FILE`: runs the servers, their upstream and the load on other hosts.
//!
//! The campaign is the same as without hosts; only where things run is different. Each load is
//! divided among the generators, which start it together, and their results are kept next to the
//! sum. Each server is started and stopped by the agent on its host.

mod again;
mod engines;
mod library;
mod limits;
mod opened;
mod own_folders;
#[cfg(test)]
mod scripts;
mod site;
mod stage;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bakeoff_conduct::{Apart, Generated, Generators, Here, Lacking, LoadOrder, Site, UnderWay};
use bakeoff_hosts::{ClockOffset, HostError, Own, Place, Session, Way, open};
use bakeoff_load::Threads;
use bakeoff_plan::{Cpus, Pinning, Trial};
use bakeoff_record::{
    Addresses, ClockReading, Generator, HostClock, HostFacts, HostRole, Hosts, LinkFacts,
    LoadResult, LostHost, Machine, Usage, When,
};
use bakeoff_stage::Listening;

use super::agent;
use super::generators::{self, Engine, LostPart, Progress, Together};
use super::hosts::{at_once, links};
pub(super) use opened::Campaign;
use site::FarSite;
use stage::{FarHost, Gone};

/// The kernel of this machine and of its network namespaces.
const OWN_KERNEL: u32 = 0;

/// The hosts of a campaign.
#[derive(Debug)]
pub(super) struct Far {
    generators: Arc<Shared>,
    /// The host of servers, and that of the upstream; `None` for home. One host with both roles
    /// is one.
    server: Option<Arc<FarHost>>,
    origin: Option<Arc<FarHost>>,
    /// Whether server and upstream are on one host.
    is_one_site: bool,
    listening: Listening,
}

/// What every load of a campaign shares.
struct Shared {
    own: Own,
    owner: String,
    places: Vec<Place>,
    /// A session with each of them; `None` after it was lost, until the next load.
    sessions: Mutex<Vec<Option<Session>>>,
    /// The engine of each.
    engines: Vec<Engine>,
    /// A number for the kernel of each host, by its name; home's for others.
    kernels: BTreeMap<String, u32>,
    links: Mutex<Vec<LinkFacts>>,
    server: Place,
    origin: Place,
    /// What the record must not hold; `None` where the user wants it there.
    addresses: Option<Addresses>,
    /// Files that a process may open on the host of each generator; `None` for as many as it likes.
    open_files: Vec<Option<u64>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.places.iter().map(|place| &place.name);
        out.debug_list().entries(names).finish()
    }
}

impl Far {
    /// Where servers that run here must listen for others to reach them.
    pub(super) fn listening(&self) -> Listening {
        self.listening.clone()
    }

    /// What the plan says of the processors of this machine. Those of a role elsewhere are its
    /// host's.
    pub(super) fn pinning_here(&self, pinning: &Pinning) -> Pinning {
        let shared = &self.generators;
        let is_home = |place: &Place| place.way == Way::Home;
        let of = |cpus: &Cpus, is_here: bool| if is_here { cpus.clone() } else { Cpus::Auto };
        Pinning {
            server: of(&pinning.server, is_home(&shared.server)),
            engine: of(&pinning.engine, shared.places.iter().any(is_home)),
            origin: of(&pinning.origin, is_home(&shared.origin)),
        }
    }

    /// The machine that servers run on, if that is not this one.
    pub(super) fn machine(&self) -> Option<Machine> {
        let facts = self.server.as_ref()?.facts()?;
        Some(*facts.machine)
    }

    /// Where contestants run, `here` being this machine.
    pub(super) fn site(&self, here: Here) -> Box<dyn Site> {
        let far = |host: &Arc<FarHost>| -> Box<dyn Site> { Box::new(FarSite(host.clone())) };
        match (&self.server, &self.origin) {
            (None, None) => Box::new(here),
            (Some(server), _) if self.is_one_site => far(server),
            (None, Some(origin)) => Box::new(Apart::new(Box::new(here), far(origin))),
            (Some(server), None) => Box::new(Apart::new(far(server), Box::new(here))),
            (Some(server), Some(origin)) => Box::new(Apart::new(far(server), far(origin))),
        }
    }

    /// Addresses that the record must not hold.
    pub(super) fn addresses(&self) -> Option<&Addresses> {
        self.generators.addresses.as_ref()
    }

    /// The generators, after what the network to them carries was measured.
    pub(super) fn measured(&self, should_stop: &dyn Fn() -> bool) -> Box<dyn Generators> {
        let links = self.links(When::Before, should_stop);
        self.generators.keep_links(links);
        Box::new(Loads(self.generators.clone()))
    }

    /// Measures what the network to the generators carries: each alone, then all together.
    pub(super) fn links(&self, when: When, should_stop: &dyn Fn() -> bool) -> Vec<LinkFacts> {
        let Some(server) = &self.server else {
            let shared = &self.generators;
            return match open(&shared.server, &shared.own, &shared.owner) {
                Ok(mut home) => {
                    let address = self.listening.address;
                    let links = self.links_of(&mut home, address, when, should_stop);
                    links.unwrap_or_else(|error| links::unmeasured(&error.to_string()))
                }
                Err(error) => links::unmeasured(&error.to_string()),
            };
        };
        let known = server.address();
        let measured = server.with_session(|session| {
            let address = server_address(session, known);
            self.links_of(session, address, when, should_stop)
        });
        measured.unwrap_or_else(|gone| links::unmeasured(&gone.text))
    }

    /// Fails where the session of the server does. A session of a generator whose link could not
    /// be measured is given up, because what it is at is not known: the next load opens another. A
    /// generator on the server's own host has no link to it.
    fn links_of(
        &self,
        server: &mut Session,
        address: IpAddr,
        when: When,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Vec<LinkFacts>, HostError> {
        let (shared, from) = (&self.generators, server.host().to_owned());
        let mut slots = shared.sessions();
        let linked = slots.iter_mut().flatten().filter(|it| it.host() != from);
        let mut sessions: Vec<&mut Session> = linked.collect();
        let found = links::measure_all(server, address, &mut sessions, should_stop);
        give_up(&mut slots, |name| match &found {
            Ok(found) => found.iter().any(|link| link.failed_from(name)),
            Err(_) => true,
        });
        let facts = found?
            .into_iter()
            .map(|link| links::noted(&from, link, when));
        Ok(facts.flatten().collect())
    }
}

/// Ends the sessions with the hosts of these names.
fn give_up(sessions: &mut [Option<Session>], is_lost: impl Fn(&str) -> bool) {
    for slot in sessions {
        if slot.as_ref().is_some_and(|session| is_lost(session.host())) {
            *slot = None;
        }
    }
}

/// Where a server on the host of a session listens.
fn server_address(session: &Session, known: Option<IpAddr>) -> IpAddr {
    let asked = session.hello().address.as_ref();
    let asked = asked.and_then(|it| it.parse().ok());
    let any = IpAddr::from([127, 0, 0, 1]);
    known.or(asked).unwrap_or(any)
}

impl Shared {
    fn sessions(&self) -> std::sync::MutexGuard<'_, Vec<Option<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_links(&self, links: Vec<LinkFacts>) {
        *self.links.lock().unwrap_or_else(PoisonError::into_inner) = links;
    }

    /// The hosts of a load, as far as they are known before it; of one with an upstream, if
    /// `proxied`.
    fn hosts(&self, proxied: bool) -> Hosts {
        let server = [(&self.server, HostRole::Server)];
        let origin = proxied.then_some((&self.origin, HostRole::Origin));
        let generators = self.places.iter();
        let generators = generators.map(|place| (place, HostRole::Generator));
        let each = server.into_iter().chain(origin).chain(generators);
        let mut hosts: Vec<HostFacts> = Vec::new();
        for (place, role) in each {
            match hosts.iter_mut().find(|host| host.name == place.name) {
                Some(host) => host.roles.push(role),
                None => hosts.push(self.facts_of(place, role)),
            }
        }
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        Hosts {
            hosts,
            links: links.clone(),
            generators: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// A host before anything was seen of it.
    fn facts_of(&self, place: &Place, role: HostRole) -> HostFacts {
        HostFacts {
            name: place.name.clone(),
            transport: place.way.name().to_owned(),
            roles: vec![role],
            kernel: self.kernels.get(&place.name).copied().unwrap_or(OWN_KERNEL),
            clock: None,
            usage: None,
        }
    }

    /// Reaches the hosts again that were lost since an earlier load began, in one attempt.
    fn reach_again(&self, sessions: &mut [Option<Session>]) -> Result<(), HostError> {
        let reached = at_once(self.places.iter().zip(sessions), |(place, slot)| {
            // Between two loads nobody asks it for anything, so that its end is not known.
            if slot.as_mut().is_some_and(|it| it.check().is_err()) {
                *slot = None;
            }
            if slot.is_none() {
                *slot = Some(open(place, &self.own, &self.owner)?);
            }
            Ok(())
        });
        reached.into_iter().collect()
    }

    /// Carries out a load on all hosts; a host that was lost has no session any more.
    fn carry_out(&self, sent: &Sent, progress: &Progress) -> anyhow::Result<Together> {
        let mut slots = self.sessions();
        self.reach_again(&mut slots)?;
        let mut sessions: Vec<&mut Session> = slots.iter_mut().flatten().collect();
        let done = generators::carry_out(&mut sessions, &sent.load, &sent.threads, progress);
        let lost: Vec<String> = match &done {
            Ok(together) => together
                .lost
                .iter()
                .map(|it| it.error.host.clone())
                .collect(),
            // What a session is at then is not known.
            Err(_) => self.places.iter().map(|place| place.name.clone()).collect(),
        };
        give_up(&mut slots, |name| lost.iter().any(|lost| lost == name));
        done
    }
}

/// A load as it is sent.
struct Sent {
    load: agent::Load,
    threads: Vec<Threads>,
}

/// The generators of a campaign.
#[derive(Debug)]
struct Loads(Arc<Shared>);

impl Generators for Loads {
    fn begin(&self, order: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String> {
        let spec = order.spec(Threads {
            count: 1,
            pin: Vec::new(),
            part: None,
        })?;
        let clients = spec.load.clients();
        let hosts = self.0.engines.len();
        let threads = generators::divided(clients, &self.0.engines).ok_or_else(|| {
            format!(
                "divide {clients} clients over {hosts} hosts: expected as many clients as hosts"
            )
        })?;
        let progress = Arc::new(Progress::default());
        let warmup = Duration::from_secs_f64(spec.load.warmup_s);
        let duration = Duration::from_secs_f64(spec.load.duration_s);
        let load = agent::Load::new(spec, None);
        let load = load.map_err(|error| format!("send the load: {error:#}"))?;
        let (shared, sent) = (self.0.clone(), Sent { load, threads });
        let known = shared.hosts(order.trial.workload.proxied);
        let is_open = shared.addresses.is_none();
        let thread = {
            let progress = progress.clone();
            let load = move || shared.carry_out(&sent, &progress);
            std::thread::Builder::new()
                .name("generators".to_owned())
                .spawn(load)
        };
        let thread = thread.map_err(|error| format!("start a thread: {error}"))?;
        Ok(Box::new(FarLoad {
            progress,
            warmup,
            duration,
            known,
            is_open,
            thread,
        }))
    }

    fn are_here(&self) -> bool {
        false
    }

    fn shortage(&self, clients: u32) -> Option<Lacking> {
        let shared = &self.0;
        let divided = generators::divided(clients, &shared.engines)?;
        let names = shared.places.iter().map(|place| place.name.as_str());
        let hosts = names.zip(divided).zip(&shared.open_files);
        let hosts = hosts.map(|((name, threads), limit)| (name, threads, *limit));
        limits::shortage(hosts, clients)
    }

    fn reach_again(&self) -> Result<(), LostHost> {
        let mut sessions = self.0.sessions();
        let reached = again::attempted(|| self.0.reach_again(&mut sessions));
        reached.map_err(|error| Gone::from(error).into_record())
    }

    fn hosts(&self, trial: &Trial) -> Option<Hosts> {
        Some(self.0.hosts(trial.workload.proxied))
    }
}

/// A load on other hosts.
struct FarLoad {
    progress: Arc<Progress>,
    warmup: Duration,
    duration: Duration,
    known: Hosts,
    /// Whether messages of other programs, which may hold addresses, may be shown.
    is_open: bool,
    thread: JoinHandle<anyhow::Result<Together>>,
}

impl UnderWay for FarLoad {
    fn window(&self) -> Option<(Instant, Instant)> {
        let (_, start) = self.progress.start.get()?;
        let window = *start + self.warmup;
        Some((window, window + self.duration))
    }

    fn live(&self) -> (u64, u64) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (of(&self.progress.ok), of(&self.progress.errors))
    }

    fn stop(&self) {
        self.progress.stop.store(true, Ordering::Relaxed);
    }

    fn is_over(&mut self) -> bool {
        self.thread.is_finished()
    }

    fn finish(self: Box<Self>) -> Generated {
        let start_ns = self
            .progress
            .start
            .get()
            .map_or(0, |(start_ns, _)| *start_ns);
        match self.thread.join() {
            Ok(Ok(together)) => generated(together, self.known, start_ns, self.warmup),
            Ok(Err(error)) => never_begun(&error, self.known, self.is_open),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// A load that no host began.
fn never_begun(error: &anyhow::Error, mut hosts: Hosts, is_open: bool) -> Generated {
    let mut failed = format!("{error:#}");
    let mut away = None;
    if let Some(error) = error.downcast_ref::<HostError>() {
        let lost = LostHost {
            host: error.host.clone(),
            at_s: None,
            message: error.cause.reason(),
        };
        away = error.cause.is_loss().then(|| lost.clone());
        hosts.lost.push(lost);
        if !is_open {
            failed = error.without_messages();
        }
    }
    Generated {
        hosts: Some(hosts),
        failed: Some(failed),
        away,
        ..Generated::default()
    }
}

fn generated(together: Together, mut hosts: Hosts, start_ns: u64, warmup: Duration) -> Generated {
    let Together { parts, lost } = together;
    for part in parts {
        let host = hosts.hosts.iter_mut().find(|host| host.name == part.host);
        if let Some(host) = host {
            let before = reading(part.before);
            let after = part.after.map(reading);
            host.clock = after.map(|after| HostClock { before, after });
            // Where the server runs too, its samples are of the same host, but not of this engine.
            let is_servers = host.roles.contains(&HostRole::Server);
            host.usage = part
                .usage
                .map(|usage| if is_servers { trees_of(usage) } else { usage });
        }
        let began_ns = part.began_ns;
        let began_ns = began_ns.map(|began| began as i64 - start_ns as i64);
        hosts.generators.push(Generator {
            host: part.host,
            began_ns,
            result: part.result,
        });
    }
    for LostPart { error, after_s } in lost {
        hosts.lost.push(LostHost {
            at_s: Some(after_s - warmup.as_secs_f64()),
            message: error.cause.reason(),
            host: error.host,
        });
    }
    let results: Vec<LoadResult> = hosts
        .generators
        .iter()
        .map(|part| part.result.clone())
        .collect();
    let merged = LoadResult::merge(&results);
    let failed = match (hosts.lost.first(), &merged) {
        (Some(lost), _) => Some(lost.to_string()),
        (None, Err(error)) => Some(error.to_string()),
        (None, Ok(_)) => None,
    };
    Generated {
        result: merged.ok(),
        hosts: Some(hosts),
        failed,
        ..Generated::default()
    }
}

/// The processes alone of what was sampled.
fn trees_of(usage: Usage) -> Usage {
    Usage {
        trees: usage.trees,
        ..Usage::default()
    }
}

fn reading(clock: ClockOffset) -> ClockReading {
    ClockReading {
        offset_ns: clock.offset_ns,
        error_ns: clock.error_ns,
        rtt_ns: clock.rtt_ns,
    }
}

#[cfg(test)]
mod tests;
