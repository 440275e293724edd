//! What a response costs over HTTP/3 without QUIC, in nanoseconds. It asserts no time; for people
//! to read: `cargo test --release -p bakeoff-wire --test it h3_cost -- --ignored --nocapture`.
#![allow(
    clippy::disallowed_methods,
    reason = "measures the time, which the crate itself never knows"
)]

use std::hint::black_box;
use std::time::Instant;

use bakeoff_wire::h3::{Config, Event, Memo, Request, Requests, Response, qpack};

/// Responses of one measurement.
const RESPONSES: usize = 2_000_000;
/// Best of so many measurements.
const ROUNDS: usize = 5;

/// One measurement: `at_once` states are used in turn, for `answers` in turn, whose parts come
/// one by one.
fn measure(at_once: usize, answers: &[Vec<Vec<u8>>]) -> f64 {
    let request = Request::new("GET", "https", "127.0.0.1:8443", "/", &[], vec![]).expect("valid");
    let requests = Requests::new(vec![request]);
    let mut memo = Memo::new(&Config::default());
    let mut responses: Vec<_> = (0..at_once).map(|_| Response::new(false)).collect();
    let (mut seen, mut ended) = (0_u64, 0);
    let begin = Instant::now();
    while ended < RESPONSES {
        for response in &mut responses {
            black_box(requests.bytes(0));
            response.begin(requests.is_to_head(0));
            for part in &answers[ended % answers.len()] {
                let handled = response.handle(black_box(part), &mut memo, |event| {
                    if let Event::Data(part) = event {
                        seen += part.len() as u64;
                    }
                });
                assert_eq!(handled, Ok(()));
            }
            assert_eq!(response.finish().map(|end| end.body_bytes), Ok(13));
            ended += 1;
        }
    }
    let elapsed = begin.elapsed();
    assert_eq!(seen, ended as u64 * 13);
    elapsed.as_nanos() as f64 / ended as f64
}

/// An answer with these headers, in parts.
fn answer(fields: &[(&str, &str)], parts: usize) -> Vec<Vec<u8>> {
    let field = |(name, value): &(&str, &str)| (name.as_bytes().into(), value.as_bytes().into());
    let fields: Vec<_> = fields.iter().map(field).collect();
    let mut section = Vec::new();
    qpack::encode(&fields, &mut section);
    let mut bytes = vec![1, 0x40, section.len() as u8];
    bytes.append(&mut section);
    bytes.extend_from_slice(b"\0\x0dHello, World!");
    let size = bytes.len().div_ceil(parts);
    bytes.chunks(size).map(<[u8]>::to_vec).collect()
}

#[test]
#[ignore = "reports a time and asserts none"]
fn nanoseconds_a_response() {
    let as_nginx = |number: usize, parts| {
        let date = format!(
            "Sat, 21 Nov 2026 09:{:02}:{:02} GMT",
            number / 60,
            number % 60
        );
        let fields = [
            (":status", "200"),
            ("server", "nginx/1.26.3"),
            ("date", &date),
            ("content-type", "text/plain"),
            ("content-length", "13"),
            ("last-modified", "Sat, 21 Nov 2026 09:00:00 GMT"),
            ("etag", "\"6740-d\""),
            ("accept-ranges", "bytes"),
        ];
        answer(&fields, parts)
    };
    let different: Vec<_> = (0..100).map(|number| as_nginx(number, 1)).collect();
    for (name, answers) in [
        ("status alone", vec![answer(&[(":status", "200")], 1)]),
        ("as nginx", vec![as_nginx(0, 1)]),
        ("as nginx, in 3 parts", vec![as_nginx(0, 3)]),
        (
            "as nginx, 4 in turn",
            (0..4).map(|n| as_nginx(n, 1)).collect(),
        ),
        ("as nginx, never the same", different),
    ] {
        for at_once in [1, 100, 10_000] {
            let times = (0..ROUNDS).map(|_| measure(at_once, &answers));
            let best = times.fold(f64::INFINITY, f64::min);
            println!("{name}: {at_once} streams: {best:.1} ns");
        }
    }
}
