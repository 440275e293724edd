//! The engine over TLS: what is spoken is what was agreed, and large bodies come whole.
//!
//! On real sockets, because a TLS server needs a thread of its own and the sizes of its writes are
//! the kernel's.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use bakeoff_load::{LoadSpec, Speaking, TlsSettings, Trust};
use bakeoff_plan::LoadModel;
use bakeoff_record::Outcome;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::h2::{DATA, END_HEADERS, END_STREAM, HEADERS, Peer, STATUS_200, spec};
use crate::support::{HELLO, check};

const BOTH: &[&[u8]] = &[b"h2", b"http/1.1"];
const ONLY_H1: &[&[u8]] = &[b"http/1.1"];

type Secured = StreamOwned<ServerConnection, TcpStream>;

/// A server over TLS that agrees to `alpn` and hands the connection to `serve`.
fn tls_server(
    alpn: &'static [&'static [u8]],
    serve: impl Fn(Secured) + Send + Sync + 'static,
) -> SocketAddr {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("made");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("supported")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("its own key");
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let config = Arc::new(config);
    crate::support::server(move |stream| {
        let connection = ServerConnection::new(config.clone()).expect("a right configuration");
        stream.set_nodelay(true).expect("a TCP socket");
        serve(StreamOwned::new(connection, stream));
    })
}

fn tls_spec(address: SocketAddr, speak: fn(TlsSettings) -> Speaking) -> LoadSpec {
    let mut spec = spec(address, 1);
    spec.load.model = LoadModel::Closed { clients: 3 };
    spec.target.secure = true;
    spec.speaking = speak(TlsSettings {
        trust: Trust::Anything,
        ..TlsSettings::default()
    });
    spec
}

fn h2(tls: TlsSettings) -> Speaking {
    Speaking::H2 { tls }
}

fn auto(tls: TlsSettings) -> Speaking {
    Speaking::Auto { tls }
}

#[test]
fn what_is_spoken_over_tls_is_what_was_agreed() {
    let speak_h2 = |stream| {
        if let Some(mut peer) = Peer::greet(stream, &[]) {
            peer.answer_all();
        }
    };
    let speak_h1 = |mut stream: Secured| {
        let mut head = [0; 1024];
        while matches!(stream.read(&mut head), Ok(1..)) {
            let _ = stream.write_all(HELLO);
        }
    };
    for speak in [h2, auto] {
        let spec = tls_spec(tls_server(BOTH, speak_h2), speak);
        let result = check(&spec, &[(Outcome::Ok, 30)]);
        assert_eq!(result.negotiated.protocol, "h2");
        assert_eq!(result.negotiated.alpn.as_deref(), Some("h2"));
    }
    // To a server of HTTP/1.1 alone, whether it names that or nothing.
    for alpn in [ONLY_H1, &[]] {
        let spec = tls_spec(tls_server(alpn, speak_h1), auto);
        let result = check(&spec, &[(Outcome::Ok, 30)]);
        assert_eq!(result.negotiated.protocol, "h1");
        let name = alpn.first().map(|_| "http/1.1");
        assert_eq!(result.negotiated.alpn.as_deref(), name);
    }
    let nameless = tls_spec(tls_server(&[], speak_h1), h2);
    let result = check(&nameless, &[(Outcome::Protocol, 30)]);
    assert!(result.error_samples["protocol"].contains("ALPN"));
    // A server that offers only another protocol ends the handshake itself (RFC 7301, 3.2).
    let strict = tls_spec(tls_server(ONLY_H1, speak_h1), h2);
    let result = check(&strict, &[(Outcome::Tls, 30)]);
    assert!(result.error_samples["tls"].contains("NoApplicationProtocol"));
}

#[test]
fn large_bodies_come_whole_and_each_byte_is_compared() {
    const FRAMES: usize = 100;
    const FRAME: usize = 16_384;
    let body: Vec<u8> = (0..FRAMES * FRAME).map(|n| (n / 7) as u8).collect();
    for is_right in [true, false] {
        let mut sent = body.clone();
        sent[FRAME * 50] ^= u8::from(!is_right);
        let address = tls_server(BOTH, move |stream| {
            let Some(mut peer) = Peer::greet(stream, &[]) else {
                return;
            };
            while let Some(stream) = peer.request() {
                peer.send(HEADERS, END_HEADERS, stream, STATUS_200);
                for part in sent.chunks(FRAME) {
                    peer.send(DATA, 0, stream, part);
                }
                peer.send(DATA, END_STREAM, stream, &[]);
            }
        });
        let mut spec = tls_spec(address, h2);
        spec.load.timeout_s = 10.0;
        spec.load.streams = 3;
        spec.exchanges[0].body = Some(body.clone().into());
        let outcome = if is_right {
            Outcome::Ok
        } else {
            Outcome::WrongBody
        };
        let result = check(&spec, &[(outcome, 30)]);
        assert_eq!(result.bodies_checked, 30);
        assert_eq!(result.connections.opened, 3);
    }
}

#[test]
fn a_connection_that_an_answer_came_with_the_end_of_takes_no_more_requests() {
    let close = |mut stream: Secured| {
        let mut head = [0; 1024];
        if !matches!(stream.read(&mut head), Ok(1..)) {
            return;
        }
        let connection = &mut stream.conn;
        connection.writer().write_all(HELLO).expect("in memory");
        connection.send_close_notify();
        let mut bytes = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut bytes).expect("in memory");
        }
        // TCP stays open until the client closes.
        let _ = stream.sock.write_all(&bytes);
        let _ = std::io::copy(&mut stream.sock, &mut std::io::sink());
    };
    let spec = tls_spec(tls_server(ONLY_H1, close), auto);
    let result = check(&spec, &[(Outcome::Ok, 30)]);
    let connections = &result.connections;
    assert_eq!((connections.opened, connections.closed_by_server), (30, 30));
}
