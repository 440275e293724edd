//! The memory of HTTP/2 connections: nothing is allocated for a request once a connection has
//! met its requests and responses, and a connection with many streams stays small.

use std::sync::Arc;

use crate::counting::{BYTES, COUNT};
use bakeoff_wire::h2::{Client, Config, Event, Request, Requests};

/// Streams at once.
const STREAMS: u32 = 100;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

struct Buffers {
    input: Vec<u8>,
    events: Vec<Event>,
    out: Vec<u8>,
}

/// Opens all streams that there is room for and answers them, each with a header that differs
/// from all others and is inserted into the table.
fn round(client: &mut Client, number: u32, buffers: &mut Buffers) {
    let Buffers { input, events, out } = buffers;
    input.clear();
    events.clear();
    out.clear();
    for token in 0..STREAMS {
        client.open(token % 3, token, out).expect("there is room");
        let stream = (number * STREAMS + token) * 2 + 1;
        let unique = (number * STREAMS + token + 1_000_000).to_be_bytes();
        let digits = unique.map(|byte| b'a' + byte % 16);
        let block = [&[0x88, 0x40, 2, b'i', b'd', 4], &digits[..]].concat();
        frame(1, 4, stream, &block, input);
        frame(0, 1, stream, b"Hello, World!", input);
    }
    // In pieces, so that frames are cut.
    for part in input.chunks(1000) {
        client.handle(part, events, out).expect("right");
    }
    assert_eq!(client.open_streams(), 0);
}

#[test]
fn nothing_is_allocated_for_a_request() {
    let request = |path| Request::new("GET", "http", "a.test", path, &[], vec![]).expect("valid");
    let requests = Arc::new(Requests::new(["/a", "/b", "/c"].map(request).to_vec()));
    let config = Config {
        streams: STREAMS,
        ..Config::default()
    };
    let mut buffers = Buffers {
        input: Vec::with_capacity(1 << 20),
        events: Vec::with_capacity(1 << 12),
        out: Vec::with_capacity(1 << 20),
    };
    let before = BYTES.get();
    let mut client = Client::new(&config, requests);
    frame(4, 0, 0, &[], &mut buffers.input);
    let Buffers { input, events, out } = &mut buffers;
    client.handle(input, events, out).expect("settings");
    for number in 0..10 {
        round(&mut client, number, &mut buffers);
    }
    let held = BYTES.get() - before;
    assert!(
        held < 24 * 1024,
        "{held} bytes for {STREAMS} streams and a full table"
    );

    // The test's own block is the only allocation left.
    let before = COUNT.get();
    let rounds = 100;
    for number in 10..10 + rounds {
        round(&mut client, number, &mut buffers);
    }
    let count = COUNT.get() - before;
    assert_eq!(count, (rounds * STREAMS) as usize);
}
