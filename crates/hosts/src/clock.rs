//! How far another host's monotonic clock is from this one's, from exchanges of messages.
//!
//! Each exchange bounds it: the other clock was read somewhere between sending and receiving.
//! The fastest exchange bounds it best, and half of its round trip is the bound. Nothing is
//! assumed about how the round trip divides over the two directions.

use serde::{Deserialize, Serialize};

/// One exchange, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When the question was sent, by the clock here.
    pub sent_ns: u64,
    /// What the clock there showed when the question was answered.
    pub theirs_ns: u64,
    /// When the answer came, by the clock here.
    pub received_ns: u64,
}

/// Another clock seen from this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockOffset {
    /// What to add to a time here to have it there.
    pub offset_ns: i64,
    /// The true offset is at most this far away.
    pub error_ns: u64,
    /// Round trip of the exchange that it was taken from, the fastest one.
    pub rtt_ns: u64,
}

impl ClockOffset {
    /// The offset that the fastest of these exchanges shows; `None` where none can be used.
    pub(crate) fn of(exchanges: &[Exchange]) -> Option<Self> {
        let fits = exchanges
            .iter()
            .filter(|each| each.received_ns >= each.sent_ns);
        let fastest = fits.min_by_key(|each| each.received_ns - each.sent_ns)?;
        let rtt_ns = fastest.received_ns - fastest.sent_ns;
        let middle = fastest.sent_ns + rtt_ns / 2;
        let offset = i128::from(fastest.theirs_ns) - i128::from(middle);
        Some(Self {
            offset_ns: i64::try_from(offset).ok()?,
            error_ns: rtt_ns.div_ceil(2),
            rtt_ns,
        })
    }

    /// A time here as the other clock shows it; `None` before that clock began.
    pub fn theirs(&self, ours_ns: u64) -> Option<u64> {
        ours_ns.checked_add_signed(self.offset_ns)
    }

    /// A time of the other clock as this one shows it; `None` before this clock began.
    pub fn ours(&self, theirs_ns: u64) -> Option<u64> {
        let back = self.offset_ns.checked_neg()?;
        theirs_ns.checked_add_signed(back)
    }

    /// How far the other clock went ahead of this one from `before` to `self`, nanoseconds; what
    /// is within the two errors together may be none.
    pub fn drift_since(&self, before: &Self) -> i64 {
        self.offset_ns.saturating_sub(before.offset_ns)
    }
}

/// This machine's `CLOCK_MONOTONIC`, nanoseconds.
pub fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_NS: i64 = 86_400_000_000_000;

    /// Exchanges with a clock that is ahead by `offset`, over a link with these delays to and fro.
    fn exchanges(offset: i64, delays: &[(u64, u64)]) -> Vec<Exchange> {
        let mut now = 1_000_000_000_000;
        let one = |(to, fro): &(u64, u64)| {
            let sent_ns = now;
            now += to;
            let theirs_ns = now.checked_add_signed(offset).unwrap();
            now += fro;
            let received_ns = now;
            now += 1_000;
            Exchange {
                sent_ns,
                theirs_ns,
                received_ns,
            }
        };
        delays.iter().map(one).collect()
    }

    #[track_caller]
    fn check(offset: i64, delays: &[(u64, u64)], expected: (i64, u64)) {
        let found = ClockOffset::of(&exchanges(offset, delays)).unwrap();
        assert_eq!((found.offset_ns, found.error_ns), expected);
        let off = found.offset_ns.abs_diff(offset);
        assert!(off <= found.error_ns, "{off} is beyond the bound");
    }

    #[test]
    fn the_fastest_exchange_counts_and_the_truth_is_within_its_bound() {
        check(0, &[(50, 50)], (0, 50));
        check(0, &[(9_000, 100), (60, 40), (70, 70)], (10, 50));
        check(DAY_NS, &[(100, 0)], (DAY_NS + 50, 50));
        check(-DAY_NS / 100, &[(0, 101)], (-DAY_NS / 100 - 50, 51));
        // Whatever the queues of a loaded link do to either direction, the bound holds.
        for slow in [1, 10_000, 30_000_000] {
            check(
                5,
                &[(slow, 0)],
                (5 + (slow - slow / 2) as i64, slow.div_ceil(2)),
            );
        }
    }

    #[test]
    fn nothing_to_go_by_is_no_offset() {
        assert_eq!(ClockOffset::of(&[]), None);
        let backwards = Exchange {
            sent_ns: 5,
            theirs_ns: 5,
            received_ns: 4,
        };
        assert_eq!(ClockOffset::of(&[backwards]), None);
        let far = Exchange {
            sent_ns: 0,
            theirs_ns: u64::MAX,
            received_ns: 2,
        };
        assert_eq!(ClockOffset::of(&[far]), None);
    }

    #[test]
    fn times_go_there_and_back() {
        let ahead = ClockOffset::of(&exchanges(DAY_NS, &[(1, 1)])).unwrap();
        let there = ahead.theirs(7).unwrap();
        assert_eq!((there, ahead.ours(there)), (DAY_NS as u64 + 7, Some(7)));
        let behind = ClockOffset::of(&exchanges(-10, &[(1, 1)])).unwrap();
        assert_eq!((behind.theirs(9), behind.theirs(10)), (None, Some(0)));
        assert_eq!(behind.drift_since(&ahead), -10 - DAY_NS);
    }
}
