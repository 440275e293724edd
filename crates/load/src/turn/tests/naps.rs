//! Waits that sleep past what becomes ready: only where that is in no figure.
//!
//! In all of these tests a request is due every millisecond, which is short enough to be slept.

use super::frames::{
    DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS,
    STATUS_200, frame, settings,
};
use super::server::Asked;
use super::*;
use crate::driver::invented::Act;
use crate::target::Endpoint;

/// All of a thousand requests have an answer after so long, and no wait is blind, or most are.
#[track_caller]
fn check_naps(spec: &LoadSpec, server: Server<'_>, latency_ns: u64, is_blind: bool) -> Played {
    let played = check(spec, server, &[(Outcome::Ok, 1000)]);
    let (blind, result) = (played.notes.blind.get(), &played.result);
    assert_eq!(
        (result.latency.min(), result.latency.max()),
        (Some(latency_ns), Some(latency_ns))
    );
    let kept = result.schedule.as_ref().expect("an open loop has one");
    assert_eq!(kept.slip.max(), Some(0));
    assert_eq!(blind > 900, is_blind, "{blind} blind waits");
    assert!(is_blind || blind == 0, "{blind} blind waits");
    played
}

#[test]
fn one_request_at_a_time_on_each_connection_is_slept_through() {
    for after in [us(100), us(900), us(2500)] {
        check_naps(&open(1000.0, 8), Server::after(after), after, true);
    }
    let spec = over_h2(open(1000.0, 2), 4);
    let server = Server::h2(|asked| asked.hello(us(100)));
    check_naps(&spec, server, us(100), true);
    // With two in flight, each is on a connection of its own.
    let server = Server::h2(|asked| asked.hello(us(1900)));
    check_naps(&over_h2(open(1000.0, 8), 1), server, us(1900), true);
}

#[test]
fn slack_sleeps_through_answers_as_naps_do() {
    let mut spec = open(500.0, 8);
    spec.pacing.waiting = Waiting::Slack(Duration::from_micros(100));
    let played = check(&spec, Server::after(us(100)), &[(Outcome::Ok, 500)]);
    assert_eq!(played.result.service.max(), Some(us(100)));
    assert!(played.notes.blind.get() > 400);
}

#[test]
fn a_connection_that_opens_is_watched() {
    let mut spec = open(1000.0, 8);
    spec.load.connect = Connect::AsNeeded;
    spec.connections.requests_per_connection = Some(1);
    // Connecting takes 50 us, and the wait for the answer may be slept.
    let played = check_naps(&spec, Server::after(us(100)), DOOR + us(100), true);
    assert_eq!(played.result.connect.max(), Some(DOOR));
    let closing = |_| {
        let bytes = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
        vec![Act::Send(us(100), bytes.to_vec()), Act::Close(us(100))]
    };
    let mut spec = open(1000.0, 8);
    spec.load.connect = Connect::AsNeeded;
    check_naps(&spec, Server::new(closing), DOOR + us(100), true);
}

#[test]
fn a_socket_file_has_no_stamps_and_is_watched() {
    let mut spec = open(1000.0, 8);
    spec.target.endpoints = vec![Endpoint::Unix("/a".into())];
    check_naps(&spec, Server::after(us(100)), us(100), false);
    // One of two is enough.
    spec.target
        .endpoints
        .push(open(1.0, 1).target.endpoints.remove(0));
    check_naps(&spec, Server::after(us(100)), us(100), false);
}

#[test]
fn what_waits_for_a_stream_is_sent_when_there_is_one() {
    // One stream at a time. Every other request is due half a millisecond before it is free.
    let server = Server::h2(|asked| asked.hello([us(1500), us(300)][asked.number as usize % 2]))
        .on_open(|_, _| vec![Act::Send(0, settings(&[(MAX_CONCURRENT_STREAMS, 1)]))]);
    let spec = over_h2(open(1000.0, 1), 4);
    let result = check(&spec, server, &[(Outcome::Ok, 1000)]).result;
    let kept = result.schedule.as_ref().expect("an open loop has one");
    assert_eq!((kept.wait.count(), kept.wait.max()), (500, Some(us(500))));
    let bounds = (result.latency.min(), result.latency.max());
    assert_eq!(bounds, (Some(us(800)), Some(us(1500))));
}

#[test]
fn two_in_flight_on_one_connection_each_have_their_own_time() {
    // Both answers come before the next request is due, and one of them later than the other.
    let server = Server::h2(|asked| asked.hello([us(1900), us(500)][asked.number as usize % 2]));
    let spec = over_h2(open(1000.0, 1), 4);
    let result = check(&spec, server, &[(Outcome::Ok, 1000)]).result;
    let bounds = (result.latency.min(), result.latency.max());
    assert_eq!(bounds, (Some(us(500)), Some(us(1900))));
    assert_eq!(result.latency.mean(), Some(us(1200) as f64));
}

