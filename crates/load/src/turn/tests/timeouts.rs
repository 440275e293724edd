//! What does not come in time: requests, connections, and the rest after a failure.

use std::cell::RefCell;

use super::frames::{MAX_CONCURRENT_STREAMS, NO_ERROR, go_away, settings};
use super::*;
use crate::driver::invented::{Act, Door};

/// The ages at which requests of this outcome ended.
fn ages(played: &Played, outcome: Outcome) -> (Option<u64>, Option<u64>) {
    let ages = &played.result.error_latencies[&outcome];
    (ages.min(), ages.max())
}

#[test]
fn a_request_without_an_answer_ends_at_its_timeout() {
    let played = check(&counted(1, 3), Server::silent(), &[(Outcome::Timeout, 3)]);
    // Sent 50 us after the start of a millisecond, and looked at when one begins.
    let exactly = Some(ms(201) - DOOR);
    assert_eq!(ages(&played, Outcome::Timeout), (exactly, exactly));
    assert_eq!(played.result.at_least.count(), 3);
    // Each time the client rests for a millisecond and connects anew.
    assert_eq!(played.end(), BEGIN + 3 * ms(201) + 2 * ms(1));
    assert_eq!(played.result.connections.opened, 3);
}

#[test]
fn a_connection_that_nobody_answers_ends_at_its_timeout() {
    let silent = Server::silent().at_door(|_, _| Door::Silent);
    let played = check(&counted(1, 3), silent, &[(Outcome::ConnectTimeout, 3)]);
    let exactly = Some(ms(200));
    assert_eq!(ages(&played, Outcome::ConnectTimeout), (exactly, exactly));
    assert_eq!(played.end(), BEGIN + 3 * ms(200) + 2 * ms(1));
    assert_eq!(
        (
            played.result.connections.opened,
            played.result.connections.failed
        ),
        (0, 3)
    );
}

#[test]
fn an_answer_in_the_last_moment_is_in_time() {
    let played = check(&counted(1, 1), Server::after(ms(200)), &[(Outcome::Ok, 1)]);
    assert_eq!(played.result.latency.max(), Some(ms(200)));
    check(
        &counted(1, 1),
        Server::after(ms(201)),
        &[(Outcome::Timeout, 1)],
    );
}

#[test]
fn each_stream_has_its_own_timeout() {
    let mut spec = over_h2(closed(1), 4);
    spec.load.duration_s = 0.6;
    // The third request is answered when nobody waits for it any more, which hurts nobody.
    let server = Server::h2(|asked| match asked.stream {
        5 => asked.hello(ms(300)),
        _ => asked.hello(ms(10)),
    });
    let played = play(&spec, server);
    let outcomes = &played.result.outcomes;
    assert_eq!((outcomes.of(Outcome::Timeout), outcomes.errors()), (1, 1));
    assert_eq!(ages(&played, Outcome::Timeout).0, Some(ms(201) - DOOR));
    assert_eq!(played.result.connections.opened, 1, "the others go on");
    assert!(played.result.intervals.iter().all(|part| part.ok >= 27));
    for streams in [1, 3] {
        let spec = over_h2(counted(1, 9), streams);
        let played = check(&spec, Server::h2(|_| Vec::new()), &[(Outcome::Timeout, 9)]);
        // What follows is sent when a millisecond begins.
        let expected = (Some(ms(200)), Some(ms(201) - DOOR));
        assert_eq!(ages(&played, Outcome::Timeout), expected);
    }
}

#[test]
fn what_waits_for_the_limit_of_streams_times_out_too() {
    let server = Server::h2(|_| Vec::new())
        .on_open(|_, _| vec![Act::Send(0, settings(&[(MAX_CONCURRENT_STREAMS, 0)]))]);
    let played = check(&over_h2(counted(1, 9), 3), server, &[(Outcome::Timeout, 9)]);
    // The first one has begun before its connection was made.
    assert_eq!(
        ages(&played, Outcome::Timeout),
        (Some(ms(200)), Some(ms(201)))
    );
}

