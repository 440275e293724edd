//! When a process began.

use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::file;
use crate::parse::{self, CLOCK_TICK};

/// When the process began, to a hundredth of a second; `None` if it is gone or hidden.
pub fn started_at(pid: u32) -> Option<SystemTime> {
    let path = format!("/proc/{pid}/stat");
    let stat = file::read(&path, &mut Vec::new()).and_then(parse::process_stat)?;
    let started = CLOCK_TICK.checked_mul(u32::try_from(stat.started).ok()?)?;
    // What the start is counted on: with the time in which the machine slept.
    let now = clock_gettime(ClockId::Boottime);
    let now = Duration::new(now.tv_sec.try_into().ok()?, now.tv_nsec.try_into().ok()?);
    SystemTime::now().checked_sub(now.saturating_sub(started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_began_after_this_test_did() {
        let before = SystemTime::now();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let started = started_at(child.id());
        let after = SystemTime::now();
        child.kill().unwrap();
        child.wait().unwrap();
        // Ticks are coarse, and so is the reading of two clocks.
        let slack = Duration::from_millis(50);
        let started = started.unwrap();
        assert!(
            before - slack <= started && started <= after + slack,
            "{started:?}"
        );
        assert_eq!(started_at(u32::MAX), None);
    }
}
