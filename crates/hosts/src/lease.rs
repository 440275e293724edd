//! A lease: life that has to be renewed.
//!
//! The end of the input shows that the other side is gone. It does not come while a link is down
//! or a program in between is stopped, so each side also gives the other up after some seconds
//! in which nothing came.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// After this much silence the other side is given up.
pub const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Shared by whoever renews it and whoever watches it. Times are those of any one clock.
#[derive(Debug)]
pub struct Lease {
    limit_ns: u64,
    renewed_ns: AtomicU64,
}

impl Lease {
    /// A lease that lasts for `limit` from `now_ns` on.
    pub(crate) fn new(limit: Duration, now_ns: u64) -> Self {
        Self {
            limit_ns: u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX),
            renewed_ns: AtomicU64::new(now_ns),
        }
    }

    /// Something came.
    pub(crate) fn renew(&self, now_ns: u64) {
        self.renewed_ns.fetch_max(now_ns, Ordering::Relaxed);
    }

    /// How long it lasts from `now_ns` on; `None` once it has run out.
    pub(crate) fn left(&self, now_ns: u64) -> Option<Duration> {
        let renewed_ns = self.renewed_ns.load(Ordering::Relaxed);
        let end_ns = renewed_ns.saturating_add(self.limit_ns);
        let left_ns = end_ns.checked_sub(now_ns).filter(|left| *left > 0)?;
        Some(Duration::from_nanos(left_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_out_unless_it_is_renewed() {
        let second = 1_000_000_000;
        let lease = Lease::new(SILENCE_MAX, second);
        assert_eq!(lease.left(second), Some(SILENCE_MAX));
        assert_eq!(lease.left(10 * second), Some(Duration::from_secs(1)));
        assert_eq!(lease.left(11 * second), None);
        lease.renew(9 * second);
        assert_eq!(lease.left(18 * second), Some(Duration::from_secs(1)));
        // Two threads may come out of order.
        lease.renew(3 * second);
        assert_eq!(lease.left(18 * second), Some(Duration::from_secs(1)));
        assert_eq!(lease.left(19 * second), None);
    }
}
