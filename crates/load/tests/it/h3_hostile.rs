//! HTTP/3 against servers that mean harm: whatever they send or leave out, each request ends in one
//! outcome, the load ends, and what they can make the engine hold has a limit.
//!
//! On real sockets, because the engine's invented driver has no datagrams and the server's QUIC
//! runs on a clock of its own. The engine runs in a process of its own, so that the memory of the
//! server, of the other tests and of their servers is not taken for the engine's.

use std::io::{Read, Write};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use bakeoff_load::LoadSpec;
use bakeoff_plan::LoadModel;
use bakeoff_record::{LoadResult, Outcome};

use crate::quic_server::hostile::Hostility;
use crate::quic_server::relay::{Way, relay};
use crate::quic_server::{Act, HELLO, Ways, send, serve_in, spec};
use crate::support::load;

/// HEADERS with `:status: 200`.
const HEAD: &[u8] = b"\x01\x03\0\0\xd9";
/// A load that has not ended after so long has no end.
const PATIENCE: Duration = Duration::from_secs(300);
/// Memory of the engine's process at the most, bytes. It takes 10 MiB by itself, and 11 more where
/// the request has 3 MB. The servers have no more than 1 MiB on its way at once on each connection.
const HELD_MAX: u64 = 32 << 20;
/// The variable that holds the load that a process carries out.
const ASKED: &str = "BAKEOFF_TEST_LOAD";
/// What stands before its result.
const RESULT: &str = "result: ";

/// A load by three clients with four streams each, as [`spec`]'s. It ends with its requests, not by
/// its time, so that a busy machine changes nothing about it.
#[derive(Debug, Clone, Copy)]
struct Asked {
    port: u16,
    clients: u32,
    requests: u64,
    body_bytes: usize,
    timeout_s: f64,
}

impl Asked {
    /// As many requests as are under way at once, of which each is to time out.
    fn once(port: u16) -> Self {
        Self {
            port,
            clients: 3,
            requests: 12,
            body_bytes: 0,
            timeout_s: 2.0,
        }
    }

    /// So many requests, none of which is to time out.
    fn many(requests: u64, port: u16) -> Self {
        Self {
            requests,
            timeout_s: 100.0,
            ..Self::once(port)
        }
    }

    fn to_text(self) -> String {
        let Self {
            port,
            clients,
            requests,
            body_bytes,
            timeout_s,
        } = self;
        format!("{port} {clients} {requests} {body_bytes} {timeout_s}")
    }

    fn from_text(text: &str) -> Self {
        let mut words = text.split(' ');
        let mut next = || words.next().expect("five numbers");
        Self {
            port: next().parse().expect("a port"),
            clients: next().parse().expect("clients"),
            requests: next().parse().expect("requests"),
            body_bytes: next().parse().expect("bytes"),
            timeout_s: next().parse().expect("seconds"),
        }
    }

    fn spec(self) -> LoadSpec {
        let mut spec = spec(self.port);
        spec.load.model = LoadModel::Closed {
            clients: self.clients,
        };
        spec.count = Some(self.requests);
        spec.load.duration_s = 2.0 * PATIENCE.as_secs_f64();
        spec.load.timeout_s = self.timeout_s;
        send(&mut spec, &vec![7; self.body_bytes]);
        spec
    }

    /// Has the load carried out by [`engine`], which ends with this process at the latest.
    fn carried_out(self) -> LoadResult {
        let name = concat!(module_path!(), "::engine");
        let (_, name) = name
            .split_once("::")
            .expect("a path below the crate's name");
        let mut engine = Command::new(std::env::current_exe().expect("this program"))
            .args([name, "--exact", "--ignored", "--nocapture"])
            .env(ASKED, self.to_text())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut stdout = engine.stdout.take().expect("a pipe");
        let (end, ended) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stdout.read_to_string(&mut text);
            let _ = end.send(text);
        });
        let text = ended.recv_timeout(PATIENCE);
        engine.kill().expect("it is this process's child");
        engine.wait().expect("it has ended");
        let text = text.unwrap_or_else(|_| panic!("no end of {self:?}"));
        let result = text.lines().find_map(|line| line.strip_prefix(RESULT));
        let result = result.unwrap_or_else(|| panic!("no result of {self:?}: {text}"));
        serde_json::from_str(result).expect("a result")
    }
}

/// Not a test, but the process in which the engine runs.
#[test]
#[ignore = "it is started by the other tests"]
#[expect(clippy::exit, reason = "it must not outlive the test")]
fn engine() {
    let asked = std::env::var(ASKED).expect("the other tests start it");
    std::thread::spawn(|| {
        // Its other end is closed when the process that started this one ends, by whatever.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(1);
    });
    let result = serde_json::to_string(&load(&Asked::from_text(&asked).spec()));
    let text = format!("\n{RESULT}{}\n", result.expect("a result"));
    let written = std::io::stdout().write_all(text.as_bytes());
    written.expect("the test reads it");
}

/// A server that does harm. It forgets connections that it hears nothing of, and what of its bytes
/// may lie behind gaps is little.
fn hostile(ways: Ways, act: impl FnMut(u64) -> Act + Send + 'static) -> u16 {
    serve_in(
        Ways {
            idle: Duration::from_secs(5),
            send_window: 1 << 20,
            ..ways
        },
        act,
    )
}

