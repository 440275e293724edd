//! The thread of this process that has worked most.

use std::time::Duration;

use crate::{file, kernel};

/// What a thread has had of processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// Time on a processor.
    pub ran: Duration,
    /// Time in which it wanted one and had none.
    pub waited: Duration,
}

/// Threads that are looked at.
const THREADS_MAX: usize = 1_024;

/// That of the thread of this process that ran longest; `None` where the kernel does not count.
pub fn busiest_thread() -> Option<ThreadTimes> {
    let mut buffer = Vec::new();
    let threads = std::fs::read_dir("/proc/self/task").ok()?.flatten();
    let times = threads.take(THREADS_MAX).filter_map(|thread| {
        let path = thread.path().join("schedstat");
        let (ran, waited) = kernel::thread_times_ns(file::read(path, &mut buffer)?)?;
        Some(ThreadTimes {
            ran: Duration::from_nanos(ran),
            waited: Duration::from_nanos(waited),
        })
    });
    times.max_by_key(|times| times.ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_busiest_thread() {
        if let Some(times) = busiest_thread() {
            assert!(times.ran > Duration::ZERO);
        }
    }
}
