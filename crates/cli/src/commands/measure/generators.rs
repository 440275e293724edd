//! One load from several hosts: made ready on all of them, begun at one time, and collected.
//!
//! A host that is lost ends nothing but its own part. What the others measured is kept, and is
//! never merged as if it were the whole load.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bakeoff_hosts::{ClockOffset, Fits, HostError, Patience, Session, monotonic_ns};
use bakeoff_load::Threads;
use bakeoff_record::{LoadResult, Usage};
use bakeoff_report::start_spread_ns;

use super::agent::{Answer, Ask, Load};
use crate::exit;

/// How long a host may take to make a load ready, beside the gaps of the ramp: names are resolved,
/// which may take 10 s where a resolver is silent, and connections opened, in 10 s at the most.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// The longest ramp that is waited for.
const RAMP_MOST: Duration = Duration::from_secs(24 * 60 * 60);
/// From naming the start to the start.
const START_AFTER_NS: u64 = 500_000_000;
/// How long it may take after the last request can have ended until the result of a host comes.
const RESULT_WITHIN: Duration = Duration::from_secs(30);
/// Between two looks at whether to stop.
const LOOK_PERIOD: Duration = Duration::from_millis(100);

/// The engine of one generator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Engine {
    pub(crate) threads: u32,
    /// Processors that its threads are pinned to in turn; none when empty.
    pub(crate) pin: Vec<usize>,
}

/// Divides a load of `clients` over engines: which threads each of them runs, and where. `None`
/// where there are fewer clients than engines.
pub(crate) fn divided(clients: u32, engines: &[Engine]) -> Option<Vec<Threads>> {
    let counts: Vec<u32> = engines.iter().map(|engine| engine.threads).collect();
    let mut divided = Threads::divide(clients, &counts)?;
    for (threads, engine) in divided.iter_mut().zip(engines) {
        threads.pin.clone_from(&engine.pin);
    }
    Some(divided)
}

/// What one generator measured.
pub(crate) struct HostPart {
    pub(crate) host: String,
    pub(crate) threads: u32,
    /// When it began, by home's clock; `None` if it never did.
    pub(crate) began_ns: Option<u64>,
    /// Its clock before and after the load.
    pub(crate) before: ClockOffset,
    pub(crate) after: Option<ClockOffset>,
    pub(crate) result: LoadResult,
    /// What was sampled there, 0 where its window opened; `None` where nothing could be.
    pub(crate) usage: Option<Usage>,
}

/// What came of one load from several hosts.
pub(crate) struct Together {
    pub(crate) parts: Vec<HostPart>,
    pub(crate) lost: Vec<LostPart>,
}

/// A generator that was lost.
pub(crate) struct LostPart {
    pub(crate) error: HostError,
    /// Seconds after the start.
    pub(crate) after_s: f64,
}

impl Together {
    /// From the first generator's start to the last one's, with what their clocks may be off.
    pub(crate) fn start_spread_ns(&self) -> Option<u64> {
        let began: Option<Vec<(i64, u64)>> = self
            .parts
            .iter()
            .map(|part| Some((i64::try_from(part.began_ns?).ok()?, part.clock_error_ns())))
            .collect();
        start_spread_ns(&began?)
    }

    /// The largest error of a clock.
    pub(crate) fn clock_error_ns(&self) -> u64 {
        let errors = self.parts.iter().map(HostPart::clock_error_ns);
        errors.max().unwrap_or(0)
    }
}

impl HostPart {
    /// The larger error of its clock.
    fn clock_error_ns(&self) -> u64 {
        let after = self.after.map_or(0, |clock| clock.error_ns);
        after.max(self.before.error_ns)
    }
}

/// What passes between one load from several hosts and whoever follows it.
#[derive(Default)]
pub(crate) struct Progress {
    /// Set to end it early.
    pub(crate) stop: Arc<AtomicBool>,
    /// When it begins, by home's monotonic clock and as a time of this process.
    pub(crate) start: OnceLock<(u64, Instant)>,
    /// Requests that ended on all hosts since the start, as `ok` and otherwise.
    pub(crate) ok: AtomicU64,
    pub(crate) errors: AtomicU64,
}

