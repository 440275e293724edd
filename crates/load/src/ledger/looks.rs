//! Looks at how many requests are in flight, one in each of equal steps, in bounded memory.
//!
//! Within its step a look comes at another moment each time. What happens on a machine comes with
//! its timer: with 250 ticks a second, looks every 10 ms would see two moments of a tick only, and
//! where something takes the processor at each tick, always or never what that does.
//!
//! In an open loop an answer ends when it arrived, also where the engine reads it later: looks in
//! between are corrected then. Otherwise they would say how late the engine reads, and contradict
//! the latencies, which do not hold that.

use bakeoff_record::InFlight;

/// From one look to the next at first, nanoseconds.
const STEP: u64 = 10_000_000;
/// Looks at the most; beyond it every other one is forgotten and the step doubles.
const LOOKS_MAX: usize = 2_000;

/// The golden ratio's part behind the point, of 2^64: multiples of it fill a step evenly.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Looks at how many requests are in flight.
#[derive(Debug, Default)]
pub(super) struct Looks {
    step: u64,
    start: Option<u64>,
    next: u64,
    /// When the last look was due; 0 before.
    last: u64,
    counts: Vec<u64>,
}

impl Looks {
    /// The first look is due at `start`.
    pub(super) fn begin(&mut self, start: u64) {
        *self = Self {
            step: STEP,
            start: Some(start),
            next: start,
            last: 0,
            counts: Vec::new(),
        };
    }

    /// When the next look is due.
    pub(super) fn next(&self) -> u64 {
        match self.start {
            Some(_) => self.next,
            None => u64::MAX,
        }
    }

    pub(super) fn look(&mut self, in_flight: u64) {
        self.last = self.next;
        self.counts.push(in_flight);
        if self.counts.len() == LOOKS_MAX {
            InFlight::thin(&mut self.counts);
            self.step *= 2;
        }
        self.next = self.due(self.counts.len());
    }

    /// A request ended at `done`: looks after that, which found it in flight, did so because the
    /// engine had not read its answer.
    #[inline(always)]
    pub(super) fn end(&mut self, done: u64) {
        if done < self.last {
            self.correct(done);
        }
    }

    #[cold]
    fn correct(&mut self, done: u64) {
        for index in (0..self.counts.len()).rev() {
            if self.due(index) <= done {
                return;
            }
            self.counts[index] = self.counts[index].saturating_sub(1);
        }
    }

    /// When the look is due that has this place in `counts`.
    fn due(&self, index: usize) -> u64 {
        let since = self.step.saturating_mul(index as u64);
        let start = self.start.unwrap_or(u64::MAX);
        start
            .saturating_add(since)
            .saturating_add(within(since / STEP))
    }

    /// Ends the looks.
    pub(super) fn take(&mut self) -> InFlight {
        let looks = std::mem::take(self);
        InFlight {
            step_s: looks.step as f64 / 1e9,
            counts: looks.counts,
        }
    }
}

/// When in its step the look of this number comes, nanoseconds. The same on every thread, so that
/// looks of several threads can be added up.
fn within(number: u64) -> u64 {
    let share = u128::from(number.wrapping_mul(SPREAD));
    ((share * u128::from(STEP)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(of: impl Fn(u64) -> u64, count: u64) -> Looks {
        let mut looks = Looks::default();
        looks.begin(1_000);
        for _ in 0..count {
            let at = (looks.next() - 1_000) / STEP;
            looks.look(of(at));
        }
        looks
    }

    #[test]
    fn looks_stay_in_equal_steps_however_many_there_are() {
        let taken = looks(|at| at, 10_000).take();
        assert!(taken.counts.len() < LOOKS_MAX);
        let step = (taken.step_s * 1e9) as u64 / STEP;
        assert!(step > 1);
        let expected: Vec<u64> = (0..taken.counts.len() as u64).map(|n| n * step).collect();
        assert_eq!(taken.counts, expected);
    }

    #[test]
    fn what_comes_with_the_timer_is_seen_as_often_as_it_is_there() {
        let tick = 4_000_000;
        for phase in [0, 500_000, 2_500_000] {
            let mut looks = Looks::default();
            looks.begin(phase);
            for _ in 0..1_000 {
                // One millisecond of four.
                looks.look(u64::from(looks.next() % tick < tick / 4));
            }
            let seen: u64 = looks.take().counts.iter().sum();
            assert!((240..=260).contains(&seen), "{seen} of 1000");
        }
    }

    #[test]
    fn what_had_arrived_before_a_look_was_not_in_flight() {
        let mut looks = looks(|_| 3, 4);
        let [second, third] = [1, 2].map(|index| looks.due(index));
        looks.end(second);
        looks.end(third - 1);
        looks.end(u64::MAX);
        assert_eq!(looks.take().counts, [3, 3, 1, 1]);
    }

    #[test]
    fn looks_are_corrected_also_after_every_other_one_was_forgotten() {
        let mut looks = looks(|_| 2, LOOKS_MAX as u64 + 5);
        let kept = looks.counts.len();
        let third_last = looks.due(kept - 3);
        looks.end(third_last);
        let counts = looks.take().counts;
        assert_eq!(counts[kept - 4..], [2, 2, 1, 1]);
    }

    #[test]
    fn threads_add_up_at_the_coarser_step() {
        let mut fine = looks(|_| 1, 1_500).take();
        let coarse = looks(|_| 2, 2_500).take();
        let step_s = coarse.step_s;
        fine.merge(coarse);
        assert_eq!(fine.step_s, step_s);
        assert!(fine.counts.iter().all(|n| *n == 3), "{fine:?}");
        assert_eq!(fine.counts.len(), 750);
    }
}
