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

impl Pace {
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }
}

/// The schedule of an open loop and the places that are free to serve it.
///
/// Places are put in when they become free and found to be gone when they are taken out: a
/// connection that ends is not looked for.
pub(crate) struct OpenPace {
    due: Peekable<DueTimes>,
    /// Slots with a free place on a connection, by the connection's generation; the one free
    /// longest comes first, which spreads requests.
    idle: VecDeque<(u32, u32)>,
    /// Slots without a socket.
    spare: VecDeque<u32>,
    /// Whether slots without a socket come before connections.
    reconnects: bool,
    /// How long the load's count of requests takes, nanoseconds; the maximum without one.
    length: u64,
    /// Due times from here on are not begun.
    end: u64,
    /// Requests that have waited so long are not begun any more, nanoseconds.
    deadline: u64,
    /// No place was free for what was due up to this time, as far as it has not begun.
    short_at: Option<u64>,
    /// When the loop began its last wait; the maximum once that wait turned out to be none,
    /// because there were answers to read already.
    waited_from: u64,
    /// When the last answer came that the loop waited for while no place was free. What was due
    /// before it waited for the server. What was due later waited for a loop that had answers to
    /// read: the engine was behind.
    awaited: u64,
    /// Requests not begun because they had waited too long.
    shed: u64,
}

/// A request that is due, and the slot that is to carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: u64,
    pub(crate) slot: u32,
    /// Whether it waited for the server: no place was free when it was due, and the loop waited
    /// for an answer after that.
    pub(crate) was_short: bool,
}

impl OpenPace {
    /// A schedule that begins at 0; each entry may wait for `deadline` at the most.
    pub(crate) fn new(due: DueTimes, deadline: u64) -> Self {
        Self {
            due: due.peekable(),
            idle: VecDeque::new(),
            spare: VecDeque::new(),
            reconnects: false,
            length: u64::MAX,
            end: u64::MAX,
            deadline,
            short_at: None,
            waited_from: 0,
            awaited: 0,
            shed: 0,
        }
    }

    /// The same for a load by count, which takes so long: the last request's gap belongs to it.
    pub(crate) fn of_length(self, length: u64) -> Self {
        Self { length, ..self }
    }

    /// The same where a slot that has lost its connection takes the next request, and connects.
    pub(crate) fn reconnecting(self, reconnects: bool) -> Self {
        Self { reconnects, ..self }
    }

    /// How long the load's count of requests takes, nanoseconds; the maximum without one.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Moves the schedule, which begins at 0, to begin at `zero` and to stop before `end`.
    pub(crate) fn begin_at(&mut self, zero: u64, end: u64) {
        let nothing: DueTimes = Box::new(std::iter::empty());
        let due = std::mem::replace(&mut self.due, nothing.peekable());
        let moved: DueTimes = Box::new(due.map(move |at| at.saturating_add(zero)));
        self.due = moved.peekable();
        self.end = end;
        self.spare.clear();
    }

    /// When the next request is due; `None` after the last one.
    #[inline]
    pub(crate) fn next_due(&mut self) -> Option<u64> {
        self.due.peek().copied().filter(|at| *at < self.end)
    }

    /// Leaves the next request out, and returns when it was due.
    pub(crate) fn skip(&mut self) -> Option<u64> {
        self.next_due()?;
        self.due.next()
    }

    /// Leaves the next request out if it is due by `now` and has waited past its deadline, and
    /// returns when it was due.
    #[inline]
    pub(crate) fn shed_next(&mut self, now: u64) -> Option<u64> {
        let due = self.next_due()?;
        if now < due || now - due <= self.deadline {
            return None;
        }
        self.shed += 1;
        self.due.next()
    }

    /// Takes the next request that is due by `now` and a place for it, if there are both;
    /// `is_free` says whether a slot's place is still good. A due request without a place stays
    /// in the schedule, and its wait counts.
    #[inline]
    pub(crate) fn take(
        &mut self,
        now: u64,
        is_free: impl Fn(u32, Option<u32>) -> bool,
    ) -> Option<Due> {
        let at = self.next_due().filter(|at| *at <= now)?;
        let Some(slot) = self.take_place(is_free) else {
            self.short_at = Some(now);
            return None;
        };
        self.due.next();
        let found_none = self.short_at.is_some_and(|short_at| at <= short_at);
        let was_short = found_none && at < self.awaited;
        Some(Due {
            at,
            slot,
            was_short,
        })
    }