impl Progress {
    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Carries out one load from all of these sessions, the share of each in `threads`.
///
/// # Errors
/// A host could not be made ready, so nothing was begun.
pub(crate) fn carry_out(
    sessions: &mut [&mut Session],
    load: &Load,
    threads: &[Threads],
    progress: &Progress,
) -> anyhow::Result<Together> {
    let mut clocks = Vec::new();
    for session in sessions.iter_mut() {
        clocks.push(session.clock()?);
    }
    for (session, threads) in sessions.iter_mut().zip(threads) {
        let mut load = load.clone();
        load.spec.threads = threads.clone();
        session.ask(&Ask::Load(Box::new(load)))?;
    }
    let within = READY_WITHIN + load.ramp().min(RAMP_MOST);
    for session in sessions.iter_mut() {
        expect_ready(session, within, progress)?;
    }
    let start_ns = monotonic_ns().saturating_add(START_AFTER_NS);
    let wait = Duration::from_nanos(start_ns.saturating_sub(monotonic_ns()));
    let _ = progress.start.set((start_ns, Instant::now() + wait));
    for (session, clock) in sessions.iter_mut().zip(&clocks) {
        let at_ns = clock.theirs(start_ns).unwrap_or(start_ns);
        session.ask(&Ask::Begin { at_ns })?;
    }
    let collected = collect(sessions, start_ns, &load.spec.load, progress);
    let mut together = Together {
        parts: Vec::new(),
        lost: Vec::new(),
    };
    let each = sessions.iter_mut().zip(threads).zip(clocks).zip(collected);
    for (((session, threads), before), collected) in each {
        match collected.result {
            Ok(done) => {
                let (result, usage) = *done;
                together.parts.push(HostPart {
                    host: session.host().to_owned(),
                    threads: threads.count,
                    began_ns: collected.began_ns.and_then(|at| before.ours(at)),
                    before,
                    // A host that has sent its result has done its part.
                    after: session.clock().ok(),
                    result,
                    usage,
                });
            }
            Err(error) => together.lost.push(LostPart {
                error,
                after_s: collected.after_s,
            }),
        }
    }
    Ok(together)
}

/// Waits until a host has opened its connections, or somebody asks to stop.
fn expect_ready(
    session: &mut Session,
    within: Duration,
    progress: &Progress,
) -> anyhow::Result<()> {
    let goes_on = || !progress.should_stop();
    let ready = session.expect(
        "make the load ready",
        within,
        &goes_on,
        |answer| match answer {
            Answer::Ready => Fits::This(()),
            // Of a load before this one.
            Answer::Live { .. } => Fits::Before,
            _ => Fits::Not,
        },
    );
    match ready? {
        Some(()) => Ok(()),
        None => Err(exit::interrupted("interrupted before the load began")),
    }
}

/// What one host sent.
struct Collected {
    began_ns: Option<u64>,
    result: Result<Box<(LoadResult, Option<Usage>)>, HostError>,
    /// When its last word came, from the start on.
    after_s: f64,
}

/// Waits for the result of each host.
fn collect(
    sessions: &mut [&mut Session],
    start_ns: u64,
    load: &bakeoff_plan::Load,
    progress: &Progress,
) -> Vec<Collected> {
    let live: Vec<Live> = sessions.iter().map(|_| Live::default()).collect();
    let length_s = load.warmup_s + load.duration_s + load.timeout_s;
    let start = Duration::from_nanos(start_ns.saturating_sub(monotonic_ns()));
    let within = start + Duration::from_secs_f64(length_s) + RESULT_WITHIN;
    let limits = Limits {
        patience: Patience::new(within, monotonic_ns()),
        after_halt: Duration::from_secs_f64(load.timeout_s) + RESULT_WITHIN,
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = sessions
            .iter_mut()
            .zip(&live)
            .map(|(session, live)| {
                scope.spawn(move || of_one(session, start_ns, limits, progress, live))
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            let sum = |of: fn(&Live) -> &AtomicU64| {
                let each = live.iter().map(|each| of(each).load(Ordering::Relaxed));
                each.fold(0, u64::saturating_add)
            };
            let (ok, errors) = (sum(|each| &each.ok), sum(|each| &each.errors));
            progress.ok.store(ok, Ordering::Relaxed);
            progress.errors.store(errors, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(10));
        }
        let join = |thread: std::thread::ScopedJoinHandle<'_, Collected>| match thread.join() {
            Ok(collected) => collected,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    })
}

/// How long the result of a host is waited for, whatever else it says.
#[derive(Debug, Clone, Copy)]
struct Limits {
    patience: Patience,
    /// From a halt on.
    after_halt: Duration,
}

/// What one host reported last of how its load goes.
#[derive(Default)]
struct Live {
    ok: AtomicU64,
    errors: AtomicU64,
}

fn of_one(
    session: &mut Session,
    start_ns: u64,
    limits: Limits,
    progress: &Progress,
    live: &Live,
) -> Collected {
    let mut began_ns = None;
    let mut patience = limits.patience;
    let mut halted = false;
    let result = loop {
        if progress.should_stop() && !halted {
            halted = true;
            patience = patience.or_sooner(limits.after_halt, monotonic_ns());
            if let Err(error) = session.ask(&Ask::Halt) {
                break Err(error);
            }
        }
        if session.is_over(patience) {
            break Err(session.late("send its result", RESULT_WITHIN));
        }
        match session.answer(LOOK_PERIOD) {
            Ok(None) => {}
            Err(error) => break Err(error),
            Ok(Some(Answer::Live { ok, errors })) => {
                live.ok.store(ok, Ordering::Relaxed);
                live.errors.store(errors, Ordering::Relaxed);
            }
            Ok(Some(Answer::Began { at_ns })) => began_ns = Some(at_ns),
            Ok(Some(Answer::Result(result))) => break Ok(result),
            Ok(Some(_)) => break Err(session.confused("another answer")),
        }
    };
    Collected {
        began_ns,
        result,
        after_s: monotonic_ns().saturating_sub(start_ns) as f64 / 1e9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_keeps_its_own_processors() {
        let engine = |threads, pin: &[usize]| Engine {
            threads,
            pin: pin.to_vec(),
        };
        let engines = [engine(2, &[2, 3]), engine(1, &[])];
        let divided = divided(8, &engines).unwrap();
        let found: Vec<_> = divided
            .iter()
            .map(|threads| (threads.count, &threads.pin[..]))
            .collect();
        assert_eq!(found, [(2, &[2, 3][..]), (1, &[][..])]);
        assert_eq!(super::divided(1, &engines), None);
    }
}
