//! Ctrl-C and the termination signals: the first asks to end cleanly, a later one ends at once.
//!
//! Signals within half a second are one: `timeout` sends one to its child and one to the group that
//! the child is in, and a terminal and a shell may do the same.
//!
//! A step that does not end in time is not waited for: what was recorded is on the disk, and the
//! keepers end the servers when this process is gone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{exit, output};

/// What asks to end.
const SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
/// Signals that follow the first one within this time are the same request.
const SAME_WITHIN: Duration = Duration::from_millis(500);
/// How often a waiting thread looks.
const PERIOD: Duration = Duration::from_millis(20);
/// What a clean end may take after the first signal. With the time that the last words and the
/// system take, bakeoff is gone within a second.
const CLEAN_END_WITHIN: Duration = Duration::from_millis(700);
/// What the last words may take: a terminal may be stopped, and a pipe full.
const WORDS_WITHIN: Duration = Duration::from_millis(30);

/// Whether a signal asked to end.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    /// What is said at an end that is not clean.
    words: Arc<Mutex<String>>,
    /// What a clean end may take, milliseconds.
    limit_ms: Arc<AtomicU64>,
}

impl Interrupt {
    /// Hears signals from now on.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in SIGNALS {
            signal_hook::flag::register(signal, asked.clone())?;
        }
        bakeoff_stage::host::hear(asked.clone());
        let words = Arc::new(Mutex::new("interrupted".to_owned()));
        let limit = u64::try_from(CLEAN_END_WITHIN.as_millis()).unwrap_or(u64::MAX);
        let interrupt = Self {
            asked,
            words,
            limit_ms: Arc::new(AtomicU64::new(limit)),
        };
        let (signals, last) = (Signals::new(SIGNALS)?, interrupt.clone());
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(move || last.end_by_second(signals))?;
        Ok(interrupt)
    }

    /// Ends the process when a second signal comes. Servers are no loss then: their keepers end
    /// them when this process is gone.
    fn end_by_second(&self, mut signals: Signals) {
        let mut first = None;
        for _ in signals.forever() {
            let first = *first.get_or_insert_with(Instant::now);
            if first.elapsed() >= SAME_WITHIN {
                self.end_now(" (a second signal: ended at once)");
            }
        }
    }

    /// Hears signals from now on, and ends the process if it goes on for long after one.
    pub(crate) fn listen_with_limit() -> std::io::Result<Self> {
        let interrupt = Self::listen()?;
        let last = interrupt.clone();
        interrupt.then(move || last.end_in_time());
        Ok(interrupt)
    }

    /// What to say when the process has to end before everything was put in order.
    pub(crate) fn say_last(&self, words: &str) {
        let mut last = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.clone_into(&mut last);
    }

    /// Lets a clean end take this many seconds, where all that can hang is over.
    pub(crate) fn take_time(&self, seconds: u64) {
        self.limit_ms.store(seconds * 1000, Ordering::Relaxed);
    }

    fn end_in_time(&self) {
        let since = Instant::now();
        let limit = || Duration::from_millis(self.limit_ms.load(Ordering::Relaxed));
        while since.elapsed() < limit() {
            std::thread::sleep(PERIOD);
        }
        self.end_now("");
    }

    /// Ends the process without putting anything in order; `why` follows the last words.
    fn end_now(&self, why: &'static str) {
        let words = self.words.clone();
        std::thread::spawn(move || {
            let words = words.lock().unwrap_or_else(PoisonError::into_inner).clone();
            output::note(&format!("{words}{why}"));
        });
        std::thread::sleep(WORDS_WITHIN);
        // Nothing is unwound: whoever holds up the end may hold a lock as well.
        signal_hook::low_level::exit(i32::from(exit::INTERRUPTED));
    }

    /// Whether a signal has come.
    pub(crate) fn came(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The flag itself, for those who look at it on their own.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.asked.clone()
    }

    /// Calls `stop` on a thread of its own when a signal comes.
    pub(crate) fn then(&self, stop: impl FnOnce() + Send + 'static) {
        let interrupt = self.clone();
        std::thread::spawn(move || {
            while !interrupt.came() {
                std::thread::sleep(PERIOD);
            }
            stop();
        });
    }
}
