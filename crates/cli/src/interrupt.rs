//! Ctrl-C and the termination signals: the first asks to end cleanly, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// How often a waiting thread looks.
const PERIOD: Duration = Duration::from_millis(20);

/// Whether a signal asked to end.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Hears signals from now on.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Order matters: the second signal finds the flag that the first one set. Servers
            // are no loss then: their keepers end them when this process is gone.
            let code = i32::from(crate::exit::INTERRUPTED);
            signal_hook::flag::register_conditional_shutdown(signal, code, asked.clone())?;
            signal_hook::flag::register(signal, asked.clone())?;
        }
        Ok(Self(asked))
    }

    /// Whether a signal has come.
    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for those who look at it on their own.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
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
