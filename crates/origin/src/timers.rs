//! Which connection of a loop goes on when. It owns no clock.
//!
//! Nothing is taken out before its time: a connection that has closed, or has other plans, is
//! found not to wait for that time, and is left alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Times at which connections go on.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Instant, usize)>>);

impl Timers {
    /// The connection in `slot` goes on at `at`.
    pub(crate) fn add(&mut self, at: Instant, slot: usize) {
        self.0.push(Reverse((at, slot)));
    }

    /// The earliest time.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.peek().map(|first| first.0.0)
    }

    /// Takes out the earliest, if its time has come.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(Instant, usize)> {
        let due = self.next().is_some_and(|at| at <= now);
        due.then(|| self.0.pop().map(|first| first.0)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_due_comes_in_the_order_of_time() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut timers = Timers::default();
        for (ms, slot) in [(5, 1), (2, 2), (9, 3), (2, 1)] {
            timers.add(at(ms), slot);
        }
        let due: Vec<_> = std::iter::from_fn(|| timers.take_due(at(5))).collect();
        assert_eq!(due, [(at(2), 1), (at(2), 2), (at(5), 1)]);
        assert_eq!(timers.next(), Some(at(9)));
    }
}
