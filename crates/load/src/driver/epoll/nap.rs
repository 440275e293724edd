//! Waiting until a request is due, and no longer.
//!
//! A timer wakes a thread some microseconds late: 30 on the machines this was built on, as much
//! as a small answer takes. So the timer is set that much early and the rest is spun. What a
//! sleep misses in the meantime, answers, has its time from the kernel's own stamps. Where that
//! is not enough, sockets are watched instead.

use std::io;

use super::poll::Poll;
use crate::clock::{now, sleep_until};

/// Longest nap: beyond it waking for each answer costs little.
const NAP_NS_MAX: u64 = 2_000_000;
/// Most time spun before a send.
const EARLY_NS_MAX: u64 = 60_000;
/// Steps by which the margin follows the timer's lateness: at 8 to 1 it settles where eight of
/// nine naps end in time.
const STEP_UP_NS: u64 = 800;
const STEP_DOWN_NS: u64 = 100;

/// Waits until due times, and learns how early the timer must be set.
#[derive(Debug, Default)]
pub(super) struct Nap {
    early_ns: u64,
}

impl Nap {
    /// Whether a nap of `gap_ns` is short enough to miss nothing, and long enough to pay.
    pub(super) fn suits(&self, gap_ns: u64) -> bool {
        (2 * self.early_ns + 1..=NAP_NS_MAX).contains(&gap_ns)
    }

    /// Returns when the timer set to `due` has woken the thread.
    pub(super) fn past(due: u64) {
        sleep_until(due);
    }

    /// Returns at `due`, or later if the machine is busy.
    pub(super) fn until(&mut self, due: u64) {
        let alarm = due.saturating_sub(self.early_ns);
        sleep_until(alarm);
        self.learn(now().saturating_sub(alarm));
        while now() < due {
            std::hint::spin_loop();
        }
    }

    /// Returns at `due`, or as soon as sockets are ready: how many.
    pub(super) fn watch(&mut self, due: u64, poll: &mut Poll) -> io::Result<usize> {
        let alarm = due.saturating_sub(self.early_ns);
        if poll.until_ready(alarm.saturating_sub(now()))? {
            return poll.wait(0);
        }
        self.learn(now().saturating_sub(alarm));
        loop {
            let ready = poll.wait(0)?;
            if ready > 0 || now() >= due {
                return Ok(ready);
            }
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
    fn a_timer_that_is_always_late_does_not_make_a_spinner() {
        let mut nap = Nap::default();
        (0..10_000).for_each(|_| nap.learn(u64::MAX));
        assert_eq!(nap.early_ns, EARLY_NS_MAX);
    }
}
