//! The engine over HTTP/2 and servers that fail or break a rule on purpose: each way to fail has
//! one outcome, and the load goes on.
//!
//! On real sockets, because refusals and resets are the kernel's, and so that the frames of
//! answers that fail are read as they come. What happens when is tested in invented time.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};

use bakeoff_record::{LoadResult, Outcome};

use crate::support::check;
use crate::support::h2::{
    CANCEL, DATA, END_HEADERS, END_STREAM, HEADERS, NO_ERROR, Peer, REFUSED_STREAM, STATUS_200,
    STATUS_503, server, spec,
};

/// All thirty requests, two at once, come out as `outcome`, whose sample holds `message`.
#[track_caller]
fn check_all(address: SocketAddr, outcome: Outcome, message: &str) -> LoadResult {
    let result = check(&spec(address, 2), &[(outcome, 30)]);
    let sample = &result.error_samples[outcome.name()];
    assert!(sample.contains(message), "no {message} in {sample}");
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
fn a_stream_that_is_reset_differs_from_one_that_is_refused() {
    for (code, outcome, message) in [
        (CANCEL, Outcome::Reset, "CANCEL"),
        (NO_ERROR, Outcome::Reset, "NO_ERROR"),
        (REFUSED_STREAM, Outcome::RefusedStream, "refused the stream"),
    ] {
        let address = answering(move |peer, stream| match stream % 10 {
            5 => peer.reset(stream, code),
            _ => peer.answer(stream, b"hello"),
        });
        let result = check(&spec(address, 4), &[(Outcome::Ok, 24), (outcome, 6)]);
        assert!(result.error_samples[outcome.name()].contains(message));
        assert_eq!(result.connections.opened, 1, "only the stream has ended");
    }
}

#[test]
fn a_reset_of_the_connection_is_a_reset_of_its_requests() {
    let address = first(|peer| {
        // Ending with a request unread makes the kernel reset the connection. The second to the
        // fourth come together.
        (0..3).for_each(|_| _ = peer.request());
        peer.wait_for_more();
    });
    let result = check(&spec(address, 4), &[(Outcome::Ok, 26), (Outcome::Reset, 4)]);
    assert_eq!(result.connections.closed_by_server, 1);
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
fn a_port_without_listener_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let result = check_all(address, Outcome::Refused, "connect");
    assert_eq!(result.connections.failed, 30);
}
