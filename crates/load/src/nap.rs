//! Sleeping until a request is due, and no longer.
//!
//! A timer wakes a thread some microseconds late: 30 on the machines this was built on, as much
//! as a small answer takes. So the timer is set that much early and the rest is spun. What the
//! sleep misses in the meantime, answers, has its time from the kernel's own stamps.

use crate::clock::{now, sleep_until};

/// Longest nap: beyond it waking for each answer costs little.
const NAP_NS_MAX: u64 = 2_000_000;
/// Most time spun before a send.
const EARLY_NS_MAX: u64 = 60_000;
/// Steps by which the margin follows the timer's lateness: at 8 to 1 it settles where eight of
/// nine naps end in time.
const STEP_UP_NS: u64 = 800;
const STEP_DOWN_NS: u64 = 100;

/// Sleeps until due times, and learns how early the timer must be set.
#[derive(Debug, Default)]
pub(crate) struct Nap {
    early_ns: u64,
}

impl Nap {
    /// Whether a nap of `gap_ns` is short enough to miss nothing, and long enough to pay.
    pub(crate) fn suits(&self, gap_ns: u64) -> bool {
        (2 * self.early_ns + 1..=NAP_NS_MAX).contains(&gap_ns)
    }

    /// Returns when the timer set to `due` has woken the thread.
    pub(crate) fn past(due: u64) {
        sleep_until(due);
    }

    /// Returns at `due`, or later if the machine is busy.
    pub(crate) fn until(&mut self, due: u64) {
        let alarm = due.saturating_sub(self.early_ns);
        sleep_until(alarm);
        self.learn(now().saturating_sub(alarm));
        while now() < due {
            std::hint::spin_loop();
        }
    }

    fn learn(&mut self, late_ns: u64) {
        self.early_ns = if late_ns > self.early_ns {
            EARLY_NS_MAX.min(self.early_ns + STEP_UP_NS)
        } else {
            self.early_ns.saturating_sub(STEP_DOWN_NS)
        };
    }
}

/// How long a closed loop may let answers gather before it looks at its sockets.
///
/// Waking for each answer of a server with a long queue costs more than the answers, and makes
/// the server's own batches small. A wait that is a small part of what requests take anyway
/// changes neither: by Little's law the rate falls by that part at most.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    latency_ns: u64,
}

impl Gathering {
    /// Part of the usual latency that is waited.
    const PART: u64 = 64;
    /// Shortest wait; below it the sleep costs more than it saves.
    const NS_MIN: u64 = 50_000;
    const NS_MAX: u64 = 2_000_000;

    /// Takes the latency of a response and returns how long to wait before the next look, if at
    /// all.
    pub(crate) fn next(&mut self, latency_ns: u64) -> Option<u64> {
        self.latency_ns = self.latency_ns - self.latency_ns / 8 + latency_ns / 8;
        let wait = (self.latency_ns / Self::PART).min(Self::NS_MAX);
        (wait >= Self::NS_MIN).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_settles_where_most_naps_end_in_time() {
        let mut nap = Nap::default();
        // Nineteen naps of twenty end 30 us late, one 500 us.
        for round in 0..10_000 {
            nap.learn(if round % 20 == 0 { 500_000 } else { 30_000 });
        }
        assert!((29_000..34_000).contains(&nap.early_ns), "{nap:?}");
        assert!(nap.suits(100_000));
        assert!(!nap.suits(40_000), "half of it would be spun");
        assert!(!nap.suits(NAP_NS_MAX + 1));
    }

    #[test]
    fn answers_gather_only_where_they_take_long() {
        let settled = |latency_ns| {
            let mut gathering = Gathering::default();
            (0..100).for_each(|_| {
                gathering.next(latency_ns);
            });
            gathering.next(latency_ns)
        };
        assert_eq!(settled(1_000_000), None);
        assert!(settled(10_000_000).is_some_and(|ns| (140_000..157_000).contains(&ns)));
        assert_eq!(settled(10_000_000_000), Some(Gathering::NS_MAX));
        let mut gathering = Gathering::default();
        assert_eq!(
            gathering.next(10_000_000),
            None,
            "one slow answer is no queue"
        );
    }

    #[test]
    fn a_timer_that_is_always_late_does_not_make_a_spinner() {
        let mut nap = Nap::default();
        (0..10_000).for_each(|_| nap.learn(u64::MAX));
        assert_eq!(nap.early_ns, EARLY_NS_MAX);
    }
}
