//! Searches that end because all connections of the load are in use, and others that do not.

use super::*;
use crate::places::Places;

const MS: u64 = 1_000_000;

/// All connections taken, by a server that waits and takes no longer than ever.
const TAKEN: Places = Places {
    taken: Some(1.0),
    server_busy: Some(0.12),
    service_ns: Some(20 * MS),
};

/// The search of a server that carries 1,000/s, with this where it carries no more.
fn found(beyond: Places) -> Found {
    let load = sought(&["p99<30ms"], &[0.001]);
    let mut random = Random::new(1);
    let trials = run(&load, WHOLE, |step, _| {
        let mut seen = threshold(1000.0, 0.0, &mut random, step);
        if let Came::Measured(measured) = &mut seen.came {
            *measured.places = match seen.rate_per_s {
                rate if rate > 1000.0 => beyond,
                _ => Places {
                    taken: Some(0.6),
                    ..TAKEN
                },
            };
        }
        seen
    });
    let progress = Progress::new(&load, trials, WHOLE).unwrap();
    progress.found(None).remove(0)
}

#[test]
fn where_all_connections_are_taken_and_the_server_has_time_the_bound_is_theirs() {
    let found = found(TAKEN);
    assert_eq!(found.irregular, Some(Irregular::ConnectionsTaken));
    let why = found.why.as_deref().unwrap();
    let said = "requests/s all 100 connections were taken, while the server was 12 % busy; take a \
                higher -c";
    assert!(why.starts_with("at 1,0") && why.ends_with(said), "{why}");
    let standing = found.standing;
    assert!(standing.lower_per_s.is_some_and(|lower| lower > 970.0));
    assert_eq!(standing.upper_per_s, None, "the server was not at its end");
    assert_eq!(found.confirmed, Some(true));
}

#[test]
fn a_bound_that_may_be_the_servers_stays_a_bound() {
    for (what, places) in [
        ("nothing is known", Places::default()),
        (
            "it is busy",
            Places {
                server_busy: Some(0.97),
                ..TAKEN
            },
        ),
        (
            "nobody saw it",
            Places {
                server_busy: None,
                ..TAKEN
            },
        ),
        (
            "connections are free",
            Places {
                taken: Some(0.9),
                ..TAKEN
            },
        ),
        (
            "requests queue inside it",
            Places {
                service_ns: Some(95 * MS),
                ..TAKEN
            },
        ),
    ] {
        let found = found(places);
        assert_eq!(found.irregular, None, "{what}");
        assert!(found.standing.upper_per_s.is_some(), "{what}");
    }
}
