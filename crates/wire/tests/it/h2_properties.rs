//! Whatever a server may rightly send - padded, prioritised, continued, interleaved - and however
//! it is cut, the events are those of its responses.

use std::collections::BTreeMap;
use std::sync::Arc;

use bakeoff_wire::h2::hpack::{Encoder, Field, Lists};
use bakeoff_wire::h2::{Client, Config, Event, Request, Requests};
use proptest::collection::vec;
use proptest::prelude::*;

/// Length of padding, if any.
type Padding = Option<u8>;

/// A response as it is sent.
#[derive(Debug, Clone)]
struct Answer {
    interim: usize,
    status: u16,
    headers: Vec<(String, String)>,
    /// Parts of the body, each a frame.
    parts: Vec<(Vec<u8>, Padding)>,
    has_trailers: bool,
    /// How its header blocks are sent.
    padding: Padding,
    priority: bool,
    /// Most bytes of a block in one frame.
    block_part: usize,
}

/// What came of a stream.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    interim: usize,
    status: u16,
    body: Vec<u8>,
    end: Option<(bool, u64)>,
}

fn answer() -> impl Strategy<Value = Answer> {
    let padding = || proptest::option::of(any::<u8>());
    let header = ("[a-w][a-z-]{0,12}", "[!-~]{0,40}").prop_filter("framing is not drawn", |h| {
        let framing = ["connection", "content-length", "keep-alive", "upgrade"];
        !framing.contains(&h.0.as_str()) && h.0 != "transfer-encoding"
    });
    (
        0..3_usize,
        200..600_u16,
        vec(header, 0..6),
        vec((vec(any::<u8>(), 0..300), padding()), 0..5),
        any::<bool>(),
        padding(),
        any::<bool>(),
        8..200_usize,
    )
        .prop_map(|drawn| Answer {
            interim: drawn.0,
            status: drawn.1,
            headers: drawn.2,
            parts: drawn.3,
            has_trailers: drawn.4,
            padding: drawn.5,
            priority: drawn.6,
            block_part: drawn.7,
        })
        .prop_filter("has no body", |answer| {
            let is_empty = answer.parts.iter().all(|(part, _)| part.is_empty());
            is_empty || !matches!(answer.status, 204 | 304)
        })
}

impl Answer {
    /// The header lists: interim, final, trailers.
    fn lists(&self) -> [Vec<Field>; 3] {
        let field = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let mut head = vec![field(":status", &self.status.to_string())];
        head.extend(self.headers.iter().map(|(name, value)| field(name, value)));
        [
            vec![field(":status", "103"), field("link", "</style.css>")],
            head,
            vec![field("x-trailer", &self.status.to_string())],
        ]
    }

    /// Frames that may not be parted, in their order.
    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Block(0, false); self.interim];
        let ends_with_head = self.parts.is_empty() && !self.has_trailers;
        steps.push(Step::Block(1, ends_with_head));
        for number in 0..self.parts.len() {
            let ends = number + 1 == self.parts.len() && !self.has_trailers;
            steps.push(Step::Data(number, ends));
        }
        if self.has_trailers {
            steps.push(Step::Block(2, true));
        }
        steps
    }

    fn expected(&self) -> Seen {
        let body: Vec<u8> = self
            .parts
            .iter()
            .flat_map(|(part, _)| part.clone())
            .collect();
        Seen {
            interim: self.interim,
            status: self.status,
            end: Some((self.has_trailers, body.len() as u64)),
            body,
        }
    }
}

