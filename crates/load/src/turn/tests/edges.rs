//! What comes together with the connection, before a request or in the middle of an answer.

use super::frames::{DATA, END_HEADERS, HEADERS, NO_ERROR, STATUS_200, frame, go_away, settings};
use super::*;
use crate::driver::invented::Act;
use crate::link::serial::DROP_BYTES_MAX;
use crate::thread::READ_BYTES;

const BUSY: &[u8] = b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
/// The first five of a hundred bytes.
const BEGUN: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello";

/// Three requests, each on a connection on which the server says `acts` at once, come out as
/// `outcome`.
#[track_caller]
fn check_early(acts: &[Act], outcome: Outcome) {
    for connect in [Connect::AsNeeded, Connect::First] {
        let server = Server::silent().on_open(|_, _| acts.to_vec());
        let mut spec = counted(1, 3);
        spec.load.connect = connect;
        let played = check(&spec, server, &[(outcome, 3)]);
        assert!(played.end() < BEGIN + ms(10), "none waits for its timeout");
        assert_eq!(played.result.status.get(&503).copied().unwrap_or(0), {
            if outcome == Outcome::Status { 3 } else { 0 }
        });
    }
}

#[test]
fn what_comes_with_the_connection_is_the_first_requests() {
    let send = |bytes: &[u8]| Act::Send(0, bytes.to_vec());
    check_early(&[send(BUSY), Act::Close(0)], Outcome::Status);
    check_early(&[send(BUSY)], Outcome::Status);
    check_early(&[Act::Close(0)], Outcome::ClosedEarly);
    check_early(&[Act::Reset(0)], Outcome::Reset);
    check_early(&[send(b"SSH-2.0-OpenSSH_9.2\r\n")], Outcome::Protocol);
    check_early(&[send(HELLO)], Outcome::Protocol);
    check_early(&[send(HELLO), Act::Close(0)], Outcome::Protocol);
}

#[test]
fn the_first_half_of_an_early_answer_makes_all_of_it_early() {
    let (first, rest) = HELLO.split_at(20);
    let server = Server::new(move |_| vec![Act::Send(ms(1), rest.to_vec())])
        .on_open(move |_, _| vec![Act::Send(0, first.to_vec())]);
    let played = check(&counted(1, 3), server, &[(Outcome::Protocol, 3)]);
    let sample = &played.result.error_samples["protocol"];
    assert!(sample.contains("before the request was sent"), "{sample}");
}

#[test]
fn an_answer_that_comes_on_a_connection_at_rest_is_nobodys() {
    // An open loop's connection is at rest for 9 ms after each answer.
    let unasked = |asked: server::Asked| {
        let mut acts = asked.hello(ms(1));
        acts.push(Act::Send(ms(5), HELLO.to_vec()));
        acts
    };
    let mut spec = open(100.0, 1);
    spec.load.duration_s = 0.1;
    let result = check(&spec, Server::new(unasked), &[(Outcome::Ok, 10)]).result;
    assert_eq!(
        (
            result.connections.opened,
            result.connections.closed_by_server
        ),
        (10, 0),
        "it is the engine that ends them"
    );
    assert_eq!(result.observed.unasked, 10, "and says why");
    for end in [Act::Close(ms(5)), Act::Reset(ms(5))] {
        let ended = |asked: server::Asked| [asked.hello(ms(1)), vec![end.clone()]].concat();
        let result = check(&spec, Server::new(ended), &[(Outcome::Ok, 10)]).result;
        assert_eq!(result.connections.opened, 10);
        assert_eq!(result.connections.closed_by_server, 10);
        assert_eq!(result.observed.unasked, 0);
    }
}

#[test]
fn a_connection_that_is_ended_for_what_came_beyond_an_answer_is_not_the_servers_end() {
    let beyond = |head: &str| {
        let answer = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: 5\r\n\r\nhello and more");
        Server::new(move |_| vec![Act::Send(ms(1), answer.clone().into_bytes())])
    };
    let result = check(&counted(1, 3), beyond(""), &[(Outcome::TooLong, 3)]).result;
    assert_eq!(result.connections.closed_by_server, 0);
    let closing = beyond("Connection: close\r\n");
    let result = check(&counted(1, 3), closing, &[(Outcome::TooLong, 3)]).result;
    assert_eq!(result.connections.closed_by_server, 3);
}

/// An answer with a body of so many bytes, and that body.
fn with_body_of(bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let body = vec![b'x'; bytes];
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
    ([head.as_bytes(), &body].concat(), body)
}

