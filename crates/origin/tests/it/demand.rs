//! An origin that is slow and faulty on demand, as a client sees it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use bakeoff_origin::{OnDemand, Orders, ServeOptions, behave, counts};
use bakeoff_plan::{Delay, Demand, SlowBody};

use crate::support::{GET, Server, options, read_answer};

const DELAY: Duration = Duration::from_millis(30);
/// A delay that no test waits for.
const HOUR: Duration = Duration::from_secs(3600);

fn start(demand: impl Into<Orders>, body: &[u8]) -> Server {
    start_on(1, demand, body)
}

fn start_on(threads: usize, demand: impl Into<Orders>, body: &[u8]) -> Server {
    let options = ServeOptions {
        threads,
        ..options(body)
    };
    let behaviour = OnDemand::new(demand, &options.reply).unwrap();
    Server::start_with(options, behaviour)
}

fn constant(delay: Duration) -> Option<Delay> {
    Some(Delay::Constant(delay))
}

/// What a client gets until the server ends the connection, and the error that it ends with.
fn to_the_end(stream: &mut TcpStream) -> (String, Option<ErrorKind>) {
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    (text, end.err().map(|error| error.kind()))
}

#[test]
fn a_delayed_answer_is_late() {
    let demand = Demand {
        delay: constant(DELAY),
        ..Demand::default()
    };
    let server = start(demand, b"hi");
    let mut stream = server.connect();
    let started = Instant::now();
    stream.write_all(GET).unwrap();
    assert!(read_answer(&mut stream, 2).ends_with("\r\n\r\nhi"));
    assert!(started.elapsed() >= DELAY);
    assert_eq!(server.end().delayed, 1);
}

#[test]
fn a_delayed_answer_holds_nobody_else_up() {
    let demand = Demand {
        delay: constant(HOUR),
        ..Demand::default()
    };
    let server = start(demand, b"hi");
    let mut streams: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for stream in &mut streams {
        stream.write_all(GET).unwrap();
    }
    server.counts_when(|counts| counts.delayed == 50);
    assert_eq!(server.end().connections_open, 50);
}

#[test]
fn pipelined_requests_keep_their_order_and_an_old_client_its_rules() {
    let demand = Demand {
        delay: constant(Duration::from_millis(5)),
        ..Demand::default()
    };
    let server = start(demand, b"hi");
    let mut stream = server.connect();
    let head = b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
    stream
        .write_all(&[GET, head, GET, &GET[..9]].concat())
        .unwrap();
    for body in [2, 0, 2] {
        read_answer(&mut stream, body);
    }
    stream.write_all(&GET[9..]).unwrap();
    // A client that says no more still gets its answer.
    stream.shutdown(Shutdown::Write).unwrap();
    let (last, end) = to_the_end(&mut stream);
    assert!(
        last.ends_with("\r\n\r\nhi") && end.is_none(),
        "{last} {end:?}"
    );
    let kept = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let answer = server.last_word(&[&kept[..], b"GET / HTTP/1.0\r\n\r\n"].concat());
    assert!(
        answer.contains("\r\nConnection: keep-alive\r\n"),
        "{answer}"
    );
    assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    assert_eq!(server.end().delayed, 6);
}

#[test]
fn a_client_that_is_refused_after_a_delayed_answer_is_let_go() {
    let demand = Demand {
        delay: constant(DELAY),
        ..Demand::default()
    };
    let server = start(demand, b"hi");
    let mut stream = server.connect();
    stream.write_all(&[GET, b"\0"].concat()).unwrap();
    let (answers, _) = to_the_end(&mut stream);
    assert!(answers.contains("\r\n\r\nhiHTTP/1.1 400 "), "{answers}");
    // The client keeps its side open.
    server.counts_when(|counts| counts.connections_closed == 1);
    server.end();
}

#[test]
fn a_client_that_leaves_before_its_answer_is_let_go() {
    let demand = Demand {
        delay: constant(HOUR),
        ..Demand::default()
    };
    let server = start(demand, b"hi");
    let mut gone = server.connect();
    gone.write_all(GET).unwrap();
    server.counts_when(|counts| counts.delayed == 1);
    // A close with the time to linger at 0 is a reset, which the server notices while it waits.
    rustix::net::sockopt::set_socket_linger(&gone, Some(Duration::ZERO)).unwrap();
    drop(gone);
    server.counts_when(|counts| counts.connections_closed == 1);
    server.end();
}

