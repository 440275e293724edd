//! The time that a campaign goes by: the machine's, or an invented one that passes only while
//! somebody waits. It measures nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// How often a rest looks whether somebody wants to stop.
const REST_PERIOD: Duration = Duration::from_millis(50);

/// Where invented time begins.
const EPOCH: Timestamp = Timestamp::constant(946_684_800, 0);

/// The machine's clock, or an invented one. All clones of an invented one tell the same time.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Invented>);

#[derive(Debug, Clone)]
struct Invented {
    began: Instant,
    passed_ns: Arc<AtomicU64>,
}

impl Clock {
    /// A clock on which no time passes but by [`sleep`](Self::sleep).
    pub(crate) fn invented() -> Self {
        Self(Some(Invented {
            began: Instant::now(),
            passed_ns: Arc::default(),
        }))
    }

    /// Whether it is an invented one.
    pub(crate) fn is_invented(&self) -> bool {
        self.0.is_some()
    }

    /// Now.
    pub(crate) fn now(&self) -> Instant {
        match &self.0 {
            None => Instant::now(),
            Some(invented) => invented.began + invented.passed(),
        }
    }

    /// Lets this time pass.
    pub(crate) fn sleep(&self, length: Duration) {
        match &self.0 {
            None => std::thread::sleep(length),
            Some(invented) => {
                let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
                invented.passed_ns.fetch_add(length, Ordering::Relaxed);
            }
        }
    }

    /// Now, as a date.
    pub(crate) fn timestamp(&self) -> Timestamp {
        match &self.0 {
            None => Timestamp::now(),
            Some(invented) => EPOCH.saturating_add(invented.passed()).unwrap_or(EPOCH),
        }
    }

    /// Sleeps, unless somebody wants to stop.
    pub(crate) fn rest(&self, length: Duration, stop: &AtomicBool) {
        let end = self.now() + length;
        while !stop.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(self.now());
            if left.is_zero() {
                return;
            }
            self.sleep(left.min(REST_PERIOD));
        }
    }
}

impl Invented {
    fn passed(&self) -> Duration {
        Duration::from_nanos(self.passed_ns.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invented_time_passes_by_waiting_alone_and_for_all() {
        let clock = Clock::invented();
        let (before, other) = (clock.now(), clock.clone());
        assert_eq!(clock.now(), before);
        other.sleep(Duration::from_secs(3600));
        assert_eq!(clock.now() - before, Duration::from_secs(3600));
        assert_eq!(clock.timestamp().to_string(), "2000-01-01T01:00:00Z");
    }
}
