//! A host that was lost, reached again before the next trial.

use std::time::{Duration, Instant};

use bakeoff_hosts::SILENCE_MAX;
use bakeoff_stage::host;

/// Attempts to reach a host. What keeps it away for longer may keep it away for good, and each
/// trial that is tried meanwhile fails.
const ATTEMPTS: u32 = 3;
/// From one attempt to the next. An agent whose link is down lives on for [`SILENCE_MAX`] and has
/// two seconds to end its servers; until then its host is taken.
const PAUSE: Duration = SILENCE_MAX.saturating_add(Duration::from_secs(2));
/// Between two looks at whether somebody wants to stop.
const LOOK_PERIOD: Duration = Duration::from_millis(50);

/// Makes an attempt, and others after pauses where it fails. Returns what the last one came to.
pub(super) fn attempted<T, E>(attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    attempted_after(attempt, pause)
}

/// The same with these pauses, which say whether there is to be another attempt.
fn attempted_after<T, E>(
    mut attempt: impl FnMut() -> Result<T, E>,
    mut pause: impl FnMut() -> bool,
) -> Result<T, E> {
    let mut done = attempt();
    for _ in 1..ATTEMPTS {
        if done.is_ok() || !pause() {
            break;
        }
        done = attempt();
    }
    done
}

/// Waits, and says whether nobody wants to stop.
fn pause() -> bool {
    let end = Instant::now() + PAUSE;
    while !host::is_interrupted() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(LOOK_PERIOD));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that is back at this attempt, and a user who wants to stop in this pause.
    #[track_caller]
    fn check(back_at: u32, stops_in: u32, expected: Result<u32, u32>) {
        let (mut attempts, mut pauses) = (0, 0);
        let attempt = || {
            attempts += 1;
            match attempts >= back_at {
                true => Ok(attempts),
                false => Err(attempts),
            }
        };
        let pause = || {
            pauses += 1;
            pauses != stops_in
        };
        assert_eq!(attempted_after(attempt, pause), expected);
    }

    #[test]
    fn a_host_is_reached_again_in_a_few_attempts_or_not_at_all() {
        check(1, 1, Ok(1));
        check(2, 9, Ok(2));
        check(ATTEMPTS, 9, Ok(ATTEMPTS));
        check(ATTEMPTS + 1, 9, Err(ATTEMPTS));
        check(ATTEMPTS, 1, Err(1));
    }
}