#[test]
fn errors_keep_the_connection_and_come_in_their_share() {
    let demand = Demand {
        errors: 0.5,
        error_status: 502,
        ..Demand::default()
    };
    let demand = Orders {
        seed: 1,
        ..demand.into()
    };
    let server = start(demand, b"an error on demand\n");
    let mut stream = server.connect();
    let mut errors = 0;
    for _ in 0..200 {
        stream.write_all(GET).unwrap();
        // Both bodies have 19 bytes.
        let answer = read_answer(&mut stream, 19);
        errors += u64::from(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
    }
    // Three standard errors of 200 draws.
    assert!((79..=121).contains(&errors), "{errors}");
    let counts = server.end();
    assert_eq!(
        (counts.errors, counts.requests, counts.connections),
        (errors, 200, 1)
    );
}

#[test]
fn a_reset_is_a_reset_and_a_close_comes_half_way() {
    let resets = Demand {
        resets: 1.0,
        delay: constant(DELAY),
        ..Demand::default()
    };
    let server = start(resets, b"hi");
    let mut stream = server.connect();
    stream.write_all(GET).unwrap();
    let (text, end) = to_the_end(&mut stream);
    assert_eq!((text.as_str(), end), ("", Some(ErrorKind::ConnectionReset)));
    assert_eq!(server.end().resets, 1);

    let closes = Demand {
        closes: 1.0,
        ..Demand::default()
    };
    let server = start(closes, b"0123456789");
    let answer = server.last_word(GET);
    assert!(answer.contains("\r\nContent-Length: 10\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n01234"), "{answer}");
    let cut = server.last_word(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(!cut.is_empty() && !cut.contains("\r\n\r\n"), "{cut}");
    let counts = server.end();
    assert_eq!((counts.closes, counts.connections_closed), (2, 2));
}

#[test]
fn a_slow_body_comes_in_pieces() {
    let slow_body = Some(SlowBody {
        bytes: 3,
        every: Duration::from_millis(10),
    });
    let demand = Demand {
        slow_body,
        ..Demand::default()
    };
    let server = start(demand, b"0123456789");
    let mut stream = server.connect();
    let started = Instant::now();
    stream.write_all(&[GET, GET].concat()).unwrap();
    for _ in 0..2 {
        assert!(read_answer(&mut stream, 10).ends_with("\r\n\r\n0123456789"));
    }
    // Pieces of 3, 3, 3 and 1: three gaps in each of two answers.
    assert!(started.elapsed() >= Duration::from_millis(60));
    assert_eq!(server.end().slow_bodies, 2);
}

#[test]
fn sizes_are_drawn_by_weight() {
    let demand = Orders {
        sizes: vec![(5, 1), (100_000, 1)],
        ..Orders::default()
    };
    let server = start(demand, b"abc");
    let mut stream = server.connect();
    let mut large = 0;
    for _ in 0..64 {
        stream.write_all(GET).unwrap();
        let head = read_answer(&mut stream, 0);
        let size = if head.contains("\r\nContent-Length: 5\r\n") {
            5
        } else {
            100_000
        };
        let mut body = vec![0; size];
        stream.read_exact(&mut body).unwrap();
        assert!(body.starts_with(b"abcab"));
        large += usize::from(size > 5);
    }
    // Four standard errors of 64 draws.
    assert!((16..=48).contains(&large), "{large}");
    server.end();
}

/// Sends one request on each of `count` connections, in order.
fn crowd(server: &Server, count: u64) -> Vec<TcpStream> {
    let send = |sent| {
        let mut stream = server.connect();
        stream.write_all(GET).unwrap();
        server.counts_when(|counts| counts.requests == sent);
        stream
    };
    (1..=count).map(send).collect()
}

#[test]
fn workers_are_shared_by_all_threads_and_the_queue_has_an_end() {
    let demand = Demand {
        delay: constant(HOUR),
        workers: Some(2),
        queue: Some(3),
        ..Demand::default()
    };
    let server = start_on(2, demand, b"hi");
    let mut streams = crowd(&server, 7);
    for refused in &mut streams[5..] {
        let answer = read_answer(refused, "the queue is full\n".len());
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
    let counts = server.end();
    let queue = (counts.queued, counts.queued_max, counts.queue_full);
    assert_eq!((counts.delayed, queue), (5, (3, 3, 2)));
}

#[test]
fn who_waits_for_a_worker_waits_for_all_before_it() {
    let demand = Demand {
        delay: constant(DELAY),
        workers: Some(1),
        ..Demand::default()
    };
    let server = start_on(2, demand, b"hi");
    let started = Instant::now();
    let mut streams: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut streams {
        stream.write_all(GET).unwrap();
    }
    for stream in &mut streams {
        read_answer(stream, 2);
    }
    assert!(started.elapsed() >= DELAY * 4);
    server.end();
}

#[test]
fn it_behaves_when_it_is_asked_to() {
    let demand = Demand {
        errors: 1.0,
        ..Demand::default()
    };
    let demand = Orders {
        later: true,
        ..demand.into()
    };
    let server = start(demand, b"hi");
    let status = || server.last_word(b"GET / HTTP/1.0\r\n\r\n")[9..12].to_owned();
    assert_eq!(status(), "200");
    assert_eq!(behave(server.control, true).unwrap().requests, 1);
    assert_eq!(status(), "503");
    behave(server.control, false).unwrap();
    assert_eq!(status(), "200");
    assert_eq!(counts(server.control).unwrap().errors, 1);
    server.end();
}
