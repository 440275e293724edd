//! The server as a client sees it: raw sockets, ports from the system.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use bakeoff_origin::{OriginError, ServeOptions, counts, serve};

use crate::support::{GET, PATIENCE, Server, options, read_answer};

#[test]
fn a_head_may_be_cut_anywhere() {
    let server = Server::start(options(b"hi"));
    let mut stream = server.connect();
    for cut in 1..GET.len() {
        stream.write_all(&GET[..cut]).unwrap();
        // Counted bytes say that the first piece was read by itself.
        let before = ((cut - 1) * GET.len() + cut) as u64;
        server.counts_when(|counts| counts.bytes_read == before);
        stream.write_all(&GET[cut..]).unwrap();
        let answer = read_answer(&mut stream, 2);
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\nServer: bakeoff-origin\r\n"),
            "{answer}"
        );
        assert!(answer.ends_with("\r\n\r\nhi"), "{answer}");
    }
    assert_eq!(server.end().requests, GET.len() as u64 - 1);
}

#[test]
fn pipelined_requests_are_answered_in_turn() {
    let server = Server::start(options(b"hi"));
    let mut stream = server.connect();
    stream
        .write_all(&[GET, b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", GET, &GET[..9]].concat())
        .unwrap();
    for body in [2, 0, 2] {
        read_answer(&mut stream, body);
    }
    stream.write_all(&GET[9..]).unwrap();
    read_answer(&mut stream, 2);
    let counts = server.end();
    assert_eq!((counts.requests, counts.get, counts.head), (4, 3, 1));
}

#[test]
fn old_clients_get_their_connection_closed_unless_they_ask() {
    let server = Server::start(options(b"hi"));
    let answer = server.last_word(b"GET / HTTP/1.0\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(answer.contains("\r\nConnection: close\r\n") && answer.ends_with("\r\n\r\nhi"));
    let kept = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let answer = server.last_word(&[&kept[..], b"GET / HTTP/1.0\r\n\r\n"].concat());
    assert!(
        answer.contains("\r\nConnection: keep-alive\r\n"),
        "{answer}"
    );
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2);
    let counts = server.end();
    assert_eq!((counts.http_1_0, counts.http_1_1), (3, 0));
    assert_eq!((counts.keep_alive, counts.close), (1, 2));
}

#[test]
fn a_head_request_gets_the_length_and_no_body() {
    let server = Server::start(options(b"hello"));
    let answer = server.last_word(b"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(answer.contains("\r\nContent-Length: 5\r\n") && answer.ends_with("\r\n\r\n"));
    server.end();
}

#[test]
fn bodies_of_requests_are_read_to_their_end() {
    let server = Server::start(options(b"hi"));
    let mut stream = server.connect();
    let long = vec![b'x'; 300_000];
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
        .unwrap();
    stream.write_all(&long).unwrap();
    stream.write_all(GET).unwrap();
    read_answer(&mut stream, 2);
    read_answer(&mut stream, 2);
    stream
        .write_all(b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    for _ in 0..5 {
        stream.write_all(b"2710\r\n").unwrap();
        stream.write_all(&long[..10_000]).unwrap();
        stream.write_all(b"\r\n").unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    read_answer(&mut stream, 2);
    let counts = server.end();
    assert_eq!(
        (
            counts.requests,
            counts.post,
            counts.other_methods,
            counts.get
        ),
        (3, 1, 1, 1)
    );
    assert_eq!(counts.bad_requests, 0);
}

#[test]
fn a_client_that_waits_for_a_go_ahead_gets_it() {
    let server = Server::start(options(b"hi"));
    let mut stream = server.connect();
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    stream.write_all(head).unwrap();
    assert_eq!(read_answer(&mut stream, 0), "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"abc").unwrap();
    assert!(read_answer(&mut stream, 2).starts_with("HTTP/1.1 200 "));
    server.end();
}

#[test]
fn garbage_is_refused_and_the_connection_ends() {
    let server = Server::start(options(b"hi"));
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET / HTTP/1.1\r\n\r\n",
        b"G\x01T / H",
    ] {
        let answer = server.last_word(garbage);
        assert!(
            answer.starts_with("HTTP/1.1 400 Bad Request\r\n"),
            "{answer}"
        );
        assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    }
    let endless = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(40_000));
    let answer = server.last_word(endless.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let counts = server.end();
    assert_eq!((counts.requests, counts.bad_requests), (0, 4));
}

#[test]
fn a_refused_client_that_goes_on_is_let_go() {
    let server = Server::start(options(b"hi"));
    let mut stream = server.connect();
    stream.write_all(b"\0").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    // The client has been answered and holds the connection open.
    server.counts_when(|counts| counts.connections_closed == 1);
    server.end();
}

#[test]
fn a_slow_reader_gets_all_of_a_large_answer() {
    let body: Vec<u8> = (0..16_000_000_u32).map(|n| b'a' + (n % 23) as u8).collect();
    let server = Server::start(options(&body));
    let mut stream = server.connect();
    stream.write_all(&[GET, GET].concat()).unwrap();
    server.counts_when(|counts| counts.bytes_written > 0);
    // Another client is served while the first one does not read.
    let mut other = server.connect();
    other
        .write_all(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    read_answer(&mut other, 0);
    assert_eq!(
        counts(server.control).unwrap().requests,
        2,
        "the pipelined request must wait"
    );
    for _ in 0..2 {
        let answer = read_answer(&mut stream, body.len());
        assert!(answer.as_bytes().ends_with(&body));
    }
    assert_eq!(server.end().requests, 3);
}

#[test]
fn counts_add_up_over_many_connections_and_threads() {
    let server = Server::start(ServeOptions {
        threads: 2,
        ..options(b"hi")
    });
    let mut streams: Vec<_> = (0..400).map(|_| server.connect()).collect();
    for round in 0..3 {
        for stream in &mut streams {
            stream.write_all(GET).unwrap();
        }
        for stream in &mut streams {
            read_answer(stream, 2);
        }
        assert_eq!(counts(server.control).unwrap().requests, 400 * (round + 1));
    }
    let counts = server.counts_when(|counts| counts.connections == 400);
    assert_eq!(
        (counts.connections_open, counts.connections_closed),
        (400, 0)
    );
    assert_eq!(counts.bytes_read, 1200 * GET.len() as u64);
    drop(streams);
    let counts = server.counts_when(|counts| counts.connections_open == 0);
    assert_eq!(counts.connections_closed, 400);
    let answer = "HTTP/1.1 200 OK\r\nServer: bakeoff-origin\r\nContent-Type: text/plain\r\n\
                  Content-Length: 2\r\n\r\nhi";
    assert_eq!(server.end().bytes_written, 1200 * answer.len() as u64);
}

#[test]
fn a_port_that_is_taken_is_an_error_that_names_it() {
    for threads in [1, 2] {
        let taken = Server::start(options(b"hi"));
        let mut wish = options(b"hi");
        (wish.listen, wish.threads) = (taken.address, threads);
        let error = serve(&wish, &mut |_, _| {}, &AtomicBool::new(false)).unwrap_err();
        assert!(
            error.to_string().contains(&taken.address.to_string()),
            "{error}"
        );
        taken.end();
    }
}

#[test]
fn bad_options_are_errors() {
    let never = AtomicBool::new(false);
    let none = ServeOptions {
        threads: 0,
        ..options(b"")
    };
    assert!(matches!(
        serve(&none, &mut |_, _| {}, &never),
        Err(OriginError::NoThreads)
    ));
    let mut reply = options(b"");
    reply.reply.status = 7;
    assert!(matches!(
        serve(&reply, &mut |_, _| {}, &never),
        Err(OriginError::Reply(_))
    ));
    let pinned = ServeOptions {
        pin: vec![900],
        ..options(b"")
    };
    assert!(matches!(
        serve(&pinned, &mut |_, _| {}, &never),
        Err(OriginError::Pin { cpu: 900, .. })
    ));
}

#[test]
fn the_control_listener_knows_one_question() {
    let server = Server::start(options(b"hi"));
    let mut stream = TcpStream::connect(server.control).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(b"GET /elsewhere HTTP/1.1\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    // What answers is no control listener.
    let error = counts(server.address).unwrap_err();
    assert!(
        error.to_string().contains("expected 200 and JSON"),
        "{error}"
    );
    let control = server.control;
    server.end();
    assert!(counts(control).is_err());
}

#[test]
fn a_connection_that_says_nothing_costs_nothing_and_ends_with_the_server() {
    let server = Server::start(options(b"hi"));
    let mut silent = server.connect();
    server.counts_when(|counts| counts.connections_open == 1);
    assert_eq!(server.end().requests, 0);
    let end = silent.read(&mut [0; 8]);
    let closed = matches!(end, Ok(0));
    assert!(closed || end.unwrap_err().kind() == ErrorKind::ConnectionReset);
}

#[test]
fn a_restart_closes_all_connections_and_comes_back_at_the_same_port() {
    let server = Server::start(options(b"hi"));
    let mut kept = server.connect();
    kept.write_all(GET).unwrap();
    read_answer(&mut kept, 2);
    let before = bakeoff_origin::restart(server.control).unwrap();
    assert_eq!((before.connections, before.requests), (1, 1));
    assert_eq!(kept.read(&mut [0; 16]).unwrap(), 0, "it is closed in order");
    // It lets nobody in for a while, then everybody.
    let until = Instant::now() + PATIENCE;
    let mut back = loop {
        match TcpStream::connect(server.address) {
            Ok(stream) => break stream,
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionRefused),
        }
        assert!(Instant::now() < until, "it never came back");
    };
    back.set_read_timeout(Some(PATIENCE)).unwrap();
    back.write_all(GET).unwrap();
    read_answer(&mut back, 2);
    assert_eq!(server.end().requests, 2);
}