/// Each request is answered by the answer with a body of `bytes`, and `beyond` comes together with
/// it: all of them are too long. The body is looked at, or dropped.
#[track_caller]
fn check_beyond(spec: &LoadSpec, bytes: usize, beyond: &[u8], is_looked_at: bool) {
    let (answer, body) = with_body_of(bytes);
    let sent = [&answer, beyond].concat();
    let mut spec = spec.clone();
    spec.exchanges[0].body = is_looked_at.then(|| body.into());
    let server = Server::new(|_| vec![Act::Send(ms(1), sent.clone())]);
    let played = check(&spec, server, &[(Outcome::TooLong, 2)]);
    assert_eq!(played.result.connections.opened, 2);
}

#[test]
fn bytes_beyond_a_body_are_seen_however_long_it_is_and_whether_it_is_looked_at_or_not() {
    let head = with_body_of(65_000).0.len() - 65_000;
    let full = READ_BYTES - head;
    let mut open = open(100.0, 1);
    open.load.duration_s = 0.02;
    // Short, up to the end of a full read, and long.
    for bytes in [5, full - 1, full, full + 1, 100_000] {
        for beyond in [b"y".as_slice(), b"\r\n", &with_body_of(bytes).0] {
            for is_looked_at in [true, false] {
                check_beyond(&counted(1, 2), bytes, beyond, is_looked_at);
                check_beyond(&open, bytes, beyond, is_looked_at);
            }
        }
    }
    // What one call drops; the length has two digits more.
    let most = full + DROP_BYTES_MAX as usize - 2;
    for bytes in [most, most + 1] {
        check_beyond(&counted(1, 2), bytes, b"y", false);
    }
}

#[test]
fn an_answer_that_ends_a_full_read_keeps_its_connection() {
    let head = with_body_of(65_000).0.len() - 65_000;
    let (answer, body) = with_body_of(READ_BYTES - head);
    let mut spec = counted(1, 3);
    spec.exchanges[0].body = Some(body.into());
    let server = Server::new(|_| vec![Act::Send(ms(1), answer.clone())]);
    let result = check(&spec, server, &[(Outcome::Ok, 3)]).result;
    assert_eq!(result.connections.opened, 1);
}

#[test]
fn nothing_is_asked_on_a_connection_that_was_switched_to_another_protocol() {
    let switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
    let mut spec = counted(1, 3);
    spec.exchanges[0].status = ExpectedStatus::Exactly(101);
    spec.exchanges[0].body = None;
    let server = Server::new(|_| vec![Act::Send(ms(1), switched.to_vec())]);
    let result = check(&spec, server, &[(Outcome::Ok, 3)]).result;
    assert_eq!(result.connections.opened, 3);
}

#[test]
fn the_first_byte_is_that_of_the_final_answer_however_reads_are_cut() {
    let hints: &[u8] = b"HTTP/1.1 103 Early Hints\r\n\r\n";
    for (at, part, expected_ms) in [
        // The rest of the interim head comes by itself, with the answer, or with its first part.
        (10, hints.len(), 50),
        (10, hints.len() + HELLO.len(), 2),
        (10, hints.len() + 5, 2),
    ] {
        let all = [hints, HELLO].concat();
        let server = Server::new(move |_| {
            let mut acts = vec![
                Act::Send(ms(1), all[..at].to_vec()),
                Act::Send(ms(2), all[at..part].to_vec()),
            ];
            if part < all.len() {
                acts.push(Act::Send(ms(50), all[part..].to_vec()));
            }
            acts
        });
        let result = check(&counted(1, 3), server, &[(Outcome::Ok, 3)]).result;
        let first_byte = (result.first_byte.min(), result.first_byte.max());
        assert_eq!(first_byte, (Some(ms(expected_ms)), Some(ms(expected_ms))));
    }
}

#[test]
fn a_goaway_that_comes_first_refuses_what_would_have_been_sent() {
    let server = Server::h2(|_| Vec::new()).on_open(|_, _| {
        let said = [settings(&[]), go_away(0, NO_ERROR)].concat();
        vec![Act::Send(0, said), Act::Close(0)]
    });
    let spec = over_h2(counted(1, 4), 2);
    let played = check(&spec, server, &[(Outcome::RefusedStream, 4)]);
    assert!(played.end() < BEGIN + ms(20), "none waits for its timeout");
    // A request alone waits for the first connection of a client, and two connections that take
    // nothing end it.
    assert_eq!(played.result.connections.opened, 8);
}

