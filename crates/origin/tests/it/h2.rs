//! HTTP/2 in the clear and over TLS, as the crate `h2` sees it, and as raw frames do.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::support::wire::Wire;
use crate::support::{PATIENCE, Server, options};
use bakeoff_origin::{Behaviour, OnDemand, Orders, ServeOptions};
use bakeoff_plan::{Delay, Demand, Protocol, SlowBody};
use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Method, Request, StatusCode};

fn over(protocol: Protocol, body: &[u8]) -> ServeOptions {
    ServeOptions {
        protocol,
        ..options(body)
    }
}

fn on_demand(demand: impl Into<Orders>, body: &[u8]) -> Server {
    let options = over(Protocol::H2c, body);
    let behaviour = OnDemand::new(demand, &options.reply).unwrap();
    Server::start_with(options, behaviour)
}

/// Runs `exchange` over one connection, which `builder` sets up.
fn with_client<F: Future>(
    server: &Server,
    secure: bool,
    builder: &Builder,
    exchange: impl FnOnce(SendRequest<Bytes>) -> F,
) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let wire = Wire::open(server, secure).await;
        let (client, connection) = builder.handshake(wire).await.unwrap();
        let driver = tokio::spawn(connection);
        let exchanged = tokio::time::timeout(PATIENCE, exchange(client)).await;
        driver.abort();
        exchanged.unwrap()
    })
}

fn request(method: Method) -> Request<()> {
    let request = Request::builder().method(method).uri("http://localhost/a");
    request.header("x-hotdogs", "aplenty").body(()).unwrap()
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    /// How its stream was reset, if it was.
    reset: Option<Reason>,
}

/// Sends one request and reads its answer to the end.
async fn exchange(
    client: SendRequest<Bytes>,
    method: Method,
    body: Option<Bytes>,
) -> Result<Answer, h2::Error> {
    let mut client = client.ready().await?;
    let (response, mut stream) = client.send_request(request(method), body.is_none())?;
    if let Some(body) = body {
        stream.send_data(body, true)?;
    }
    let (head, mut body) = response.await?.into_parts();
    let (bytes, reset) = read(&mut body).await;
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        body: bytes,
        reset,
    })
}

async fn read(body: &mut RecvStream) -> (Vec<u8>, Option<Reason>) {
    let mut bytes = Vec::new();
    while let Some(part) = body.data().await {
        match part {
            Ok(part) => {
                body.flow_control().release_capacity(part.len()).unwrap();
                bytes.extend_from_slice(&part);
            }
            Err(error) => return (bytes, error.reason()),
        }
    }
    (bytes, None)
}

#[test]
fn requests_are_answered_in_the_clear_and_over_tls() {
    for protocol in [Protocol::H2c, Protocol::H2] {
        let server = Server::start(over(protocol, b"hello"));
        let secure = protocol == Protocol::H2;
        with_client(&server, secure, &Builder::new(), |client| async move {
            let streams = (0..300).map(|_| {
                let client = client.clone();
                tokio::spawn(exchange(client, Method::GET, None))
            });
            for stream in streams.collect::<Vec<_>>() {
                let answer = stream.await.unwrap().unwrap();
                assert_eq!(
                    (answer.status, answer.body),
                    (StatusCode::OK, b"hello".into())
                );
                assert_eq!(answer.headers["server"], "bakeoff-origin");
                assert_eq!(answer.headers["content-type"], "text/plain");
                assert_eq!(answer.headers["content-length"], "5");
            }
            let head = exchange(client.clone(), Method::HEAD, None).await.unwrap();
            assert_eq!(
                (head.body.len(), &head.headers["content-length"]),
                (0, &"5".parse().unwrap())
            );
            let long = Bytes::from(vec![b'x'; 300_000]);
            let posted = exchange(client, Method::POST, Some(long)).await.unwrap();
            assert_eq!(posted.body, b"hello");
        });
        let counts = server.end();
        assert_eq!(
            (counts.requests, counts.http_2, counts.http_1_1),
            (302, 302, 0)
        );
        assert_eq!((counts.get, counts.head, counts.post), (300, 1, 1));
        assert_eq!((counts.connections, counts.bad_requests), (1, 0));
    }
}

#[test]
fn large_bodies_pass_through_small_windows() {
    let body: Vec<u8> = (0..700_000_u32).map(|index| (index / 3) as u8).collect();
    for protocol in [Protocol::H2c, Protocol::H2] {
        let server = Server::start(over(protocol, &body));
        for (stream, connection) in [(1000, 65_535), (1 << 20, 70_000), (1 << 24, 1 << 24)] {
            let mut builder = Builder::new();
            builder
                .initial_window_size(stream)
                .initial_connection_window_size(connection);
            let body = &body;
            let secure = protocol == Protocol::H2;
            with_client(&server, secure, &builder, |client| async move {
                let streams = (0..4).map(|_| {
                    let client = client.clone();
                    tokio::spawn(exchange(client, Method::GET, None))
                });
                for stream in streams.collect::<Vec<_>>() {
                    assert!(stream.await.unwrap().unwrap().body == *body);
                }
            });
        }
        server.end();
    }
}

