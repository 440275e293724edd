//! Looks at how many requests are in flight, in equal steps, in bounded memory.

use bakeoff_record::InFlight;

/// From one look to the next at first, nanoseconds.
const STEP: u64 = 10_000_000;
/// Looks at the most; beyond it every other one is forgotten and the step doubles.
const LOOKS_MAX: usize = 2_000;

/// Looks at how many requests are in flight.
#[derive(Debug, Default)]
pub(super) struct Looks {
    step: u64,
    next: Option<u64>,
    counts: Vec<u64>,
}

impl Looks {
    /// The first look is due at `start`.
    pub(super) fn begin(&mut self, start: u64) {
        *self = Self {
            step: STEP,
            next: Some(start),
            counts: Vec::new(),
        };
    }

    /// When the next look is due.
    pub(super) fn next(&self) -> u64 {
        self.next.unwrap_or(u64::MAX)
    }

    pub(super) fn look(&mut self, in_flight: u64) {
        self.counts.push(in_flight);
        let step = self.step;
        self.next = self.next.map(|next| next.saturating_add(step));
        if self.counts.len() == LOOKS_MAX {
            InFlight::thin(&mut self.counts);
            self.step *= 2;
        }
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
