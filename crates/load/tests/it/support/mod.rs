//! Servers on threads of the test, and a load that every test changes where it must.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod h2;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use bakeoff_load::{
    BodyCheck, ConnectionUse, Control, Exchange, ExpectedStatus, LoadSpec, Order, Pacing, Speaking,
    Target, Threads, Waiting, run,
};
use bakeoff_plan::{Connect, Load, LoadModel, RateShape};
use bakeoff_record::{LoadResult, Outcome};

pub(crate) const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Serves each connection on a thread of its own with `serve`, for the life of the test.
pub(crate) fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Reads one request's head; `false` at the end of the connection.
pub(crate) fn read_request(stream: &mut impl Read) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

/// Answers every request of a connection with `answer`.
pub(crate) fn always(answer: &'static [u8]) -> SocketAddr {
    server(
        move |mut stream| {
            while read_request(&mut stream) && stream.write_all(answer).is_ok() {}
        },
    )
}

/// Answers the first request of a connection with `answer` and closes it.
pub(crate) fn once(answer: &'static [u8]) -> SocketAddr {
    server(move |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(answer);
    })
}

pub(crate) fn spec(address: SocketAddr) -> LoadSpec {
    let target = Target::at(address, "/");
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let exchange = Exchange {
        name: "/".to_owned(),
        request: request.into_bytes().into(),
        h2: None,
        to_head_request: false,
        status: ExpectedStatus::Success,
        body: Some(b"hello".as_slice().into()),
        weight: 1,
    };
    LoadSpec {
        target,
        speaking: Speaking::H1 { tls: None },
        exchanges: vec![exchange],
        load: Load {
            connect: Connect::AsNeeded,
            ..Load::new(LoadModel::Closed { clients: 3 }, 20.0)
        },
        shape: RateShape::Level,
        count: Some(30),
        connections: ConnectionUse {
            ramp_gap: Duration::from_micros(50),
            retry_pause: Duration::from_millis(1),
            ..ConnectionUse::default()
        },
        threads: Threads {
            count: 1,
            pin: Vec::new(),
            part: None,
        },
        seed: 1,
        check: BodyCheck::All,
        pacing: Pacing {
            order: Order::ByWeight,
            variants: 1,
            deadline: None,
            waiting: Waiting::Nap,
            gather: true,
        },
        interval: Duration::from_millis(100),
    }
}

pub(crate) fn load(spec: &LoadSpec) -> LoadResult {
    let result = run(spec, &Control::default()).expect("the load can be carried out");
    let requests = &result.requests;
    assert_eq!(
        requests.started,
        requests.completed + requests.in_flight_at_end
    );
    assert_eq!(requests.completed, result.outcomes.completed());
    assert_eq!(
        result.latency.count(),
        requests.ok,
        "latencies are of ok responses only"
    );
    assert_eq!(result.service.count(), requests.ok);
    let balance = result.balance;
    assert!(balance.holds(), "{balance:?}");
    let parts = result.intervals.iter();
    let by_clock: u64 = parts.map(|part| part.ok + part.errors).sum();
    assert_eq!(by_clock, balance.ended);
    let by_due = result.schedule.as_ref().map(|kept| &kept.parts);
    let ended = by_due.map_or(by_clock, |parts| parts.iter().map(|part| part.ended).sum());
    assert_eq!(ended, requests.completed);
    result
}

/// The load comes out with these outcomes, and no others.
#[track_caller]
pub(crate) fn check(spec: &LoadSpec, expected: &[(Outcome, u64)]) -> LoadResult {
    let result = load(spec);
    for (outcome, count) in expected {
        let (outcomes, samples) = (&result.outcomes, &result.error_samples);
        assert_eq!(outcomes.of(*outcome), *count, "{outcomes:?} {samples:?}");
    }
    let sum: u64 = expected.iter().map(|(_, count)| count).sum();
    assert_eq!(result.outcomes.completed(), sum, "{:?}", result.outcomes);
    result
}
