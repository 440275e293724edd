//! How many processors an agent has for its threads.

use bakeoff_conduct::allowed_cpus;
use bakeoff_probe::quota_cpus;

/// Processors that this process can have at once.
pub(super) fn usable() -> u32 {
    at_once(allowed_cpus().len(), quota_cpus())
}

/// Those that a process may use, and no more than a quota of CPU time pays for: with more threads,
/// all of them would stand still for the rest of each period.
fn at_once(allowed: usize, quota: Option<u32>) -> u32 {
    let allowed = u32::try_from(allowed).unwrap_or(u32::MAX);
    quota.map_or(allowed, |quota| quota.min(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_no_more_processors_than_there_are() {
        assert_eq!(at_once(16, None), 16);
        assert_eq!(at_once(16, Some(2)), 2);
        assert_eq!(at_once(2, Some(16)), 2);
    }
}
