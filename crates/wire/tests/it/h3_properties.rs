//! Whatever a server may rightly send - with frames of unknown types, however it encodes and cuts
//! it - the events are those of its responses; and QPACK's decoders agree with each other.

use bakeoff_wire::h2::hpack::Field;
use bakeoff_wire::h3::qpack::{self, Decoded, Decoder, SectionReader};
use bakeoff_wire::h3::{Config, Event, Memo, Request, Requests, Response};
use proptest::collection::vec;
use proptest::prelude::*;

/// Longest list of fields that is read here, bytes.
const LIST_MAX: u32 = 64 * 1024;

/// A response as it is sent.
#[derive(Debug, Clone)]
struct Answer {
    interim: usize,
    status: u16,
    headers: Vec<(String, String)>,
    /// Parts of the body, each a frame; and whether something unknown comes before it.
    parts: Vec<(Vec<u8>, bool)>,
    has_length: bool,
    has_trailers: bool,
}

/// What came of a stream.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    interim: usize,
    status: u16,
    body: Vec<u8>,
    had_trailers: bool,
}

fn answer() -> impl Strategy<Value = Answer> {
    let header = ("[a-w][a-z-]{0,12}", "[!-~]{0,40}").prop_filter("framing is not drawn", |h| {
        let framing = ["connection", "content-length", "keep-alive", "upgrade"];
        !framing.contains(&h.0.as_str()) && h.0 != "transfer-encoding"
    });
    (
        0..3_usize,
        200..600_u16,
        vec(header, 0..6),
        vec((vec(any::<u8>(), 0..300), any::<bool>()), 0..5),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|drawn| Answer {
            interim: drawn.0,
            status: drawn.1,
            headers: drawn.2,
            parts: drawn.3,
            has_length: drawn.4,
            has_trailers: drawn.5,
        })
        .prop_filter("has no body", |answer| {
            let is_empty = answer.parts.iter().all(|(part, _)| part.is_empty());
            is_empty || !matches!(answer.status, 204 | 304)
        })
}

fn field(name: &str, value: &str) -> Field {
    (name.as_bytes().to_vec(), value.as_bytes().to_vec())
}

/// An integer of QUIC in eight bytes, however small it is.
fn long(number: u64) -> [u8; 8] {
    (number | 3 << 62).to_be_bytes()
}

fn frame(kind: u64, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&long(kind));
    out.extend_from_slice(&long(payload.len() as u64));
    out.extend_from_slice(payload);
}

impl Answer {
    fn body(&self) -> Vec<u8> {
        self.parts
            .iter()
            .flat_map(|(part, _)| part.clone())
            .collect()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let headers = |fields: &[Field], out: &mut Vec<u8>| {
            let mut section = Vec::new();
            qpack::encode(fields, &mut section);
            frame(1, &section, out);
        };
        for _ in 0..self.interim {
            headers(&[field(":status", "103"), field("link", "</a>")], &mut out);
        }
        let mut head = vec![field(":status", &self.status.to_string())];
        head.extend(self.headers.iter().map(|(name, value)| field(name, value)));
        if self.has_length {
            head.push(field("content-length", &self.body().len().to_string()));
        }
        headers(&head, &mut out);
        for (part, is_behind_unknown) in &self.parts {
            if *is_behind_unknown {
                frame(0x21, part, &mut out);
            }
            frame(0, part, &mut out);
        }
        if self.has_trailers {
            headers(&[field("x-trailer", &self.status.to_string())], &mut out);
        }
        out
    }

    fn expected(&self) -> Seen {
        Seen {
            interim: self.interim,
            status: self.status,
            body: self.body(),
            had_trailers: self.has_trailers,
        }
    }
}

