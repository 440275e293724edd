//! An invented machine: servers whose rates, noise, failures and deaths a file gives, under loads
//! that nobody sends. Its time is invented, too, so that a campaign takes as long as its files
//! take to be written.
//!
//! What is above a site and its generators, from the order of trials to the exit code, is the same
//! as in a campaign that measures. Nothing here starts a process or opens a socket. A record of it
//! names [`INVENTED`] as its host, so that nobody takes it for a measurement.

mod answer;
mod chance;
mod changed;
mod contestant;
mod open_loop;
mod part;
mod traffic;
mod usage;
mod world;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bakeoff_plan::{Pinning, Plan, Trial};
use bakeoff_record::{LostHost, Machine, Step, TrialEnd, TrialRecord};

use self::contestant::Contestant;
use self::traffic::Traffic;
pub use self::world::WorldError;
use self::world::{Server, World};
use crate::clock::Clock;
use crate::contestant::Answered;
use crate::generators::{Generated, Generators, UnderWay};
use crate::learn::{Answers, Pair, Seen, learn};
use crate::preflight::Finding;
use crate::roles::{Roles, RolesError, RolesHere};
use crate::site::{FirstAnswers, Site, SiteError, Staged, StartFailed, StartOrder};
use crate::spec::LoadOrder;

/// The host of a record in which nothing was measured.
pub const INVENTED: &str = "invented";
/// What a server takes to start, and a trial between two steps.
const STEP: Duration = Duration::from_millis(20);

/// The machine, and what carries out its loads.
#[derive(Debug, Clone)]
pub struct Invented {
    world: Arc<World>,
    clock: Clock,
    roles: Roles,
    /// Set where the file says that somebody stops the campaign.
    stop: Arc<AtomicBool>,
    now: Arc<Mutex<Now>>,
}

/// What is under way.
#[derive(Debug, Default)]
struct Now {
    loads: u32,
    load: Option<Load>,
}

/// A load, and when its window opens.
#[derive(Debug, Clone)]
struct Load {
    traffic: Arc<Traffic>,
    start: Instant,
}

impl Invented {
    /// The machine that a file describes. `stop` is set where the file says so.
    ///
    /// # Errors
    /// The file cannot be read, or is none of an invented machine.
    pub fn read(file: &Path, stop: Arc<AtomicBool>) -> Result<Self, WorldError> {
        Self::of(World::read(file)?, stop).map_err(WorldError::Roles)
    }

    fn of(world: World, stop: Arc<AtomicBool>) -> Result<Self, RolesError> {
        Ok(Self {
            roles: world.roles(&Pinning::default(), RolesHere::ALL)?,
            world: Arc::new(world),
            clock: Clock::invented(),
            stop,
            now: Arc::default(),
        })
    }

    /// Divides its processors as a plan asks.
    ///
    /// # Errors
    /// The plan names one that it does not have.
    pub fn divided(mut self, pinning: &Pinning) -> Result<Self, RolesError> {
        self.roles = self.world.roles(pinning, RolesHere::ALL)?;
        Ok(self)
    }

