//! HTTP/3, as the crates `h3` and `quinn` see it.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{PATIENCE, Server, options, tls};
use bakeoff_origin::{Immediate, OnDemand, Orders, ServeOptions, serve};
use bakeoff_plan::{Delay, Demand, Protocol, SlowBody};
use bytes::{Buf as _, Bytes};
use http::{HeaderMap, Method, Request};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, TransportConfig, VarInt};

type Sender = h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

fn over_h3(body: &[u8]) -> ServeOptions {
    ServeOptions {
        protocol: Protocol::H3,
        ..options(body)
    }
}

fn on_demand(demand: impl Into<Orders>, body: &[u8]) -> Server {
    let options = over_h3(body);
    let behaviour = OnDemand::new(demand, &options.reply).unwrap();
    Server::start_with(options, behaviour)
}

/// Runs `exchange` over one connection with these limits, and closes it.
fn with_connection<F: Future>(
    server: &Server,
    transport: TransportConfig,
    exchange: impl FnOnce(Connection) -> F,
) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let config = QuicClientConfig::try_from(tls::config(&[&rustls::version::TLS13], b"h3"));
        let mut config = ClientConfig::new(Arc::new(config.unwrap()));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
        let connecting = endpoint.connect_with(config, server.address, "localhost");
        let connection = connecting.unwrap().await.unwrap();
        let exchanged = tokio::time::timeout(PATIENCE, exchange(connection.clone())).await;
        connection.close(VarInt::from_u32(0x100), b"");
        endpoint.wait_idle().await;
        exchanged.unwrap()
    })
}

fn with_client<F: Future>(server: &Server, exchange: impl FnOnce(Sender) -> F) -> F::Output {
    with_connection(server, TransportConfig::default(), |connection| async {
        let (mut driver, sender) = h3::client::new(h3_quinn::Connection::new(connection))
            .await
            .unwrap();
        let driver = tokio::spawn(async move { driver.wait_idle().await });
        let exchanged = exchange(sender).await;
        driver.abort();
        exchanged
    })
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    /// Whether it came whole.
    is_whole: bool,
}

/// Sends one request and reads its answer; `None` if there was not even a head.
async fn exchange(mut sender: Sender, method: Method, body: Option<Bytes>) -> Option<Answer> {
    let request = Request::builder().method(method).uri("https://localhost/a");
    let request = request.header("x-hotdogs", "aplenty").body(()).unwrap();
    let mut stream = sender.send_request(request).await.unwrap();
    if let Some(body) = body {
        stream.send_data(body).await.unwrap();
    }
    // The server may have reset the stream already.
    let _ = stream.finish().await;
    let head = stream.recv_response().await.ok()?;
    let mut answer = Answer {
        status: head.status().as_u16(),
        headers: head.headers().clone(),
        body: Vec::new(),
        is_whole: true,
    };
    loop {
        match stream.recv_data().await {
            Ok(Some(mut part)) => answer
                .body
                .extend_from_slice(&part.copy_to_bytes(part.remaining())),
            Ok(None) => return Some(answer),
            Err(_) => {
                answer.is_whole = false;
                return Some(answer);
            }
        }
    }
}

#[test]
fn requests_are_answered() {
    let server = Server::start(over_h3(b"hello"));
    with_client(&server, |client| async move {
        let streams = (0..600).map(|_| tokio::spawn(exchange(client.clone(), Method::GET, None)));
        for stream in streams.collect::<Vec<_>>() {
            let answer = stream.await.unwrap().unwrap();
            assert_eq!((answer.status, answer.is_whole), (200, true));
            assert_eq!(answer.body, b"hello");
            assert_eq!(answer.headers["server"], "bakeoff-origin");
            assert_eq!(answer.headers["content-type"], "text/plain");
            assert_eq!(answer.headers["content-length"], "5");
        }
        let head = exchange(client.clone(), Method::HEAD, None).await.unwrap();
        assert_eq!((head.body.len(), head.is_whole), (0, true));
        let long = Bytes::from(vec![b'x'; 3_000_000]);
        let posted = exchange(client, Method::POST, Some(long)).await.unwrap();
        assert_eq!(posted.body, b"hello");
    });
    // Closed by the client, it is forgotten when what may still be on its way has come.
    let counts = server.counts_when(|counts| counts.connections_open == 0);
    assert_eq!(
        (counts.requests, counts.http_3, counts.http_1_1),
        (602, 602, 0)
    );
    assert_eq!((counts.get, counts.head, counts.post), (600, 1, 1));
    assert_eq!((counts.connections, counts.bad_requests), (1, 0));
    server.end();
}

#[test]
fn large_bodies_pass_through_small_windows() {
    let body: Vec<u8> = (0..500_000_u32).map(|index| (index / 3) as u8).collect();
    let server = Server::start(over_h3(&body));
    for window in [20_000_u32, 1 << 24] {
        let mut transport = TransportConfig::default();
        transport
            .stream_receive_window(VarInt::from_u32(window))
            .receive_window(VarInt::from_u32(window.saturating_mul(2)));
        let body = &body;
        with_connection(&server, transport, |connection| async {
            let over = h3_quinn::Connection::new(connection);
            let (mut driver, sender) = h3::client::new(over).await.unwrap();
            let driver = tokio::spawn(async move { driver.wait_idle().await });
            let streams = (0..4).map(|_| tokio::spawn(exchange(sender.clone(), Method::GET, None)));
            for stream in streams.collect::<Vec<_>>() {
                let answer = stream.await.unwrap().unwrap();
                assert!(answer.is_whole && answer.body == *body);
            }
            driver.abort();
        });
    }
    server.end();
}