/// Gives the bytes to a state in pieces of these sizes.
fn read(response: &mut Response, bytes: &[u8], memo: &mut Memo, pieces: &[usize]) -> Seen {
    let mut seen = Seen::default();
    let (mut rest, mut pieces) = (bytes, pieces.iter().copied().cycle());
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(pieces.next().unwrap_or(1).min(rest.len()));
        rest = behind;
        let handled = response.handle(part, memo, |event| match event {
            Event::Informational { .. } => seen.interim += 1,
            Event::Head { status } => seen.status = status,
            Event::Data(part) => seen.body.extend_from_slice(part),
        });
        assert_eq!(handled, Ok(()));
    }
    let end = response.finish().expect("is whole");
    assert_eq!(end.body_bytes, seen.body.len() as u64);
    seen.had_trailers = end.had_trailers;
    seen
}

/// All fields of a section, read without a table.
fn fields_of(section: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    let add = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
    let result = SectionReader::default().read(section, LIST_MAX, add);
    result.ok().map(|()| fields)
}

proptest! {
    #[test]
    fn responses_are_read_as_they_were_sent(
        answers in vec(answer(), 1..6),
        pieces in vec(1..400_usize, 1..8),
    ) {
        let mut memo = Memo::new(&Config::default());
        let mut response = Response::new(false);
        // Twice, so that sections are met again.
        for answer in answers.iter().chain(&answers) {
            let bytes = answer.bytes();
            for pieces in [&pieces[..], &[usize::MAX], &[1]] {
                response.begin(false);
                let seen = read(&mut response, &bytes, &mut memo, pieces);
                prop_assert_eq!(seen, answer.expected());
            }
        }
    }

    #[test]
    fn a_response_that_is_cut_off_is_never_whole(answer in answer(), cut in any::<usize>()) {
        // With nothing behind it that could be left out.
        let answer = Answer { has_length: true, has_trailers: false, ..answer };
        prop_assume!(!answer.body().is_empty());
        let bytes = answer.bytes();
        let last = answer.parts.iter().rev().take_while(|(part, _)| part.is_empty());
        let empty: usize = last.map(|(_, unknown)| if *unknown { 32 } else { 16 }).sum();
        let mut response = Response::new(false);
        let part = &bytes[..cut % (bytes.len() - empty)];
        let mut memo = Memo::new(&Config::default());
        prop_assert_eq!(response.handle(part, &mut memo, |_| {}), Ok(()));
        prop_assert!(response.finish().is_err());
    }

    #[test]
    fn requests_are_encoded_as_they_are(
        path in "/[!-~]{0,60}",
        headers in vec(("[a-gi-z][a-z]{0,9}", "[!-~]([ -~]{0,80}[!-~])?"), 0..8),
        body in vec(any::<u8>(), 0..200),
    ) {
        let request = Request::new("POST", "https", "a.test", &path, &headers, body.clone());
        // What HTTP/1.1 alone may say is not drawn often.
        prop_assume!(request.is_ok());
        let requests = Requests::new(request.into_iter().collect());
        let bytes = requests.bytes(0);
        prop_assert_eq!(bytes[0], 1);
        let (length, start) = match bytes[1] {
            short @ ..0x40 => (usize::from(short), 2),
            high => (usize::from(high & 0x3f) << 8 | usize::from(bytes[2]), 3),
        };
        let mut expected = vec![
            field(":method", "POST"),
            field(":scheme", "https"),
            field(":authority", "a.test"),
            field(":path", &path),
        ];
        expected.extend(headers.iter().map(|(name, value)| field(name, value)));
        expected.push(field("content-length", &body.len().to_string()));
        let (section, behind) = bytes[start..].split_at(length);
        prop_assert_eq!(fields_of(section), Some(expected));
        prop_assert!(behind.ends_with(&body));
    }

    #[test]
    fn the_full_decoder_agrees_where_no_table_is(section in vec(any::<u8>(), 0..60)) {
        // Most sections begin as they must without a table.
        let section = [&[0, 0], &section[..]].concat();
        let mut full = Decoder::new(0, 0, LIST_MAX);
        let (mut fields, mut out) = (Vec::new(), Vec::new());
        let add = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
        let result = full.decode(4, &section, &mut out, add);
        let found = result.is_ok_and(|decoded| decoded == Decoded::Whole).then_some(fields);
        prop_assert_eq!(found, fields_of(&section));
        prop_assert!(out.is_empty());
    }
}
