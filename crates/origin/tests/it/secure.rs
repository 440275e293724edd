//! The server under TLS, as rustls sees it from the other side.

use std::io::{Read, Write};

use crate::support::tls::{self, connect};
use crate::support::{GET, Server, options, read_answer};
use bakeoff_origin::{Certificate, OnDemand, Orders, ServeOptions, serve};
use bakeoff_plan::{Demand, Protocol, SlowBody};

fn secure(body: &[u8]) -> ServeOptions {
    ServeOptions {
        protocol: Protocol::H1Tls,
        ..options(body)
    }
}

#[test]
fn requests_are_answered_under_each_version_of_tls() {
    let server = Server::start(secure(b"hi"));
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let mut stream = connect(&server, &[version], b"http/1.1");
        for cut in [1, 20, GET.len()] {
            stream.write_all(&GET[..cut]).unwrap();
            stream.write_all(&GET[cut..]).unwrap();
            assert!(read_answer(&mut stream, 2).ends_with("\r\n\r\nhi"));
        }
        let last = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        stream.write_all(&[GET, last].concat()).unwrap();
        read_answer(&mut stream, 2);
        read_answer(&mut stream, 2);
        // Without close_notify this would be an error.
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
    assert_eq!(server.end().requests, 10);
}

#[test]
fn a_body_larger_than_any_buffer_comes_whole() {
    let body: Vec<u8> = (0..3_000_000_u32).map(|index| index as u8).collect();
    let server = Server::start(secure(&body));
    let mut stream = connect(&server, rustls::ALL_VERSIONS, b"http/1.1");
    for _ in 0..2 {
        stream.write_all(&GET.repeat(3)).unwrap();
        // Nothing is read until the server can write no more, and has been asked more.
        server.counts_when(|counts| counts.bytes_written > 100_000);
        for _ in 0..3 {
            assert!(tls::read_answer_bytes(&mut stream, body.len()) == body);
        }
    }
    server.end();
}

#[test]
fn bodies_of_requests_are_read_to_their_end() {
    let server = Server::start(secure(b"hi"));
    let mut stream = connect(&server, rustls::ALL_VERSIONS, b"http/1.1");
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
        .unwrap();
    stream.write_all(&vec![b'x'; 300_000]).unwrap();
    stream.write_all(GET).unwrap();
    read_answer(&mut stream, 2);
    read_answer(&mut stream, 2);
    let counts = server.end();
    assert_eq!((counts.post, counts.get), (1, 1));
}

#[test]
fn what_is_demanded_of_an_origin_holds_under_tls() {
    let demand = Demand {
        slow_body: Some(SlowBody {
            bytes: 1000,
            every: std::time::Duration::from_millis(1),
        }),
        closes: 1.0,
        ..Demand::default()
    };
    let demand = Orders {
        sizes: vec![(5000, 1)],
        ..demand.into()
    };
    let options = secure(b"0123456789");
    let behaviour = OnDemand::new(demand, &options.reply).unwrap();
    let server = Server::start_with(options, behaviour);
    let mut stream = connect(&server, rustls::ALL_VERSIONS, b"http/1.1");
    stream.write_all(GET).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let head = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    assert_eq!(answer.len() - head - 4, 2500);
    let counts = server.end();
    assert_eq!((counts.closes, counts.slow_bodies), (1, 1));
}

#[test]
fn what_is_no_tls_ends_its_connection() {
    let server = Server::start(secure(b"hi"));
    for garbage in [
        GET,
        &[0x16, 3, 1, 0xff, 0xff],
        &[0x16, 3, 1, 0, 4, 2, 0, 0, 0],
    ] {
        let mut stream = server.connect();
        stream.write_all(garbage).unwrap();
        let mut answer = Vec::new();
        // What came of it is an alert or nothing; an end without either is as good.
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    }
    let mut wrong = connect(&server, rustls::ALL_VERSIONS, b"h2");
    wrong.write_all(GET).unwrap_err();
    let mut good = connect(&server, rustls::ALL_VERSIONS, b"http/1.1");
    good.write_all(GET).unwrap();
    read_answer(&mut good, 2);
    assert_eq!(server.end().requests, 1);
}

#[test]
fn a_certificate_of_ones_own_is_shown_and_a_wrong_one_is_named() {
    let folder = std::env::temp_dir().join(format!("bakeoff-origin-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = Certificate {
        certificate: folder.join("certificate.pem"),
        key: folder.join("key.pem"),
    };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let own = ServeOptions {
        certificate: Some(files.clone()),
        ..secure(b"hi")
    };
    let server = Server::start(own.clone());
    let mut stream = connect(&server, rustls::ALL_VERSIONS, b"http/1.1");
    stream.write_all(GET).unwrap();
    read_answer(&mut stream, 2);
    let shown = stream.conn.peer_certificates().unwrap();
    assert_eq!(shown, [made.cert.der().clone()]);
    server.end();

    std::fs::write(&files.key, "no key").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(true);
    let error = serve(&own, &mut |_, _| {}, &stop).unwrap_err().to_string();
    assert!(error.contains("key.pem"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
