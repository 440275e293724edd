//! The load that an agent carries out: made ready, begun at a named time, reported on, ended.

use std::io::ErrorKind;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bakeoff_hosts::{Outbox, Report};
use bakeoff_load::{Control, LoadError, LoadSpec};
use bakeoff_record::{LoadResult, Usage};

use super::ask::{Answer, Load};
use super::refused;
use super::samples::Samples;

/// Between two looks at an engine that is about to begin.
const LOOK_PERIOD: Duration = Duration::from_millis(20);
/// Between two reports on how the load goes.
const LIVE_PERIOD: Duration = Duration::from_millis(500);

/// The load of an agent: one at a time.
pub(super) struct Loads {
    outbox: Outbox,
    running: Option<(Arc<Control>, JoinHandle<()>)>,
}

impl Loads {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self {
            outbox,
            running: None,
        }
    }

    /// Makes a load ready.
    pub(super) fn start(&mut self, load: Load) -> Result<(), Report> {
        if self
            .running
            .as_ref()
            .is_some_and(|(_, it)| !it.is_finished())
        {
            return Err(refused("a load runs already", false));
        }
        let control = Arc::new(Control::held());
        let (outbox, held) = (self.outbox.clone(), control.clone());
        let thread = std::thread::Builder::new().name("load".to_owned());
        let running = thread
            .spawn(move || {
                // Here, as a resolver may be silent for longer than home waits for an answer.
                let done = match load.here() {
                    Ok(spec) => carry_out(spec, &held, &outbox),
                    Err(error) => Err(refused(format!("{error:#}"), true)),
                };
                // Whoever no longer listens is noticed by the end of the input.
                let _ = match done.map(|done| outbox.answer(&Answer::Result(Box::new(done)))) {
                    Err(refusal) => outbox.send(&refusal),
                    Ok(Err(error)) if error.kind() == ErrorKind::FileTooLarge => {
                        outbox.send(&refused(format!("send the result: {error}"), false))
                    }
                    Ok(sent) => sent,
                };
            })
            .map_err(|error| refused(error, false))?;
        self.running = Some((control, running));
        Ok(())
    }

    /// Begins the load at a time of this host's monotonic clock.
    pub(super) fn begin(&self, at_ns: u64) -> Result<(), Report> {
        match &self.running {
            Some((control, _)) => {
                control.begin_at(at_ns);
                Ok(())
            }
            None => Err(refused("there is no load to begin", false)),
        }
    }

    pub(super) fn halt(&self) {
        if let Some((control, _)) = &self.running {
            control.stop();
        }
    }
}

/// Carries out a load, and reports on it meanwhile.
fn carry_out(
    spec: LoadSpec,
    control: &Arc<Control>,
    outbox: &Outbox,
) -> Result<(LoadResult, Option<Usage>), Report> {
    let samples = Samples::of(&spec.load);
    let engine = run(spec, control.clone()).map_err(|error| refused(error, false))?;
    let (mut said_ready, mut said_began) = (false, None);
    let mut live_at = Instant::now() + LIVE_PERIOD;
    while !engine.is_finished() {
        if !said_ready && control.is_ready() {
            said_ready = true;
            let _ = outbox.answer(&Answer::Ready);
        }
        said_began = say_began(control, said_began, outbox);
        if said_began.is_some() && Instant::now() >= live_at {
            live_at += LIVE_PERIOD;
            let live = control.live();
            let (ok, errors) = (live.ok(), live.errors());
            let _ = outbox.answer(&Answer::Live { ok, errors });
        }
        std::thread::sleep(LOOK_PERIOD);
    }
    say_began(control, said_began, outbox);
    match engine.join() {
        Ok(Ok(result)) => Ok((result, samples.end(control.window().map(|it| it.0)))),
        Ok(Err(error)) => {
            let usage = matches!(error, LoadError::Shortage(_) | LoadError::Tls(_));
            Err(refused(error, usage))
        }
        Err(_) => Err(refused(LoadError::Panicked, false)),
    }
}

/// Says when the load began, and again where another thread began later. Returns what was said.
fn say_began(control: &Control, said: Option<u64>, outbox: &Outbox) -> Option<u64> {
    let began = control.began_ns();
    if let Some(at_ns) = began.filter(|_| began != said) {
        let _ = outbox.answer(&Answer::Began { at_ns });
    }
    began
}

type Engine = JoinHandle<Result<LoadResult, LoadError>>;

fn run(spec: LoadSpec, control: Arc<Control>) -> std::io::Result<Engine> {
    let thread = std::thread::Builder::new().name("engine".to_owned());
    thread.spawn(move || bakeoff_load::run(&spec, &control))
}
