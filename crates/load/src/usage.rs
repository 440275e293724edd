//! CPU time of the calling thread and peak memory of the process, as the kernel counts them.

use std::mem::MaybeUninit;

/// CPU time of one thread, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CpuTime {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
    /// Time in which the thread wanted a processor and had none: others ran, or a quota was
    /// used up.
    pub(crate) kept_s: f64,
}

impl CpuTime {
    /// What was used since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
            kept_s: self.kept_s - earlier.kept_s,
        }
    }
}

/// CPU time of the calling thread so far; `getrusage(RUSAGE_THREAD)` counts in microseconds.
pub(crate) fn thread_cpu() -> CpuTime {
    let usage = usage(libc::RUSAGE_THREAD);
    CpuTime {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        kept_s: kept_ns().unwrap_or(0) as f64 / 1e9,
    }
}

/// Second number of schedstat: nanoseconds on a run queue without running. `None` on a kernel
/// without it.
fn kept_ns() -> Option<u64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Peak resident memory of this process, bytes. `getrusage` would count what the program that
/// started it used, too: its `ru_maxrss` begins before the `exec`.
pub(crate) fn rss_bytes_max() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or_else(|| usage(libc::RUSAGE_SELF).ru_maxrss.unsigned_abs()) * 1024
}

fn usage(who: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to writable memory of the right type, and all-zero bytes are a
    // valid `rusage`, so reading it is sound even if the call should fail.
    unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}
