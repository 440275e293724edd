//! The engine over HTTP/2 and servers that fail or break a rule on purpose: each way to fail has
//! one outcome, and the load goes on.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bakeoff_plan::{Arrival, LoadModel};
use bakeoff_record::{LoadResult, Outcome};

use support::h2::{
    CANCEL, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, NO_ERROR, Peer,
    REFUSED_STREAM, STATUS_200, STATUS_503, server, spec,
};
use support::{always, check, load};

mod support;

/// All thirty requests, two at once, come out as `outcome`, whose sample holds `words`.
#[track_caller]
fn check_all(address: SocketAddr, outcome: Outcome, words: &str) -> LoadResult {
    let result = check(&spec(address, 2), &[(outcome, 30)]);
    let sample = &result.error_samples[outcome.name()];
    assert!(sample.contains(words), "no {words} in {sample}");
    result
}

/// Calls `answer` with each request's stream, to the end of the connection.
fn answering(answer: impl Fn(&mut Peer, u32) + Send + Sync + 'static) -> SocketAddr {
    server(move |peer| {
        while let Some(stream) = peer.request() {
            answer(peer, stream);
        }
    })
}

/// Serves the first connection by `first`, and the others well.
fn first(first: impl Fn(&mut Peer) + Send + Sync + 'static) -> SocketAddr {
    let connections = AtomicU64::new(0);
    server(move |peer| {
        if connections.fetch_add(1, Ordering::Relaxed) == 0 {
            first(peer);
        } else {
            peer.answer_all();
        }
    })
}

#[test]
fn a_status_and_a_body_are_judged_and_keep_their_connection() {
    let busy = answering(|peer, stream| {
        peer.send(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_503);
    });
    let result = check_all(busy, Outcome::Status, "503");
    assert_eq!(result.status[&503], 30);
    assert_eq!(result.connections.opened, 1);
    for body in [&b"hellO"[..], b"hell", b"hello!", b""] {
        let wrong = answering(|peer, stream| peer.answer(stream, body));
        let result = check_all(wrong, Outcome::WrongBody, "not the expected one");
        assert_eq!(result.connections.opened, 1);
        assert_eq!(result.bodies_checked, 30);
    }
}

#[test]
fn a_stream_that_is_reset_or_refused_is_told_apart() {
    for (code, outcome, words) in [
        (CANCEL, Outcome::Reset, "CANCEL"),
        (NO_ERROR, Outcome::Reset, "NO_ERROR"),
        (REFUSED_STREAM, Outcome::RefusedStream, "did not take"),
    ] {
        let address = answering(move |peer, stream| match stream % 10 {
            5 => peer.reset(stream, code),
            _ => peer.answer(stream, b"hello"),
        });
        let result = check(&spec(address, 4), &[(Outcome::Ok, 24), (outcome, 6)]);
        assert!(result.error_samples[outcome.name()].contains(words));
        assert_eq!(result.connections.opened, 1, "only the stream has ended");
    }
}

#[test]
fn a_goaway_with_an_error_refuses_what_it_does_not_take() {
    let address = first(|peer| {
        let Some(streams) = peer.requests() else {
            return;
        };
        peer.go_away(streams[0], ENHANCE_YOUR_CALM);
        peer.answer(streams[0], b"hello");
        peer.close();
    });
    let expected = [(Outcome::Ok, 27), (Outcome::RefusedStream, 3)];
    let result = check(&spec(address, 4), &expected);
    assert_eq!(result.connections.goaways, 1);
    assert_eq!(result.connections.streams_withdrawn, 0);
    assert_eq!(result.connections.opened, 2);
}

#[test]
fn a_server_that_takes_nothing_is_no_endless_load() {
    let connections = Arc::new(AtomicU64::new(0));
    let seen = connections.clone();
    let address = server(move |peer| {
        seen.fetch_add(1, Ordering::Relaxed);
        if peer.request().is_some() {
            peer.go_away(0, NO_ERROR);
            peer.close();
        }
    });
    let mut spec = spec(address, 2);
    spec.count = Some(6);
    let result = check(&spec, &[(Outcome::Timeout, 6)]);
    assert!(result.connections.streams_withdrawn >= 6, "{result:?}");
}

