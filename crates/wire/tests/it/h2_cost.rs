//! What a request costs over HTTP/2, in nanoseconds. It asserts no time; for people to read:
//! `cargo test --release -p bakeoff-wire --test it h2_cost -- --ignored --nocapture`.
#![allow(
    clippy::disallowed_methods,
    reason = "measures the time, which the crate itself never knows"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bakeoff_wire::h2::{Client, Config, Event, Request, Requests};

/// Requests of one measurement.
const REQUESTS: u32 = 2_000_000;
/// Best of so many measurements.
const ROUNDS: usize = 5;

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags, 0, 0, 0, 0], payload].concat()
}

/// One measurement: `at_once` streams are opened, then answered, again and again.
fn measure(at_once: u32, block: &[u8], templates: u32) -> f64 {
    let request = |number| {
        let path = format!("/{number}");
        Request::new("GET", "http", "127.0.0.1:8080", &path, &[], vec![]).expect("valid")
    };
    let requests = Requests::new((0..templates).map(request).collect());
    let config = Config {
        streams: at_once,
        ..Config::default()
    };
    let mut client = Client::new(&config, Arc::new(requests));
    let (mut out, mut events) = (Vec::new(), Vec::new());
    client.begin(&mut out);
    client
        .handle(&frame(4, 0, &[]), &mut events, &mut out)
        .expect("valid");
    let head = frame(1, 4, block);
    let answer = [&head[..], &frame(0, 1, b"Hello, World!")].concat();
    let mut input = answer.repeat(at_once as usize);
    let (mut id, mut ended) = (1_u32, 0_u32);
    let begin = Instant::now();
    while ended < REQUESTS {
        out.clear();
        events.clear();
        for (token, answer) in (0..at_once).zip(input.chunks_exact_mut(answer.len())) {
            let opened = client.open(token % templates, token, &mut out);
            assert_eq!(opened, Ok(()));
            answer[5..9].copy_from_slice(&id.to_be_bytes());
            answer[head.len() + 5..][..4].copy_from_slice(&id.to_be_bytes());
            id += 2;
        }
        black_box(&out);
        let handled = client.handle(black_box(&input), &mut events, &mut out);
        assert_eq!(handled, Ok(input.len()));
        for event in &events {
            ended += u32::from(matches!(event, Event::End { body_bytes: 13, .. }));
        }
    }
    begin.elapsed().as_nanos() as f64 / f64::from(ended)
}

#[test]
#[ignore = "reports a time and asserts none"]
fn nanoseconds_a_request() {
    // As nginx: literals that ask to be indexed in a table that the server set to 0 bytes.
    let mut literals = vec![0x20, 0x88];
    for (index, value) in [
        (54, "nginx/1.22.1"),
        (33, "Sat, 21 Nov 2026 09:13:00 GMT"),
        (31, "text/plain"),
        (28, "13"),
        (44, "Sat, 21 Nov 2026 09:00:00 GMT"),
        (34, "\"6740-d\""),
        (18, "bytes"),
    ] {
        literals.extend_from_slice(&[0x40 | index, value.len() as u8]);
        literals.extend_from_slice(value.as_bytes());
    }
    for (name, block) in [("as nginx", &literals[..]), ("status alone", &[0x88])] {
        for (at_once, templates) in [(1, 1), (32, 1), (100, 1), (32, 4), (32, 300)] {
            let times = (0..ROUNDS).map(|_| measure(at_once, block, templates));
            let best = times.fold(f64::INFINITY, f64::min);
            println!("{name}: {at_once} streams, {templates} requests: {best:.1} ns");
        }
    }
    println!("connection: {} bytes", size_of::<Client>());
}
