//! The engine over HTTP/2 and a server that keeps the rules: streams, their limit, the ends of
//! connections, and that the counts add up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bakeoff_load::{Control, LoadSpec, run};
use bakeoff_plan::{Arrival, LoadModel};
use bakeoff_record::{LoadResult, Outcome};

use support::h2::{DATA, END_STREAM, HEADERS, NO_ERROR, Peer, WINDOW_UPDATE};
use support::h2::{INITIAL_WINDOW_SIZE, request, server, server_of, server_with, spec};
use support::load;

mod support;

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
    spec.threads = 2;
    spec.load.model = LoadModel::Closed { clients: 5 };
    spec.count = Some(101);
    let result = check(&spec);
    assert_eq!(result.connections.opened, 5);
    assert_eq!(result.engine.busy_share.len(), 2);
}

#[test]
fn as_many_streams_are_in_flight_as_asked_for() {
    for streams in [1, 4, 100] {
        let most = Arc::new(AtomicU64::new(0));
        let seen = most.clone();
        let address = server(move |peer| {
            while let Some(streams) = peer.requests() {
                seen.fetch_max(streams.len() as u64, Ordering::Relaxed);
                streams.iter().for_each(|id| peer.answer(*id, b"hello"));
            }
        });
        let mut spec = spec(address, streams);
        spec.count = Some(300);
        check(&spec);
        assert_eq!(most.load(Ordering::Relaxed), u64::from(streams));
    }
}

#[test]
fn the_servers_limit_of_streams_is_kept_and_the_wait_is_told() {
    let most = Arc::new(AtomicU64::new(0));
    let seen = most.clone();
    let address = server_of(2, move |peer| {
        loop {
            // What was sent before the settings were known may be more.
            let is_known = peer.is_acknowledged;
            let Some(streams) = peer.requests() else {
                return;
            };
            if is_known {
                seen.fetch_max(streams.len() as u64, Ordering::Relaxed);
            }
            streams.iter().for_each(|id| peer.answer(*id, b"hello"));
        }
    });
    let result = check(&spec(address, 8));
    assert_eq!(most.load(Ordering::Relaxed), 2);
    // The server was silent between two batches, and six of eight waited for it each time.
    assert!(result.blocked.count() > 10, "{result:?}");
    assert!(result.blocked.max() > Some(1_000_000), "{result:?}");
    let settings = result.negotiated.settings.expect("they came");
    assert_eq!(settings.max_concurrent_streams, Some(2));
    // In a closed loop a request begins when its stream does.
    let longest = result.latency.max().expect("there were answers");
    let waited = result.blocked.max().expect("seen above");
    assert!(longest < 2 * waited, "{longest} ns holds {waited} ns");
}

/// Answers ten requests on each connection, and ends it in order by `say`, which gets the last
/// stream that was answered.
fn ending(say: fn(&mut Peer, u32)) -> SocketAddr {
    server(move |peer| {
        let mut last = 0;
        for _ in 0..10 {
            let Some(stream) = peer.request() else {
                return;
            };
            peer.answer(stream, b"hello");
            last = stream;
        }
        say(peer, last);
        peer.close();
    })
}

#[test]
fn after_a_graceful_goaway_the_load_goes_on_elsewhere() {
    let once: fn(&mut Peer, u32) = |peer, last| peer.go_away(last, NO_ERROR);
    // As servers do that let requests come for a round trip more.
    let twice: fn(&mut Peer, u32) = |peer, last| {
        peer.go_away(u32::MAX >> 1, NO_ERROR);
        peer.go_away(last, NO_ERROR);
    };
    for say in [once, twice] {
        let mut spec = spec(ending(say), 4);
        spec.count = Some(101);
        let result = check(&spec);
        let links = &result.connections;
        assert_eq!(links.goaways, 10, "{links:?}");
        assert_eq!(links.closed_by_server, 10, "{links:?}");
        assert_eq!(links.opened, 11, "{links:?}");
        // At the least one end of ten met a request on its way.
        assert!((1..=40).contains(&links.streams_withdrawn), "{links:?}");
        assert_eq!(result.carried.count(), 10);
        assert_eq!(
            (result.carried.min(), result.carried.max()),
            (Some(10), Some(10))
        );
    }
}

#[test]
fn a_withdrawn_request_keeps_its_time() {
    let connections = AtomicU64::new(0);
    let address = server(move |peer| {
        if connections.fetch_add(1, Ordering::Relaxed) > 0 {
            return peer.answer_all();
        }
        let Some(_) = peer.requests() else { return };
        std::thread::sleep(Duration::from_millis(50));
        peer.go_away(0, NO_ERROR);
        peer.close();
    });
    let result = check(&spec(address, 4));
    assert_eq!(result.connections.streams_withdrawn, 4);
    assert!(result.latency.max() >= Some(50_000_000), "{result:?}");
}

