//! How far the clock that the kernel stamps arrivals by is ahead of the engine's.

/// Two readings of both clocks may differ by so much where no clock was set, or set in small steps.
/// Some machines' clocks are corrected by 500 us every tenth of a second: with such a step between
/// a stamp and the look at it, an answer would have come before its request.
const CHANGE_NS_MAX: u64 = 10_000;

/// How far the kernel's stamps are ahead, by the last look at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead {
    ns: u64,
    /// Whether it was something else before. Then nobody knows which of the two a stamp is by.
    has_changed: bool,
}

impl Ahead {
    pub(super) fn new(ns: u64) -> Self {
        Self {
            ns,
            has_changed: false,
        }
    }

    /// Looks again.
    #[inline]
    pub(super) fn look(&mut self, ns: u64) {
        self.has_changed = ns.abs_diff(self.ns) > CHANGE_NS_MAX;
        self.ns = ns;
    }

    /// When something arrived that has this stamp and was read at `now`, if that is known.
    #[inline]
    pub(super) fn arrived(self, stamp: u64, now: u64) -> Option<u64> {
        let at = stamp.wrapping_sub(self.ns);
        // A stamp after now is one of a clock that was set since the last look.
        (!self.has_changed && at <= now).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> u64 {
        n * 1_000_000
    }

    #[test]
    fn what_arrived_while_the_clock_was_set_has_no_time_of_its_own() {
        for set_to in [ms(1_050), ms(950), ms(1_000) + 500_000, ms(1_000) - 500_000] {
            let mut ahead = Ahead::new(ms(1_000));
            ahead.look(ms(1_000) + 500);
            assert_eq!(ahead.arrived(ms(1_300) + 500, ms(301)), Some(ms(300)));
            assert_eq!(ahead.arrived(ms(1_400), ms(301)), None, "it is after now");
            ahead.look(set_to);
            assert_eq!(ahead.arrived(ms(1_310), ms(311)), None, "by the old clock");
            assert_eq!(ahead.arrived(set_to + ms(310), ms(311)), None);
            ahead.look(set_to);
            assert_eq!(ahead.arrived(set_to + ms(320), ms(321)), Some(ms(320)));
        }
    }
}
