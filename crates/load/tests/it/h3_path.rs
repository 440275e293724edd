//! QUIC beneath HTTP/3: Retry, versions, keys, resets, silence, and a way that loses packets.
//!
//! On real sockets, because the engine's invented driver has no datagrams and the server's QUIC
//! runs on a clock of its own.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bakeoff_load::LoadSpec;
use bakeoff_plan::{Arrival, LoadModel};
use bakeoff_record::{CloseKind, LoadResult, Outcome};

use crate::quic_server::relay::{Way, relay};
use crate::quic_server::{Act, HELLO, Ways, send, serve, serve_in, spec};
use crate::support::load;

/// The load comes out `ok`, whole.
fn check_ok(spec: &LoadSpec) -> LoadResult {
    let result = load(spec);
    let seen = (&result.outcomes, &result.error_samples);
    assert_eq!(result.outcomes.errors(), 0, "{seen:?}");
    assert_eq!(Some(result.outcomes.of(Outcome::Ok)), spec.count);
    result
}

#[test]
fn a_retry_is_followed_and_a_token_spares_the_next() {
    let ways = || Ways {
        retries: true,
        ..Ways::default()
    };
    let mut spec = spec(serve_in(ways(), |_| Act::Answer(HELLO)));
    spec.connections.requests_per_connection = Some(5);
    let result = check_ok(&spec);
    let quic = result.quic.expect("a ledger");
    assert_eq!(quic.retries, result.connections.opened);
    if let Some(tls) = spec.speaking.tls_mut() {
        tls.resumption = true;
    }
    let result = check_ok(&spec);
    let quic = result.quic.expect("a ledger");
    assert!(quic.retries < result.connections.opened, "{quic:?}");
}

#[test]
fn new_keys_of_the_server_are_followed() {
    let mut spec = spec(serve(|n| match n {
        10 => Act::UpdateKeys(HELLO),
        _ => Act::Answer(HELLO),
    }));
    spec.load.model = LoadModel::Closed { clients: 1 };
    let result = check_ok(&spec);
    assert_eq!(result.connections.opened, 1);
}

#[test]
fn a_server_of_other_versions_is_reported() {
    let ways = Ways {
        versions: vec![0xff00_001d],
        ..Ways::default()
    };
    let result = load(&spec(serve_in(ways, |_| Act::Answer(HELLO))));
    assert_eq!(result.outcomes.of(Outcome::Protocol), 30);
    assert_eq!(result.connections.failed, 30);
    assert!(result.error_samples["protocol"].contains("version"));
    let closes = result.quic.expect("a ledger").closes;
    assert_eq!(closes[&CloseKind::Version], 30, "{closes:?}");
}

#[test]
fn a_server_that_lost_its_memory_is_reported_and_found_again() {
    let port = serve(|n| match n {
        10 => Act::Forget,
        _ => Act::Answer(HELLO),
    });
    let mut spec = spec(port);
    spec.load.model = LoadModel::Closed { clients: 1 };
    spec.load.timeout_s = 10.0;
    let result = load(&spec);
    let (ok, reset) = (
        result.outcomes.of(Outcome::Ok),
        result.outcomes.of(Outcome::Reset),
    );
    assert_eq!((ok + reset, reset > 0), (30, true), "{:?}", result.outcomes);
    assert!(ok > 10, "it goes on: {:?}", result.outcomes);
    assert!(result.error_samples["reset"].contains("stateless reset"));
    let closes = result.quic.expect("a ledger").closes;
    assert!(closes[&CloseKind::StatelessReset] > 0, "{closes:?}");
}

/// Ways of a server that gives up a silent connection soon.
fn impatient() -> Ways {
    Ways {
        idle: Duration::from_millis(50),
        ..Ways::default()
    }
}

#[test]
fn silence_ends_a_connection_by_the_shorter_idle_timeout() {
    let mut spec = spec(serve_in(impatient(), |_| Act::Nothing));
    spec.count = Some(12);
    spec.load.timeout_s = 10.0;
    let result = load(&spec);
    assert_eq!(result.outcomes.of(Outcome::Timeout), 12);
    assert!(result.error_samples["timeout"].contains("idle timeout"));
    let closes = result.quic.expect("a ledger").closes;
    assert!(closes[&CloseKind::Idle] >= 3, "{closes:?}");
}

