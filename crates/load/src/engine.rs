//! Threads of the engine: started together, merged at the end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Builder;
use std::time::Duration;

use bakeoff_plan::{LoadModel, Schedule};
use bakeoff_record::LoadResult;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::LoadError;
use crate::clock::{instant, nanos, now};
use crate::control::Control;
use crate::driver::epoll::Epoll;
use crate::lanes::{Lane, Requests};
use crate::ledger::Counts;
use crate::limits::check_budget;
use crate::meeting::Meeting;
use crate::pace::{OpenPace, Pace};
use crate::result::Merged;
use crate::share::Share;
use crate::spec::LoadSpec;
use crate::thread::Thread;
use crate::tls::TlsSide;
use crate::turn::{Loop, held_until};

/// Carries out a load and returns what was seen; blocks until it has ended.
///
/// Ends early when [`Control::stop`] is called; what was measured until then is returned.
pub fn run(spec: &LoadSpec, control: &Control) -> Result<LoadResult, LoadError> {
    run_by(spec, control, |_| Builder::new())
}

/// The same; `builder` begins each thread of this engine, by its number.
fn run_by(
    spec: &LoadSpec,
    control: &Control,
    builder: impl Fn(usize) -> Builder,
) -> Result<LoadResult, LoadError> {
    check_budget(spec)?;
    let host = spec.target.host_name();
    let tls = spec.speaking.tls();
    let tls = tls
        .map(|settings| settings.side(host, &spec.speaking))
        .transpose()?;
    let lanes = spec.lanes();
    let shares = lanes.iter().flat_map(|lane| {
        let shares = lane.spec.shares().into_iter();
        shares.map(move |share| (lane, share))
    });
    let shares: Vec<(&Lane<'_>, Share)> = shares.collect();
    let (meeting, zero) = (Meeting::of(shares.len()), AtomicU64::new(0));
    let length = length(spec, control);
    let counts: Vec<Result<Option<Counts>, LoadError>> = std::thread::scope(|scope| {
        let start = |(own, &(lane, share))| {
            let (meeting, zero, tls) = (&meeting, &zero, tls.clone());
            let builder = builder(own).name(format!("engine-{own}"));
            let started = builder.spawn_scoped(scope, move || {
                let _leaving = meeting.leave_at_end();
                pin(spec, own)?;
                let made = make(lane, control, tls, share, length)?;
                let mut counts = one_thread(made, spec, control, meeting, zero)?;
                if let Some(counts) = counts.as_mut().filter(|_| lane.requests.are_fresh()) {
                    counts.observed.noted.closed_ns.clear();
                }
                Ok(counts)
            });
            if started.is_err() {
                meeting.call_off();
            }
            started
        };
        let handles: Vec<_> = shares.iter().enumerate().map(start).collect();
        handles
            .into_iter()
            .map(|handle| match handle {
                Ok(handle) => handle.join().unwrap_or(Err(LoadError::Panicked)),
                Err(error) => Err(LoadError::Thread(error)),
            })
            .collect()
    });
    let counts = counts.into_iter().collect::<Result<Vec<_>, _>>()?;
    // The load was called off only where another thread failed, which is the error above.
    let counts = counts.into_iter().collect::<Option<_>>();
    let mut merged = Merged::of(counts.ok_or(LoadError::Panicked)?);
    control.set_noted(std::mem::take(&mut merged.counts.observed.noted));
    Ok(merged.result(spec))
}

/// What one thread counted; `None` where the load was called off before it began. `zero` is where
/// the thread that comes last says when it begins.
fn one_thread(
    mut made: Loop<'_, Epoll>,
    spec: &LoadSpec,
    control: &Control,
    meeting: &Meeting,
    zero: &AtomicU64,
) -> Result<Option<Counts>, LoadError> {
    made.prepare().map_err(LoadError::Poll)?;
    let Some(mut is_last) = meeting.wait() else {
        return Ok(None);
    };
    if control.is_held() {
        if is_last {
            control.note_ready();
        }
        let held = made.wait_until(|now| held_until(control, now));
        held.map_err(LoadError::Poll)?;
        let Some(came_last) = meeting.wait() else {
            return Ok(None);
        };
        is_last = came_last;
    }
    if is_last {
        let start = control.named_start().unwrap_or_else(now);
        zero.store(start, Ordering::Release);
        let window = start + nanos(Duration::from_secs_f64(spec.load.warmup_s));
        let end = window + nanos(Duration::from_secs_f64(spec.load.duration_s));
        control.set_window(instant(window), instant(end));
    }
    if meeting.wait().is_none() {
        return Ok(None);
    }
    let counts = made.run(zero.load(Ordering::Acquire));
    counts.map(Some).map_err(LoadError::Poll)
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
    lane: &'a Lane<'a>,
    control: &'a Control,
    tls: Option<TlsSide>,
    share: Share,
    length: Option<u64>,
) -> Result<Loop<'a, Epoll>, LoadError> {
    // Timers of an ordinary thread fire up to 50 µs late; a schedule wants them on time.
    rustix::thread::set_current_timer_slack(std::num::NonZero::new(1)).ok();
    let spec: &LoadSpec = &lane.spec;
    let pace = pace(spec, lane.requests, share, length);
    let is_open_loop = !pace.is_closed();
    let driver = Epoll::new(spec.pacing.waiting, is_open_loop).map_err(LoadError::Poll)?;
    let clients = share.of(u64::from(spec.load.clients())) as u32;
    let mut thread = Thread::new(spec, driver, tls, share, pace);
    thread.ledger.log = control.log(share).map(Box::new);
    Ok(Loop::new(thread, clients, control))
}