#[test]
fn a_close_without_goaway_ends_what_was_in_flight() {
    let address = first(|peer| {
        let Some(streams) = peer.requests() else {
            return;
        };
        peer.send(HEADERS, END_HEADERS, streams[1], STATUS_200);
        peer.send(DATA, 0, streams[1], b"hel");
        peer.close();
    });
    let expected = [
        (Outcome::Ok, 26),
        (Outcome::Truncated, 1),
        (Outcome::ClosedEarly, 3),
    ];
    let result = check(&spec(address, 4), &expected);
    assert!(result.error_samples["truncated"].contains("inside its answer"));
    assert_eq!(result.connections.opened, 2);
    assert_eq!(result.connections.closed_by_server, 1);
    assert_eq!(result.carried.max(), Some(4));
}

#[test]
fn a_reset_of_the_connection_is_a_reset_of_its_requests() {
    let address = first(|peer| {
        // Ending with requests unread makes the kernel reset the connection.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let _ = peer;
    });
    let result = check(&spec(address, 4), &[(Outcome::Ok, 26), (Outcome::Reset, 4)]);
    assert_eq!(result.connections.closed_by_server, 1);
}

#[test]
fn a_rule_broken_on_a_connection_is_named() {
    let violated = |bytes: &'static [u8]| {
        server(move |peer| {
            if peer.requests().is_some() {
                peer.write(bytes);
                while peer.frame().is_some() {}
            }
        })
    };
    for (bytes, words) in [
        (&b"\0\0\x01\0\x01\0\0\0\0x"[..], "RFC 9113, 6)"),
        (b"\0\0\x01\0\x01\0\0\0\x63x", "not open"),
        (b"\0\0\x01\x01\x05\0\0\0\x01\xff", "header"),
        (b"\x01\0\0\0\0\0\0\0\x01", "SETTINGS_MAX_FRAME_SIZE"),
        (b"\0\0\x04\x08\0\0\0\0\0\0\0\0\0", "increment of 0"),
        (b"\0\0\x04\x05\x04\0\0\0\x01\0\0\0\x02", "pushes"),
    ] {
        let result = check_all(violated(bytes), Outcome::Protocol, words);
        assert_eq!(result.connections.opened, 15, "two of thirty on each");
    }
    let not_h2 = always(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    check_all(not_h2, Outcome::Protocol, "first frame is not SETTINGS");
}

#[test]
fn a_rule_broken_on_a_stream_leaves_the_others_alone() {
    let address = answering(|peer, stream| {
        if stream == 5 {
            // A body longer than its content-length.
            let head = [STATUS_200, b"\x0f\x0d\x014"].concat();
            peer.send(HEADERS, END_HEADERS, stream, &head);
            peer.send(DATA, END_STREAM, stream, b"hello");
        } else {
            peer.answer(stream, b"hello");
        }
    });
    let result = check(
        &spec(address, 4),
        &[(Outcome::Ok, 29), (Outcome::Protocol, 1)],
    );
    assert!(result.error_samples["protocol"].contains("content-length"));
    assert_eq!(result.connections.opened, 1);
}

#[test]
fn a_stream_without_an_answer_times_out_and_the_others_go_on() {
    let cancelled = Arc::new(AtomicU64::new(0));
    let seen = cancelled.clone();
    let address = server(move |peer| {
        while let Some(stream) = peer.request() {
            if stream != 5 {
                peer.answer(stream, b"hello");
            }
            // The answer to a stream that was given up comes late, and hurts nobody.
            if peer.cancelled.pop() == Some(5) {
                seen.fetch_add(1, Ordering::Relaxed);
                peer.answer(5, b"hello");
            }
        }
    });
    let mut spec = spec(address, 4);
    spec.count = None;
    spec.load.duration_s = 0.6;
    let result = load(&spec);
    assert_eq!(
        result.outcomes.of(Outcome::Timeout),
        1,
        "{:?}",
        result.outcomes
    );
    assert_eq!(result.outcomes.errors(), 1, "{:?}", result.error_samples);
    assert_eq!(cancelled.load(Ordering::Relaxed), 1, "the stream was reset");
    let after: u64 = result.intervals[3..].iter().map(|part| part.ok).sum();
    assert!(after > 0, "{:?}", result.intervals);
    assert_eq!(result.connections.opened, 1);
}

