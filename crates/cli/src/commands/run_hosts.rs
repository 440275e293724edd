//! `bakeoff run PLAN --hosts FILE`: the servers here, and the load from other hosts.
//!
//! The campaign is the same as without hosts. Only what carries out its loads is another: each is
//! divided over the generators, which begin it together, and their parts are kept beside the sum.

use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bakeoff_conduct::{Generated, Generators, LoadOrder, UnderWay};
use bakeoff_hosts::{ClockOffset, HostError, Own, Place, Report, Session, Way, monotonic_ns, open};
use bakeoff_load::Threads;
use bakeoff_plan::{HOME, HostWay};
use bakeoff_record::{
    Addresses, ClockReading, Generator, HostClock, HostFacts, HostRole, Hosts, LinkFacts,
    LoadResult, LostHost, When,
};
use bakeoff_stage::Listening;

use super::agent;
use super::generators::{self, Together, Watch};
use super::hosts::{self, Wanted, links};
use crate::{exit, output};

/// The kernel of this machine and of its network namespaces.
const OWN_KERNEL: u32 = 0;

/// The generators of a campaign.
#[derive(Debug, Clone)]
pub(super) struct Far(Arc<Shared>);

struct Shared {
    own: Own,
    owner: String,
    places: Vec<Place>,
    /// A session with each of them; `None` after it was lost, until the next load.
    sessions: Mutex<Vec<Option<Session>>>,
    /// Threads of each.
    engines: Vec<u32>,
    /// A number for the kernel of each.
    kernels: Vec<u32>,
    links: Mutex<Vec<LinkFacts>>,
    /// What the record must not hold; `None` where the user wants it there.
    addresses: Option<Addresses>,
    listening: Listening,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.places.iter().map(|place| &place.name);
        out.debug_list().entries(names).finish()
    }
}

impl Far {
    /// Opens a session with each generator of the file. Servers and the upstream stay here.
    /// With `is_open` the record may hold their addresses.
    pub(super) fn open(file: &Path, is_open: bool) -> anyhow::Result<Self> {
        let hosts = hosts::read(file)?;
        let named = |name: &str| hosts.named(name).is_none_or(|it| it.way == HostWay::Home);
        for (role, name) in [
            ("server", &hosts.roles.server),
            ("origin", &hosts.roles.origin),
        ] {
            if !named(name) {
                return Err(exit::usage(format!(
                    "{}: `roles.{role}` is `{name}`; `bakeoff run` can start servers on `{HOME}` \
                     only: start bakeoff on that host, and name the others as generators",
                    file.display()
                )));
            }
        }
        let server = hosts.named(&hosts.roles.server);
        let listening = listening(file, server.and_then(|home| home.address.as_deref()))?;
        let wanted = hosts::generators(&hosts, &[])?;
        let wanted = wanted.into_iter().collect::<Result<Vec<Wanted>, _>>();
        let wanted = wanted.map_err(exit::not_valid)?;
        let (own, owner) = (hosts::own()?, hosts::owner());
        let (mut sessions, mut failed) = (Vec::new(), Vec::new());
        for opened in hosts::open_all(&wanted, &own, &owner) {
            match opened {
                Ok((session, took)) => {
                    let (name, ms) = (session.host(), took.as_millis());
                    output::note(&format!("host {name} is ready after {ms} ms"));
                    sessions.push(session);
                }
                Err(error) => failed.push(error.to_string()),
            }
        }
        if !failed.is_empty() {
            return Err(exit::not_valid(failed.join("\n")));
        }
        let engines = sessions.iter().map(half).collect();
        let kernels = hosts::kernels(OWN_KERNEL, &sessions);
        let mut addresses = hosts::addresses::of_file(&hosts);
        for session in &sessions {
            hosts::addresses::add_of(&mut addresses, session);
        }
        Ok(Self(Arc::new(Shared {
            own,
            owner,
            places: wanted.into_iter().map(|wanted| wanted.place).collect(),
            sessions: Mutex::new(sessions.into_iter().map(Some).collect()),
            engines,
            kernels,
            links: Mutex::default(),
            addresses: (!is_open).then_some(addresses),
            listening,
        })))
    }

    /// Where servers must listen for the generators to reach them.
    pub(super) fn listening(&self) -> Listening {
        self.0.listening.clone()
    }

    /// Addresses that the record must not hold.
    pub(super) fn addresses(&self) -> Option<&Addresses> {
        self.0.addresses.as_ref()
    }

    /// The generators, after what the network to them carries was measured.
    pub(super) fn measured(&self, should_stop: &dyn Fn() -> bool) -> Box<dyn Generators> {
        let links = self.links(When::Before, should_stop);
        *self.0.links.lock().unwrap_or_else(PoisonError::into_inner) = links;
        Box::new(self.clone())
    }

