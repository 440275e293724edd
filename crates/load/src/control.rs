//! What a running engine shares with its caller: a request to stop, when to begin, the time of the
//! window, and live counters for a display. Written and read without locks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::ledger::{Log, Logged, Noted};
use crate::pulse::Live;
use crate::share::Share;

/// Which requests are noted one by one.
#[derive(Debug, Clone, Copy, Default)]
enum Notes {
    #[default]
    None,
    /// So many of them at the most, evenly spread.
    Some(usize),
    /// All of them, and there are so many at the most; and closes of connections.
    All(usize),
}

/// Shared with a running engine.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    /// Whether the engine waits for its start to be named.
    held: bool,
    ready: AtomicBool,
    /// When the load is to begin, and when the last thread began it; 0 before it is known.
    start_ns: AtomicU64,
    began_ns: AtomicU64,
    window: OnceLock<(Instant, Instant)>,
    live: Live,
    notes: Notes,
    noted: OnceLock<Noted>,
}

impl Control {
    /// The control of an engine that begins at an order, so that several begin at once:
    /// see [`begin_at`](Self::begin_at). That of [`default`](Self::default) begins by itself.
    pub fn held() -> Self {
        Self {
            held: true,
            ..Self::default()
        }
    }

    /// The control of an engine that notes up to so many requests one by one.
    pub fn logging(most: usize) -> Self {
        Self {
            notes: Notes::Some(most),
            ..Self::default()
        }
    }

    /// The control of an engine that notes each request of its window, of which there are `most`
    /// at the most, and when the server closed connections.
    pub fn noting_all(most: usize) -> Self {
        Self {
            notes: Notes::All(most),
            ..Self::default()
        }
    }

    /// The requests that were noted, in the order of their ends; none before the engine has ended.
    pub fn logged(&self) -> &[Logged] {
        self.noted.get().map_or(&[], |noted| &noted.requests)
    }

    /// All that was noted; nothing before the engine has ended.
    pub fn noted(&self) -> Noted {
        self.noted.get().cloned().unwrap_or_default()
    }

    /// Where a thread with this share of the load notes requests, if it does. Connections that it
    /// does not keep are closed without a note.
    pub(crate) fn log(&self, share: Share) -> Option<Log> {
        match self.notes {
            Notes::None | Notes::Some(0) => None,
            Notes::Some(most) => Some(Log::new(share.of(most as u64) as usize)),
            Notes::All(most) => Some(Log::of_all(most)),
        }
    }

    pub(crate) fn set_noted(&self, noted: Noted) {
        // Only the engine sets it, at its end.
        let _ = self.noted.set(noted.sorted());
    }

    /// Whether an engine that is held has made its threads and opened its connections, as far as
    /// they are opened ahead of the load. It waits for its start to be named.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Names the time at which the load of an engine that is held begins, in nanoseconds of
    /// [`monotonic_ns`](crate::monotonic_ns). Where that has passed when the engine hears of it,
    /// what was due by then is late, and [`began_ns`](Self::began_ns) shows by how much.
    pub fn begin_at(&self, start_ns: u64) {
        self.start_ns.store(start_ns.max(1), Ordering::Release);
    }

    /// When the last thread began the load, in nanoseconds of
    /// [`monotonic_ns`](crate::monotonic_ns); `None` before.
    pub fn began_ns(&self) -> Option<u64> {
        Some(self.began_ns.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    /// Asks the engine to end; it does within about 100 ms.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub(crate) fn is_stopping(&self) -> bool {
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

    /// Whether the engine waits for its start to be named.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// All threads have opened their connections.
    pub(crate) fn note_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// When the load is to begin; `None` where nobody named a time.
    pub(crate) fn named_start(&self) -> Option<u64> {
        Some(self.start_ns.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    /// A thread begins the load.
    pub(crate) fn note_began(&self, at_ns: u64) {
        self.began_ns.fetch_max(at_ns, Ordering::AcqRel);
    }

    pub(crate) fn set_window(&self, start: Instant, end: Instant) {
        // Only the first thread past the barrier sets it.
        let _ = self.window.set((start, end));
    }
}
