//! When slots want to be looked at whatever comes: timeouts of requests, timers of QUIC.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Timers of connections, by slot.
///
/// A connection's timer moves with almost every packet, mostly to a later time. So it has one
/// entry that may be too early, and who finds it so puts the right one in its place.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    entries: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Timers {
    /// When the next entry is due.
    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        self.entries.peek().map(|Reverse((at, _))| *at)
    }

    /// Enters a timer at `at`, unless `entered`, the slot's entry, is as early.
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, at: u64, entered: &mut Option<u64>) {
        if entered.is_none_or(|entered| at < entered) {
            *entered = Some(at);
            self.entries.push(Reverse((at, slot)));
        }
    }

    /// Takes an entry that is due, as its time and its slot.
    pub(crate) fn take(&mut self, now: u64) -> Option<(u64, u32)> {
        self.next().filter(|at| *at <= now)?;
        self.entries.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_moves_to_later_keeps_its_entry() {
        let mut timers = Timers::default();
        let mut entered = None;
        timers.set(3, 100, &mut entered);
        timers.set(3, 200, &mut entered);
        assert_eq!(timers.next(), Some(100));
        timers.set(3, 50, &mut entered);
        assert_eq!(timers.take(49), None);
        assert_eq!(timers.take(60), Some((50, 3)));
        assert_eq!(entered, Some(50), "the entry of 100 is known as stale");
        assert_eq!(timers.take(100), Some((100, 3)));
        assert_eq!(timers.next(), None);
    }
}
