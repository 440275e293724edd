//! HTTP/3 against a server that behaves and misbehaves on purpose. Its QUIC is quinn-proto's, as
//! the engine's is; its HTTP/3 is the few bytes below.
//!
//! On real sockets, because the engine's invented driver has no datagrams and the server's QUIC
//! runs on a clock of its own.

use std::net::UdpSocket;

use bakeoff_load::{TlsVersions, Trust, run};
use bakeoff_plan::{Arrival, Connect, LoadModel};
use bakeoff_record::{CloseKind, LoadResult, Outcome};

use crate::quic_server::{Act, HELLO, Ways, send, serve, serve_in, spec};
use crate::support::load;

/// Thirty requests of three connections with four streams each all come out as `outcome`.
fn check(
    act: impl FnMut(u64) -> Act + Send + 'static,
    outcome: Outcome,
    message: &str,
) -> LoadResult {
    let result = load(&spec(serve(act)));
    assert_eq!(result.outcomes.of(outcome), 30, "{:?}", result.outcomes);
    if outcome != Outcome::Ok {
        let sample = &result.error_samples[outcome.name()];
        assert!(sample.contains(message), "{sample}");
    }
    result
}

#[test]
fn a_good_server_gives_ok() {
    let result = check(|_| Act::Answer(HELLO), Outcome::Ok, "");
    assert_eq!(result.connections.opened, 3);
    assert_eq!(result.connections.handshakes_full, 3);
    assert_eq!(result.connections.reused, 27);
    assert_eq!((result.bytes.body, result.bodies_checked), (150, 30));
    let agreed = &result.negotiated;
    assert_eq!(agreed.protocol, "h3");
    assert_eq!(agreed.cipher.as_deref(), Some("TLS13_AES_256_GCM_SHA384"));
    assert_eq!(agreed.group.as_deref(), Some("X25519"));
    assert_eq!(result.handshake.count(), 3);
    assert_eq!(result.connect.count(), 0, "QUIC connects by its handshake");
    let quic = result.quic.expect("there is a ledger");
    assert_eq!(quic.rtt.count(), 3);
    assert!(quic.datagrams_sent >= 9 && quic.datagrams_received >= 9);
    assert!(quic.closes.is_empty(), "{:?}", quic.closes);
}

#[test]
fn an_answer_may_come_in_parts() {
    let result = check(|_| Act::InParts(HELLO), Outcome::Ok, "");
    assert_eq!(result.bytes.body, 150);
}

#[test]
fn a_wrong_body_and_a_wrong_status_are_reported() {
    check(
        |_| Act::Answer(b"\x01\x03\0\0\xd9\0\x05hullo"),
        Outcome::WrongBody,
        "5 bytes",
    );
    // `:status: 404` is the static entry 27.
    check(
        |_| Act::Answer(b"\x01\x03\0\0\xdb"),
        Outcome::Status,
        "status 404",
    );
}

#[test]
fn a_malformed_answer_ends_its_stream_alone() {
    // `hello` without a head ends the connection; a head without status, the stream.
    let result = check(
        |_| Act::Answer(b"\x01\x02\0\0"),
        Outcome::Protocol,
        ":status",
    );
    assert_eq!(result.connections.opened, 3);
    assert!(result.quic.expect("a ledger").closes.is_empty());
}

#[test]
fn a_broken_stream_of_frames_ends_the_connection() {
    let result = check(|_| Act::Answer(b"\0\x05hello"), Outcome::Protocol, "frame");
    assert!(result.quic.expect("a ledger").closes[&CloseKind::Local] > 0);
}

#[test]
fn streams_are_reset_and_refused() {
    check(|_| Act::Reset(0x102), Outcome::Reset, "H3_INTERNAL_ERROR");
    check(
        |_| Act::Reset(0x10b),
        Outcome::RefusedStream,
        "refused the stream",
    );
}

#[test]
fn a_server_that_closes_is_named_by_its_code() {
    let result = check(|_| Act::Close(0x102), Outcome::Reset, "H3_INTERNAL_ERROR");
    let closes = result.quic.expect("a ledger").closes;
    assert!(closes[&CloseKind::Application] >= 3, "{closes:?}");
    check(|_| Act::Close(0x100), Outcome::ClosedEarly, "H3_NO_ERROR");
}

#[test]
fn what_a_goaway_refuses_goes_on_the_next_connection() {
    // Every tenth request is answered after a GOAWAY that refuses all later streams.
    let act = |n| {
        if n % 10 == 9 {
            Act::GoAway(HELLO)
        } else {
            Act::Answer(HELLO)
        }
    };
    let result = check(act, Outcome::Ok, "");
    assert!(result.connections.goaways > 0);
    assert!(result.connections.opened > 3, "{:?}", result.connections);
}

#[test]
fn a_goaway_may_come_together_with_the_end_of_its_connection() {
    let mut spec = spec(serve(|n| match n {
        0 => Act::Leave,
        _ => Act::Answer(HELLO),
    }));
    spec.load.model = LoadModel::Closed { clients: 1 };
    spec.load.streams = 1;
    let result = load(&spec);
    assert_eq!(result.outcomes.of(Outcome::Ok), 30, "{:?}", result.outcomes);
    let connections = &result.connections;
    assert_eq!((connections.opened, connections.streams_withdrawn), (2, 1));
}

