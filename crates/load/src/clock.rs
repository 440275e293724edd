//! The monotonic clock as nanoseconds in a `u64`: what every time in the engine is.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since the machine started.
#[inline]
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
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
