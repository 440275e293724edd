//! A connection at its seam: bytes in, events and bytes out, cut at every byte.

use std::sync::Arc;

use super::frame::{flag, kind};
use super::*;

mod bounds;
mod flow;
mod frames;
mod opening;
mod responses;

/// Header blocks: the static table's `:status: 200`, and literals that change no table.
const OK: &[u8] = &[0x88];
const EARLY_HINTS: &[u8] = b"\x08\x03103";

/// A block of literals that change no table.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.extend_from_slice(&[0, name.len() as u8]);
        block.extend_from_slice(name.as_bytes());
        block.push(value.len() as u8);
        block.extend_from_slice(value.as_bytes());
    }
    block
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(kind, flags, stream, payload, &mut bytes);
    bytes
}

fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (identifier, value) in values {
        payload.extend_from_slice(&identifier.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame(kind::SETTINGS, 0, 0, &payload)
}

/// HEADERS with a whole block; `end` ends the stream.
fn headers(stream: u32, block: &[u8], end: bool) -> Vec<u8> {
    let flags = flag::END_HEADERS | if end { flag::END_STREAM } else { 0 };
    frame(kind::HEADERS, flags, stream, block)
}

fn data(stream: u32, payload: &[u8], end: bool) -> Vec<u8> {
    let flags = if end { flag::END_STREAM } else { 0 };
    frame(kind::DATA, flags, stream, payload)
}

fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

fn reset(stream: u32, code: ErrorCode) -> Vec<u8> {
    frame(kind::RST_STREAM, 0, stream, &code.0.to_be_bytes())
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(kind::GOAWAY, 0, 0, &payload)
}

/// What this side answers to the server's first SETTINGS.
fn ack() -> Vec<u8> {
    frame(kind::SETTINGS, flag::ACK, 0, &[])
}

fn config() -> Config {
    Config {
        streams: 100,
        ..Config::default()
    }
}

fn requests() -> Arc<Requests> {
    let make = |method, body: &[u8]| {
        Request::new(method, "http", "a.test", "/", &[], body.to_vec()).unwrap()
    };
    let long: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
    Arc::new(Requests::new(vec![
        make("GET", b""),
        make("HEAD", b""),
        make("POST", b"question"),
        make("POST", &long),
    ]))
}

const GET: u32 = 0;
const HEAD: u32 = 1;
const POST: u32 = 2;
const LONG_POST: u32 = 3;

/// A connection and what came of it, as text that does not depend on how the bytes were cut.
struct Pair {
    client: Client,
    seen: Vec<String>,
    out: Vec<u8>,
}

impl Pair {
    /// A connection on which `open` was opened: streams 1, 3, 5 with tokens 0, 1, 2 ... For more
    /// than one of them the server's first SETTINGS have come.
    fn new(config: &Config, open: &[u32]) -> Self {
        let mut client = Client::new(config, requests());
        let mut out = Vec::new();
        client.begin(&mut out);
        if open.len() > 1 {
            let taken = client.handle(&settings(&[]), &mut Vec::new(), &mut out);
            assert!(taken.is_ok() && client.take_ack_bytes() > 0);
        }
        for (token, &request) in (0..).zip(open) {
            client.open(request, token, &mut out).unwrap();
        }
        out.clear();
        Self {
            client,
            seen: Vec::new(),
            out,
        }
    }

    /// A connection without streams on which these are the server's settings.
    fn with_settings(config: &Config, theirs: &[(u16, u32)]) -> Self {
        let mut pair = Self::new(config, &[]);
        pair.handle(&settings(theirs)).unwrap();
        pair.client.take_ack_bytes();
        pair.seen.clear();
        pair.out.clear();
        pair
    }

    /// Takes bytes, and sends as a caller does whose writes never wait.
    fn handle(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        let mut events = Vec::new();
        let result = self.client.handle(bytes, &mut events, &mut self.out);
        self.client.send(&mut self.out);
        for event in events {
            self.see(event, bytes);
        }
        assert_eq!(result.unwrap_or(bytes.len()), bytes.len());
        result.map(|_| ())
    }

    fn see(&mut self, event: Event, bytes: &[u8]) {
        let text = match event {
            Event::Informational { token, status } => format!("{token} interim {status}"),
            Event::Head { token, status } => format!("{token} head {status}"),
            Event::Data {
                token,
                start,
                length,
            } => {
                let part = &bytes[start as usize..][..length as usize];
                let part = part.escape_ascii().to_string();
                let begun = format!("{token} data ");
                match self.seen.last_mut() {
                    Some(last) if last.starts_with(&begun) => return last.push_str(&part),
                    _ => begun + &part,
                }
            }
            Event::End {
                token,
                had_trailers,
                body_bytes,
            } => {
                let trailers = if had_trailers { " with trailers" } else { "" };
                format!("{token} end {body_bytes}{trailers}")
            }
            Event::Reset { token, code } => format!("{token} reset {code}"),
            Event::Refused { token } => format!("{token} refused"),
            Event::BeyondGoAway { token } => format!("{token} beyond"),
            Event::Malformed { token, violation } => format!("{token} malformed {violation:?}"),
            Event::GoAway { last, code } => format!("goaway {last} {code}"),
            Event::SettingsChanged => "settings".to_owned(),
        };
        self.seen.push(text);
    }
}

/// Feeds the frames behind the server's SETTINGS, whole and cut in every way, to a connection on
/// which `open` was opened. `expected` are the events, `answers` what is sent behind the
/// acknowledgement.
fn check_with(config: &Config, open: &[u32], frames: &[Vec<u8>], expected: &str, answers: &[u8]) {
    let input = [settings(&[]), frames.concat()].concat();
    let expected: Vec<_> = ["settings"]
        .into_iter()
        .chain(expected.split(',').map(str::trim).filter(|s| !s.is_empty()))
        .collect();
    let answers = [&ack(), answers].concat();
    let run = |parts: &[&[u8]]| {
        let mut pair = Pair::new(config, open);
        for part in parts {
            if let Err(violation) = pair.handle(part) {
                pair.seen.push(format!("violation {violation:?}"));
                assert!(pair.client.is_going_away() && !pair.client.can_open());
                break;
            }
        }
        (pair.seen, pair.out)
    };
    for cut in 0..=input.len().min(2000) {
        let (seen, out) = run(&[&input[..cut], &input[cut..]]);
        assert_eq!(seen, expected, "cut at {cut}");
        assert_eq!(out, answers, "cut at {cut}");
    }
    for size in [1, 2, 3, 7, 10] {
        let (seen, out) = run(&input.chunks(size).collect::<Vec<_>>());
        assert_eq!(seen, expected, "in pieces of {size}");
        assert_eq!(out, answers, "in pieces of {size}");
    }
}

fn check(open: &[u32], frames: &[Vec<u8>], expected: &str, answers: &[u8]) {
    check_with(&config(), open, frames, expected, answers);
}

/// Checks that the frames end the connection, with the reason in a GOAWAY.
fn check_violation(frames: &[Vec<u8>], violation: Violation) {
    let code = violation.code().0;
    let expected = format!("violation {violation:?}");
    check(&[GET], frames, &expected, &goaway(0, code));
}