#[test]
fn silence_is_a_timeout_and_its_connection_is_given_up() {
    let mut spec = spec(serve(|_| Act::Nothing));
    spec.count = Some(12);
    spec.load.timeout_s = 0.2;
    let result = load(&spec);
    assert_eq!(
        result.outcomes.of(Outcome::Timeout),
        12,
        "{:?}",
        result.outcomes
    );
}

#[test]
fn a_port_without_a_server_refuses() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let port = socket.local_addr().expect("bound").port();
    drop(socket);
    let result = load(&spec(port));
    assert_eq!(
        result.outcomes.of(Outcome::Refused),
        30,
        "{:?}",
        result.outcomes
    );
    assert_eq!(result.connections.failed, 30);
}

#[test]
fn a_server_that_says_nothing_is_a_connect_timeout() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let mut spec = spec(socket.local_addr().expect("bound").port());
    spec.count = Some(3);
    spec.load.timeout_s = 0.2;
    let result = load(&spec);
    assert_eq!(
        result.outcomes.of(Outcome::ConnectTimeout),
        3,
        "{:?}",
        result.outcomes
    );
    let sample = &result.error_samples["connect_timeout"];
    assert!(sample.contains("QUIC handshake"), "{sample}");
}

#[test]
fn failed_handshakes_are_reported_as_tls() {
    let old = Ways {
        alpn: b"hq-interop",
        ..Ways::default()
    };
    let other = load(&spec(serve_in(old, |_| Act::Answer(HELLO))));
    assert_eq!(other.outcomes.of(Outcome::Tls), 30, "{:?}", other.outcomes);
    let mut distrustful = spec(serve(|_| Act::Answer(HELLO)));
    if let Some(tls) = distrustful.speaking.tls_mut() {
        tls.trust = Trust::File(crate::quic_server::other_authority().into());
    }
    let result = load(&distrustful);
    assert_eq!(
        result.outcomes.of(Outcome::Tls),
        30,
        "{:?}",
        result.outcomes
    );
    let sample = &result.error_samples["tls"];
    assert!(sample.to_lowercase().contains("certificate"), "{sample}");
}

#[test]
fn sessions_are_resumed_by_choice() {
    let mut spec = spec(serve(|_| Act::Answer(HELLO)));
    spec.connections.requests_per_connection = Some(5);
    spec.load.model = LoadModel::Closed { clients: 1 };
    let fresh = load(&spec);
    assert_eq!(fresh.connections.handshakes_full, fresh.connections.opened);
    if let Some(tls) = spec.speaking.tls_mut() {
        tls.resumption = true;
    }
    let resumed = load(&spec);
    assert_eq!(
        resumed.outcomes.of(Outcome::Ok),
        30,
        "{:?}",
        resumed.outcomes
    );
    assert_eq!(resumed.connections.handshakes_full, 1);
    assert_eq!(
        resumed.connections.handshakes_resumed,
        resumed.connections.opened - 1
    );
}

#[test]
fn an_open_loop_keeps_its_schedule() {
    let mut spec = spec(serve(|_| Act::Answer(HELLO)));
    spec.count = None;
    spec.load.duration_s = 0.5;
    spec.load.model = LoadModel::Open {
        rate_per_s: 400.0,
        arrival: Arrival::Constant,
        clients: 2,
    };
    spec.load.connect = Connect::First;
    let result = load(&spec);
    assert_eq!(result.requests.planned, Some(200));
    assert_eq!(result.outcomes.errors(), 0, "{:?}", result.outcomes);
    assert!(result.requests.started >= 198, "{:?}", result.requests);
    assert_eq!(result.connections.opened, 2);
}

#[test]
fn what_is_lost_is_counted_and_sent_again() {
    let lossy = Ways {
        loses: 5,
        ..Ways::default()
    };
    let mut spec = spec(serve_in(lossy, |_| Act::Answer(HELLO)));
    spec.count = Some(300);
    spec.load.timeout_s = 10.0;
    let result = load(&spec);
    assert_eq!(
        result.outcomes.of(Outcome::Ok),
        300,
        "{:?}",
        result.outcomes
    );
    let quic = result.quic.expect("a ledger");
    assert!(
        quic.packets_lost > 0 && quic.packets_lost < quic.packets_sent,
        "{quic:?}"
    );
}

#[test]
fn quic_needs_tls_1_3() {
    let mut spec = spec(1);
    if let Some(tls) = spec.speaking.tls_mut() {
        tls.versions = TlsVersions::Only12;
    }
    let error = run(&spec, &bakeoff_load::Control::default()).unwrap_err();
    assert!(error.to_string().contains("TLS 1.3"), "{error}");
}

#[test]
fn a_long_request_is_sent_as_windows_allow() {
    let body = vec![7; 3_000_000];
    let mut spec = spec(serve(|_| Act::Answer(HELLO)));
    send(&mut spec, &body);
    spec.load.timeout_s = 10.0;
    spec.count = Some(6);
    let result = load(&spec);
    assert_eq!(result.outcomes.of(Outcome::Ok), 6, "{:?}", result.outcomes);
    assert!(result.bytes.written > 18_000_000);
}