#[test]
fn a_connection_that_owes_answers_is_kept_open_until_their_timeout() {
    // The server acknowledges what it is asked for, and never answers.
    let ways = Ways {
        idle: Duration::from_millis(6_500),
        ..Ways::default()
    };
    let mut spec = spec(serve_in(ways, |_| Act::Nothing));
    spec.count = Some(12);
    spec.load.timeout_s = 7.0;
    let result = load(&spec);
    assert_eq!(result.outcomes.of(Outcome::Timeout), 12);
    let sample = &result.error_samples["timeout"];
    assert!(!sample.contains("idle timeout"), "{sample}");
    let closes = result.quic.expect("a ledger").closes;
    assert!(!closes.contains_key(&CloseKind::Idle), "{closes:?}");
}

#[test]
fn a_connection_that_idled_out_unused_fails_no_request() {
    // Each side keeps a connection for three probe timeouts at least (RFC 9000, 10.1). On a busy
    // machine theirs differ, and were longer than a gap of 200 ms: this one is two seconds.
    let mut spec = spec(serve_in(impatient(), |_| Act::Answer(HELLO)));
    spec.count = None;
    spec.load.duration_s = 7.0;
    spec.load.timeout_s = 10.0;
    spec.load.model = LoadModel::Open {
        rate_per_s: 0.5,
        arrival: Arrival::Constant,
        clients: 1,
    };
    let result = load(&spec);
    assert_eq!(result.outcomes.errors(), 0, "{:?}", result.error_samples);
    assert!(result.connections.opened > 1, "{:?}", result.connections);
    let closes = result.quic.expect("a ledger").closes;
    assert!(closes[&CloseKind::Idle] > 0, "{closes:?}");
}

#[test]
fn what_waits_behind_a_gap_is_read_in_parts() {
    // Some of what is lost holds up more than is read of a connection in one turn.
    let way = Way {
        delay: Duration::from_millis(10),
        lost: 10,
        seed: 3,
    };
    let body: Vec<u8> = (0..3_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    let mut answer = b"\x01\x03\0\0\xd9\0\x80\x2d\xc6\xc0".to_vec();
    answer.extend_from_slice(&body);
    let answer: &'static [u8] = answer.leak();
    let (port, _) = relay(serve(move |_| Act::Answer(answer)), way);
    let mut spec = spec(port);
    spec.exchanges[0].body = Some(body.into());
    spec.load.model = LoadModel::Closed { clients: 2 };
    spec.load.streams = 1;
    spec.load.timeout_s = 20.0;
    spec.load.duration_s = 60.0;
    spec.count = Some(8);
    assert_eq!(check_ok(&spec).bodies_checked, 8);
}

#[test]
fn loss_and_delay_of_the_way_are_reported_as_they_are() {
    // 2 % of the datagrams each way, and 20 ms each way: 40 ms there and back.
    let way = Way {
        delay: Duration::from_millis(20),
        lost: 200,
        seed: 5,
    };
    let body: Vec<u8> = (0..30_000_u32).map(|n| (n * n % 251) as u8).collect();
    let mut answer = b"\x01\x03\0\0\xd9\0\x80\0\x75\x30".to_vec();
    answer.extend_from_slice(&body);
    let answer: &'static [u8] = answer.leak();
    let (port, counts) = relay(serve(move |_| Act::Answer(answer)), way);
    let mut spec = spec(port);
    spec.exchanges[0].body = Some(body.into());
    // What the client sends is what it can count: most of it goes there.
    send(&mut spec, &vec![7; 60_000]);
    spec.load.model = LoadModel::Closed { clients: 10 };
    spec.load.timeout_s = 20.0;
    spec.count = Some(200);
    let result = check_ok(&spec);
    assert_eq!(result.bodies_checked, 200);
    let quic = result.quic.expect("a ledger");
    let (came, lost) = (&counts.came, &counts.lost);
    let (came, lost) = (came.load(Ordering::Relaxed), lost.load(Ordering::Relaxed));
    assert!(came > 8_000, "{came} datagrams are too few to know a share");
    // Which of them were drawn depends on how many there were, so what counts is what was lost.
    let set = lost as f64 / came as f64;
    assert!((0.016..=0.024).contains(&set), "{lost} of {came}");
    let share = quic.lost_share().expect("packets were sent");
    // On a busy machine a late acknowledgement counts as a loss, too.
    assert!(
        (0.8..=3.0).contains(&(share / set)),
        "{share}, {lost} of {came}, {quic:?}"
    );
    let rtt_ms = quic.rtt.quantile(0.5).expect("connections") as f64 / 1e6;
    // The way takes 40 ms, and a busy machine some more. Another unit is a thousand times as much.
    assert!((40.0..=4_000.0).contains(&rtt_ms), "{rtt_ms} ms");
}
