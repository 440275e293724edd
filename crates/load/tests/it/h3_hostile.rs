//! HTTP/3 against servers that mean harm: whatever they send or leave out, each request ends in one
//! outcome, the load ends in time, and what they can make the engine hold has a limit.
//!
//! On real sockets, because the engine's invented driver has no datagrams and the server's QUIC
//! runs on a clock of its own.

use std::net::UdpSocket;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bakeoff_load::LoadSpec;
use bakeoff_plan::LoadModel;
use bakeoff_record::{LoadResult, Outcome};

use crate::quic_server::hostile::Hostility;
use crate::quic_server::relay::{Way, relay};
use crate::quic_server::{Act, HELLO, Ways, send, serve, serve_in, spec};
use crate::support::load;

/// HEADERS with `:status: 200`.
const HEAD: &[u8] = b"\x01\x03\0\0\xd9";
/// What a load may take beside its duration: the drain of 250 ms, and what a busy machine adds.
const SLACK: Duration = Duration::from_secs(8);
/// By how much the test program may grow in one load, its server included.
const GROWTH_MAX: u64 = 128 << 20;

/// Loads are played one after the other: each is to have the processors that it needs, and the
/// memory that it takes is to be reported.
static ALONE: Mutex<()> = Mutex::new(());

/// A load of two seconds whose requests may take 0.8: a handshake takes less on a busy machine.
/// The server runs in this process and must not be what grows: it holds little for each connection,
/// and not for long where the load has gone without its hearing of it.
fn hostile(ways: Ways, act: impl FnMut(u64) -> Act + Send + 'static) -> LoadSpec {
    bounded(serve_in(
        Ways {
            send_window: 1 << 18,
            idle: Duration::from_secs(3),
            ..ways
        },
        act,
    ))
}

fn bounded(port: u16) -> LoadSpec {
    let mut spec = spec(port);
    spec.count = None;
    spec.load.duration_s = 2.0;
    spec.load.timeout_s = 0.8;
    spec
}

/// The load ends in time, counts each request once, and ends in these outcomes alone.
fn check(spec: &LoadSpec, allowed: &[Outcome]) -> LoadResult {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let held = resident("VmRSS");
    // The kernel's peak begins anew: what the tests before this one came to is not this one's.
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak can be set back");
    let begun = Instant::now();
    let result = load(spec);
    let took = begun.elapsed();
    let grown = resident("VmHWM").saturating_sub(held);
    drop(alone);
    let seen = (&result.outcomes, &result.error_samples);
    let most = Duration::from_secs_f64(spec.load.duration_s) + SLACK;
    assert!(took < most, "{took:?}: {seen:?}");
    let requests = &result.requests;
    let ended = requests.completed + requests.in_flight_at_end;
    assert_eq!(requests.started, ended, "{requests:?}");
    let among: u64 = allowed.iter().map(|each| result.outcomes.of(*each)).sum();
    assert_eq!(among, requests.completed, "{seen:?}");
    assert!(grown < GROWTH_MAX, "{} MiB", grown >> 20);
    result
}

/// A figure of this process's memory, in bytes.
fn resident(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process's status");
    let line = status.lines().find(|line| line.starts_with(name));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.and_then(|kib| kib.parse::<u64>().ok()).expect(name) << 10
}

/// The ways of a server that does this.
fn does(hostility: Hostility) -> Ways {
    Ways {
        hostility,
        ..Ways::default()
    }
}

/// Checks answers that begin with `head` and go on with `piece` for ever.
fn check_endless(head: &'static [u8], piece: &[u8], allowed: &[Outcome]) -> LoadResult {
    let piece: &'static [u8] = piece.repeat(10_000 / piece.len()).leak();
    let spec = hostile(Ways::default(), move |_| Act::Endless(head, piece));
    let result = check(&spec, allowed);
    assert!(result.outcomes.errors() > 0, "{:?}", result.outcomes);
    result
}

#[test]
fn interim_responses_without_end_are_a_timeout() {
    check_endless(b"", b"\x01\x03\0\0\xd8", &[Outcome::Timeout]);
}

#[test]
fn frames_that_bring_nothing_are_a_timeout() {
    // DATA without bytes, unknown frames with none and with some, and one that is endless.
    check_endless(HEAD, b"\0\0", &[Outcome::Timeout]);
    check_endless(HEAD, b"\x21\0", &[Outcome::Timeout]);
    check_endless(b"", b"\x21\x05abcde", &[Outcome::Timeout]);
    let long = b"\x21\xc0\0\x7f\xff\xff\xff\xff\xff";
    check_endless(long, b"abc", &[Outcome::Timeout]);
}

#[test]
fn a_body_without_end_in_single_bytes_is_a_timeout_or_too_long() {
    check_endless(
        HEAD,
        b"\0\x01x",
        &[Outcome::Timeout, Outcome::TooLong, Outcome::WrongBody],
    );
}

#[test]
fn a_body_without_end_is_a_timeout() {
    // DATA frames of a kilobyte, behind a head without a length.
    let frame = [b"\0\x44\0".as_slice(), &[b'x'; 1024]].concat();
    check_endless(b"\x01\x03\0\0\xd9", &frame, &[Outcome::Timeout]);
}

#[test]
fn settings_without_end_break_the_protocol() {
    let spec = hostile(does(Hostility::EndlessSettings), |_| Act::Answer(HELLO));
    let result = check(&spec, &[Outcome::Ok, Outcome::Protocol]);
    assert!(result.error_samples["protocol"].contains("SETTINGS"));
}

