//! When all loops of a server are to end, or to be away for a while.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// When to end: the caller said so, or one of the loops failed. When to be away for a while.
#[derive(Clone, Copy)]
pub(crate) struct Halt<'a> {
    pub(crate) stop: &'a AtomicBool,
    pub(crate) failed: &'a AtomicBool,
    pub(crate) began: Instant,
    /// When loops that were asked to go away are back, milliseconds from their beginning.
    pub(crate) back_ms: &'a AtomicU64,
}

impl Halt<'_> {
    /// Whether to end now.
    #[inline]
    pub(crate) fn asked(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    /// Has all loops go away for so long.
    pub(crate) fn send_away(&self, length: Duration) {
        let back = self.began.elapsed() + length;
        let back_ms = u64::try_from(back.as_millis()).unwrap_or(u64::MAX);
        self.back_ms.store(back_ms, Ordering::Relaxed);
    }

    /// How long a loop has to be away from now on; 0 for one that is to serve.
    #[inline]
    pub(crate) fn away(&self) -> Duration {
        match self.back_ms.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            back_ms => Duration::from_millis(back_ms).saturating_sub(self.began.elapsed()),
        }
    }
}
