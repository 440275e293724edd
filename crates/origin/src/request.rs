//! Finds requests in the bytes of one connection: heads, and bodies to be thrown away.
//!
//! No socket and no clock: bytes in, [`Step`]s out, and the same steps however the bytes were cut.
//! Where two readings of a request are possible it is refused, because an upstream that guesses
//! would hide a proxy's fault. Targets and header values are checked for form only.

use httparse::Status;

use crate::chunks::{Chunks, Progress};
use crate::fastcgi::{self, Records};

/// Longest request head, bytes; nginx takes 8 KiB a line by default and 32 KiB in all.
pub const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Header lines that a head may have.
const HEADERS_MAX: usize = 100;

/// Heads longer than this are parsed each time, so that comparing stays cheaper than parsing.
const MEMO_BYTES_MAX: usize = 1024;

/// What the server needs to know of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Method.
    pub method: Method,
    /// Version.
    pub version: Version,
    /// Whether the client wants to use the connection again.
    pub keep_alive: bool,
}

/// Methods that are treated differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`: answered without a body.
    Head,
    /// `POST`.
    Post,
    /// Any other.
    Other,
}

/// Versions that are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: connections close unless asked to stay.
    Http10,
    /// HTTP/1.1: connections stay unless asked to close.
    Http11,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
    /// No HTTP: a web server asks as it asks a FastCGI application.
    FastCgi,
}

/// What was found next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing yet: give the bytes that were not taken again, with more behind them.
    More,
    /// A head was read whose client waits for `100 Continue` before it sends the body.
    Continue,
    /// A request, its body included.
    Request(Request),
    /// No request; where the next one starts is not known, so the connection must end.
    Refused(Refusal),
}

/// Why bytes were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// They are not a request, or not clearly one: status 400.
    Malformed,
    /// The head is longer than [`MAX_HEAD_BYTES`] or has too many lines: status 431.
    HeadTooLarge,
}

/// Where in a connection's requests the next byte falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestReader {
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Length { left: u64, request: Request },
    Chunks { chunks: Chunks, request: Request },
    Records(Records),
}

/// The last head that was parsed: clients of a benchmark send the same bytes again and again, and
/// comparing them is cheaper than parsing them. One for each thread, for all its connections.
#[derive(Debug, Clone, Default)]
pub struct Memo {
    bytes: Vec<u8>,
    head: Option<Head>,
}

/// A head as understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    request: Request,
    body: BodyLength,
    expects_continue: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyLength {
    None,
    Bytes(u64),
    Chunked,
}

impl Default for RequestReader {
    fn default() -> Self {
        Self { phase: Phase::Head }
    }
}

impl RequestReader {
    /// Takes bytes up to the next step and returns how many it took.
    ///
    /// With [`Step::More`] in a head nothing is taken; in a body everything is.
    #[inline]
    pub fn step(&mut self, memo: &mut Memo, bytes: &[u8]) -> (usize, Step) {
        match self.phase {
            Phase::Head => self.head(memo, bytes),
            Phase::Length { left, request } => {
                let taken = left.min(bytes.len() as u64);
                if taken == left {
                    self.phase = Phase::Head;
                    return (taken as usize, Step::Request(request));
                }
                self.phase = Phase::Length {
                    left: left - taken,
                    request,
                };
                (taken as usize, Step::More)
            }
            Phase::Chunks {
                mut chunks,
                request,
            } => match chunks.take(bytes) {
                Progress::More => {
                    self.phase = Phase::Chunks { chunks, request };
                    (bytes.len(), Step::More)
                }
                Progress::Ended(taken) => {
                    self.phase = Phase::Head;
                    (taken, Step::Request(request))
                }
                Progress::Malformed => (0, Step::Refused(Refusal::Malformed)),
            },
            Phase::Records(records) => self.records(records, bytes),
        }
    }

    /// The same for records of FastCGI.
    fn records(&mut self, mut records: Records, bytes: &[u8]) -> (usize, Step) {
        let (taken, found) = records.step(bytes);
        self.phase = Phase::Records(records);
        let step = match found {
            fastcgi::Found::More => Step::More,
            fastcgi::Found::Malformed => Step::Refused(Refusal::Malformed),
            fastcgi::Found::TooLarge => Step::Refused(Refusal::HeadTooLarge),
            fastcgi::Found::Request { keep_alive } => Step::Request(Request {
                method: Method::Get,
                version: Version::FastCgi,
                keep_alive,
            }),
        };
        (taken, step)
    }

