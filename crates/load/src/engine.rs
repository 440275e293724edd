//! Threads of the engine: started together, merged at the end.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
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
use crate::spec::LoadSpec;
use crate::thread::{Share, Thread};
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
    let threads = spec.threads.count.clamp(1, spec.load.clients().max(1)) as usize;
    let barrier = Barrier::new(threads);
    let zero = AtomicU64::new(0);
    let counts: Vec<Result<Counts, LoadError>> = std::thread::scope(|scope| {
        let start = |thread| {
            let share = Share { thread, threads };
            let (barrier, zero, tls) = (&barrier, &zero, tls.clone());
            std::thread::Builder::new()
                .name(format!("engine-{thread}"))
                .spawn_scoped(scope, move || {
                    one_thread(spec, control, tls, share, barrier, zero)
                })
        };
        let handles: Vec<_> = (0..threads).map(start).collect();
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

fn one_thread(
    spec: &LoadSpec,
    control: &Control,
    tls: Option<TlsSide>,
    share: Share,
    barrier: &Barrier,
    zero: &AtomicU64,
) -> Result<Counts, LoadError> {
    // Every thread must reach the barrier, whatever fails before it.
    let prepared = prepare(spec, control, tls, share);
    if barrier.wait().is_leader() {
        let start = now();
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

fn prepare<'a>(
    spec: &'a LoadSpec,
    control: &'a Control,
    tls: Option<TlsSide>,
    share: Share,
) -> Result<Loop<'a, Epoll>, LoadError> {
    let pin = &spec.threads.pin;
    if !pin.is_empty() {
        let cpu = pin[share.thread % pin.len()];
        let mut set = CpuSet::new();
        set.set(cpu);
        let pin = |errno: rustix::io::Errno| LoadError::Pin {
            cpus: vec![cpu],
            source: errno.into(),
        };
        sched_setaffinity(None, &set).map_err(pin)?;
    }
    // Timers of an ordinary thread fire up to 50 µs late; a schedule wants them on time.
    rustix::thread::set_current_timer_slack(std::num::NonZero::new(1)).ok();
    let pace = pace(spec, share);
    let is_open_loop = !pace.is_closed();
    let driver = Epoll::new(spec.pacing.waiting, is_open_loop).map_err(LoadError::Poll)?;
    let clients = share.of(u64::from(spec.load.clients())) as u32;
    let thread = Thread::new(spec, driver, tls, share, pace);
    let mut prepared = Loop::new(thread, clients, control);
    prepared.prepare().map_err(LoadError::Poll)?;
    Ok(prepared)
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