    /// Measures what the network to the generators carries: each alone, then all together.
    pub(super) fn links(&self, when: When, should_stop: &dyn Fn() -> bool) -> Vec<LinkFacts> {
        let home = Place {
            name: HOME.to_owned(),
            way: Way::Home,
            program: None,
        };
        let shared = &self.0;
        let mut server = match open(&home, &shared.own, &shared.owner) {
            Ok(server) => server,
            Err(error) => return links::unmeasured(&error),
        };
        let mut slots = shared.sessions();
        let mut sessions: Vec<&mut Session> = slots.iter_mut().flatten().collect();
        let address = shared.listening.address;
        let found = links::measure_all(&mut server, address, &mut sessions, should_stop);
        let found = match found {
            Ok(found) => found,
            Err(error) => return links::unmeasured(&error),
        };
        let facts = found.into_iter().map(|link| links::noted(HOME, link, when));
        facts.flatten().collect()
    }
}

/// Half of a host's processors, as on one machine.
fn half(session: &Session) -> u32 {
    match session.hello() {
        Some(Report::Hello { cpus, .. }) => (cpus / 2).max(1),
        _ => 1,
    }
}

fn listening(file: &Path, address: Option<&str>) -> anyhow::Result<Listening> {
    let fail = |found: &str| {
        exit::usage(format!(
            "{}: {found}; generators need an address of this machine: write `[hosts.{HOME}]` with \
             `address = \"10.0.0.1\"`",
            file.display()
        ))
    };
    let text = address.ok_or_else(|| fail(&format!("`hosts.{HOME}` has no address")))?;
    let address: IpAddr = text
        .parse()
        .map_err(|_| fail(&format!("`{text}` is no IP address")))?;
    Ok(Listening {
        address,
        names: Vec::new(),
    })
}

impl Shared {
    fn sessions(&self) -> std::sync::MutexGuard<'_, Vec<Option<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hosts of a load, as far as they are known before it; of one with an upstream, if
    /// `proxied`.
    fn hosts(&self, proxied: bool) -> Hosts {
        let upstream = proxied.then_some(HostRole::Origin);
        let home = HostFacts {
            name: HOME.to_owned(),
            transport: HOME.to_owned(),
            roles: [HostRole::Server].into_iter().chain(upstream).collect(),
            kernel: OWN_KERNEL,
            clock: None,
            usage: None,
        };
        let generators = self
            .places
            .iter()
            .zip(&self.kernels)
            .map(|(place, kernel)| HostFacts {
                name: place.name.clone(),
                transport: place.way.name().to_owned(),
                roles: vec![HostRole::Generator],
                kernel: *kernel,
                clock: None,
                usage: None,
            });
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        Hosts {
            hosts: std::iter::once(home).chain(generators).collect(),
            links: links.clone(),
            generators: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Reaches the hosts again that were lost in an earlier load.
    fn reach_again(&self, sessions: &mut [Option<Session>]) -> Result<(), HostError> {
        for (place, slot) in self.places.iter().zip(sessions) {
            if slot.is_none() {
                *slot = Some(open(place, &self.own, &self.owner)?);
            }
        }
        Ok(())
    }

    /// Carries out a load on all hosts; a host that was lost has no session any more.
    fn carry_out(&self, sent: &Sent, progress: &Progress) -> anyhow::Result<Together> {
        let mut slots = self.sessions();
        self.reach_again(&mut slots)?;
        let mut sessions: Vec<&mut Session> = slots.iter_mut().flatten().collect();
        let (packed, threads) = (&sent.packed, &sent.threads);
        let done = generators::carry_out(&mut sessions, packed, threads, &sent.load, progress);
        let lost: Vec<String> = match &done {
            Ok(together) => together.lost.iter().map(|it| it.host.clone()).collect(),
            // What a session is at then is not known.
            Err(_) => self.places.iter().map(|place| place.name.clone()).collect(),
        };
        for slot in slots.iter_mut() {
            if slot
                .as_ref()
                .is_some_and(|it| lost.iter().any(|name| name == it.host()))
            {
                *slot = None;
            }
        }
        done
    }
}

/// A load as it is sent.
struct Sent {
    packed: agent::Packed,
    threads: Vec<Threads>,
    load: bakeoff_plan::Load,
}

impl Generators for Far {
    fn begin(&self, order: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String> {
        let spec = order.spec(Threads {
            count: 1,
            pin: Vec::new(),
            part: None,
        })?;
        let clients = spec.load.clients();
        let hosts = self.0.engines.len();
        let threads = Threads::divide(clients, &self.0.engines).ok_or_else(|| {
            format!(
                "divide {clients} clients over {hosts} hosts: expected as many clients as hosts"
            )
        })?;
        let packed = agent::LoadOrder::pack(&spec, None, None);
        let sent = Sent {
            packed: packed.map_err(|error| format!("send the load: {error:#}"))?,
            threads,
            load: spec.load,
        };
        let (shared, progress) = (self.0.clone(), Arc::new(Progress::of(&sent.load)));
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
            known,
            is_open,
            thread,
        }))
    }