/// Which of an answer's lists or parts comes next, and whether it ends the stream.
#[derive(Debug, Clone, Copy)]
enum Step {
    Block(u32, bool),
    Data(usize, bool),
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// A payload behind its padding's length and before the padding; the flag for it.
fn padded(payload: &[u8], padding: Padding) -> (u8, Vec<u8>) {
    match padding {
        None => (0, payload.to_vec()),
        Some(length) => {
            let padding = vec![0; length.into()];
            (8, [&[length], payload, &padding].concat())
        }
    }
}

/// The server's bytes: the answers' frames, the next one from the stream that `turns` names.
fn bytes(answers: &[Answer], turns: &[usize]) -> Vec<u8> {
    let mut out = Vec::new();
    let lists: Vec<_> = answers.iter().flat_map(Answer::lists).collect();
    let (lists, mut encoder) = (Lists::new(&lists), Encoder::default());
    let mut left: Vec<_> = answers.iter().map(|answer| answer.steps()).collect();
    left.iter_mut().for_each(|steps| steps.reverse());
    let mut turns = turns.iter().copied().cycle();
    while left.iter().any(|steps| !steps.is_empty()) {
        let waiting: Vec<_> = (0..left.len()).filter(|&at| !left[at].is_empty()).collect();
        let at = waiting[turns.next().unwrap_or(0) % waiting.len()];
        let (answer, stream) = (&answers[at], at as u32 * 2 + 1);
        match left[at].pop() {
            Some(Step::Block(list, ends)) => {
                let mut block = Vec::new();
                encoder.encode(&lists, at as u32 * 3 + list, &mut block);
                send_block(answer, stream, ends, &block, &mut out);
            }
            Some(Step::Data(number, ends)) => {
                let (part, padding) = &answer.parts[number];
                let (flags, payload) = padded(part, *padding);
                frame(0, flags | u8::from(ends), stream, &payload, &mut out);
            }
            None => {}
        }
    }
    out
}

fn send_block(answer: &Answer, stream: u32, ends: bool, block: &[u8], out: &mut Vec<u8>) {
    let parts: Vec<_> = block.chunks(answer.block_part).collect();
    for (number, part) in parts.iter().enumerate() {
        let last = if number + 1 == parts.len() { 4 } else { 0 };
        if number > 0 {
            frame(9, last, stream, part, out);
            continue;
        }
        let priority = if answer.priority {
            &[0, 0, 0, 1, 9][..]
        } else {
            &[]
        };
        let (flags, payload) = padded(&[priority, part].concat(), answer.padding);
        let flags = flags | last | u8::from(ends) | if answer.priority { 0x20 } else { 0 };
        frame(1, flags, stream, &payload, out);
    }
}

/// Gives the bytes to a client in pieces of these sizes.
fn read(bytes: &[u8], streams: u32, pieces: &[usize]) -> BTreeMap<u32, Seen> {
    let config = Config {
        streams,
        ..Config::default()
    };
    let request = Request::new("GET", "http", "a.test", "/", &[], vec![]).expect("valid");
    let mut client = Client::new(&config, Arc::new(Requests::new(vec![request])));
    let (mut out, mut seen) = (Vec::new(), BTreeMap::<u32, Seen>::new());
    // Only then may there be more than one stream.
    let mut settings = Vec::new();
    frame(4, 0, 0, &[], &mut settings);
    client
        .handle(&settings, &mut Vec::new(), &mut out)
        .expect("settings");
    for token in 0..streams {
        client.open(0, token, &mut out).expect("there is room");
    }
    let (mut rest, mut pieces) = (bytes, pieces.iter().copied().cycle());
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(pieces.next().unwrap_or(1).min(rest.len()));
        rest = behind;
        let mut events = Vec::new();
        assert_eq!(client.handle(part, &mut events, &mut out), Ok(part.len()));
        for event in events {
            see(event, part, &mut seen);
        }
    }
    assert_eq!((client.open_streams(), client.capacity()), (0, streams));
    seen
}

fn see(event: Event, part: &[u8], seen: &mut BTreeMap<u32, Seen>) {
    match event {
        Event::Informational { token, .. } => of(seen, token).interim += 1,
        Event::Head { token, status } => of(seen, token).status = status,
        Event::Data {
            token,
            start,
            length,
        } => {
            let part = &part[start as usize..][..length as usize];
            of(seen, token).body.extend_from_slice(part);
        }
        Event::End {
            token,
            had_trailers,
            body_bytes,
        } => of(seen, token).end = Some((had_trailers, body_bytes)),
        other => panic!("{other:?}"),
    }
}

/// What came of a stream that has not ended.
fn of(seen: &mut BTreeMap<u32, Seen>, token: u32) -> &mut Seen {
    let seen = seen.entry(token).or_default();
    assert_eq!(seen.end, None, "nothing comes behind the end");
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn events_are_those_of_the_responses(
        answers in vec(answer(), 1..8),
        turns in vec(any::<usize>(), 1..20),
        pieces in vec(1..400_usize, 1..10),
    ) {
        let bytes = bytes(&answers, &turns);
        let seen = read(&bytes, answers.len() as u32, &pieces);
        for (token, answer) in (0..).zip(&answers) {
            let expected = answer.expected();
            prop_assert_eq!(seen.get(&token), Some(&expected));
        }
    }
}
