//! How many tests work at a time, however many threads run them.
//!
//! Most tests wait: for a server's start, a window, an end by silence. So they run on more threads
//! than there are processors (`Makefile`), and only so many of them have processes at a time. Of
//! those whose figures need much of the machine or its clock, one works beside them.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Scenes that have processes at a time, besides the one that is alone.
const TURNS: usize = 4;

thread_local! {
    /// Whether this thread's test is alone or has its turn.
    static IS_ON: Cell<bool> = const { Cell::new(false) };
}

static FREE: Mutex<usize> = Mutex::new(TURNS);
static FREED: Condvar = Condvar::new();

/// Held by tests that need much of the machine or its clock, so that they run one at a time. A
/// test takes it before it starts anything.
pub(crate) struct Alone {
    _one: MutexGuard<'static, ()>,
}

pub(crate) fn alone() -> Alone {
    static ALONE: Mutex<()> = Mutex::new(());
    let one = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    IS_ON.set(true);
    Alone { _one: one }
}

impl Drop for Alone {
    fn drop(&mut self) {
        IS_ON.set(false);
    }
}

/// Held by a scene from its first process on.
pub(crate) struct Turn(());

impl Turn {
    /// Waits for one; `None` where this test has one or is alone.
    pub(super) fn take() -> Option<Self> {
        if IS_ON.replace(true) {
            return None;
        }
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let free = FREED.wait_while(free, |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        Some(Self(()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        IS_ON.set(false);
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        FREED.notify_one();
    }
}