    #[inline]
    fn head(&mut self, memo: &mut Memo, bytes: &[u8]) -> (usize, Step) {
        let (taken, head) = match memo.find(bytes) {
            Some(found) => found,
            None => match parse_head(bytes) {
                Ok(Some((taken, head))) => {
                    memo.keep(&bytes[..taken], head);
                    (taken, head)
                }
                Ok(None) => return (0, Step::More),
                Err(_) if bytes.first() == Some(&fastcgi::VERSION) => {
                    return self.records(Records::default(), bytes);
                }
                Err(refusal) => return (0, Step::Refused(refusal)),
            },
        };
        let request = head.request;
        self.phase = match head.body {
            BodyLength::None => return (taken, Step::Request(request)),
            BodyLength::Bytes(left) => Phase::Length { left, request },
            BodyLength::Chunked => Phase::Chunks {
                chunks: Chunks::new(),
                request,
            },
        };
        if head.expects_continue {
            return (taken, Step::Continue);
        }
        let (body_taken, step) = self.step(memo, &bytes[taken..]);
        (taken + body_taken, step)
    }
}

impl Memo {
    #[inline]
    fn find(&self, bytes: &[u8]) -> Option<(usize, Head)> {
        let head = self.head?;
        bytes
            .starts_with(&self.bytes)
            .then_some((self.bytes.len(), head))
    }

    fn keep(&mut self, bytes: &[u8], head: Head) {
        if bytes.len() <= MEMO_BYTES_MAX {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.head = Some(head);
        }
    }
}

/// Parses one head: `None` when it has not ended yet.
fn parse_head(bytes: &[u8]) -> Result<Option<(usize, Head)>, Refusal> {
    // The parser never sees more than the limit, so a head has one fate however it was cut.
    let seen = &bytes[..bytes.len().min(MAX_HEAD_BYTES)];
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(seen) {
        Ok(Status::Complete(taken)) => understand(&parsed).map(|head| Some((taken, head))),
        Ok(Status::Partial) if seen.len() == MAX_HEAD_BYTES => Err(Refusal::HeadTooLarge),
        Ok(Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(Refusal::HeadTooLarge),
        Err(_) => Err(Refusal::Malformed),
    }
}

/// Reads from the header lines how the request ends (RFC 9112, section 6.3) and what becomes of
/// the connection (section 9.3).
fn understand(parsed: &httparse::Request<'_, '_>) -> Result<Head, Refusal> {
    let version = match parsed.version {
        Some(0) => Version::Http10,
        _ => Version::Http11,
    };
    let method = match parsed.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        Some("POST") => Method::Post,
        _ => Method::Other,
    };
    let mut length = None;
    let mut chunked = false;
    let mut hosts = 0;
    let (mut close, mut keep, mut expects_continue) = (false, false, false);
    for header in parsed.headers.iter() {
        let (name, value) = (header.name, header.value);
        if name.eq_ignore_ascii_case("connection") {
            close |= has_token(value, b"close");
            keep |= has_token(value, b"keep-alive");
        } else if name.eq_ignore_ascii_case("content-length") {
            let bytes = decimal(value).ok_or(Refusal::Malformed)?;
            if length.replace(bytes).is_some() {
                return Err(Refusal::Malformed);
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            // Any other coding, or chunked named twice, leaves the end of the body unknown.
            if chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err(Refusal::Malformed);
            }
            chunked = true;
        } else if name.eq_ignore_ascii_case("host") {
            hosts += 1;
        } else if name.eq_ignore_ascii_case("expect") {
            expects_continue = value.trim_ascii().eq_ignore_ascii_case(b"100-continue");
        }
    }
    let old = version == Version::Http10;
    if (chunked && (old || length.is_some())) || hosts > 1 || (hosts == 0 && !old) {
        return Err(Refusal::Malformed);
    }
    let body = match (chunked, length) {
        (true, _) => BodyLength::Chunked,
        (false, None | Some(0)) => BodyLength::None,
        (false, Some(bytes)) => BodyLength::Bytes(bytes),
    };
    let keep_alive = !close && (keep || !old);
    let request = Request {
        method,
        version,
        keep_alive,
    };
    Ok(Head {
        request,
        body,
        expects_continue: expects_continue && !old,
    })
}

