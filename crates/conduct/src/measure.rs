//! The load on a contestant, watched: the engine on threads of its own, the probe on another,
//! and here who looks whether the server still lives and whether somebody wants to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bakeoff_load::{Control, LoadError, run};
use bakeoff_origin::Counts;
use bakeoff_plan::Trial;
use bakeoff_probe::{Probe, ProbeOptions, TreeSource};
use bakeoff_record::{LoadResult, OriginCounts, Role, Step, TrialEnd, Usage, Warning};
use bakeoff_stage::Running;

use crate::answers::Encoded;
use crate::contestant::Contestant;
use crate::counters::OwnCounters;
use crate::event::Event;
use crate::roles::Roles;
use crate::spec::spec_of;

/// Time between two readings of the probe.
const PROBE_PERIOD: Duration = Duration::from_millis(100);
/// How often the watch looks.
const WATCH_PERIOD: Duration = Duration::from_millis(20);
/// How long before the window a server is asked for its own counters.
const COUNTERS_LEAD: Duration = Duration::from_millis(60);
/// How often live counters are told.
const LIVE_PERIOD: Duration = Duration::from_millis(100);

/// What came of the load.
pub(crate) struct Measured {
    /// What the engine saw; kept of a trial that failed in its window, too.
    pub(crate) result: Option<LoadResult>,
    pub(crate) usage: Usage,
    pub(crate) origin: Option<OriginCounts>,
    pub(crate) warnings: Vec<Warning>,
    /// How the trial ends, unless it goes on to its next step.
    pub(crate) end: Option<TrialEnd>,
}

/// Puts the trial's load on the contestant; `encoded` holds the bodies that were
/// fetched before of what the server encodes.
pub(crate) fn measure(
    trial: &Trial,
    encoded: &Encoded,
    seed: u64,
    roles: &Roles,
    contestant: &mut Contestant,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event<'_>),
) -> Measured {
    let mut warnings = Vec::new();
    let spec = match spec_of(trial, encoded, seed, roles, &contestant.server) {
        Ok(spec) => spec,
        Err(cause) => return Measured::failed(Step::Measure, cause),
    };
    let probe = match Probe::start(probe_options(contestant, roles)) {
        Ok(probe) => Some(probe),
        Err(error) => {
            warnings.push(Warning {
                code: "no-probe".to_owned(),
                text: format!("resources were not sampled: failed to {error}"),
                hint: "see `bakeoff doctor`".to_owned(),
            });
            None
        }
    };
    let own_counters = OwnCounters::find(&contestant.server);
    let control = Arc::new(Control::default());
    let mut watch = Watch::new(&control, trial.workload.proxied, own_counters);
    if trial.load.requests.is_some() {
        // Without a warm-up the window opens with the load, and may be over at the first look.
        watch.counts_at_start = watch.counts(contestant);
        watch.own_counters.begin();
    }
    let engine = {
        let control = control.clone();
        let engine = move || run(&spec, &control);
        std::thread::Builder::new()
            .name("engine".to_owned())
            .spawn(engine)
    };
    let engine = match engine {
        Ok(engine) => engine,
        Err(error) => return Measured::failed(Step::Measure, format!("start a thread: {error}")),
    };
    while !engine.is_finished() {
        std::thread::sleep(WATCH_PERIOD);
        watch.look(contestant, stop, tell);
    }
    watch.look_last(contestant, tell);
    let own_counters = std::mem::take(&mut watch.own_counters);
    let usage = used(probe, &control, own_counters);
    let result = engine.join().unwrap_or(Err(LoadError::Panicked));
    watch.finish(result, usage, warnings, stop)
}

/// What was sampled, on an axis whose 0 is the start of the window.
fn used(probe: Option<Probe>, control: &Control, own_counters: OwnCounters) -> Usage {
    let start = control.window().map(|(start, _)| start);
    if let (Some(probe), Some(start)) = (&probe, start) {
        probe.set_zero(start);
    }
    Usage {
        server_counters: start.and_then(|start| own_counters.into_record(start)),
        ..probe.map(Probe::stop).unwrap_or_default()
    }
}

impl Measured {
    fn failed(step: Step, cause: String) -> Self {
        Self {
            result: None,
            usage: Usage::default(),
            origin: None,
            warnings: Vec::new(),
            end: Some(TrialEnd::Failed {
                step,
                cause,
                message: None,
            }),
        }
    }
}

/// Looks at a load from outside while it is on.
struct Watch<'a> {
    control: &'a Control,
    proxied: bool,
    step: Option<Step>,
    /// Whether what is counted at the window's end was read.
    ended: bool,
    told: (u64, u64),
    told_at: Instant,
    counts_at_start: Option<Counts>,
    counts_at_end: Option<Counts>,
    own_counters: OwnCounters,
    /// How the server ended by itself, and its last words.
    died: Option<(Step, String, String)>,
}

impl<'a> Watch<'a> {
    fn new(control: &'a Control, proxied: bool, own_counters: OwnCounters) -> Self {
        Self {
            control,
            proxied,
            step: None,
            ended: false,
            told: (0, 0),
            told_at: Instant::now(),
            counts_at_start: None,
            counts_at_end: None,
            own_counters,
            died: None,
        }
    }