#[test]
fn floods_do_not_keep_answers_from_coming() {
    for hostility in [
        Hostility::UnknownStreams,
        Hostility::Pings,
        Hostility::Junk,
        Hostility::Windows,
    ] {
        let spec = hostile(does(hostility), |_| Act::Answer(HELLO));
        let result = check(&spec, &[Outcome::Ok, Outcome::Timeout]);
        let seen = (&result.outcomes, &result.connections, &result.quic);
        assert!(
            result.outcomes.of(Outcome::Ok) > 0,
            "{hostility:?} {seen:?}"
        );
        assert_eq!(result.connections.failed, 0, "{hostility:?} {seen:?}");
    }
}

#[test]
fn floods_in_the_middle_of_an_upload_do_not_hold_up_the_loop() {
    for hostility in [Hostility::Pings, Hostility::Windows] {
        let mut spec = hostile(does(hostility), |_| Act::Answer(HELLO));
        send(&mut spec, &vec![7; 1_000_000]);
        check(&spec, &[Outcome::Ok, Outcome::Timeout]);
    }
}

#[test]
fn a_socket_that_is_never_empty_does_not_hold_up_the_loop() {
    for bytes in [30, 0] {
        let junk = Hostility::JunkWithoutRest(bytes);
        let mut spec = hostile(does(junk), |_| Act::Answer(HELLO));
        spec.load.model = LoadModel::Closed { clients: 1 };
        check(&spec, &[Outcome::Ok, Outcome::Timeout]);
    }
}

#[test]
fn streams_of_unknown_types_are_no_reason_to_close() {
    let mut spec = hostile(does(Hostility::UnknownStreams), |_| Act::Answer(HELLO));
    spec.load.timeout_s = 10.0;
    let result = check(&spec, &[Outcome::Ok]);
    assert_eq!(result.connections.opened, 3, "{:?}", result.connections);
}

#[test]
fn bodies_without_end_and_full_of_gaps_are_held_within_limits() {
    let way = Way {
        delay: Duration::from_millis(1),
        lost: 1_000,
        seed: 11,
    };
    // DATA of a hundred bytes.
    let piece: &'static [u8] = [b"\0\x40\x64".as_slice(), &[b'x'; 100]].concat().leak();
    let (port, _) = relay(serve(move |_| Act::Endless(HEAD, piece)), way);
    check(
        &bounded(port),
        &[
            Outcome::Timeout,
            Outcome::TooLong,
            Outcome::WrongBody,
            Outcome::ConnectTimeout,
        ],
    );
}

#[test]
fn a_server_that_falls_silent_is_a_timeout() {
    let result = check(
        &hostile(does(Hostility::FallsSilent), |_| Act::Answer(HELLO)),
        &[Outcome::Timeout],
    );
    assert!(result.outcomes.of(Outcome::Timeout) > 0);
}

#[test]
fn connections_that_end_at_once_end_their_requests() {
    // It is the end that ends them. Their timeout is out of reach, so that a handshake that takes
    // long on a busy machine is no other end.
    for code in [0x100, 0x102] {
        let mut spec = hostile(does(Hostility::Closes(code)), |_| Act::Nothing);
        spec.load.timeout_s = 30.0;
        let result = check(&spec, &[Outcome::ClosedEarly, Outcome::Reset]);
        assert!(result.outcomes.errors() > 0, "{:?}", result.outcomes);
    }
}

#[test]
fn a_goaway_at_the_start_is_no_loop_without_end() {
    let mut spec = hostile(does(Hostility::GoesAway), |_| Act::Nothing);
    spec.load.timeout_s = 30.0;
    let result = check(&spec, &[Outcome::RefusedStream]);
    assert!(result.connections.goaways > 0, "{:?}", result.connections);
}

#[test]
fn a_reset_inside_a_body_is_a_reset() {
    let mut spec = hostile(Ways::default(), |_| {
        Act::ResetBehind(b"\x01\x03\0\0\xd9\0\x05he", 0x102)
    });
    spec.load.timeout_s = 30.0;
    let result = check(&spec, &[Outcome::Reset]);
    assert!(result.outcomes.of(Outcome::Reset) > 0);
}

#[test]
fn an_answer_may_come_before_the_request_has_gone() {
    let mut spec = hostile(does(Hostility::AnswersEarly), |_| Act::Answer(HELLO));
    send(&mut spec, &vec![7; 3_000_000]);
    spec.load.timeout_s = 10.0;
    let result = check(&spec, &[Outcome::Ok]);
    assert!(result.outcomes.of(Outcome::Ok) > 0);
}

#[test]
fn answers_that_break_rules_do_not_pile_up() {
    // HEADERS without a status end the stream for this side. The server does not end it, so the
    // connection keeps it, and takes no more requests once it keeps many.
    let mut spec = hostile(does(Hostility::KeepsStopped), |_| {
        Act::Part(b"\x01\x02\0\0")
    });
    spec.count = Some(4_000);
    spec.load.duration_s = 30.0;
    spec.load.timeout_s = 10.0;
    let result = load(&spec);
    let seen = (&result.outcomes, &result.error_samples);
    assert_eq!(result.outcomes.of(Outcome::Protocol), 4_000, "{seen:?}");
    // Three connections with four streams each would else have had all of them.
    let links = &result.connections;
    assert!(links.opened > 3, "{links:?}");
    // The server ended none of them.
    assert_eq!((links.closed_by_server, result.carried.count()), (0, 0));
}

#[test]
fn datagrams_that_come_back_as_they_went_are_no_answer() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let port = socket.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            for _ in 0..100 {
                let _ = socket.send_to(&buffer[..length], from);
            }
        }
    });
    let result = check(
        &bounded(port),
        &[
            Outcome::ConnectTimeout,
            Outcome::Protocol,
            Outcome::Tls,
            Outcome::Reset,
        ],
    );
    assert!(result.connections.failed > 0, "{:?}", result.connections);
}
