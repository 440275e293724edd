//! Every way in which a response can end, in whatever pieces it comes.
//!
//! On real sockets, because the pieces and the end of a stream are the kernel's.

use std::io::Write;

use bakeoff_load::LoadSpec;
use bakeoff_record::{LoadResult, Outcome};

use crate::support::{HELLO, always, load, once, read_request, server, spec};

/// Thirty requests all come out as `outcome`.
#[track_caller]
fn check(spec: &LoadSpec, outcome: Outcome) -> LoadResult {
    let result = load(spec);
    let seen = (&result.outcomes, &result.error_samples);
    assert_eq!(result.outcomes.of(outcome), 30, "{seen:?}");
    result
}

/// Thirty good answers by a server that keeps its connections: three are opened.
#[track_caller]
fn check_kept(spec: &LoadSpec) -> LoadResult {
    let result = check(spec, Outcome::Ok);
    assert_eq!(result.connections.opened, 3);
    assert_eq!(result.connections.reused, 27);
    assert_eq!(result.connections.closed_by_server, 0);
    result
}

#[test]
fn a_body_without_length_ends_with_its_connection() {
    for answer in [
        b"HTTP/1.1 200 OK\r\n\r\nhello".as_slice(),
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
    ] {
        let result = check(&spec(once(answer)), Outcome::Ok);
        assert_eq!(result.connections.opened, 30);
        assert_eq!(result.connections.closed_by_server, 30);
        assert_eq!(result.bytes.body, 150);
    }
}

#[test]
fn http_1_0_keeps_a_connection_only_if_it_says_so() {
    check_kept(&spec(always(
        b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello",
    )));
    // This server would answer again; the client closes, as HTTP/1.0 has it.
    let silent = always(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let result = check(&spec(silent), Outcome::Ok);
    assert_eq!(result.connections.opened, 30);
    assert_eq!(result.connections.reused, 0);
}

#[test]
fn answers_without_body_keep_their_connection_whatever_length_they_give() {
    for (answer, to_head_request) in [
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".as_slice(),
            true,
        ),
        (b"HTTP/1.1 200 OK\r\n\r\n", true),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            true,
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\n", false),
        (
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
            false,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            false,
        ),
    ] {
        let mut spec = spec(always(answer));
        spec.exchanges[0].to_head_request = to_head_request;
        spec.exchanges[0].body = None;
        let result = check_kept(&spec);
        assert_eq!(result.bytes.body, 0);
        assert_eq!(result.bytes.read, 30 * answer.len() as u64);
    }
}

#[test]
fn a_body_after_a_head_that_has_none_is_too_long() {
    let mut spec = spec(always(HELLO));
    spec.exchanges[0].to_head_request = true;
    spec.exchanges[0].body = None;
    check(&spec, Outcome::TooLong);
}

#[test]
fn interim_responses_are_no_answers() {
    let result = check_kept(&spec(always(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
          HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    )));
    assert_eq!(result.status[&200], 30);
    assert_eq!(result.status.len(), 1);
}

/// A good answer whose head is `bytes` long.
fn with_head_of(bytes: usize) -> Vec<u8> {
    let mut head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Onions: ".to_vec();
    head.resize(bytes - 4, b'o');
    [&head[..], b"\r\n\r\nhello"].concat()
}

#[test]
fn heads_are_read_up_to_64_kib() {
    for (bytes, outcome) in [(64 * 1024, Outcome::Ok), (64 * 1024 + 1, Outcome::Protocol)] {
        let address = server(move |mut stream| {
            let answer = with_head_of(bytes);
            while read_request(&mut stream) && stream.write_all(&answer).is_ok() {}
        });
        let mut spec = spec(address);
        spec.load.timeout_s = 10.0;
        check(&spec, outcome);
    }
}

#[test]
fn an_answer_may_come_byte_by_byte() {
    let address = server(|mut stream| {
        stream.set_nodelay(true).expect("a socket");
        let answer = with_head_of(2000);
        while read_request(&mut stream) {
            for byte in &answer {
                if stream.write_all(&[*byte]).is_err() {
                    return;
                }
            }
        }
    });
    let mut spec = spec(address);
    spec.load.timeout_s = 10.0;
    let result = check_kept(&spec);
    assert_eq!(result.bytes.read, 30 * 2005);
}

#[test]
fn chunks_and_trailers_may_come_in_any_pieces() {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        2;x=y\r\nhe\r\n003\r\nllo\r\n0\r\nX-Mustard: none\r\n\r\n";
    for piece in [1, 7, ANSWER.len()] {
        let address = server(move |mut stream| {
            stream.set_nodelay(true).expect("a socket");
            while read_request(&mut stream) {
                for part in ANSWER.chunks(piece) {
                    if stream.write_all(part).is_err() {
                        return;
                    }
                }
            }
        });
        let mut spec = spec(address);
        spec.load.timeout_s = 10.0;
        let result = check_kept(&spec);
        assert_eq!(result.bytes.body, 150);
        assert_eq!(result.bodies_checked, 30);
    }
}

#[test]
fn bytes_that_nobody_asked_for_are_never_taken_for_an_answer() {
    let address = server(|mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(HELLO);
        while read_request(&mut stream) && stream.write_all(HELLO).is_ok() {
            // Either too much of this answer, or in front of the next one.
            if stream.write_all(b"mustard").is_err() {
                return;
            }
        }
    });
    let mut spec = spec(address);
    spec.load.timeout_s = 10.0;
    let result = load(&spec);
    let of = |outcome| result.outcomes.of(outcome);
    let strange = of(Outcome::TooLong) + of(Outcome::Protocol);
    assert_eq!(of(Outcome::Ok) + strange, 30, "{:?}", result.outcomes);
    assert!(strange > 0 && of(Outcome::Ok) > 0, "{:?}", result.outcomes);
}