    fn look(
        &mut self,
        contestant: &mut Contestant,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Event<'_>),
    ) {
        if stop.load(Ordering::Relaxed) {
            self.control.stop();
        }
        self.look_at_phase(contestant, tell);
        if self.died.is_none()
            && let Some(status) = contestant.server.died()
        {
            let step = self.step.unwrap_or(Step::WarmUp);
            self.died = Some((step, status, contestant.server.log_tail()));
            self.control.stop();
        }
        let since = self.told_at.elapsed();
        if since >= LIVE_PERIOD {
            let now = (self.control.live().ok(), self.control.live().errors());
            let (ok, errors) = (now.0 - self.told.0, now.1 - self.told.1);
            tell(Event::Live { ok, errors, since });
            self.told = now;
            self.told_at = Instant::now();
        }
    }

    /// Follows the window: warm-up, measuring, over.
    fn look_at_phase(&mut self, contestant: &Contestant, tell: &mut dyn FnMut(Event<'_>)) {
        let Some((start, end)) = self.control.window() else {
            return;
        };
        let now = Instant::now();
        if self.step.is_none() {
            self.step = Some(Step::WarmUp);
            tell(Event::Step(Step::WarmUp));
        }
        if now + COUNTERS_LEAD >= start {
            self.own_counters.begin();
        }
        if now >= start && self.step == Some(Step::WarmUp) {
            self.step = Some(Step::Measure);
            if self.counts_at_start.is_none() {
                self.counts_at_start = self.counts(contestant);
            }
            tell(Event::Step(Step::Measure));
        }
        if now >= end && !self.ended {
            self.end(contestant);
        }
    }

    /// A load by count may end before its window does, and before the first look.
    fn look_last(&mut self, contestant: &Contestant, tell: &mut dyn FnMut(Event<'_>)) {
        self.look_at_phase(contestant, tell);
        if !self.ended {
            self.end(contestant);
        }
    }

    fn end(&mut self, contestant: &Contestant) {
        self.ended = true;
        self.counts_at_end = self.counts(contestant);
        self.own_counters.end();
    }

    fn counts(&self, contestant: &Contestant) -> Option<Counts> {
        if self.proxied {
            contestant.origin_counts()
        } else {
            None
        }
    }

    fn finish(
        self,
        result: Result<LoadResult, LoadError>,
        usage: Usage,
        warnings: Vec<Warning>,
        stop: &AtomicBool,
    ) -> Measured {
        let counts = self.counts_at_start.zip(self.counts_at_end);
        let origin = counts.map(|(start, end)| recorded(&end.since(&start)));
        let (result, failure) = match result {
            Ok(result) => (Some(result), None),
            Err(error) => {
                let cause = format!("the load engine failed: {error}");
                (
                    None,
                    Some(TrialEnd::Failed {
                        step: Step::Measure,
                        cause,
                        message: None,
                    }),
                )
            }
        };
        let died = self.died.map(|(step, status, words)| TrialEnd::Failed {
            step,
            cause: format!("the server died under load: {status}"),
            message: (!words.trim().is_empty()).then_some(words),
        });
        let stopped = stop
            .load(Ordering::Relaxed)
            .then_some(TrialEnd::Interrupted);
        // A window that the user cut short is no measurement; one that the server's death cut
        // short shows how it died.
        let result = if stopped.is_some() && died.is_none() {
            None
        } else {
            result
        };
        Measured {
            result,
            usage,
            origin,
            warnings,
            end: died.or(failure).or(stopped),
        }
    }
}

/// What the record keeps of the upstream's counts.
fn recorded(counts: &Counts) -> OriginCounts {
    OriginCounts {
        requests: counts.requests,
        connections: counts.connections,
        http_1_0: counts.http_1_0,
        bytes_read: counts.bytes_read,
        bytes_written: counts.bytes_written,
        delayed: counts.delayed,
        errors: counts.errors,
        resets: counts.resets,
        closes: counts.closes,
        slow_bodies: counts.slow_bodies,
        queued: counts.queued,
        queue_full: counts.queue_full,
        queued_max: counts.queued_max,
    }
}

fn probe_options(contestant: &Contestant, roles: &Roles) -> ProbeOptions {
    let source = |role, running: &Running| {
        let root = running.root()?;
        Some(TreeSource {
            role,
            root: root.pid,
            include_root: root.is_server,
            cgroup: root.cgroup,
        })
    };
    let origin = contestant.origin.as_ref();
    let of_server = source(Role::Server, &contestant.server);
    let of_origin = origin.and_then(|origin| source(Role::Origin, origin));
    let mut trees: Vec<TreeSource> = of_server.into_iter().chain(of_origin).collect();
    trees.push(TreeSource {
        role: Role::Engine,
        root: std::process::id(),
        include_root: true,
        cgroup: None,
    });
    // What ran already may listen on another machine, where this port is somebody else's.
    let server = contestant.server.address();
    let is_here = contestant.server.is_kept() || server.ip().is_loopback();
    let mut listeners: Vec<(Role, u16)> = Vec::new();
    listeners.extend(is_here.then_some((Role::Server, server.port())));
    listeners.extend(origin.map(|origin| (Role::Origin, origin.address().port())));
    let pin = (!roles.pinned.engine.is_empty()).then(|| roles.pinned.engine.clone());
    ProbeOptions {
        zero: Instant::now(),
        period: PROBE_PERIOD,
        trees,
        listeners,
        pin,
    }
}
