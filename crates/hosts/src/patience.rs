//! How long home waits for an answer: longer than announced while it arrives, but never forever.
//!
//! Knows no clock: the caller passes times in.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::lease::SILENCE_MAX;

/// An answer that still comes when its time is over may take so much longer: 256 MiB at 7 Mbit/s.
pub const COMING_MAX: Duration = Duration::from_secs(300);

/// Until when an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    end_ns: u64,
}

impl Patience {
    /// It ends after `within` from `now_ns` on, unless an answer comes then.
    pub fn new(within: Duration, now_ns: u64) -> Self {
        Self {
            end_ns: now_ns.saturating_add(nanos(within)),
        }
    }

    /// The same, or one that ends after `within` from `now_ns` on where that is earlier.
    #[must_use]
    pub fn or_sooner(self, within: Duration, now_ns: u64) -> Self {
        Self {
            end_ns: self.end_ns.min(Self::new(within, now_ns).end_ns),
        }
    }

    /// Whether it is over at `now_ns`, where bytes of an answer that is not whole came last at
    /// `came_ns`; `None` where none is coming. A side that sends a byte now and then must not hold
    /// the other one for ever, so there is an end even then.
    pub(crate) fn is_over(self, now_ns: u64, came_ns: Option<u64>) -> bool {
        let Some(over_ns) = now_ns.checked_sub(self.end_ns) else {
            return false;
        };
        let is_coming =
            came_ns.is_some_and(|came_ns| now_ns.saturating_sub(came_ns) < nanos(SILENCE_MAX));
        !is_coming || over_ns >= nanos(COMING_MAX)
    }
}

/// When bytes came last of what is not whole. Shared by whoever reads and whoever waits.
#[derive(Debug, Default)]
pub(crate) struct Coming(AtomicU64);

/// Nothing is coming.
const NOTHING: u64 = 0;

impl Coming {
    /// Bytes came; `is_begun` where something is not whole with them.
    pub(crate) fn came(&self, now_ns: u64, is_begun: bool) {
        let came_ns = if is_begun { now_ns.max(1) } else { NOTHING };
        self.0.store(came_ns, Ordering::Relaxed);
    }

    /// When the last bytes came; `None` where all that came is whole.
    pub(crate) fn last_ns(&self) -> Option<u64> {
        let came_ns = self.0.load(Ordering::Relaxed);
        (came_ns != NOTHING).then_some(came_ns)
    }
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Whether a patience of 30 s from second 100 on is over then.
    #[track_caller]
    fn check(now_s: u64, came_s: Option<u64>, expected: bool) {
        let patience = Patience::new(Duration::from_secs(30), 100 * SECOND);
        let came_ns = came_s.map(|at| at * SECOND);
        let found = patience.is_over(now_s * SECOND, came_ns);
        assert_eq!(found, expected, "at {now_s} s, came at {came_s:?}");
    }

    #[test]
    fn an_answer_that_comes_is_waited_for_and_not_for_ever() {
        check(129, None, false);
        check(130, None, true);
        check(130, Some(130), false);
        check(139, Some(130), false);
        check(140, Some(130), true);
        check(429, Some(429), false);
        check(430, Some(430), true);
    }

    #[test]
    fn it_only_becomes_shorter() {
        let patience = Patience::new(Duration::from_secs(30), 0);
        let sooner = patience.or_sooner(Duration::from_secs(5), 10 * SECOND);
        assert!(!sooner.is_over(14 * SECOND, None) && sooner.is_over(15 * SECOND, None));
        assert_eq!(
            patience.or_sooner(Duration::from_secs(30), SECOND),
            patience
        );
    }

    #[test]
    fn what_is_whole_is_no_longer_coming() {
        let coming = Coming::default();
        assert_eq!(coming.last_ns(), None);
        coming.came(5, true);
        assert_eq!(coming.last_ns(), Some(5));
        coming.came(6, false);
        assert_eq!(coming.last_ns(), None);
    }
}