/// Ten thousand clients, or another number, each of which waits in vain once. Returns how often
/// the loop called and waited.
fn work(clients: u32, door: Door, outcome: Outcome) -> u64 {
    let mut spec = counted(clients, u64::from(clients));
    spec.connections.ramp_gap = Duration::from_micros(10);
    let server = Server::silent().at_door(move |_, _| door);
    let played = check(&spec, server, &[(outcome, u64::from(clients))]);
    let last = BEGIN + u64::from(clients) * us(10);
    assert!(played.end() <= last + DOOR + ms(201), "{}", played.end());
    played.notes.calls.get() + played.notes.waits.get()
}

#[test]
fn ten_thousand_silent_connections_time_out_by_work_in_proportion() {
    for (door, outcome) in [
        (Door::Silent, Outcome::ConnectTimeout),
        (Door::Opens(DOOR), Outcome::Timeout),
    ] {
        let (few, many) = (work(1_000, door, outcome), work(10_000, door, outcome));
        assert!(many <= 11 * few, "{many} for ten times what took {few}");
        assert!(many <= 60_000, "{many} for 10,000 connections");
    }
}

#[test]
fn a_refused_client_rests_before_it_tries_again() {
    let times = RefCell::new(Vec::new());
    let server = Server::silent().at_door(|_, now| {
        times.borrow_mut().push(now - BEGIN);
        Door::Refuses(us(10))
    });
    let mut spec = counted(1, 5);
    spec.connections.retry_pause = Duration::from_millis(7);
    let played = check(&spec, server, &[(Outcome::Refused, 5)]);
    assert_eq!(times.into_inner(), [0, 1, 2, 3, 4].map(|n| n * us(7_010)));
    assert_eq!(ages(&played, Outcome::Refused).1, Some(us(10)));
    assert_eq!(played.end(), BEGIN + 4 * us(7_010) + us(10));
    let resting_s = played.result.observed.set_up.resting_s;
    assert!((resting_s - 0.028).abs() < 1e-9, "{resting_s}");
}

#[test]
fn an_open_loop_rests_each_of_its_clients_too() {
    let times = RefCell::new(Vec::new());
    let server = Server::silent().at_door(|_, now| {
        times.borrow_mut().push(now);
        Door::Refuses(us(10))
    });
    let mut spec = open(1000.0, 1);
    spec.load.duration_s = 0.1;
    spec.load.timeout_s = 0.01;
    spec.connections.retry_pause = Duration::from_millis(7);
    let played = play(&spec, server);
    let times = times.into_inner();
    let pauses = times.windows(2).skip(1).map(|two| two[1] - two[0]);
    assert!(pauses.clone().count() > 10);
    assert!(pauses.clone().all(|pause| pause == us(7_010)), "{times:?}");
    assert_eq!(
        played.result.outcomes.of(Outcome::Refused),
        played.result.requests.begun
    );
}

#[test]
fn a_server_that_takes_nothing_gets_two_connections_at_the_pace_of_the_rest() {
    let times = RefCell::new(Vec::new());
    let server = Server::h2(|asked| match asked.stream {
        1 => vec![
            Act::Send(us(100), go_away(0, NO_ERROR)),
            Act::Close(us(100)),
        ],
        _ => Vec::new(),
    })
    .at_door(|_, now| {
        times.borrow_mut().push(now - BEGIN);
        Door::Opens(DOOR)
    });
    let mut spec = over_h2(counted(1, 6), 2);
    spec.connections.retry_pause = Duration::from_millis(3);
    let played = check(&spec, server, &[(Outcome::RefusedStream, 6)]);
    // Two requests at once; one connection may be an accident, a second one in a row is none.
    let each = DOOR + us(100) + ms(3);
    assert_eq!(times.into_inner(), [0, 1, 2, 3, 4, 5].map(|n| n * each));
    assert_eq!(played.result.connections.goaways, 6);
    assert_eq!(played.result.connections.streams_withdrawn, 12);
}
