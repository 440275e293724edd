//! What passes between a running engine and whoever started it: a request to stop, the time of
//! the window, and live counters for a display. Written and read without locks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::pulse::Pulse;

/// Shared with a running engine.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    window: OnceLock<(Instant, Instant)>,
    live: Live,
}

impl Control {
    /// Asks the engine to end; it does within about 100 ms.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Planned start and end of the measured window, once they are known.
    pub fn window(&self) -> Option<(Instant, Instant)> {
        self.window.get().copied()
    }

    /// Live counters.
    pub fn live(&self) -> &Live {
        &self.live
    }

    pub(crate) fn set_window(&self, start: Instant, end: Instant) {
        // Only the first thread past the barrier sets it.
        let _ = self.window.set((start, end));
    }
}

/// Requests that ended since the start, warm-up included; about 100 ms old.
#[derive(Debug, Default)]
pub struct Live {
    ok: AtomicU64,
    errors: AtomicU64,
    /// The time that they cover, and latencies.
    pub(crate) pulse: Pulse,
}

impl Live {
    /// Requests that ended as `ok`.
    pub fn ok(&self) -> u64 {
        self.ok.load(Ordering::Relaxed)
    }

    /// Requests that ended otherwise.
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, ok: u64, errors: u64) {
        self.ok.fetch_add(ok, Ordering::Relaxed);
        self.errors.fetch_add(errors, Ordering::Relaxed);
    }
}