#[test]
fn a_client_without_a_table_learns_that_none_is_used() {
    let server = Server::start(over(Protocol::H2c, b"hi"));
    let mut builder = Builder::new();
    builder.header_table_size(0);
    with_client(&server, false, &builder, |client| async move {
        for _ in 0..3 {
            let answer = exchange(client.clone(), Method::GET, None).await.unwrap();
            assert_eq!(answer.body, b"hi");
        }
    });
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
    with_client(&server, false, &Builder::new(), |client| async move {
        let streams = (0..20).map(|_| {
            let client = client.clone();
            tokio::spawn(exchange(client, Method::GET, None))
        });
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
    for (resets, closes, bytes) in [(1.0, 0.0, None), (0.0, 1.0, Some(3))] {
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
        with_client(&server, false, &Builder::new(), |client| {
            let server = &server;
            async move {
                let good = exchange(client.clone(), Method::GET, None).await.unwrap();
                assert_eq!(good.body, b"123456");
                bakeoff_origin::behave(server.control, true).unwrap();
                for _ in 0..2 {
                    let found = exchange(client.clone(), Method::GET, None).await;
                    let found = found
                        .map(|answer| (Some(answer.body.len()), answer.reset))
                        .unwrap_or_else(|error| (None, error.reason()));
                    assert_eq!(found, (bytes, Some(Reason::INTERNAL_ERROR)));
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
    with_client(&server, false, &Builder::new(), |client| async move {
        let mut errors = 0;
        for _ in 0..40 {
            let answer = exchange(client.clone(), Method::GET, None).await.unwrap();
            match answer.status.as_u16() {
                500 => errors += 1,
                _ => assert_eq!(answer.body.len(), 20_000),
            }
        }
        assert!((1..40).contains(&errors), "{errors}");
    });
    server.end();
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// GET http / by the static table alone.
const BLOCK: &[u8] = &[0x82, 0x86, 0x84];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u32;
    [
        &length.to_be_bytes()[1..],
        &[kind, flags],
        &stream.to_be_bytes(),
        payload,
    ]
    .concat()
}

/// Frames that come back, by type and stream, until the server closes; what is sent comes in
/// pieces of `piece` bytes.
fn answered<B: Behaviour + 'static>(
    behaviour: B,
    frames: &[Vec<u8>],
    piece: usize,
) -> Vec<(u8, u32, Vec<u8>)> {
    let server = Server::start_with(over(Protocol::H2c, b"hi"), behaviour);
    let mut stream = server.connect();
    let bytes = [PREFACE.to_vec(), frames.concat()].concat();
    bytes
        .chunks(piece)
        .for_each(|part| stream.write_all(part).unwrap());
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    server.end();
    let (mut found, mut rest) = (Vec::new(), answer.as_slice());
    while let Some((head, behind)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        found.push((head[3], stream, behind[..length].to_vec()));
        rest = &behind[length..];
    }
    found
}

fn check(frames: &[Vec<u8>], expected: &[(u8, u32)]) {
    for piece in [7, 100_000] {
        let found = answered(bakeoff_origin::Immediate, frames, piece);
        // First come the server's settings, its window and the acknowledgement of the client's
        // settings.
        let kinds: Vec<_> = found
            .iter()
            .map(|(kind, stream, _)| (*kind, *stream))
            .collect();
        assert_eq!(kinds[..3], [(4, 0), (8, 0), (4, 0)]);
        assert_eq!(kinds[3..], *expected, "{frames:?}");
    }
}

#[test]
fn frames_are_put_together_however_they_are_cut() {
    let answer = |id| [(1, id), (0, id)];
    check(
        &[frame(1, 5, 1, BLOCK), frame(1, 5, 3, BLOCK)],
        &[answer(1), answer(3)].concat(),
    );
    // A block in three frames; padding and priority around another.
    let padded = [&[2, 0, 0, 0, 0, 7], BLOCK, &[0, 0]].concat();
    check(
        &[
            frame(1, 1, 1, &BLOCK[..1]),
            frame(9, 0, 1, &BLOCK[1..2]),
            frame(9, 4, 1, &BLOCK[2..]),
            frame(1, 0x2d, 3, &padded),
        ],
        &[answer(1), answer(3)].concat(),
    );
    // A body, with trailers behind it.
    check(
        &[
            frame(1, 4, 1, BLOCK),
            frame(0, 0, 1, b"body"),
            frame(1, 5, 1, &[0, 1, b'a', 1, b'b']),
        ],
        &answer(1),
    );
    // What is not known, and what needs no answer.
    check(
        &[
            frame(77, 0, 0, b"x"),
            frame(2, 0, 5, &[0; 5]),
            frame(6, 1, 0, &[0; 8]),
        ],
        &[],
    );
    check(&[frame(6, 0, 0, &[7; 8])], &[(6, 0)]);
}

#[test]
fn a_request_that_is_none_is_reset_and_the_next_one_answered() {
    let upper = [BLOCK, &[0, 1, b'A', 0]].concat();
    check(
        &[
            frame(1, 5, 1, &BLOCK[1..]),
            frame(1, 5, 3, &upper),
            frame(1, 5, 5, BLOCK),
        ],
        &[(3, 1), (3, 3), (1, 5), (0, 5)],
    );
}

#[test]
fn broken_rules_end_the_connection() {
    let flood = vec![frame(1, 1, 1, BLOCK)]
        .into_iter()
        .chain((0..100).map(|_| frame(9, 0, 1, b"")));
    for frames in [
        vec![frame(1, 5, 2, BLOCK)],
        vec![frame(1, 5, 1, &[0xff, 0xff, 0xff, 0xff])],
        vec![frame(0, 1, 1, b"x")],
        vec![frame(3, 0, 1, &[0; 4])],
        vec![frame(8, 0, 0, &[0; 4])],
        vec![frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff])],
        vec![frame(9, 4, 1, BLOCK)],
        vec![frame(5, 4, 1, BLOCK)],
        vec![frame(4, 0, 0, &[0; 5])],
        vec![frame(4, 0, 0, &[0, 4, 0xff, 0, 0, 0])],
        vec![frame(1, 0, 1, BLOCK), frame(6, 0, 0, &[0; 8])],
        vec![vec![0xff; 9]],
        flood.collect(),
    ] {
        check(&frames, &[(7, 0)]);
    }
    // Each is a walk over all streams.
    let shifts = (0..101_u8).map(|index| frame(4, 0, 0, &[0, 4, 0, 0, 1, index]));
    let expected = [vec![(4, 0); 100], vec![(7, 0)]].concat();
    check(&shifts.collect::<Vec<_>>(), &expected);
}

#[test]
fn whatever_comes_is_answered_with_whole_frames() {
    let reply = options(b"Hello, world!").reply;
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..3000 {
        let mut stream = PREFACE.to_vec();
        for _ in 0..random(30) {
            let payload = match random(4) {
                0 => BLOCK.to_vec(),
                1 => vec![0, 4, 0, 0, 0, random(30) as u8],
                2 => vec![0, 0, 0, random(9) as u8],
                _ => (0..random(20)).map(|_| random(256) as u8).collect(),
            };
            let flags = [0, 1, 4, 5, 0x2d][random(5) as usize];
            stream.extend(frame(random(11) as u8, flags, random(12) as u32, &payload));
        }
        if random(2) == 0 {
            let place = PREFACE.len() as u64 + random((stream.len() - PREFACE.len() + 1) as u64);
            stream.insert(place as usize, random(256) as u8);
        }
        let answer = bakeoff_origin::answer_h2(&reply, &stream, 1 + random(40) as usize).unwrap();
        let mut rest = answer.as_slice();
        while let Some((head, behind)) = rest.split_first_chunk::<9>() {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            rest = &behind[length..];
        }
        assert!(rest.is_empty(), "{} bytes of a frame", rest.len());
    }
}

#[test]
fn more_streams_than_are_allowed_are_refused() {
    let demand = Demand {
        delay: Some(Delay::Constant(Duration::from_secs(3600))),
        ..Demand::default()
    };
    let reply = options(b"hi").reply;
    let behaviour = OnDemand::new(demand, &reply).unwrap();
    let frames: Vec<_> = (0..1030)
        .map(|index| frame(1, 5, 2 * index + 1, BLOCK))
        .collect();
    let found = answered(behaviour, &frames, 100_000);
    let refused = found
        .iter()
        .filter(|(kind, _, code)| *kind == 3 && code == &[0, 0, 0, 7]);
    assert_eq!(refused.count(), 6);
}

#[test]
fn a_client_that_takes_nothing_holds_up_nobody() {
    let body = vec![b'x'; 1 << 20];
    let server = Server::start(over(Protocol::H2c, &body));
    let mut deaf = server.connect();
    let window = frame(8, 0, 0, &[0x7f, 0, 0, 0]);
    let settings = frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
    let requests = (0..500).map(|index| frame(1, 5, 2 * index + 1, BLOCK));
    let requests: Vec<u8> = requests.flatten().collect();
    deaf.write_all(&[PREFACE, &settings, &window, &requests].concat())
        .unwrap();
    server.counts_when(|counts| counts.requests == 500);
    with_client(&server, false, &Builder::new(), |client| async move {
        let answer = exchange(client, Method::GET, None).await.unwrap();
        assert_eq!(answer.body.len(), 1 << 20);
    });
    drop(deaf);
    server.counts_when(|counts| counts.connections_open == 0);
    server.end();
}
