//! Threads of the engine: started together, merged at the end.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bakeoff_plan::{LoadModel, Schedule};
use bakeoff_record::LoadResult;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::LoadError;
use crate::clock::{instant, nanos, now};
use crate::control::Control;
use crate::driver::epoll::Epoll;
use crate::ledger::Counts;
use crate::limits::check_budget;
use crate::pace::{OpenPace, Pace};
use crate::result::Merged;
use crate::share::Share;
use crate::spec::LoadSpec;
use crate::thread::Thread;
use crate::tls::TlsSide;
use crate::turn::Loop;

/// Carries out a load and returns what was seen; blocks until it has ended.
///
/// Ends early when [`Control::stop`] is called; what was measured until then is returned.
pub fn run(spec: &LoadSpec, control: &Control) -> Result<LoadResult, LoadError> {
    check_budget(spec)?;
    let host = spec.target.host_name();
    let tls = spec.speaking.tls();
    let tls = tls
        .map(|settings| settings.side(host, &spec.speaking))
        .transpose()?;
    let shares = spec.shares();
    let meeting = Meeting::of(shares.len());
    let counts: Vec<Result<Counts, LoadError>> = std::thread::scope(|scope| {
        let start = |(own, share)| {
            let (meeting, tls) = (&meeting, tls.clone());
            std::thread::Builder::new()
                .name(format!("engine-{own}"))
                .spawn_scoped(scope, move || {
                    let made = pin(spec, own).and_then(|()| make(spec, control, tls, share));
                    one_thread(made, spec, control, meeting)
                })
        };
        let handles: Vec<_> = shares.into_iter().enumerate().map(start).collect();
        handles
            .into_iter()
            .map(|handle| match handle {
                Ok(handle) => handle.join().unwrap_or(Err(LoadError::Panicked)),
                Err(error) => Err(LoadError::Thread(error)),
            })
            .collect()
    });
    let counts = counts.into_iter().collect::<Result<_, _>>()?;
    Ok(Merged::of(counts).result(spec))
}

/// Where the threads of an engine wait for each other.
struct Meeting {
    barrier: Barrier,
    /// When the load begins.
    zero: AtomicU64,
    /// Whether a thread cannot take part.
    failed: AtomicBool,
}

impl Meeting {
    fn of(threads: usize) -> Self {
        Self {
            barrier: Barrier::new(threads),
            zero: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }
}

fn one_thread(
    made: Result<Loop<'_, Epoll>, LoadError>,
    spec: &LoadSpec,
    control: &Control,
    meeting: &Meeting,
) -> Result<Counts, LoadError> {
    let Meeting {
        barrier,
        zero,
        failed,
    } = meeting;
    // Every thread must reach the barriers, whatever fails before them.
    if control.is_held() {
        failed.fetch_or(made.is_err(), Ordering::Relaxed);
        if barrier.wait().is_leader() && !failed.load(Ordering::Relaxed) {
            control.hold();
        }
        barrier.wait();
    }
    let prepared = made.and_then(|mut made| {
        made.prepare().map_err(LoadError::Poll)?;
        Ok(made)
    });
    if barrier.wait().is_leader() {
        let start = control.named_start().unwrap_or_else(now);
        zero.store(start, Ordering::Release);
        let window = start + nanos(Duration::from_secs_f64(spec.load.warmup_s));
        let end = window + nanos(Duration::from_secs_f64(spec.load.duration_s));
        control.set_window(instant(window), instant(end));
    }
    barrier.wait();
    prepared?
        .run(zero.load(Ordering::Acquire))
        .map_err(LoadError::Poll)
}

/// Pins the calling thread, this engine's number `own`, if it is to be.
fn pin(spec: &LoadSpec, own: usize) -> Result<(), LoadError> {
    let pin = &spec.threads.pin;
    if pin.is_empty() {
        return Ok(());
    }
    let cpu = pin[own % pin.len()];
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| LoadError::Pin {
        cpus: vec![cpu],
        source: errno.into(),
    })
}

/// A thread's loop with all its memory, before its first connection.
fn make<'a>(
    spec: &'a LoadSpec,
    control: &'a Control,
    tls: Option<TlsSide>,
    share: Share,
) -> Result<Loop<'a, Epoll>, LoadError> {
    // Timers of an ordinary thread fire up to 50 µs late; a schedule wants them on time.
    rustix::thread::set_current_timer_slack(std::num::NonZero::new(1)).ok();
    let pace = pace(spec, share);
    let is_open_loop = !pace.is_closed();
    let driver = Epoll::new(spec.pacing.waiting, is_open_loop).map_err(LoadError::Poll)?;
    let clients = share.of(u64::from(spec.load.clients())) as u32;
    let thread = Thread::new(spec, driver, tls, share, pace);
    Ok(Loop::new(thread, clients, control))
}

/// When this thread's requests begin: its part of the schedule, in an open loop.
pub(crate) fn pace(spec: &LoadSpec, share: Share) -> Pace {
    let LoadModel::Open {
        rate_per_s,
        arrival,
        ..
    } = &spec.load.model
    else {
        return Pace::Closed;
    };
    let length_s = spec.load.warmup_s + spec.load.duration_s;
    let all = Schedule::shaped(*rate_per_s, &spec.shape, length_s, *arrival, spec.seed);
    let mine = all.skip(share.thread).step_by(share.threads);
    let deadline = spec.pacing.deadline.map_or(u64::MAX, nanos);
    Pace::Open(OpenPace::new(Box::new(mine), deadline))
}