#[test]
fn the_rest_of_a_request_is_sent_when_there_is_room() {
    // One and a half fit. The other half has room 50 us after its request was begun, and the
    // next one is due on the other connection.
    let length = open(1.0, 1).exchanges[0].request.len();
    let server = Server::new(|asked| {
        let since_due = (asked.now - zero(2)) % ms(1);
        let room = Act::Take(us(2050) - since_due, length);
        [asked.hello(us(100)), vec![room]].concat()
    });
    let server = server.with_room(length + length / 2);
    let result = check(&open(1000.0, 2), server, &[(Outcome::Ok, 1000)]).result;
    assert_eq!(result.latency.max(), Some(us(150)));
}

#[test]
fn what_may_wait_for_a_window_is_watched() {
    let mut spec = over_h2(open(1000.0, 2), 4);
    let small = vec![Act::Send(0, settings(&[(INITIAL_WINDOW_SIZE, 100)]))];
    let server = Server::h2(|asked| asked.hello(us(100))).on_open(move |_, _| small.clone());
    check_naps(&spec, server, us(100), false);
    spec.exchanges[0].request = vec![b'x'; 5000].into();
    let server = Server::h2(|asked| asked.hello(us(100)));
    check_naps(&spec, server, us(100), false);
}

/// A whole response with a body of so many bytes.
fn long(asked: Asked, after: u64, bytes: usize) -> Vec<Act> {
    let body = vec![b'x'; bytes];
    if asked.stream == 0 {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
        return vec![Act::Send(after, [head.into_bytes(), body].concat())];
    }
    let head = frame(HEADERS, END_HEADERS, asked.stream, STATUS_200);
    let parts = body.chunks(16_000);
    let parts = parts.map(|part| frame(DATA, 0, asked.stream, part));
    let end = frame(DATA, END_STREAM, asked.stream, b"");
    let frames = [vec![head], parts.collect(), vec![end]].concat();
    vec![Act::Send(after, frames.concat())]
}

#[test]
fn an_answer_that_may_be_long_is_watched_from_its_request_on() {
    // Each comes whole in one read, while others are awaited.
    let after = us(2500);
    let mut spec = open(1000.0, 8);
    spec.exchanges[0].body = None;
    let server = Server::new(|asked| long(asked, after, 40_000));
    check_naps(&spec, server, after, false);
    let server = Server::h2(|asked| long(asked, after, 40_000));
    check_naps(&over_h2(spec.clone(), 1), server, after, false);
    // The same with short ones, once one has come.
    check_naps(&spec, Server::after(after), after, true);
    let server = Server::h2(|asked| asked.hello(after));
    check_naps(&over_h2(spec, 1), server, after, true);
}

#[test]
fn a_long_answer_is_not_slept_past_because_a_short_one_came() {
    // A long one is always awaited, but for the first millisecond.
    let mut spec = open(1000.0, 8);
    let mut other = spec.exchanges[0].clone();
    other.body = Some(vec![b'x'; 100_000].into());
    spec.exchanges.push(other);
    spec.pacing.order = Order::InTurn;
    let server = Server::new(|asked| match asked.number % 2 {
        0 => asked.hello(us(100)),
        _ => long(asked, us(2500), 100_000),
    });
    let played = check(&spec, server, &[(Outcome::Ok, 1000)]);
    assert_eq!(played.notes.blind.get(), 1);
}

#[test]
fn each_request_of_a_turn_is_sent_at_a_time_of_its_own() {
    // A look at the clock and a call take 10 us each, and many requests are due at once.
    let mut spec = open(1000.0, 100);
    spec.pacing.waiting = Waiting::Slack(Duration::from_millis(50));
    let costs = Costs {
        call_ns: us(10),
        byte_ns: 0,
        look_ns: 1,
    };
    let server = Server::after(us(100));
    let result = play_at(&spec, server, costs, &Control::default()).result;
    assert_eq!(result.requests.ok, 1000);
    // What is sent arrives when the call has ended, and the stamp is the kernel's.
    let longest = result.service.max().expect("there were answers");
    assert!((us(100)..us(120)).contains(&longest), "{longest}");
    let gaps = result.observed.send_gaps_ns;
    // The first is from the start.
    let least = gaps.values()[1..].iter().min().expect("there were gaps");
    assert!(*least >= 10_000, "{least}");
}
