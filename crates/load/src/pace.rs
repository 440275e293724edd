//! When the next request begins: at once after the last one, or by the schedule.

use std::collections::VecDeque;
use std::iter::Peekable;

use bakeoff_plan::{Arrival, Schedule};

/// Decides when requests begin.
pub(crate) enum Pace {
    /// Each client begins its next request when its last one has ended.
    Closed,
    /// Requests begin when they are due.
    Open(OpenPace),
}

/// The schedule of an open loop and the connections that are free to serve it.
pub(crate) struct OpenPace {
    due: Peekable<Box<dyn Iterator<Item = u64> + Send>>,
    /// Connected and without a request; the one free longest comes first, which spreads requests.
    idle: VecDeque<u32>,
    /// Without a socket.
    spare: VecDeque<u32>,
    /// Due times from here on are not begun.
    end: u64,
}

impl OpenPace {
    /// Every `threads`th entry of the schedule, beginning with entry `thread`.
    pub(crate) fn new(
        rate_per_s: f64,
        arrival: Arrival,
        seed: u64,
        thread: usize,
        threads: usize,
    ) -> Self {
        let schedule = Schedule::new(rate_per_s, arrival, seed);
        let mine: Box<dyn Iterator<Item = u64> + Send> =
            Box::new(schedule.skip(thread).step_by(threads));
        Self {
            due: mine.peekable(),
            idle: VecDeque::new(),
            spare: VecDeque::new(),
            end: u64::MAX,
        }
    }

    /// Moves the schedule, which begins at 0, to begin at `zero` and to stop before `end`.
    pub(crate) fn begin_at(&mut self, zero: u64, end: u64) {
        let nothing: Box<dyn Iterator<Item = u64> + Send> = Box::new(std::iter::empty());
        let due = std::mem::replace(&mut self.due, nothing.peekable());
        let moved: Box<dyn Iterator<Item = u64> + Send> =
            Box::new(due.map(move |at| at.saturating_add(zero)));
        self.due = moved.peekable();
        self.end = end;
    }

    /// When the next request is due; `None` after the last one.
    #[inline]
    pub(crate) fn next_due(&mut self) -> Option<u64> {
        self.due.peek().copied().filter(|at| *at < self.end)
    }

    /// Takes the next request that is due by `now` and a connection for it, if there are both.
    /// A due request without a connection stays in the schedule, and its wait counts.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) -> Option<(u64, u32)> {
        let due = self.next_due().filter(|at| *at <= now)?;
        let slot = self.idle.pop_front().or_else(|| self.spare.pop_front())?;
        self.due.next();
        Some((due, slot))
    }

    /// Whether a connection is free.
    pub(crate) fn has_free(&self) -> bool {
        !self.idle.is_empty() || !self.spare.is_empty()
    }

    pub(crate) fn put_idle(&mut self, slot: u32) {
        self.idle.push_back(slot);
    }

    pub(crate) fn put_spare(&mut self, slot: u32) {
        self.spare.push_back(slot);
    }

    /// Takes an idle connection out, because it was closed.
    pub(crate) fn remove_idle(&mut self, slot: u32) {
        self.idle.retain(|each| *each != slot);
    }

    /// Takes an unconnected connection out.
    pub(crate) fn remove_spare(&mut self, slot: u32) {
        self.spare.retain(|each| *each != slot);
    }
}

/// Entries of the whole schedule that are due from `start` up to `end`, nanoseconds from zero.
pub(crate) fn planned(rate_per_s: f64, arrival: Arrival, seed: u64, start: u64, end: u64) -> u64 {
    let due = Schedule::new(rate_per_s, arrival, seed);
    due.skip_while(|at| *at < start)
        .take_while(|at| *at < end)
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> u64 {
        n * 1_000_000
    }

    #[test]
    fn a_due_request_waits_for_a_connection_and_keeps_its_time() {
        let mut pace = OpenPace::new(1000.0, Arrival::Constant, 1, 0, 1);
        pace.begin_at(ms(100), ms(104));
        assert_eq!(pace.take(ms(100)), None, "no connection is free");
        pace.put_idle(7);
        assert_eq!(pace.take(ms(99)), None, "nothing is due");
        assert_eq!(pace.take(ms(102)), Some((ms(100), 7)));
        pace.put_spare(8);
        pace.put_idle(7);
        assert_eq!(
            pace.take(ms(102)),
            Some((ms(101), 7)),
            "a connected one comes first"
        );
        assert_eq!(pace.take(ms(102)), Some((ms(102), 8)));
        assert_eq!(pace.next_due(), Some(ms(103)));
        pace.put_idle(7);
        assert_eq!(pace.take(ms(200)), Some((ms(103), 7)));
        assert_eq!(pace.next_due(), None, "104 is not before the end");
    }

    #[test]
    fn threads_share_the_schedule_without_gap_or_overlap() {
        let whole: Vec<u64> = Schedule::new(77.0, Arrival::Poisson, 3).take(30).collect();
        let mut shared = Vec::new();
        for thread in 0..3 {
            let mut pace = OpenPace::new(77.0, Arrival::Poisson, 3, thread, 3);
            for _ in 0..10 {
                pace.put_idle(0);
                shared.extend(pace.take(u64::MAX - 1).map(|(due, _)| due));
            }
        }
        shared.sort_unstable();
        assert_eq!(shared, whole);
    }

    #[test]
    fn the_plan_counts_what_is_due_in_the_window() {
        let planned = planned(1000.0, Arrival::Constant, 1, ms(500), ms(2500));
        assert_eq!(planned, 2000);
    }
}