#[test]
fn an_end_or_garbage_in_place_of_settings_is_distinguished() {
    for (act, outcome) in [
        (Act::Close(0), Outcome::ClosedEarly),
        (Act::Reset(0), Outcome::Reset),
        (Act::Send(0, BUSY.to_vec()), Outcome::Protocol),
    ] {
        let server = Server::h2(|_| Vec::new()).on_open(|_, _| vec![act.clone()]);
        let played = check(&over_h2(counted(1, 4), 2), server, &[(outcome, 4)]);
        assert!(played.end() < BEGIN + ms(20), "none waits for its timeout");
    }
}

/// Three requests are answered by a part of an answer and an end, which come together or one
/// after the other, and come out as `outcome`, whether the body is read or dropped.
#[track_caller]
fn check_cut(end: fn(u64) -> Act, outcome: Outcome) {
    for later in [0, ms(1)] {
        for is_dropped in [false, true] {
            let mut spec = counted(1, 3);
            if is_dropped {
                spec.exchanges[0].body = None;
            }
            let server =
                Server::new(|_| vec![Act::Send(ms(1), BEGUN.to_vec()), end(ms(1) + later)]);
            let played = check(&spec, server, &[(outcome, 3)]);
            assert_eq!(played.result.connections.closed_by_server, 3);
        }
    }
}

#[test]
fn a_reset_inside_a_body_is_a_reset_and_an_end_cuts_it() {
    check_cut(Act::Reset, Outcome::Reset);
    check_cut(Act::Close, Outcome::Truncated);
}

#[test]
fn a_reset_inside_a_streams_body_is_a_reset_and_an_end_cuts_it() {
    for (end, outcome) in [
        (Act::Reset as fn(u64) -> Act, Outcome::Reset),
        (Act::Close, Outcome::Truncated),
    ] {
        for later in [0, ms(1)] {
            let server = Server::h2(|asked| {
                let head = frame(HEADERS, END_HEADERS, asked.stream, STATUS_200);
                let begun = [head, frame(DATA, 0, asked.stream, b"hel")].concat();
                vec![Act::Send(ms(1), begun), end(ms(1) + later)]
            });
            check(&over_h2(counted(1, 3), 1), server, &[(outcome, 3)]);
        }
    }
}

#[test]
fn a_request_that_the_socket_takes_in_parts_is_sent_whole() {
    let mut spec = counted(1, 3);
    let long = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "x".repeat(900)
    );
    spec.exchanges[0].request = long.clone().into_bytes().into();
    // A hundred bytes are taken at once, and a hundred more each millisecond.
    let more = |_, _| (1..=30).map(|n| Act::Take(ms(n), 100)).collect();
    let server = Server::after(us(500)).with_room(100).on_open(more);
    let played = check(&spec, server, &[(Outcome::Ok, 3)]);
    assert_eq!(played.result.connections.opened, 1);
    assert_eq!(played.result.bytes.written, 3 * long.len() as u64);
    // All of them but the first hundred bytes take a millisecond for each hundred.
    let last = (3 * long.len() as u64 - 100).div_ceil(100);
    assert_eq!(played.end(), BEGIN + DOOR + ms(last) + us(500));
}

#[test]
fn an_answer_to_half_a_request_is_the_last_on_its_connection() {
    let mut spec = counted(1, 3);
    let long = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{}",
        "x".repeat(900)
    );
    spec.exchanges[0].request = long.into_bytes().into();
    // The answer comes when the head is there; the body is never read.
    let server = Server::after(us(500)).with_room(300);
    let played = check(&spec, server, &[(Outcome::Ok, 3)]);
    assert_eq!(
        played.result.connections.opened, 3,
        "the rest of a body is no request"
    );
}

#[test]
fn an_answer_begins_behind_its_interim_responses() {
    // `:status: 103`, its name from the static table.
    let hints = |asked: server::Asked| match asked.stream {
        0 => b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec(),
        stream => frame(HEADERS, END_HEADERS, stream, b"\x08\x03103"),
    };
    let answer = |asked: server::Asked| {
        let mut acts = vec![Act::Send(ms(1), hints(asked))];
        acts.extend(asked.hello(ms(50)));
        acts
    };
    for (spec, server) in [
        (counted(1, 3), Server::new(answer)),
        (over_h2(counted(1, 3), 1), Server::h2(answer)),
    ] {
        let result = check(&spec, server, &[(Outcome::Ok, 3)]).result;
        let first_byte = (result.first_byte.min(), result.first_byte.max());
        assert_eq!(first_byte, (Some(ms(50)), Some(ms(50))));
    }
}
