//! After the window: what is still waited for, and for how long.

use super::*;

#[test]
fn a_closed_loop_waits_for_what_was_in_flight_and_counts_it_as_that() {
    let mut spec = closed(3);
    spec.load.duration_s = 0.35;
    // Each client is answered at 100, 200 and 300 ms, and a while later, and at 400.
    let played = play(&spec, Server::after(ms(100)));
    let requests = &played.result.requests;
    assert_eq!(
        (requests.ok, requests.in_flight_at_end, requests.started),
        (9, 3, 12)
    );
    assert_eq!(
        played.end(),
        BEGIN + ms(400) + us(50) + 2 * us(50),
        "when the last one came"
    );
    assert_eq!(played.result.at_least.count(), 3);
    assert_eq!(
        played.result.at_least.max(),
        Some(ms(50) - us(50)),
        "its age at the end"
    );
    let oldest_s = played.result.observed.clients.oldest_age_s;
    assert_eq!(oldest_s, Some(0.049_95));
}

#[test]
fn a_closed_loop_waits_a_quarter_of_a_second_at_the_most() {
    let mut spec = closed(3);
    spec.load.timeout_s = 10.0;
    let played = play(&spec, Server::silent());
    let requests = &played.result.requests;
    assert_eq!((requests.completed, requests.in_flight_at_end), (0, 3));
    assert_eq!(played.end(), BEGIN + SECOND, "nothing ever came");
    assert_eq!(played.result.at_least.count(), 3);
    assert_eq!(played.result.at_least.max(), Some(SECOND - DOOR));
    // Nor does what ends in between let another one begin.
    let silent_at_last = Server::new(|asked| match asked.number {
        0..3 => asked.hello(ms(500)),
        3 => asked.hello(ms(600)),
        _ => Vec::new(),
    });
    let played = play(&spec, silent_at_last);
    assert_eq!(played.result.requests.started, 6);
    assert!(played.end() >= BEGIN + ms(1250), "{}", played.end());
    assert!(played.end() < BEGIN + ms(1251), "{}", played.end());
}

#[test]
fn streams_drain_as_connections_do() {
    let mut spec = over_h2(closed(2), 3);
    spec.load.duration_s = 0.35;
    let played = play(&spec, Server::h2(|asked| asked.hello(ms(100))));
    let requests = &played.result.requests;
    assert_eq!((requests.ok, requests.in_flight_at_end), (18, 6));
    assert!(played.end() < BEGIN + ms(410), "{}", played.end());
}

#[test]
fn an_open_loop_begins_what_was_due_before_the_end() {
    // One connection, an answer in 15 ms, a request every 10 ms for 100.
    let mut spec = open(100.0, 1);
    spec.load.duration_s = 0.1;
    let played = play(&spec, Server::after(ms(15)));
    let requests = &played.result.requests;
    assert_eq!(
        (requests.due, requests.begun, requests.ok),
        (Some(10), 10, 10)
    );
    assert_eq!(played.end(), zero(1) + 10 * ms(15));
    let balance = played.result.balance;
    assert_eq!((balance.begun, balance.ended, balance.in_flight), (7, 6, 1));
}