#[test]
fn a_delay_holds_up_one_stream_and_no_other() {
    let demand = Demand {
        delay: Some(Delay::Constant(Duration::from_millis(50))),
        slow_body: Some(SlowBody {
            bytes: 2,
            every: Duration::from_millis(10),
        }),
        ..Demand::default()
    };
    let server = on_demand(demand, b"hello");
    let started = Instant::now();
    with_client(&server, |client| async move {
        let streams = (0..20).map(|_| tokio::spawn(exchange(client.clone(), Method::GET, None)));
        for stream in streams.collect::<Vec<_>>() {
            assert_eq!(stream.await.unwrap().unwrap().body, b"hello");
        }
    });
    assert!(started.elapsed() >= Duration::from_millis(70));
    let counts = server.end();
    assert_eq!(
        (counts.delayed, counts.slow_bodies, counts.requests),
        (20, 20, 20)
    );
}

#[test]
fn faults_reset_their_stream_alone() {
    for (resets, closes) in [(1.0, 0.0), (0.0, 1.0)] {
        let demand = Demand {
            resets,
            closes,
            ..Demand::default()
        };
        let demand = Orders {
            later: true,
            ..demand.into()
        };
        let server = on_demand(demand, b"123456");
        with_client(&server, |client| {
            let server = &server;
            async move {
                let good = exchange(client.clone(), Method::GET, None).await.unwrap();
                assert_eq!(good.body, b"123456");
                bakeoff_origin::behave(server.control, true).unwrap();
                for _ in 0..2 {
                    // A reset may overtake what was sent before it.
                    let found = exchange(client.clone(), Method::GET, None).await;
                    assert!(found.is_none_or(|it| !it.is_whole && it.body.len() <= 3));
                }
                bakeoff_origin::behave(server.control, false).unwrap();
                let good = exchange(client, Method::GET, None).await.unwrap();
                assert_eq!(good.body, b"123456");
            }
        });
        let counts = server.end();
        assert_eq!((counts.requests, counts.resets + counts.closes), (4, 2));
    }
}

#[test]
fn errors_and_sizes_are_those_asked_for() {
    let demand = Demand {
        errors: 0.5,
        error_status: 500,
        ..Demand::default()
    };
    let demand = Orders {
        sizes: vec![(20_000, 1)],
        ..demand.into()
    };
    let server = on_demand(demand, b"hello");
    with_client(&server, |client| async move {
        let mut errors = 0;
        for _ in 0..40 {
            let answer = exchange(client.clone(), Method::GET, None).await.unwrap();
            match answer.status {
                500 => errors += 1,
                _ => assert_eq!(answer.body.len(), 20_000),
            }
        }
        assert!((1..40).contains(&errors), "{errors}");
    });
    server.end();
}

#[test]
fn a_broken_rule_ends_the_stream_or_the_connection() {
    let server = Server::start(over_h3(b"hi"));
    with_connection(
        &server,
        TransportConfig::default(),
        |connection| async move {
            // Fields without a method are no request.
            let (mut send, mut receive) = connection.open_bi().await.unwrap();
            send.write_all(&[1, 3, 0, 0, 0xc1]).await.unwrap();
            send.finish().unwrap();
            let error = receive.read_to_end(10).await.unwrap_err();
            assert!(error.to_string().contains("reset"), "{error}");
            // A body before them is against the rules of HTTP/3.
            let (mut send, _receive) = connection.open_bi().await.unwrap();
            send.write_all(&[0, 1, 7]).await.unwrap();
            let error = connection.closed().await;
            assert!(
                matches!(&error, quinn::ConnectionError::ApplicationClosed(closed)
                if closed.error_code == VarInt::from_u32(0x105)),
                "{error}"
            );
        },
    );
    assert_eq!(server.end().bad_requests, 2);
}

#[test]
fn datagrams_that_are_none_of_quic_are_read_over() {
    let server = Server::start(over_h3(b"hi"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0, 1, 20, 1200] {
        for first in [0, 0x40, 0xc0, 0xff] {
            socket
                .send_to(&vec![first; length], server.address)
                .unwrap();
        }
    }
    with_client(&server, |client| async move {
        let answer = exchange(client, Method::GET, None).await.unwrap();
        assert_eq!(answer.body, b"hi");
    });
    server.end();
}

#[test]
fn the_port_belongs_to_one_server() {
    let server = Server::start(over_h3(b"hi"));
    let taken = ServeOptions {
        listen: server.address,
        ..over_h3(b"hi")
    };
    let stop = std::sync::atomic::AtomicBool::new(true);
    serve(&taken, &mut |_, _| {}, &stop).unwrap_err();
    let threads = ServeOptions {
        threads: 3,
        ..over_h3(b"hi")
    };
    server.end();
    let server = Server::start_with(threads, Immediate);
    for _ in 0..6 {
        with_client(&server, |client| async move {
            exchange(client, Method::GET, None).await.unwrap();
        });
    }
    assert_eq!(server.end().requests, 6);
}