#[test]
fn connections_are_closed_after_their_share_of_requests() {
    let mut spec = spec(good(), 2);
    spec.requests_per_connection = Some(5);
    let result = check(&spec);
    assert_eq!(result.connections.opened, 6);
    assert_eq!(result.connections.reused, 24);
    assert_eq!(result.connections.closed_by_server, 0);
    assert_eq!(result.carried.count(), 0, "the server ended none");
}

#[test]
fn a_load_by_time_ends_with_some_in_flight() {
    let mut spec = spec(good(), 8);
    spec.load.model = LoadModel::Closed { clients: 2 };
    spec.count = None;
    spec.load.warmup_s = 0.1;
    spec.load.duration_s = 0.3;
    let result = load(&spec);
    assert_eq!(result.outcomes.errors(), 0, "{:?}", result.error_samples);
    assert!(result.requests.ok > 100, "{:?}", result.requests);
    assert!(
        result.requests.in_flight_at_end <= 16,
        "{:?}",
        result.requests
    );
}

#[test]
fn a_load_can_be_stopped() {
    let mut spec = spec(good(), 4);
    spec.count = None;
    let control = Arc::new(Control::default());
    let stopping = control.clone();
    std::thread::spawn(move || {
        while stopping.live().ok() == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        stopping.stop();
    });
    let result = run(&spec, &control).expect("the load can be carried out");
    assert!(result.measured_s < 20.0);
    assert!(result.requests.ok > 0);
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

/// An open loop of a second at `rate_per_s` on so many clients of four streams.
fn open(address: SocketAddr, rate_per_s: f64, clients: u32) -> LoadSpec {
    let mut spec = spec(address, 4);
    spec.load.model = LoadModel::Open {
        rate_per_s,
        arrival: Arrival::Constant,
        clients,
    };
    spec.load.duration_s = 1.0;
    spec.load.timeout_s = 5.0;
    spec.count = None;
    spec
}

/// All that was planned was begun, and came out as `ok`.
#[track_caller]
fn check_open(spec: &LoadSpec) -> LoadResult {
    let result = load(spec);
    let requests = &result.requests;
    let planned = requests.planned.expect("an open loop has a plan");
    // What is in flight at either edge of the window belongs to the neighbour.
    assert!(requests.started.abs_diff(planned) <= 8, "{requests:?}");
    assert_eq!(result.outcomes.errors(), 0, "{:?}", result.error_samples);
    result
}

#[test]
fn an_open_loop_sends_what_was_planned() {
    let mut spec = open(good(), 500.0, 2);
    spec.load.warmup_s = 0.2;
    let result = check_open(&spec);
    let planned = result.requests.planned.expect("checked above");
    assert!(result.send_lag.count().abs_diff(planned) <= 8, "{result:?}");
    assert_eq!(result.connections.opened, 2);
}

#[test]
fn an_open_loop_goes_on_after_each_goaway_and_sends_nothing_twice() {
    let result = check_open(&open(
        ending(|peer, last| peer.go_away(last, NO_ERROR)),
        300.0,
        2,
    ));
    let requests = &result.requests;
    assert!(result.connections.goaways > 10, "{:?}", result.connections);
    assert_eq!(result.connections.goaways, result.carried.count());
    assert!(
        result.send_lag.count().abs_diff(requests.started) <= 8,
        "{} of {requests:?}",
        result.send_lag.count()
    );
}

#[test]
fn what_is_due_does_not_wait_for_a_connection_that_ends() {
    let connections = AtomicU64::new(0);
    let address = server(move |peer| {
        if connections.fetch_add(1, Ordering::Relaxed) > 0 {
            return peer.answer_all();
        }
        // One answer holds the first connection, and another one is free.
        let Some(held) = peer.request() else { return };
        peer.go_away(held, NO_ERROR);
        std::thread::sleep(Duration::from_millis(500));
        peer.answer(held, b"hello");
        peer.close();
    });
    let mut spec = open(address, 500.0, 2);
    spec.load.streams = 32;
    let result = check_open(&spec);
    let most = result.latency.quantile(0.97).expect("there were answers");
    assert!(most < 200_000_000, "15 of 500 took {most} ns or more");
}

#[test]
fn a_frozen_server_is_in_the_latency_of_an_open_loop_and_not_in_the_service_time() {
    let address = server(|peer| {
        let mut served = 0;
        while let Some(stream) = peer.request() {
            served += 1;
            if served == 200 {
                std::thread::sleep(Duration::from_millis(500));
            }
            peer.answer(stream, b"hello");
        }
    });
    let result = check_open(&open(address, 1000.0, 1));
    // Four requests met the freeze; hundreds were due in it and waited for a stream.
    let latency = result.latency.quantile(0.9).expect("there were answers");
    let service = result.service.quantile(0.9).expect("there were answers");
    assert!(latency > 300_000_000, "latency p90 is {latency} ns");
    assert!(service < latency / 10, "service p90 is {service} ns");
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
