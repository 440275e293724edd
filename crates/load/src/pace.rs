//! When the next request begins: at once after the last one, or by the schedule.

use std::collections::VecDeque;
use std::iter::Peekable;

/// Due times, in nanoseconds.
type DueTimes = Box<dyn Iterator<Item = u64> + Send>;

/// Decides when requests begin.
pub(crate) enum Pace {
    /// Each client begins its next request when its last one has ended.
    Closed,
    /// Requests begin when they are due.
    Open(OpenPace),
}

/// The schedule of an open loop and the connections that are free to serve it.
pub(crate) struct OpenPace {
    due: Peekable<DueTimes>,
    /// Connected and without a request; the one free longest comes first, which spreads requests.
    idle: VecDeque<u32>,
    /// Without a socket.
    spare: VecDeque<u32>,
    /// Due times from here on are not begun.
    end: u64,
    /// Requests that have waited so long are not begun any more, nanoseconds.
    deadline: u64,
    /// Requests not begun because they had waited too long.
    shed: u64,
}

impl OpenPace {
    /// A schedule that begins at 0; each entry may wait for `deadline` at the most.
    pub(crate) fn new(due: DueTimes, deadline: u64) -> Self {
        Self {
            due: due.peekable(),
            idle: VecDeque::new(),
            spare: VecDeque::new(),
            end: u64::MAX,
            deadline,
            shed: 0,
        }
    }

    /// Moves the schedule, which begins at 0, to begin at `zero` and to stop before `end`.
    pub(crate) fn begin_at(&mut self, zero: u64, end: u64) {
        let nothing: DueTimes = Box::new(std::iter::empty());
        let due = std::mem::replace(&mut self.due, nothing.peekable());
        let moved: DueTimes = Box::new(due.map(move |at| at.saturating_add(zero)));
        self.due = moved.peekable();
        self.end = end;
    }

    /// When the next request is due; `None` after the last one.
    #[inline]
    pub(crate) fn next_due(&mut self) -> Option<u64> {
        self.due.peek().copied().filter(|at| *at < self.end)
    }

    /// Leaves the next request out.
    pub(crate) fn skip(&mut self) {
        self.due.next();
    }

    /// Takes the next request that is due by `now` and a connection for it, if there are both.
    /// A due request without a connection stays in the schedule, and its wait counts, until its
    /// deadline.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) -> Option<(u64, u32)> {
        let mut due = self.next_due().filter(|at| *at <= now)?;
        while now - due > self.deadline {
            self.due.next();
            self.shed += 1;
            due = self.next_due().filter(|at| *at <= now)?;
        }
        let slot = self.idle.pop_front().or_else(|| self.spare.pop_front())?;
        self.due.next();
        Some((due, slot))
    }

    /// Requests not begun because they had waited too long.
    pub(crate) fn shed(&self) -> u64 {
        self.shed
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

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Arrival, Schedule};

    use super::*;

    fn ms(n: u64) -> u64 {
        n * 1_000_000
    }

    fn pace(deadline: u64) -> OpenPace {
        OpenPace::new(
            Box::new(Schedule::new(1000.0, Arrival::Constant, 1)),
            deadline,
        )
    }

    #[test]
    fn a_due_request_waits_for_a_connection_and_keeps_its_time() {
        let mut pace = pace(u64::MAX);
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
        assert_eq!(pace.shed(), 0);
    }

    #[test]
    fn what_has_waited_past_its_deadline_is_shed_and_counted() {
        let mut pace = pace(ms(5));
        pace.begin_at(0, ms(100));
        pace.put_idle(1);
        assert_eq!(
            pace.take(ms(20)),
            Some((ms(15), 1)),
            "0 to 14 have waited too long"
        );
        assert_eq!(pace.shed(), 15);
        assert_eq!(pace.take(ms(22)), None, "no connection is free");
        assert_eq!(pace.shed(), 16, "16 is at its deadline only at 21");
    }

    #[test]
    fn threads_share_the_schedule_without_gap_or_overlap() {
        let whole: Vec<u64> = Schedule::new(77.0, Arrival::Poisson, 3).take(30).collect();
        let mut shared = Vec::new();
        for thread in 0..3 {
            let mine = Schedule::new(77.0, Arrival::Poisson, 3)
                .skip(thread)
                .step_by(3);
            let mut pace = OpenPace::new(Box::new(mine), u64::MAX);
            for _ in 0..10 {
                pace.put_idle(0);
                shared.extend(pace.take(u64::MAX - 1).map(|(due, _)| due));
            }
        }
        shared.sort_unstable();
        assert_eq!(shared, whole);
    }
}