    /// Processors of each role.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// This machine under another name, with processors that it does not have.
    pub fn machine(&self, real: Machine) -> Machine {
        Machine {
            host: INVENTED.to_owned(),
            cpu_model: Some(INVENTED.to_owned()),
            cpus: u32::try_from(self.world.processors).unwrap_or(u32::MAX),
            hypervisor: None,
            governor: None,
            ..real
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a trial would end that does not come to its load, if so.
    fn refused(server: &Server) -> Option<TrialEnd> {
        let fate = &server.fate;
        let unsupported = fate.unsupported.clone();
        let failed = fate.fails.clone();
        unsupported
            .map(|reason| TrialEnd::Unsupported { reason })
            .or_else(|| failed.map(|cause| TrialEnd::failed(Step::Start, cause)))
    }
}

impl Site for Invented {
    /// A campaign that goes on begins when its earlier trials were over.
    fn fix_programs(&self, plan: &Plan, earlier: &[TrialRecord]) -> Result<(), SiteError> {
        for trial in earlier {
            let steps = trial.steps.iter();
            let took_s = steps.map(|step| step.took_s).sum();
            let took = Duration::try_from_secs_f64(took_s).unwrap_or_default();
            self.clock.sleep(took + plan.rest);
        }
        Ok(())
    }

    fn preflight(&self, plan: &Plan) -> Result<Vec<Finding>, SiteError> {
        let mut findings = Vec::new();
        for contender in &plan.contenders {
            let server = self.world.server(&contender.name, "");
            let end = Self::refused(&server);
            let end = end.filter(|end| matches!(end, TrialEnd::Unsupported { .. }));
            findings.extend(plan.workloads.iter().filter_map(|workload| {
                Some(Finding {
                    contender: contender.name.clone(),
                    workload: workload.name.clone(),
                    end: end.clone()?,
                })
            }));
        }
        Ok(findings)
    }

    fn first_answers(&self, plan: &Plan, known: &[Finding]) -> Result<FirstAnswers, SiteError> {
        let mut findings = Vec::new();
        let mut answers: Vec<(Pair, Answers)> = Vec::new();
        for (contender_at, contender) in plan.contenders.iter().enumerate() {
            let server = self.world.server(&contender.name, "");
            for (workload_at, workload) in plan.workloads.iter().enumerate() {
                let (one, other) = (&contender.name, &workload.name);
                if known
                    .iter()
                    .any(|it| (&it.contender, &it.workload) == (one, other))
                {
                    continue;
                }
                if let Some(end) = Self::refused(&server) {
                    findings.push(Finding {
                        contender: one.clone(),
                        workload: other.clone(),
                        end,
                    });
                    continue;
                }
                let requests = workload.requests.iter().enumerate();
                let open = requests.filter(|(_, request)| request.expect.is_open());
                let seen = open.map(|(at, request)| {
                    let asked = |number| Answered {
                        fetched: server.fetched(request, workload.protocol, number),
                        of_upstream: workload.proxied && server.work.asks_upstream,
                    };
                    let mut seen = Seen::of(asked(0));
                    seen.meet(&asked(1));
                    (at, seen)
                });
                answers.push(((contender_at, workload_at), seen.collect()));
            }
        }
        let (plan, notes) = learn(plan, &answers);
        Ok(FirstAnswers {
            findings,
            plan,
            notes,
        })
    }

    fn open_files(&self) -> Option<u64> {
        self.world.open_files
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    fn divide_anew(&mut self, roles: &Roles) {
        self.roles = roles.clone();
    }

    fn start(
        &self,
        order: &StartOrder<'_>,
        step: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Staged>, StartFailed> {
        // Logs have a folder for each trial.
        let id = order.logs.file_name().unwrap_or_default().to_string_lossy();
        let server = self.world.server(&order.contender.name, &id);
        for begun in [Step::Prepare, Step::CheckConfig, Step::Start] {
            step(begun);
            self.clock.sleep(STEP);
        }
        if let Some(host) = &server.fate.lost {
            return Err(StartFailed::Lost(LostHost {
                host: host.clone(),
                at_s: None,
                message: "nothing came from it for 10 s".to_owned(),
            }));
        }
        if let Some(end) = Self::refused(&server) {
            return Err(StartFailed::Trial(end));
        }
        self.now().load = None;
        Ok(Box::new(Contestant::new(self.clone(), server, order)))
    }
}

impl Generators for Invented {
    fn begin(&self, order: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String> {
        let Trial {
            contender,
            id,
            load,
            ..
        } = order.trial;
        let server = self.world.server(&contender.name, id);
        let traffic = Traffic::new(&server, order, self.roles.engine_threads);
        let mut now = self.now();
        now.loads += 1;
        if self.world.stop_after.is_some_and(|most| now.loads > most) {
            self.stop.store(true, Ordering::Relaxed);
        }
        let load = Load {
            traffic: Arc::new(traffic),
            start: self.clock.now()
                + Duration::try_from_secs_f64(load.warmup_s).unwrap_or_default(),
        };
        now.load = Some(load.clone());
        Ok(Box::new(Under {
            load,
            clock: self.clock.clone(),
            stopped: AtomicBool::new(false),
        }))
    }

    fn are_here(&self) -> bool {
        true
    }
}

impl Load {
    fn end(&self) -> Instant {
        self.start + Duration::try_from_secs_f64(self.traffic.length_s).unwrap_or_default()
    }

    /// How much of the window is over, seconds; below 0 before it.
    fn at_s(&self, clock: &Clock) -> f64 {
        let now = clock.now();
        let after = now.saturating_duration_since(self.start).as_secs_f64();
        after - self.start.saturating_duration_since(now).as_secs_f64()
    }
}

/// A load that is under way.
struct Under {
    load: Load,
    clock: Clock,
    stopped: AtomicBool,
}

impl UnderWay for Under {
    fn window(&self) -> Option<(Instant, Instant)> {
        Some((self.load.start, self.load.end()))
    }

    fn live(&self) -> (u64, u64) {
        self.load.traffic.ended_by(self.load.at_s(&self.clock))
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_over(&mut self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.clock.now() >= self.load.end()
    }

    fn finish(self: Box<Self>) -> Generated {
        let until_s = self.load.at_s(&self.clock).max(0.0);
        Generated {
            result: Some(self.load.traffic.result(until_s)),
            noted: self.load.traffic.noted(until_s),
            ..Generated::default()
        }
    }
}

#[cfg(test)]
mod tests;