    fn take_place(&mut self, is_free: impl Fn(u32, Option<u32>) -> bool) -> Option<u32> {
        if self.reconnects
            && let Some(slot) = self.take_spare(&is_free)
        {
            return Some(slot);
        }
        while let Some((slot, generation)) = self.idle.pop_front() {
            if is_free(slot, Some(generation)) {
                return Some(slot);
            }
        }
        self.take_spare(&is_free)
    }

    fn take_spare(&mut self, is_free: &impl Fn(u32, Option<u32>) -> bool) -> Option<u32> {
        while let Some(slot) = self.spare.pop_front() {
            if is_free(slot, None) {
                return Some(slot);
            }
        }
        None
    }

    /// Requests not begun because they had waited too long.
    pub(crate) fn shed(&self) -> u64 {
        self.shed
    }

    /// Whether a place may be free.
    pub(crate) fn may_have_free(&self) -> bool {
        !self.idle.is_empty() || !self.spare.is_empty()
    }

    /// How long what is due has been left alone at `now` although a place was free for it,
    /// nanoseconds: what was due before a place was free waited for the server until then.
    #[inline]
    pub(crate) fn left_alone_ns(&mut self, now: u64) -> u64 {
        if !self.may_have_free() {
            return 0;
        }
        let Some(due) = self.next_due() else {
            return 0;
        };
        let free_from = self.short_at.map_or(0, |short_at| short_at + 1);
        now.saturating_sub(due.max(free_from))
    }

    /// The loop waited from here on, and goes on to handle what that brought.
    #[inline]
    pub(crate) fn waited(&mut self, from: u64) {
        self.waited_from = from;
    }

    /// A place on a slot's connection became free at `since`.
    #[inline]
    pub(crate) fn put_idle(&mut self, permit: (u32, u32), since: u64) {
        self.note_short(since);
        self.idle.push_back(permit);
    }

    /// A slot has no connection, from `since` on.
    pub(crate) fn put_spare(&mut self, slot: u32, since: u64) {
        self.note_short(since);
        self.spare.push_back(slot);
    }

    /// The loop does not wake for what is due while no place is free: that it was short shows
    /// when there is one again.
    #[inline]
    fn note_short(&mut self, since: u64) {
        if self.may_have_free() {
            return;
        }
        self.short_at = self.short_at.max(since.checked_sub(1));
        // Sockets are reported in the order in which they became ready: where the first answer was
        // there before the wait, the loop did not wait for those behind it either.
        if since < self.waited_from {
            self.waited_from = u64::MAX;
        } else {
            self.awaited = since;
        }
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
        let schedule = Schedule::new(1000.0, Arrival::Constant, 1);
        OpenPace::new(Box::new(schedule), deadline)
    }

    fn any(_: u32, _: Option<u32>) -> bool {
        true
    }

    fn due(at: u64, slot: u32, was_short: bool) -> Option<Due> {
        let at = ms(at);
        Some(Due {
            at,
            slot,
            was_short,
        })
    }

    #[test]
    fn a_due_request_waits_for_a_place_and_keeps_its_time() {
        let mut pace = pace(u64::MAX);
        pace.begin_at(ms(100), ms(104));
        assert_eq!(pace.take(ms(100), any), None, "no place is free");
        pace.put_idle((7, 1), ms(101));
        assert_eq!(pace.take(ms(99), any), None, "nothing is due");
        assert_eq!(pace.take(ms(102), any), due(100, 7, true));
        pace.put_spare(8, ms(101));
        pace.put_idle((7, 1), ms(102));
        let second = pace.take(ms(102), any);
        assert_eq!(second, due(101, 7, false), "a connected one comes first");
        assert_eq!(pace.take(ms(102), any), due(102, 8, false));
        assert_eq!(pace.next_due(), Some(ms(103)));
        pace.put_idle((7, 1), ms(103));
        assert_eq!(pace.take(ms(200), any), due(103, 7, false));
        assert_eq!(pace.next_due(), None, "104 is not before the end");
        assert_eq!(pace.shed(), 0);
    }