/// The load ends, counts each request once, ends in these outcomes alone, and holds little.
fn check(asked: Asked, allowed: &[Outcome]) -> LoadResult {
    let result = asked.carried_out();
    let seen = (&result.outcomes, &result.error_samples);
    assert_eq!(result.requests.completed, asked.requests, "{seen:?}");
    let among: u64 = allowed.iter().map(|each| result.outcomes.of(*each)).sum();
    assert_eq!(among, asked.requests, "{seen:?}");
    let held = result.engine.rss_bytes_max;
    assert!(held < HELD_MAX, "{} MiB", held >> 20);
    result
}

/// The ways of a server that does this.
fn does(hostility: Hostility) -> Ways {
    Ways {
        hostility,
        ..Ways::default()
    }
}

/// Checks answers that begin with `head` and go on with `piece` for ever.
fn check_endless(head: &'static [u8], piece: &[u8], allowed: &[Outcome]) {
    let piece: &'static [u8] = piece.repeat(10_000 / piece.len()).leak();
    let port = hostile(Ways::default(), move |_| Act::Endless(head, piece));
    check(Asked::once(port), allowed);
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
    let port = hostile(does(Hostility::EndlessSettings), |_| Act::Answer(HELLO));
    let result = check(Asked::many(600, port), &[Outcome::Ok, Outcome::Protocol]);
    assert!(result.error_samples["protocol"].contains("SETTINGS"));
}

#[test]
fn floods_do_not_keep_answers_from_coming() {
    // A connection of this kind is read seldom, and what finds no room in its socket is lost:
    // behind junk, all that comes in the seconds after which the server gives it up.
    for (hostility, ends) in [
        (Hostility::UnknownStreams, &[Outcome::Ok][..]),
        (Hostility::Pings, &[Outcome::Ok]),
        (Hostility::Junk, &[Outcome::Ok, Outcome::Timeout]),
        (Hostility::Windows, &[Outcome::Ok]),
    ] {
        let port = hostile(does(hostility), |_| Act::Answer(HELLO));
        let result = check(Asked::many(24, port), ends);
        let seen = (&result.outcomes, &result.connections);
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
        let port = hostile(does(hostility), |_| Act::Answer(HELLO));
        let upload = Asked {
            body_bytes: 1_000_000,
            ..Asked::once(port)
        };
        check(upload, &[Outcome::Ok, Outcome::Timeout]);
    }
}

#[test]
fn a_socket_that_is_never_empty_does_not_hold_up_the_loop() {
    for bytes in [30, 0] {
        let junk = Hostility::JunkWithoutRest(bytes);
        let port = hostile(does(junk), |_| Act::Nothing);
        let alone = Asked {
            clients: 1,
            requests: 4,
            ..Asked::once(port)
        };
        check(alone, &[Outcome::Timeout]);
    }
}

#[test]
fn streams_of_unknown_types_are_no_reason_to_close() {
    let port = hostile(does(Hostility::UnknownStreams), |_| Act::Answer(HELLO));
    let result = check(Asked::many(1_000, port), &[Outcome::Ok]);
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
    let server = hostile(Ways::default(), move |_| Act::Endless(HEAD, piece));
    let (port, _) = relay(server, way);
    check(
        Asked::once(port),
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
    let port = hostile(does(Hostility::FallsSilent), |_| Act::Answer(HELLO));
    check(Asked::once(port), &[Outcome::Timeout]);
}

#[test]
fn connections_that_end_at_once_end_their_requests() {
    for code in [0x100, 0x102] {
        let port = hostile(does(Hostility::Closes(code)), |_| Act::Nothing);
        let ends = [Outcome::ClosedEarly, Outcome::Reset];
        check(Asked::many(600, port), &ends);
    }
}

#[test]
fn a_goaway_at_the_start_is_no_loop_without_end() {
    let port = hostile(does(Hostility::GoesAway), |_| Act::Nothing);
    let result = check(Asked::many(100, port), &[Outcome::RefusedStream]);
    assert!(result.connections.goaways > 0, "{:?}", result.connections);
}

#[test]
fn a_reset_inside_a_body_is_a_reset() {
    let port = hostile(Ways::default(), |_| {
        Act::ResetBehind(b"\x01\x03\0\0\xd9\0\x05he", 0x102)
    });
    check(Asked::many(6_000, port), &[Outcome::Reset]);
}

#[test]
fn an_answer_may_come_before_the_request_has_gone() {
    let port = hostile(does(Hostility::AnswersEarly), |_| Act::Answer(HELLO));
    let upload = Asked {
        body_bytes: 3_000_000,
        ..Asked::many(100, port)
    };
    check(upload, &[Outcome::Ok]);
}

#[test]
fn answers_that_break_rules_do_not_pile_up() {
    // HEADERS without a status end the stream for this side. The server does not end it, so the
    // connection keeps it, and takes no more requests once it keeps many.
    let port = hostile(does(Hostility::KeepsStopped), |_| {
        Act::Part(b"\x01\x02\0\0")
    });
    let result = check(Asked::many(4_000, port), &[Outcome::Protocol]);
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
    let once = Asked {
        requests: 3,
        ..Asked::once(port)
    };
    let result = check(
        once,
        &[
            Outcome::ConnectTimeout,
            Outcome::Protocol,
            Outcome::Tls,
            Outcome::Reset,
        ],
    );
    assert!(result.connections.failed > 0, "{:?}", result.connections);
}
