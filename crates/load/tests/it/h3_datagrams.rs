//! How long the datagrams are that both sides send, and that none of them is cut.
//!
//! On real sockets, because the kernel cuts and joins datagrams.

use bakeoff_load::LoadSpec;
use bakeoff_record::{Outcome, QuicLedger};

use crate::quic_server::{Act, HELLO, Ways, send, serve_in, spec};
use crate::support::load;

/// Bytes of each answer, or of each request.
const BODY: usize = 200_000;

fn body() -> Vec<u8> {
    (0..BODY).map(|n| (n * n % 251) as u8).collect()
}

/// Ways of a server that sends and takes datagrams of 16,384 bytes.
fn generous() -> Ways {
    Ways {
        datagram_max: 16_384,
        ..Ways::default()
    }
}

/// A load whose answers are long, all of them compared.
fn down() -> LoadSpec {
    let mut answer = b"\x01\x03\0\0\xd9\0\x80\x03\x0d\x40".to_vec();
    answer.extend_from_slice(&body());
    let answer: &'static [u8] = answer.leak();
    let mut spec = spec(serve_in(generous(), move |_| Act::Answer(answer)));
    spec.exchanges[0].body = Some(body().into());
    spec.count = Some(60);
    spec.load.timeout_s = 20.0;
    spec
}

/// A load whose requests are long.
fn up() -> LoadSpec {
    let mut spec = spec(serve_in(generous(), |_| Act::Answer(HELLO)));
    send(&mut spec, &body());
    spec.count = Some(60);
    spec.load.timeout_s = 20.0;
    spec
}

fn ledger(spec: &LoadSpec) -> QuicLedger {
    let result = load(spec);
    let seen = (&result.outcomes, &result.error_samples);
    assert_eq!(result.outcomes.of(Outcome::Ok), 60, "{seen:?}");
    assert_eq!(result.bodies_checked, 60);
    result.quic.expect("a ledger")
}

#[test]
fn long_datagrams_are_allowed_and_arrive_whole() {
    let quic = ledger(&down());
    assert_eq!(quic.payload_announced_bytes, 16_384);
    assert!(quic.datagram_received_bytes_max > 8_000, "{quic:?}");
    // Most of the bodies came in them: in datagrams of Ethernet's they would have been 8,000.
    assert!(quic.datagrams_received < 4_000, "{quic:?}");
    assert!(quic.datagram_sent_bytes_max <= 1_452, "{quic:?}");
}

#[test]
fn a_limit_holds_for_what_the_server_sends() {
    let mut spec = down();
    spec.connections.max_udp_payload = Some(1_472);
    let quic = ledger(&spec);
    assert_eq!(quic.payload_announced_bytes, 1_472);
    assert!(quic.datagram_received_bytes_max <= 1_472, "{quic:?}");
    assert!(quic.datagram_received_bytes_max > 1_200, "{quic:?}");
}

#[test]
fn long_requests_go_in_long_datagrams() {
    let quic = ledger(&up());
    assert!(quic.datagram_sent_bytes_max > 8_000, "{quic:?}");
    assert!(quic.datagram_sent_bytes_max <= 16_384, "{quic:?}");
    let mut spec = up();
    spec.connections.max_udp_payload = Some(1_300);
    let quic = ledger(&spec);
    assert!(quic.datagram_sent_bytes_max <= 1_300, "{quic:?}");
    assert!(quic.datagram_received_bytes_max <= 1_300, "{quic:?}");
}
