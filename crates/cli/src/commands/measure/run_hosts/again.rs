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
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use bakeoff_hosts::{Cause, HostError, Own, Place, Way, open};
    use bakeoff_record::Hosts;

    use super::super::{Shared, never_begun, scripts};
    use super::*;

    /// A host that is back at this attempt, and a user who wants to stop in this pause.
    #[track_caller]
    fn check(back_at: u32, stops_in: u32, expected: Result<u32, u32>) {
        let (mut attempts, mut pauses) = (0, 0);
        let attempt = || {
            attempts += 1;
            if attempts >= back_at {
                Ok(attempts)
            } else {
                Err(attempts)
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

    /// As behind a link that was down between two loads.
    #[test]
    fn a_generator_whose_session_has_ended_is_reached_again_before_the_next_load() {
        let folder = tempfile::tempdir().unwrap();
        let own = Own::find().unwrap();
        let place = scripts::host_that_ends(folder.path(), &own, None);
        let home = Place {
            name: "home".to_owned(),
            way: Way::Home,
            program: None,
        };
        let shared = Shared {
            own: own.clone(),
            owner: "ada".to_owned(),
            places: vec![place.clone()],
            sessions: Mutex::default(),
            engines: Vec::new(),
            kernels: BTreeMap::new(),
            links: Mutex::default(),
            server: home.clone(),
            origin: home,
            addresses: None,
            open_files: Vec::new(),
        };
        let mut sessions = [Some(open(&place, &own, "ada").unwrap())];
        shared.reach_again(&mut sessions).unwrap();
        assert_eq!(scripts::starts(folder.path()), 2);
        assert!(sessions[0].is_some());
    }

    /// Only a host that is away keeps a load from beginning; what an agent says of it is a failure.
    #[test]
    fn a_lost_host_keeps_a_load_from_beginning_and_one_that_refuses_fails_it() {
        let away = |cause: Cause| {
            let error = anyhow::Error::new(HostError {
                host: "g1".to_owned(),
                cause,
            });
            let generated = never_begun(&error, Hosts::default(), false);
            assert_eq!(generated.hosts.unwrap().lost.len(), 1);
            generated.away.map(|lost| lost.host)
        };
        let refused = Cause::Refused {
            why: "too many files".to_owned(),
            usage: true,
        };
        let late = Cause::Late {
            what: "make the load ready",
            seconds: 30,
        };
        assert_eq!(away(refused), None);
        assert_eq!(away(late), None, "it answers pings");
        let silent = Cause::Silent { seconds: 10 };
        assert_eq!(away(silent).as_deref(), Some("g1"));
    }
}