#[test]
fn a_server_that_never_answers_times_out_each_request() {
    for streams in [1, 3] {
        let mut spec = spec(answering(|_, _| {}), streams);
        spec.count = Some(9);
        let result = check(&spec, &[(Outcome::Timeout, 9)]);
        let shortest = result.error_latency().min();
        assert!(shortest >= Some(200_000_000), "{shortest:?}");
    }
}

#[test]
fn what_waits_for_the_limit_of_streams_times_out_too() {
    // After its settings the server lets no stream begin, and it answers none.
    let address = support::h2::server_of(0, |peer| while peer.request().is_some() {});
    let mut spec = spec(address, 3);
    spec.count = Some(9);
    check(&spec, &[(Outcome::Timeout, 9)]);
}

#[test]
fn a_port_without_listener_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let result = check_all(address, Outcome::Refused, "connect");
    assert_eq!(result.connections.failed, 30);
}

/// What a server does with a request is drawn from the connection's number and the stream's.
fn whimsical() -> SocketAddr {
    let connections = AtomicU64::new(0);
    server(move |peer| {
        let mut draw = connections.fetch_add(1, Ordering::Relaxed);
        while let Some(stream) = peer.request() {
            // Knuth's multiplicative generator (MMIX).
            draw = draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            match draw >> 58 {
                0 => peer.reset(stream, CANCEL),
                1 => peer.reset(stream, REFUSED_STREAM),
                2 => {}
                3 => peer.go_away(stream, NO_ERROR),
                4 => peer.go_away(stream.saturating_sub(2), ENHANCE_YOUR_CALM),
                5 => return peer.close(),
                6 => return,
                7 => peer.send(DATA, 0, 0, b"x"),
                8 => peer.send(HEADERS, END_HEADERS, stream, STATUS_200),
                9 => {
                    peer.go_away(stream, NO_ERROR);
                    peer.answer(stream, b"hello");
                    return peer.close();
                }
                10 => peer.answer(stream, b"hell"),
                _ => peer.answer(stream, b"hello"),
            }
        }
    })
}

#[test]
fn whatever_a_server_does_each_request_ends_once() {
    let model = |is_open| match is_open {
        false => LoadModel::Closed { clients: 6 },
        true => LoadModel::Open {
            rate_per_s: 1000.0,
            arrival: Arrival::Poisson,
            clients: 6,
        },
    };
    // What is rare is looked for in all four together: a busy machine draws less in each.
    let (mut withdrawn, mut rare) = (0, [0; 3]);
    for (is_open, requests_per_connection) in [
        (false, None),
        (false, Some(7)),
        (true, None),
        (true, Some(7)),
    ] {
        let mut spec = spec(whimsical(), 5);
        spec.threads = 2;
        spec.load.model = model(is_open);
        spec.load.timeout_s = 0.05;
        spec.load.warmup_s = 0.1;
        spec.load.duration_s = 1.0;
        spec.count = None;
        spec.requests_per_connection = requests_per_connection;
        let result = load(&spec);
        assert!(result.requests.ok > 0, "{:?}", result.outcomes);
        assert!(result.requests.in_flight_at_end <= 30);
        let expected = [Outcome::Reset, Outcome::RefusedStream, Outcome::Protocol];
        for (sum, outcome) in rare.iter_mut().zip(expected) {
            *sum += result.outcomes.of(outcome);
        }
        let links = &result.connections;
        withdrawn += links.streams_withdrawn;
        assert!(links.closed_by_server <= links.opened, "{links:?}");
        assert_eq!(links.failed, 0, "{links:?}");
        let outcomes = &result.outcomes;
        for foreign in [Outcome::Local, Outcome::Tls, Outcome::Refused] {
            assert_eq!(outcomes.of(foreign), 0, "{:?}", result.error_samples);
        }
    }
    assert!(withdrawn > 0);
    assert!(rare.iter().all(|sum| *sum > 0), "{rare:?}");
}
