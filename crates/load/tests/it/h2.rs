//! The engine over HTTP/2 and a server that keeps the rules.
//!
//! On real sockets, because what a socket takes of a body, in which pieces bytes come and how
//! threads share a load is the kernel's. What happens when is tested in invented time.

use std::net::SocketAddr;
use std::time::Duration;

use bakeoff_load::LoadSpec;
use bakeoff_plan::LoadModel;
use bakeoff_record::{LoadResult, Outcome};

use crate::support::h2::{DATA, END_STREAM, HEADERS, Peer, WINDOW_UPDATE};
use crate::support::h2::{INITIAL_WINDOW_SIZE, request, server, server_with, spec};
use crate::support::load;

/// All requests of the load come out as `ok`.
#[track_caller]
fn check(spec: &LoadSpec) -> LoadResult {
    let result = load(spec);
    let count = spec.count.expect("a load by count");
    assert_eq!(
        result.outcomes.of(Outcome::Ok),
        count,
        "{:?}",
        result.error_samples
    );
    assert_eq!(
        result.requests.started, count,
        "no more than were asked for"
    );
    result
}

fn good() -> SocketAddr {
    server(Peer::answer_all)
}

#[test]
fn every_request_is_answered_and_counted_once() {
    let mut spec = spec(good(), 4);
    spec.load.model = LoadModel::Closed { clients: 3 };
    let result = check(&spec);
    assert_eq!(result.connections.opened, 3);
    assert_eq!(result.connections.reused, 27);
    assert_eq!(result.connections.closed_by_server, 0);
    assert_eq!(result.connections.goaways, 0);
    assert_eq!(result.bytes.body, 150);
    assert_eq!(result.bodies_checked, 30);
    assert_eq!(result.status[&200], 30);
    assert_eq!(result.negotiated.protocol, "h2c");
    let headers = result.header_bytes.expect("HTTP/2 has header blocks");
    // A byte for `:status: 200`, which is ten characters.
    assert_eq!((headers.wire, headers.decoded), (30, 300));
    assert_eq!(result.blocked.count(), 0, "no limit was reached");
}

#[test]
fn threads_share_a_count_that_no_stream_exceeds() {
    let mut spec = spec(good(), 3);
    spec.threads.count = 2;
    spec.load.model = LoadModel::Closed { clients: 5 };
    spec.count = Some(101);
    let result = check(&spec);
    assert_eq!(result.connections.opened, 5);
    assert_eq!(result.engine.busy_share.len(), 2);
}

#[test]
fn connections_are_closed_after_their_share_of_requests() {
    let mut spec = spec(good(), 2);
    spec.connections.requests_per_connection = Some(5);
    let result = check(&spec);
    assert_eq!(result.connections.opened, 6);
    assert_eq!(result.connections.reused, 24);
    assert_eq!(result.connections.closed_by_server, 0);
    assert_eq!(result.carried.count(), 0, "the server ended none");
}

#[test]
fn several_urls_are_asked_as_often_as_their_weights_say() {
    let address = good();
    let mut spec = spec(address, 4);
    spec.count = Some(1000);
    let mut other = spec.exchanges[0].clone();
    other.name = "/other".to_owned();
    other.h2 = Some(request("HEAD", address, &[]));
    other.to_head_request = true;
    spec.exchanges[0].weight = 9;
    spec.exchanges.push(other);
    let result = load(&spec);
    let [hello, other] = &result.urls[..] else {
        panic!("two URLs, not {:?}", result.urls);
    };
    assert_eq!(hello.outcomes.of(Outcome::Ok), hello.outcomes.completed());
    // The server sends a body to HEAD, which none of the others gets for that.
    assert_eq!(
        other.outcomes.of(Outcome::Protocol),
        other.outcomes.completed()
    );
    assert!(other.outcomes.completed().abs_diff(100) < 50, "{other:?}");
    assert_eq!(hello.latency.count(), hello.outcomes.completed());
}

#[test]
fn a_body_larger_than_the_windows_is_sent_as_they_allow() {
    const BODY: usize = 300_000;
    const WINDOW: usize = 65_535;
    // The server takes nothing more before a window is used up, and answers with the length.
    let address = server(|peer| {
        let (mut allowed, mut taken) = (WINDOW, 0);
        while let Some(frame) = peer.frame() {
            if frame.kind != DATA {
                continue;
            }
            let length = frame.payload.len();
            assert!(length <= allowed, "{length} of {allowed}");
            (allowed, taken) = (allowed - length, taken + length);
            if frame.flags & END_STREAM != 0 {
                peer.answer(frame.stream, taken.to_string().as_bytes());
                taken = 0;
            }
            if allowed == 0 || taken == 0 {
                let more = (WINDOW - allowed) as u32;
                allowed = WINDOW;
                peer.send(WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
                peer.send(WINDOW_UPDATE, 0, frame.stream, &more.to_be_bytes());
            }
        }
    });
    let mut spec = spec(address, 1);
    spec.count = Some(10);
    spec.load.timeout_s = 10.0;
    spec.exchanges[0].h2 = Some(request("POST", address, &vec![b'x'; BODY]));
    spec.exchanges[0].body = Some(b"300000".as_slice().into());
    let result = check(&spec);
    assert!(result.bytes.written > 10 * BODY as u64);
}

#[test]
fn a_body_is_not_sent_on_when_its_answer_has_come() {
    let address = server(|peer| {
        while let Some(frame) = peer.frame() {
            if frame.kind == HEADERS {
                peer.answer(frame.stream, b"hello");
            }
        }
    });
    let mut spec = spec(address, 2);
    spec.exchanges[0].h2 = Some(request("POST", address, &vec![b'x'; 300_000]));
    let result = check(&spec);
    // Both windows are 65,535 bytes, and the connection's is never enlarged.
    assert!(result.bytes.written < 100_000, "{:?}", result.bytes);
}

#[test]
fn a_server_that_reads_late_gets_each_body_whole() {
    const BODY: usize = 3_000_000;
    const LARGE: u32 = 1 << 30;
    // Windows without a bound in effect: what stops the client is its socket.
    let address = server_with(&[(INITIAL_WINDOW_SIZE, LARGE)], |peer| {
        peer.send(WINDOW_UPDATE, 0, 0, &LARGE.to_be_bytes());
        let mut taken = 0;
        while let Some(frame) = peer.frame() {
            if frame.kind == HEADERS {
                std::thread::sleep(Duration::from_millis(50));
            }
            if frame.kind != DATA {
                continue;
            }
            assert!(frame.payload.iter().all(|byte| *byte == b'x'));
            taken += frame.payload.len();
            if frame.flags & END_STREAM != 0 {
                peer.answer(
                    frame.stream,
                    std::mem::take(&mut taken).to_string().as_bytes(),
                );
            }
        }
    });
    let mut spec = spec(address, 1);
    spec.load.timeout_s = 10.0;
    spec.count = Some(6);
    spec.exchanges[0].h2 = Some(request("POST", address, &vec![b'x'; BODY]));
    spec.exchanges[0].body = Some(BODY.to_string().into_bytes().into());
    check(&spec);
}