/// How long the count of requests of an open loop takes by its schedule, nanoseconds. All threads
/// have the same: it is drawn once for them.
pub(crate) fn length(spec: &LoadSpec, control: &Control) -> Option<u64> {
    let until_ns = (length_s(spec) * 1e9) as u64;
    let goes_on = || !control.is_stopping();
    Some(schedule(spec)?.length_ns(spec.count?, until_ns, goes_on))
}

fn length_s(spec: &LoadSpec) -> f64 {
    spec.load.warmup_s + spec.load.duration_s
}

/// When requests are due, of all threads; `None` in a closed loop.
fn schedule(spec: &LoadSpec) -> Option<Schedule> {
    match &spec.load.model {
        LoadModel::Open {
            rate_per_s,
            arrival,
            ..
        } => {
            let length_s = length_s(spec);
            let rate = *rate_per_s;
            Some(Schedule::shaped(
                rate,
                &spec.shape,
                length_s,
                *arrival,
                spec.seed,
            ))
        }
        _ => None,
    }
}

/// When this thread's requests begin: its part of those of its lane, in an open loop. By count the
/// load is of a `length`.
pub(crate) fn pace(spec: &LoadSpec, requests: Requests, share: Share, length: Option<u64>) -> Pace {
    let Some(all) = schedule(spec) else {
        return Pace::Closed;
    };
    let mine = (0..)
        .zip(all)
        .filter(move |(number, _)| requests.hold(*number));
    let mine = mine.skip(share.thread).step_by(share.threads);
    let deadline = spec.pacing.deadline.map_or(u64::MAX, nanos);
    let pace = OpenPace::new(Box::new(mine.map(|(_, due)| due)), deadline);
    let pace = pace.of_length(length.unwrap_or(u64::MAX));
    Pace::Open(pace.reconnecting(requests.reconnect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_ends_where_one_of_its_threads_cannot_be_started() {
        let mut spec = crate::turn::several(&[1], crate::spec::Order::ByWeight);
        spec.threads.count = 2;
        spec.load.model = LoadModel::Closed { clients: 2 };
        for control in [Control::default(), Control::held()] {
            let failed = run_by(&spec, &control, |own| match own {
                0 => Builder::new(),
                // No address space is as large.
                _ => Builder::new().stack_size(1 << 50),
            });
            assert!(matches!(failed, Err(LoadError::Thread(_))));
            assert!(!control.is_ready());
        }
    }
}
