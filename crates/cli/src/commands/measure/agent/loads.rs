//! The load that an agent carries out: made ready, begun at a named time, reported on, ended.

use std::io::ErrorKind;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bakeoff_hosts::{Outbox, Report};
use bakeoff_load::{Control, LoadError, LoadSpec};
use bakeoff_record::LoadResult;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::order::{LoadOrder, Unpacked};
use super::refused;
use super::samples::Samples;

/// Bytes of all files of an order.
const FILES_BYTES_MAX: usize = 256 << 20;
/// Files of an order.
const FILES_MAX: u32 = 1 << 20;
/// Between two looks at an engine that is about to begin.
const LOOK_PERIOD: Duration = Duration::from_millis(20);
/// Between two reports on how the load goes.
const LIVE_PERIOD: Duration = Duration::from_millis(500);

/// An order whose files are still coming.
pub(super) struct Files<T> {
    order: T,
    expected: u32,
    files: Vec<Vec<u8>>,
    bytes: usize,
}

impl<T: DeserializeOwned> Files<T> {
    pub(super) fn of(order: Value, expected: u32) -> Result<Self, Report> {
        let order = serde_json::from_value(order)
            .map_err(|error| refused(format!("the order cannot be read: {error}"), false))?;
        if expected > FILES_MAX {
            return Err(refused(
                format!("an order has at most {FILES_MAX} files"),
                true,
            ));
        }
        Ok(Self {
            order,
            expected,
            files: Vec::new(),
            bytes: 0,
        })
    }

    pub(super) fn add(&mut self, bytes: Vec<u8>) -> Result<(), Report> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > FILES_BYTES_MAX || self.files.len() >= self.expected as usize {
            let mib = FILES_BYTES_MAX >> 20;
            let why = format!("the files of an order are longer than {mib} MiB together");
            return Err(refused(why, true));
        }
        self.files.push(bytes);
        Ok(())
    }

    pub(super) fn are_whole(&self) -> bool {
        self.files.len() == self.expected as usize
    }

    pub(super) fn into_parts(self) -> (T, Vec<Vec<u8>>) {
        (self.order, self.files)
    }
}

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
    pub(super) fn start(&mut self, files: Files<LoadOrder>) -> Result<(), Report> {
        if self
            .running
            .as_ref()
            .is_some_and(|(_, it)| !it.is_finished())
        {
            return Err(refused("a load runs already", false));
        }
        let (order, files) = files.into_parts();
        let control = Arc::new(Control::held());
        let (outbox, held) = (self.outbox.clone(), control.clone());
        let thread = std::thread::Builder::new().name("load".to_owned());
        let running = thread
            .spawn(move || {
                // Here, as a resolver may be silent for longer than home waits for an answer.
                let (report, samples) = match order.unpack(&files) {
                    Ok(unpacked) => carry_out(unpacked, &held, &outbox),
                    Err(error) => without_samples(refused(format!("{error:#}"), true)),
                };
                // Whoever no longer listens is noticed by the end of the input.
                if let Err(error) = outbox.send_with_files(&report, samples)
                    && error.kind() == ErrorKind::FileTooLarge
                {
                    let _ = outbox.send(&refused(format!("send the result: {error}"), false));
                }
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

/// A report, and samples in parts.
type Ended = (Report, Vec<Vec<u8>>);

fn without_samples(report: Report) -> Ended {
    (report, Vec::new())
}

/// Carries out a load, reports on it, and returns the last report.
fn carry_out(unpacked: Unpacked, control: &Arc<Control>, outbox: &Outbox) -> Ended {
    let Unpacked { spec, kept } = unpacked;
    let threads = spec.threads.count;
    let samples = Samples::of(&spec.load);
    let engine = run(spec, control.clone());
    let engine = match engine {
        Ok(engine) => engine,
        Err(error) => return without_samples(refused(error, false)),
    };
    let (mut said_ready, mut said_began) = (false, None);
    let mut live_at = Instant::now() + LIVE_PERIOD;
    while !engine.is_finished() {
        if !said_ready && control.is_ready() {
            said_ready = true;
            let _ = outbox.send(&Report::Ready { threads });
        }
        said_began = say_began(control, said_began, outbox);
        if said_began.is_some() && Instant::now() >= live_at {
            live_at += LIVE_PERIOD;
            let live = control.live();
            let (ok, errors) = (live.ok(), live.errors());
            let _ = outbox.send(&Report::Live { ok, errors });
        }
        std::thread::sleep(LOOK_PERIOD);
    }
    // Certificates are read from them until the engine has ended.
    drop(kept);
    say_began(control, said_began, outbox);
    without_samples(match engine.join() {
        Ok(Ok(result)) => match serde_json::to_value(&result) {
            Ok(result) => {
                let samples = samples.end(control.window().map(|(start, _)| start));
                let files = u32::try_from(samples.len()).unwrap_or(u32::MAX);
                return (Report::Result { result, files }, samples);
            }
            Err(error) => refused(error, false),
        },
        Ok(Err(error)) => {
            let usage = matches!(error, LoadError::Shortage(_) | LoadError::Tls(_));
            refused(error, usage)
        }
        Err(_) => refused(LoadError::Panicked, false),
    })
}

/// Says when the load began, and again where another thread began later. Returns what was said.
fn say_began(control: &Control, said: Option<u64>, outbox: &Outbox) -> Option<u64> {
    let began = control.began_ns();
    if let Some(at_ns) = began.filter(|_| began != said) {
        let _ = outbox.send(&Report::Began { at_ns });
    }
    began
}

type Engine = JoinHandle<Result<LoadResult, LoadError>>;

fn run(spec: LoadSpec, control: Arc<Control>) -> std::io::Result<Engine> {
    let thread = std::thread::Builder::new().name("engine".to_owned());
    thread.spawn(move || bakeoff_load::run(&spec, &control))
}
