//! FastCGI as a web server speaks it to an application: records in, requests out, and the answer
//! as records.
//!
//! A connection that begins with a record is taken for FastCGI, because no request of HTTP begins
//! with its first byte. Web servers send one request after another, as number 1. What a request is
//! about is in its parameters, which are skipped: every request gets the same answer, and a `HEAD`
//! gets it with its body, which the web server drops.

use crate::options::Reply;

/// The protocol's version, and the first byte of every record.
pub(crate) const VERSION: u8 = 1;

/// Bytes before the content of a record.
const HEADER_BYTES: usize = 8;

/// Bytes of a record that begins a request, all of it.
const BEGIN_BYTES: usize = HEADER_BYTES + 8;

/// Most bytes of parameters: several times what a web server takes as a request's head.
const PARAMS_BYTES_MAX: u32 = 1 << 20;

/// Most bytes in a record of an answer: the largest multiple of eight that its length can say.
const CONTENT_BYTES_MAX: usize = 65_528;

/// The number of the request that a connection carries.
const REQUEST: u16 = 1;

/// The role of an application that answers.
const RESPONDER: u16 = 1;

/// Kinds of records.
mod kind {
    pub(super) const BEGIN: u8 = 1;
    pub(super) const END: u8 = 3;
    pub(super) const PARAMS: u8 = 4;
    pub(super) const STDIN: u8 = 5;
    pub(super) const STDOUT: u8 = 6;
}

/// Where in a connection's records the next byte falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Records {
    awaited: Awaited,
    keep_alive: bool,
    /// Bytes of the present record that are still to be skipped.
    skipped: u32,
    /// Bytes of the request's parameters.
    params: u32,
}

/// What comes next of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Awaited {
    #[default]
    Begin,
    Params,
    Body,
}

/// What was found next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing yet: give the bytes that were not taken again, with more behind them.
    More,
    /// A whole request, and whether its connection is used again.
    Request {
        /// Whether it is.
        keep_alive: bool,
    },
    /// No records of a request as a web server sends it.
    Malformed,
    /// More parameters than any request has.
    TooLarge,
}

/// What the first bytes of a record say.
struct Header {
    kind: u8,
    content: u16,
    padding: u8,
}

impl Records {
    /// Takes bytes up to the next find and returns how many it took.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> (usize, Found) {
        let mut taken = 0;
        loop {
            let left = &bytes[taken..];
            let skipped = left.len().min(self.skipped as usize);
            // Not more than there was to skip, so it fits.
            self.skipped -= skipped as u32;
            taken += skipped;
            if self.skipped > 0 {
                return (taken, Found::More);
            }
            let (more, found) = self.record(&bytes[taken..]);
            taken += more;
            if let Some(found) = found {
                return (taken, found);
            }
        }
    }

    /// Takes the beginning of one record.
    fn record(&mut self, bytes: &[u8]) -> (usize, Option<Found>) {
        let header = match Header::read(bytes) {
            Ok(Some(header)) => header,
            Ok(None) => return (0, Some(Found::More)),
            Err(()) => return (0, Some(Found::Malformed)),
        };
        let rest = u32::from(header.content) + u32::from(header.padding);
        match (self.awaited, header.kind) {
            (Awaited::Begin, kind::BEGIN) if header.content == 8 => {
                let Some(content) = bytes.get(HEADER_BYTES..BEGIN_BYTES) else {
                    return (0, Some(Found::More));
                };
                if u16::from_be_bytes([content[0], content[1]]) != RESPONDER {
                    return (0, Some(Found::Malformed));
                }
                *self = Self {
                    awaited: Awaited::Params,
                    keep_alive: content[2] & 1 == 1,
                    skipped: u32::from(header.padding),
                    params: 0,
                };
                (BEGIN_BYTES, None)
            }
            (Awaited::Params, kind::PARAMS) => {
                self.params += u32::from(header.content);
                if self.params > PARAMS_BYTES_MAX {
                    return (0, Some(Found::TooLarge));
                }
                if header.content == 0 {
                    self.awaited = Awaited::Body;
                }
                self.skipped = rest;
                (HEADER_BYTES, None)
            }
            (Awaited::Body, kind::STDIN) => {
                self.skipped = rest;
                if header.content > 0 {
                    return (HEADER_BYTES, None);
                }
                self.awaited = Awaited::Begin;
                let keep_alive = self.keep_alive;
                (HEADER_BYTES, Some(Found::Request { keep_alive }))
            }
            _ => (0, Some(Found::Malformed)),
        }
    }
}

impl Header {
    /// `None` when it has not come as a whole. What can be refused at its first bytes is.
    fn read(bytes: &[u8]) -> Result<Option<Self>, ()> {
        if bytes.first().is_some_and(|version| *version != VERSION) {
            return Err(());
        }
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let [_, kind, id_high, id_low, high, low, padding, _] = *header;
        if u16::from_be_bytes([id_high, id_low]) != REQUEST {
            return Err(());
        }
        Ok(Some(Self {
            kind,
            content: u16::from_be_bytes([high, low]),
            padding,
        }))
    }
}