/// Whether a list of tokens holds `token`, in any case.
fn has_token(list: &[u8], token: &[u8]) -> bool {
    list.split(|byte| *byte == b',')
        .any(|item| item.trim_ascii().eq_ignore_ascii_case(token))
}

/// A number of digits only: no sign, no space inside, no list.
fn decimal(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All steps of a stream that comes in pieces of `piece` bytes.
    fn steps(stream: &[u8], piece: usize) -> Vec<Step> {
        let (mut reader, mut memo) = (RequestReader::default(), Memo::default());
        let (mut held, mut found) = (Vec::new(), Vec::new());
        for bytes in stream.chunks(piece) {
            held.extend_from_slice(bytes);
            loop {
                let (taken, step) = reader.step(&mut memo, &held);
                held.drain(..taken);
                match step {
                    Step::More => break,
                    Step::Refused(_) => {
                        found.push(step);
                        return found;
                    }
                    _ => found.push(step),
                }
                if held.is_empty() {
                    break;
                }
            }
        }
        found
    }

    fn check(stream: &str, expected: &[Step]) {
        for piece in [1, 2, 3, 7, stream.len()] {
            assert_eq!(
                steps(stream.as_bytes(), piece),
                expected,
                "{piece}: {stream:?}"
            );
        }
    }

    fn request(method: Method, version: Version, keep_alive: bool) -> Step {
        Step::Request(Request {
            method,
            version,
            keep_alive,
        })
    }

    const REFUSED: Step = Step::Refused(Refusal::Malformed);

    #[test]
    fn versions_and_connection_headers_decide_what_becomes_of_the_connection() {
        use {Method::Get, Version::Http10, Version::Http11};
        for (head, expected) in [
            (
                "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                request(Get, Http11, true),
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: CLOSE\r\n\r\n",
                request(Get, Http11, false),
            ),
            (
                "GET / HTTP/1.1\r\nhost: a\r\nconnection: te, close\r\n\r\n",
                request(Get, Http11, false),
            ),
            ("GET / HTTP/1.0\r\n\r\n", request(Get, Http10, false)),
            (
                "GET / HTTP/1.0\r\nConnection: close\r\n\r\n",
                request(Get, Http10, false),
            ),
            (
                "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
                request(Get, Http10, true),
            ),
        ] {
            check(head, &[expected]);
        }
    }

    #[test]
    fn bodies_belong_to_their_request() {
        let post = request(Method::Post, Version::Http11, true);
        let get = request(Method::Get, Version::Http11, true);
        check(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /GET / HTTP/1.1\r\n\
             Host: a\r\n\r\n",
            &[post, get],
        );
        check(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nGET\r\n0\r\n\r\n\
             POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
            &[post, post],
        );
        check(
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
            &[Step::Continue, post],
        );
    }

    #[test]
    fn unclear_requests_are_refused() {
        for lines in [
            "",
            "Host: a\r\nHost: b\r\n",
            "Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
            "Host: a\r\nContent-Length: +1\r\n",
            "Host: a\r\nContent-Length: 99999999999999999999\r\n",
            "Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Host: a\r\nTransfer-Encoding: gzip\r\n",
            "Host: a\r\nbad header\r\n",
        ] {
            check(&format!("GET / HTTP/1.1\r\n{lines}\r\n"), &[REFUSED]);
        }
        check(
            "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            &[REFUSED],
        );
        check("GET / HTTP/3.0\r\nHost: a\r\n\r\n", &[REFUSED]);
        check("\0\0\0\0", &[REFUSED]);
    }

    #[test]
    fn a_head_too_large_is_refused_wherever_it_is_cut() {
        let long = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
            "x".repeat(20_000)
        );
        for piece in [1_000, 16_384, long.len()] {
            let expected = [Step::Refused(Refusal::HeadTooLarge)];
            assert_eq!(steps(long.as_bytes(), piece), expected);
        }
        let many = format!(
            "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
            "a: b\r\n".repeat(200)
        );
        assert_eq!(
            steps(many.as_bytes(), 100),
            [Step::Refused(Refusal::HeadTooLarge)]
        );
    }

    #[test]
    fn the_memo_never_takes_one_head_for_another() {
        let keep = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
        let close = "GET / HTTP/1.0\r\nConnection: keep-alivf\r\n\r\n";
        let kept = request(Method::Get, Version::Http10, true);
        let closed = request(Method::Get, Version::Http10, false);
        check(
            &format!("{keep}{keep}{close}{keep}"),
            &[kept, kept, closed, kept],
        );
    }
}
