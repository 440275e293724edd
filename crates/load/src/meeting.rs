//! Where the threads of an engine wait for each other.
//!
//! The standard library's barrier waits for ever for a thread that never comes: one that could
//! not be started, failed or panicked. This one can be called off.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where so many threads wait for each other, as often as they like.
pub(crate) struct Meeting {
    threads: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Threads that wait.
    waiting: usize,
    /// How often all have met.
    met: u64,
    is_off: bool,
}

impl Meeting {
    pub(crate) fn of(threads: usize) -> Self {
        Self {
            threads,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Waits until all threads do. Returns whether this is the one that came last, or `None`
    /// where the meeting is off.
    pub(crate) fn wait(&self) -> Option<bool> {
        let mut state = self.state();
        if state.is_off {
            return None;
        }
        state.waiting += 1;
        if state.waiting == self.threads {
            state.waiting = 0;
            state.met += 1;
            self.changed.notify_all();
            return Some(true);
        }
        let before = state.met;
        while state.met == before && !state.is_off {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        (state.met > before).then_some(false)
    }

    /// Nobody waits any more: a thread does not come.
    pub(crate) fn call_off(&self) {
        self.state().is_off = true;
        self.changed.notify_all();
    }

    /// Calls the meeting off when it is dropped: a thread that holds it will not come again,
    /// because it failed, panicked, or has met all that it was to meet.
    pub(crate) fn leave_at_end(&self) -> Leaving<'_> {
        Leaving(self)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Meeting::leave_at_end`].
pub(crate) struct Leaving<'a>(&'a Meeting);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.call_off();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_meet_again_and_again_and_one_of_them_is_the_last() {
        let (meeting, lasts) = (Meeting::of(4), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _leaving = meeting.leave_at_end();
                    for met in 0..100 {
                        let is_last = meeting.wait().expect("all come");
                        lasts.fetch_add(usize::from(is_last), Ordering::Relaxed);
                        meeting.wait().expect("all come");
                        assert_eq!(lasts.load(Ordering::Relaxed), met + 1);
                        meeting.wait().expect("all come");
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_that_does_not_come() {
        let meeting = Meeting::of(3);
        std::thread::scope(|scope| {
            let waiting = [(); 2].map(|()| scope.spawn(|| meeting.wait()));
            let panicking = scope.spawn(|| {
                let _leaving = meeting.leave_at_end();
                std::panic::resume_unwind(Box::new(()));
            });
            assert!(panicking.join().is_err());
            assert!(waiting.map(|each| each.join().ok()) == [Some(None), Some(None)]);
        });
        assert_eq!(meeting.wait(), None);
    }
}
