//! The monotonic clock as nanoseconds in a `u64`: what every time in the engine is.

use std::time::{Duration, Instant};

use rustix::thread::{ClockId as SleepClock, clock_nanosleep_absolute};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds on this machine's monotonic clock, `CLOCK_MONOTONIC`.
#[inline]
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How far the real-time clock, which the kernel stamps packets by, is ahead of [`now`].
pub(crate) fn real_time_ahead() -> u64 {
    let real = clock_gettime(ClockId::Realtime);
    let real = real.tv_sec as u64 * 1_000_000_000 + real.tv_nsec as u64;
    real.wrapping_sub(now())
}

/// Sleeps until `at_ns`, or until the kernel's timer has fired and this thread runs again.
pub(crate) fn sleep_until(at_ns: u64) {
    let at = Timespec {
        tv_sec: (at_ns / 1_000_000_000) as i64,
        tv_nsec: (at_ns % 1_000_000_000) as i64,
    };
    // A signal ends the sleep early: the caller looks at the clock anyway.
    let _ = clock_nanosleep_absolute(SleepClock::Monotonic, &at);
}

/// `at_ns` as an `Instant`, exact to the distance between two clock readings.
pub(crate) fn instant(at_ns: u64) -> Instant {
    let (now_ns, now) = (now(), Instant::now());
    if at_ns >= now_ns {
        now + Duration::from_nanos(at_ns - now_ns)
    } else {
        now.checked_sub(Duration::from_nanos(now_ns - at_ns))
            .unwrap_or(now)
    }
}

/// A duration in nanoseconds; 584 years at the most.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