    fn are_here(&self) -> bool {
        false
    }
}

/// What passes between a load on other hosts and whoever follows it.
#[derive(Default)]
struct Progress {
    warmup: Duration,
    duration: Duration,
    stop: AtomicBool,
    start_ns: AtomicU64,
    window: OnceLock<(Instant, Instant)>,
    ok: AtomicU64,
    errors: AtomicU64,
}

impl Progress {
    fn of(load: &bakeoff_plan::Load) -> Self {
        Self {
            warmup: Duration::from_secs_f64(load.warmup_s),
            duration: Duration::from_secs_f64(load.duration_s),
            ..Self::default()
        }
    }
}

impl Watch for Progress {
    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn starts_at(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Relaxed);
        let wait = Duration::from_nanos(start_ns.saturating_sub(monotonic_ns()));
        let window = Instant::now() + wait + self.warmup;
        let _ = self.window.set((window, window + self.duration));
    }

    fn live(&self, ok: u64, errors: u64) {
        self.ok.store(ok, Ordering::Relaxed);
        self.errors.store(errors, Ordering::Relaxed);
    }
}

/// A load on other hosts.
struct FarLoad {
    progress: Arc<Progress>,
    known: Hosts,
    /// Whether messages of other programs, which may hold addresses, may be told.
    is_open: bool,
    thread: JoinHandle<anyhow::Result<Together>>,
}

impl UnderWay for FarLoad {
    fn window(&self) -> Option<(Instant, Instant)> {
        self.progress.window.get().copied()
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
        let Self {
            progress,
            known,
            is_open,
            thread,
        } = *self;
        let start_ns = progress.start_ns.load(Ordering::Relaxed);
        match thread.join() {
            Ok(Ok(together)) => generated(together, known, start_ns, progress.warmup),
            Ok(Err(error)) => never_begun(&error, known, is_open),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// A load that no host began.
fn never_begun(error: &anyhow::Error, mut hosts: Hosts, is_open: bool) -> Generated {
    let mut failed = format!("{error:#}");
    if let Some(error) = error.downcast_ref::<HostError>() {
        hosts.lost.push(LostHost {
            host: error.host.clone(),
            at_s: None,
            message: error.cause.problem(),
        });
        if !is_open {
            failed = error.without_messages();
        }
    }
    Generated {
        result: None,
        hosts: Some(hosts),
        failed: Some(failed),
    }
}

fn generated(together: Together, mut hosts: Hosts, start_ns: u64, warmup: Duration) -> Generated {
    let Together {
        parts,
        lost,
        lost_after_s,
    } = together;
    for part in parts {
        let host = hosts.hosts.iter_mut().find(|host| host.name == part.host);
        if let Some(host) = host {
            let before = reading(part.before);
            let after = part.after.map(reading);
            host.clock = after.map(|after| HostClock { before, after });
            host.usage = part.usage;
        }
        let began_ns = part.began_ns;
        let began_ns = began_ns.map(|began| began as i64 - start_ns as i64);
        hosts.generators.push(Generator {
            host: part.host,
            began_ns,
            result: part.result,
        });
    }
    for (error, after_s) in lost.iter().zip(lost_after_s) {
        hosts.lost.push(LostHost {
            host: error.host.clone(),
            at_s: Some(after_s - warmup.as_secs_f64()),
            message: error.cause.problem(),
        });
    }
    let results: Vec<LoadResult> = hosts
        .generators
        .iter()
        .map(|part| part.result.clone())
        .collect();
    let merged = LoadResult::merge(&results);
    let failed = match (hosts.lost.first(), &merged) {
        (Some(lost), _) => Some(format!("host {} was lost: {}", lost.host, lost.message)),
        (None, Err(error)) => Some(error.to_string()),
        (None, Ok(_)) => None,
    };
    Generated {
        result: merged.ok(),
        hosts: Some(hosts),
        failed,
    }
}

fn reading(clock: ClockOffset) -> ClockReading {
    ClockReading {
        offset_ns: clock.offset_ns,
        error_ns: clock.error_ns,
        rtt_ns: clock.rtt_ns,
    }
}