    #[test]
    fn what_falls_due_between_two_looks_while_no_place_is_free_was_short() {
        let mut pace = pace(u64::MAX);
        pace.begin_at(0, ms(100));
        pace.put_idle((7, 1), 0);
        assert_eq!(pace.take(0, any), due(0, 7, false));
        // Nobody looked at 1 ms.
        pace.put_idle((7, 1), ms(1) + 1);
        assert_eq!(pace.take(ms(2), any), due(1, 7, true));
        pace.put_idle((7, 1), ms(2));
        assert_eq!(
            pace.take(ms(3), any),
            due(2, 7, false),
            "one was free by then"
        );
    }

    #[test]
    fn what_waits_behind_an_engine_that_was_away_did_not_wait_for_the_server() {
        let mut pace = pace(u64::MAX);
        pace.begin_at(0, ms(100));
        pace.put_idle((7, 1), 0);
        assert_eq!(pace.take(0, any), due(0, 7, false));
        // The loop waits from 2 ms on, and what is due at 1 with it, for the answer at 3 ms.
        pace.waited(ms(2));
        pace.put_idle((7, 1), ms(3));
        assert_eq!(pace.take(ms(10), any), due(1, 7, true));
        // The next answer came at 5 ms, and the loop was away until it read it at 10 ms.
        pace.waited(ms(10));
        pace.put_idle((7, 1), ms(5));
        assert_eq!(pace.take(ms(11), any), due(2, 7, true), "until 3 ms");
        pace.waited(ms(12));
        pace.put_idle((7, 1), ms(11));
        assert_eq!(pace.take(ms(12), any), due(3, 7, false));
        pace.put_idle((7, 1), ms(13));
        let behind = pace.take(ms(13), any);
        assert_eq!(behind, due(4, 7, false), "there was one to read before it");
        pace.waited(ms(13));
        pace.put_idle((7, 1), ms(14));
        assert_eq!(pace.take(ms(14), any), due(5, 7, true));
    }

    #[test]
    fn what_waits_for_a_place_is_left_alone_only_from_when_one_is_free() {
        let mut pace = pace(u64::MAX);
        pace.begin_at(ms(10), ms(100));
        assert_eq!(pace.left_alone_ns(ms(12)), 0, "no place is free");
        pace.put_spare(1, ms(15));
        assert_eq!(pace.left_alone_ns(ms(15)), 0);
        assert_eq!(pace.left_alone_ns(ms(17)), ms(2));
        assert_eq!(pace.take(ms(17), any), due(10, 1, true));
        assert_eq!(pace.left_alone_ns(ms(18)), 0, "it has no place any more");
        pace.put_idle((1, 1), ms(18));
        while pace.take(ms(18), any).is_some() {
            pace.put_idle((1, 1), ms(18));
        }
        assert_eq!(pace.left_alone_ns(ms(18)), 0, "nothing is due");
        assert_eq!(pace.left_alone_ns(ms(22)), ms(3), "a place was free at 19");
    }

    #[test]
    fn a_place_that_is_gone_is_passed_over() {
        let mut pace = pace(u64::MAX);
        pace.begin_at(0, ms(100));
        pace.put_idle((1, 1), 0);
        pace.put_idle((2, 5), 0);
        pace.put_spare(3, 0);
        let second = |slot, generation| slot == 2 && generation == Some(5);
        assert_eq!(pace.take(ms(0), second), due(0, 2, false));
        assert_eq!(pace.take(ms(1), |_, _| false), None);
        assert!(!pace.may_have_free());
    }

    #[test]
    fn what_has_waited_past_its_deadline_is_shed_and_counted() {
        let mut pace = pace(ms(5));
        pace.begin_at(0, ms(100));
        let mut shed = Vec::new();
        while let Some(at) = pace.shed_next(ms(20)) {
            shed.push(at);
        }
        assert_eq!(shed, (0..15).map(ms).collect::<Vec<_>>());
        pace.put_idle((1, 1), 0);
        assert_eq!(pace.take(ms(20), any), due(15, 1, false));
        assert_eq!(pace.shed_next(ms(22)), Some(ms(16)));
        assert_eq!(pace.shed_next(ms(22)), None, "17 is at its deadline");
        assert_eq!(pace.shed(), 16);
        assert_eq!(pace.skip(), Some(ms(17)));
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
                pace.put_idle((0, 0), 0);
                shared.extend(pace.take(u64::MAX - 1, any).map(|due| due.at));
            }
        }
        shared.sort_unstable();
        assert_eq!(shared, whole);
    }
}