/// `reply` as records, and where its body begins.
pub(crate) fn encode(reply: &Reply, reason: &str) -> (Vec<u8>, usize) {
    let mut head = format!("Status: {} {reason}\r\n", reply.status);
    if !reply.has_no_length() {
        let length = reply.body.len();
        let content_type = &reply.content_type;
        head += &format!("Content-Type: {content_type}\r\nContent-Length: {length}\r\n");
    }
    head += "\r\n";
    let begin = HEADER_BYTES + head.len();
    let mut text = head.into_bytes();
    text.extend_from_slice(&reply.body);
    let mut bytes = Vec::with_capacity(text.len() + 64);
    for content in text.chunks(CONTENT_BYTES_MAX) {
        push(&mut bytes, kind::STDOUT, content);
    }
    push(&mut bytes, kind::STDOUT, &[]);
    push(&mut bytes, kind::END, &[0; 8]);
    (bytes, begin)
}

/// Appends a record. `content` has at most [`CONTENT_BYTES_MAX`] bytes.
fn push(bytes: &mut Vec<u8>, kind: u8, content: &[u8]) {
    let length = (content.len() as u16).to_be_bytes();
    let id = REQUEST.to_be_bytes();
    bytes.extend_from_slice(&[VERSION, kind, id[0], id[1], length[0], length[1], 0, 0]);
    bytes.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, content: &[u8], padding: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        push(&mut bytes, kind, content);
        bytes[6] = padding;
        bytes.extend(vec![0; usize::from(padding)]);
        bytes
    }

    /// A request with parameters and a body in pieces, as nginx pads them.
    fn request(flags: u8) -> Vec<u8> {
        let mut bytes = record(kind::BEGIN, &[0, 1, flags, 0, 0, 0, 0, 0], 0);
        bytes.extend(record(kind::PARAMS, b"\x0e\x04REQUEST_METHODPOST", 4));
        bytes.extend(record(kind::PARAMS, &[], 0));
        bytes.extend(record(kind::STDIN, b"hello", 3));
        bytes.extend(record(kind::STDIN, b"world", 0));
        bytes.extend(record(kind::STDIN, &[], 8));
        bytes
    }

    /// All that is found in a stream that comes in pieces of `piece` bytes.
    fn found(stream: &[u8], piece: usize) -> Vec<Found> {
        let (mut records, mut held, mut all) = (Records::default(), Vec::new(), Vec::new());
        for bytes in stream.chunks(piece) {
            held.extend_from_slice(bytes);
            loop {
                let (taken, found) = records.step(&held);
                held.drain(..taken);
                match found {
                    Found::More => break,
                    Found::Request { .. } => all.push(found),
                    Found::Malformed | Found::TooLarge => {
                        all.push(found);
                        return all;
                    }
                }
            }
        }
        all
    }

    #[track_caller]
    fn check(stream: &[u8], expected: &[Found]) {
        for piece in [1, 2, 3, 7, 9, stream.len()] {
            assert_eq!(found(stream, piece), expected, "{piece}: {stream:?}");
        }
    }

    #[test]
    fn requests_are_found_however_they_are_cut() {
        let kept = Found::Request { keep_alive: true };
        let closed = Found::Request { keep_alive: false };
        check(&request(1), &[kept]);
        check(&[request(1), request(0)].concat(), &[kept, closed]);
        check(&request(1)[..40], &[]);
    }

    #[test]
    fn what_no_web_server_sends_is_refused() {
        let begin = record(kind::BEGIN, &[0, 1, 0, 0, 0, 0, 0, 0], 0);
        let filter = record(kind::BEGIN, &[0, 3, 0, 0, 0, 0, 0, 0], 0);
        let mut other = begin.clone();
        other[3] = 2;
        for stream in [
            filter,
            other,
            record(kind::PARAMS, b"", 0),
            record(kind::BEGIN, b"short", 0),
            [begin.clone(), begin.clone()].concat(),
            [begin.clone(), record(kind::STDIN, b"", 0)].concat(),
            [begin.clone(), b"GET / HTTP/1.1\r\n\r\n".to_vec()].concat(),
        ] {
            check(&stream, &[Found::Malformed]);
        }
        let params = record(kind::PARAMS, &[0; 60_000], 0);
        let many = [begin, params.repeat(18)].concat();
        assert_eq!(found(&many, many.len()), [Found::TooLarge]);
    }

    #[test]
    fn an_answer_is_cut_into_records() {
        let reply = Reply {
            status: 200,
            content_type: "text/plain".into(),
            body: vec![b'x'; 150_000],
        };
        let (bytes, begin) = encode(&reply, "OK");
        let (mut at, mut text, mut kinds) = (0, Vec::new(), Vec::new());
        while at < bytes.len() {
            let header = Header::read(&bytes[at..]).unwrap().unwrap();
            let end = at + HEADER_BYTES + usize::from(header.content);
            if header.kind == kind::STDOUT {
                text.extend_from_slice(&bytes[at + HEADER_BYTES..end]);
            }
            kinds.push(header.kind);
            at = end + usize::from(header.padding);
        }
        assert_eq!(kinds, [6, 6, 6, 6, 3]);
        let head = "Status: 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 150000\r\n\r\n";
        assert_eq!(begin, HEADER_BYTES + head.len());
        assert!(text.starts_with(head.as_bytes()) && text.ends_with(&reply.body));
    }
}
