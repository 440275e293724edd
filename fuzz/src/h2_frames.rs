//! A server's bytes on an HTTP/2 connection: never a panic, and the same however they are cut.

use std::sync::{Arc, LazyLock};

use bakeoff_wire::h2::{Client, Config, Event, HeaderBytes, Request, Requests, Violation};

/// Streams that are open when the server's bytes come.
const STREAMS: u32 = 6;

static REQUESTS: LazyLock<Arc<Requests>> = LazyLock::new(|| {
    let make = |method, length| {
        let body = vec![b'b'; length];
        Request::new(method, "http", "a.test", "/", &[], body).expect("valid")
    };
    let requests = vec![make("GET", 0), make("HEAD", 0), make("POST", 100_000)];
    Arc::new(Requests::new(requests))
});

/// A connection, and what came of the bytes given to it.
struct Run {
    client: Client,
    out: Vec<u8>,
    /// Events, those of a body's parts joined.
    seen: Vec<Seen>,
    /// Streams that were opened before: one goes ahead of the server's settings.
    opened: u32,
    ended: u32,
    result: Result<(), Violation>,
}

#[derive(Debug, PartialEq)]
enum Seen {
    Body(u32, Vec<u8>),
    Other(Event),
}

impl Run {
    fn new(config: &Config, has_settings: bool) -> Self {
        let mut client = Client::new(config, REQUESTS.clone());
        let mut out = Vec::new();
        client.begin(&mut out);
        if has_settings {
            let taken = client.handle(&SETTINGS, &mut Vec::new(), &mut out);
            assert!(taken.is_ok() && client.has_settings());
            assert_eq!(client.take_ack_bytes(), 9);
        }
        let opened = STREAMS.min(client.capacity());
        assert_eq!(opened, if has_settings { STREAMS } else { 1 });
        for token in 0..opened {
            client
                .open(token % 3, token, &mut out)
                .expect("there is room");
        }
        Self {
            client,
            out,
            seen: Vec::new(),
            opened,
            ended: 0,
            result: Ok(()),
        }
    }

    fn handle(&mut self, bytes: &[u8]) {
        let mut events = Vec::new();
        let before = self.out.len();
        let result = self.client.handle(bytes, &mut events, &mut self.out);
        let appended = self.out.len() - before;
        assert!(self.client.take_ack_bytes() as usize <= appended);
        // Acknowledgements, resets, windows and one GOAWAY, but no bodies.
        assert!(appended <= bytes.len() * 3 + 64);
        self.result = result.map(|taken| assert_eq!(taken, bytes.len()));
        for event in events {
            self.see(event, bytes);
        }
    }

    fn see(&mut self, event: Event, bytes: &[u8]) {
        let seen = match event {
            Event::Data {
                token,
                start,
                length,
            } => {
                let part = &bytes[start as usize..][..length as usize];
                if let Some(Seen::Body(last, body)) = self.seen.last_mut()
                    && *last == token
                {
                    return body.extend_from_slice(part);
                }
                Seen::Body(token, part.to_vec())
            }
            event => Seen::Other(event),
        };
        self.ended += u32::from(matches!(
            event,
            Event::End { .. }
                | Event::Reset { .. }
                | Event::Refused { .. }
                | Event::BeyondGoAway { .. }
                | Event::Malformed { .. }
        ));
        self.seen.push(seen);
    }

    fn state(&self) -> (Result<(), Violation>, u32, u32, bool, HeaderBytes) {
        let client = &self.client;
        (
            self.result,
            client.open_streams(),
            client.capacity(),
            client.has_to_send(),
            client.header_bytes(),
        )
    }
}

/// SETTINGS without a value.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// The server's bytes: as they are, or frames made of them, so that fewer are wasted on headers.
fn bytes(mode: u8, mut input: &[u8]) -> Vec<u8> {
    let mut bytes = SETTINGS.to_vec();
    if mode & 1 != 0 {
        bytes.clear();
    }
    if mode & 2 != 0 {
        bytes.extend_from_slice(input);
        return bytes;
    }
    while let Some((&[kind, flags, stream, length], rest)) = input.split_first_chunk() {
        let (payload, rest) = rest.split_at(rest.len().min(length.into()));
        let stream = if stream > 250 { 0 } else { stream % 14 };
        bytes.extend_from_slice(&[0, 0, payload.len() as u8, kind % 11, flags, 0, 0, 0, stream]);
        bytes.extend_from_slice(payload);
        input = rest;
    }
    bytes
}

pub(crate) fn check(data: (u8, u8, u8, &[u8])) {
    let (mode, window, cut, input) = data;
    let config = Config {
        streams: 100,
        stream_window: u32::from(window) * 4,
        connection_window: 65_535,
        header_table_size: if mode & 4 == 0 {
            4096
        } else {
            u32::from(window)
        },
        max_frame_size: 16_384,
    };
    let bytes = bytes(mode, input);
    let has_settings = mode & 1 == 0;
    let mut whole = Run::new(&config, has_settings);
    whole.handle(&bytes);
    if whole.result.is_ok() {
        assert_eq!(whole.client.open_streams() + whole.ended, whole.opened);
    }

    let mut cut_up = Run::new(&config, has_settings);
    for part in bytes.chunks(usize::from(cut).max(1)) {
        cut_up.handle(part);
        if cut_up.result.is_err() {
            break;
        }
    }
    assert_eq!(whole.state(), cut_up.state());
    assert_eq!(whole.seen, cut_up.seen);
    assert_eq!(whole.out, cut_up.out);

    // Opening and cancelling in between changes what comes, but nothing panics.
    let mut busy = Run::new(&config, has_settings);
    for (number, part) in (0..).zip(bytes.chunks(usize::from(cut).max(1))) {
        busy.handle(part);
        busy.client.cancel(number % (STREAMS * 2), &mut busy.out);
        let _ = busy
            .client
            .open(number % 3, number % (STREAMS * 2), &mut busy.out);
        busy.client.send(&mut busy.out);
    }
}
