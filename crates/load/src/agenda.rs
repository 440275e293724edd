//! What a thread has to look at besides the sockets that are ready.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::timers::Timers;

/// Timeouts are looked at in steps of so many nanoseconds, so that requests that were sent one
/// after another are looked at together.
const STEP: u64 = 1_000_000;

/// What a thread has to look at besides the sockets that are ready.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// When slots that rest, or have not started yet, or are held, go on.
    wakes: BinaryHeap<Reverse<(u64, u32)>>,
    /// When a request or a connection attempt of a slot may be too old; too early at times.
    deadlines: Timers,
    /// Slots whose turn ended before all was read.
    unread: VecDeque<u32>,
    /// Slots that are connecting or shaking hands.
    pub(crate) opening: usize,
    /// Slots whose sockets are to be looked at at once; see [`watch`](Self::watch).
    watched: usize,
    /// When a connection was last made, got on in its handshake, or became ready.
    pub(crate) progressed_at: u64,
    /// When live counters are written next and a request to stop is seen.
    pub(crate) next_tick: u64,
}

impl Agenda {
    /// When the next entry is due, whatever it is; now where something is unread.
    pub(crate) fn next(&self) -> u64 {
        if !self.unread.is_empty() {
            return 0;
        }
        let wake = self.wakes.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        let deadline = self.deadlines.next().unwrap_or(u64::MAX);
        wake.min(deadline).min(self.next_tick)
    }

    /// Lets `slot` go on at `at`.
    pub(crate) fn wake(&mut self, slot: u32, at: u64) {
        self.wakes.push(Reverse((at, slot)));
    }

    /// A slot that goes on by `now`.
    pub(crate) fn take_wake(&mut self, now: u64) -> Option<u32> {
        let Reverse((at, slot)) = *self.wakes.peek()?;
        if at > now {
            return None;
        }
        self.wakes.pop();
        Some(slot)
    }

    /// Looks at `slot` at `at` or a little later, unless `entered`, its entry, is as early.
    #[inline]
    pub(crate) fn set_deadline(&mut self, slot: u32, at: u64, entered: &mut Option<u64>) {
        if entered.is_none_or(|entered| at < entered) {
            let at = at.saturating_add(STEP - 1) / STEP * STEP;
            self.deadlines.set(slot, at, entered);
        }
    }

    /// A slot to look at by `now`, and its entry.
    pub(crate) fn take_deadline(&mut self, now: u64) -> Option<(u64, u32)> {
        self.deadlines.take(now)
    }

    /// Whether what comes on a slot's connection is to be looked at at once from now on, because
    /// something follows it, or because it would have no time of its own. `was` is the slot's mark.
    #[inline]
    pub(crate) fn watch(&mut self, was: &mut bool, is: bool) {
        self.watched += usize::from(is);
        self.watched -= usize::from(std::mem::replace(was, is));
    }

    /// Whether what comes may lie until something else is due.
    #[inline]
    pub(crate) fn may_look_away(&self) -> bool {
        self.opening == 0 && self.watched == 0
    }

    /// More of `slot` is to be read.
    pub(crate) fn leave_unread(&mut self, slot: u32) {
        self.unread.push_back(slot);
    }

    /// How many slots are to be read.
    pub(crate) fn unread(&self) -> usize {
        self.unread.len()
    }

    /// The slot that has waited longest to be read.
    pub(crate) fn take_unread(&mut self) -> Option<u32> {
        self.unread.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unread_comes_before_what_is_due() {
        let mut agenda = Agenda {
            next_tick: 900,
            ..Agenda::default()
        };
        assert_eq!(agenda.next(), 900);
        agenda.wake(3, 500);
        assert_eq!(agenda.next(), 500);
        assert_eq!(
            (agenda.take_wake(499), agenda.take_wake(500)),
            (None, Some(3))
        );
        agenda.leave_unread(1);
        agenda.leave_unread(2);
        assert_eq!((agenda.next(), agenda.unread()), (0, 2));
        assert_eq!(
            (agenda.take_unread(), agenda.take_unread()),
            (Some(1), Some(2))
        );
    }

    #[test]
    fn timeouts_that_are_close_to_each_other_share_a_look() {
        let mut agenda = Agenda::default();
        let (mut one, mut other) = (None, None);
        agenda.set_deadline(1, STEP + 1, &mut one);
        agenda.set_deadline(2, 2 * STEP, &mut other);
        assert_eq!(agenda.take_deadline(2 * STEP - 1), None);
        assert_eq!((one, other), (Some(2 * STEP), Some(2 * STEP)));
        let taken = [
            agenda.take_deadline(2 * STEP),
            agenda.take_deadline(2 * STEP),
        ];
        assert_eq!(taken, [Some((2 * STEP, 1)), Some((2 * STEP, 2))]);
    }
}
