//! A response's head: status, how the body is framed, whether the connection lives on.
//!
//! A server under load sends the same head again and again, `Date` apart. [`HeadMemo`] keeps the
//! last head and what it meant, so a repeated head costs a comparison instead of a parse.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::{NewHead, Violation};

/// Longest head that is read, in bytes.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Most header lines that are read.
const MAX_HEADERS: usize = 256;

/// What a response's head says about the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Status code.
    pub status: u16,
    /// How the end of the body is found.
    pub framing: Framing,
    /// Whether the connection can carry another request after this response.
    pub keep_alive: bool,
    /// Length of the head, bytes.
    pub bytes: usize,
}

/// A head as it was read.
pub(super) struct Parsed<'a> {
    pub(super) head: Head,
    /// Where the value of `Date` stands in the input; an empty range without one.
    pub(super) date: Range<usize>,
    pub(super) words: NewHead<'a>,
}

/// How the end of a body is found (RFC 9112, 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes, perhaps none.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
    /// All bytes until the connection closes.
    UntilClose,
}

impl Head {
    /// Reads the head at the front of `input`; `None` when its end has not arrived yet.
    pub fn parse(input: &[u8], to_head_request: bool) -> Result<Option<Self>, Violation> {
        let parsed = Self::parse_whole(input, to_head_request)?;
        Ok(parsed.map(|parsed| parsed.head))
    }

    /// Whether a final response follows.
    pub(super) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }

    /// The same as [`parse`](Self::parse), with all that is read of it.
    pub(super) fn parse_whole(
        input: &[u8],
        to_head_request: bool,
    ) -> Result<Option<Parsed<'_>>, Violation> {
        // Left uninitialized: setting 8 KiB costs as much as reading a usual head.
        let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let mut config = httparse::ParserConfig::default();
        config
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true);
        let parsed = config.parse_response_with_uninit_headers(&mut response, input, &mut lines);
        let bytes = match parsed {
            Ok(httparse::Status::Complete(bytes)) if bytes <= MAX_HEAD_BYTES => bytes,
            Ok(httparse::Status::Partial) if input.len() < MAX_HEAD_BYTES => return Ok(None),
            Ok(_) => return Err(Violation::HeadTooLong),
            Err(httparse::Error::TooManyHeaders) => return Err(Violation::TooManyHeaders),
            Err(_) => return Err(foreign(input)),
        };
        let (Some(status), Some(minor)) = (response.code, response.version) else {
            return Err(Violation::MalformedHead);
        };
        let reason = response.reason.unwrap_or_default().as_bytes();
        let fields = Fields::read(response.headers)?;
        let framing = fields.framing(status, to_head_request)?;
        // What follows 101 is another protocol (RFC 9110, 7.8).
        let keep_alive = framing != Framing::UntilClose
            && status != 101
            && if minor == 0 {
                // Chunks are unknown to HTTP/1.0: its framing is in doubt (RFC 9112, 6.1).
                fields.keep_alive && !fields.transfer_encoding
            } else {
                !fields.close
            };
        let head = Self {
            status,
            framing,
            keep_alive,
            bytes,
        };
        Ok(Some(Parsed {
            head,
            date: place_of(fields.date, input),
            words: NewHead {
                status,
                reason,
                location: fields.location,
            },
        }))
    }
}

/// The header lines that decide framing and the connection's life.
#[derive(Default)]
struct Fields<'a> {
    length: Option<u64>,
    transfer_encoding: bool,
    chunked_last: bool,
    has_chunked: bool,
    chunked_twice: bool,
    close: bool,
    keep_alive: bool,
    date: &'a [u8],
    location: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    fn read(lines: &[httparse::Header<'a>]) -> Result<Self, Violation> {
        let mut fields = Self::default();
        for line in lines {
            if line.name.eq_ignore_ascii_case("content-length") {
                fields.add_length(line.value)?;
            } else if line.name.eq_ignore_ascii_case("transfer-encoding") {
                fields.add_codings(line.value);
            } else if line.name.eq_ignore_ascii_case("connection") {
                for option in list(line.value) {
                    fields.close |= option.eq_ignore_ascii_case(b"close");
                    fields.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            } else if line.name.eq_ignore_ascii_case("date") {
                fields.date = line.value;
            } else if line.name.eq_ignore_ascii_case("location") {
                fields.location = Some(line.value);
            }
        }
        Ok(fields)
    }

    /// Nothing may follow `chunked`, not even `chunked` (RFC 9112, 6.1).
    fn add_codings(&mut self, value: &[u8]) {
        self.transfer_encoding = true;
        for coding in list(value) {
            let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
            self.chunked_twice |= is_chunked && self.has_chunked;
            self.has_chunked |= is_chunked;
            self.chunked_last = is_chunked;
        }
    }

    /// Several equal values are one; several different ones are an error (RFC 9112, 6.3).
    fn add_length(&mut self, value: &[u8]) -> Result<(), Violation> {
        for item in list(value) {
            let digits = !item.is_empty() && item.iter().all(u8::is_ascii_digit);
            let length = std::str::from_utf8(item)
                .ok()
                .filter(|_| digits)
                .and_then(|text| text.parse::<u64>().ok())
                .ok_or(Violation::BadContentLength)?;
            if self.length.is_some_and(|known| known != length) {
                return Err(Violation::BadContentLength);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn framing(&self, status: u16, to_head_request: bool) -> Result<Framing, Violation> {
        if to_head_request || matches!(status, 100..=199 | 204 | 304) {
            return Ok(Framing::Length(0));
        }
        if self.transfer_encoding {
            // A length beside a transfer coding is how responses are smuggled.
            return match (self.chunked_last, self.length) {
                _ if self.chunked_twice => Err(Violation::BadTransferEncoding),
                (true, None) => Ok(Framing::Chunked),
                (false, None) => Ok(Framing::UntilClose),
                (_, Some(_)) => Err(Violation::BadTransferEncoding),
            };
        }
        Ok(self.length.map_or(Framing::UntilClose, Framing::Length))
    }
}

/// What came in place of a head: another protocol, if it is known by its first bytes.
#[cold]
fn foreign(input: &[u8]) -> Violation {
    match input {
        // A SETTINGS frame of the connection (RFC 9113, 6.5).
        [0, _, _, 4, _, 0, 0, 0, 0, ..] => Violation::Http2,
        // A record of TLS 1.x: an alert or a part of a handshake (RFC 8446, 5.1).
        [0x15 | 0x16, 3, 0..=4, ..] => Violation::Tls,
        _ => Violation::MalformedHead,
    }
}

/// The items of a comma-separated value, trimmed.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|byte| *byte == b',')
        .map(|item| item.trim_ascii())
}

/// Where `part`, which was cut out of `whole`, stands in it; an empty range if it was not.
fn place_of(part: &[u8], whole: &[u8]) -> Range<usize> {
    let distance = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize);
    match distance {
        Some(start) if start + part.len() <= whole.len() => start..start + part.len(),
        _ => 0..0,
    }
}

/// The last head seen and what it meant. One for each thread serves all its connections.
#[derive(Debug, Default)]
pub struct HeadMemo {
    bytes: Vec<u8>,
    /// Where the value of `Date` stands in `bytes`; an empty range when there is none.
    date: Range<usize>,
    head: Option<Head>,
}

impl HeadMemo {
    /// What the head at the front of `input` means, if it equals the last one but for `Date`.
    #[inline]
    pub(crate) fn recall(&mut self, input: &[u8]) -> Option<Head> {
        let front = input.get(..self.bytes.len())?;
        if front == self.bytes || self.differs_in_date(front) {
            self.head
        } else {
            None
        }
    }

    /// Whether `front` is the head kept with another date, which is then kept in its place: until
    /// the next second heads are equal as they are.
    #[cold]
    fn differs_in_date(&mut self, front: &[u8]) -> bool {
        let date = &front[self.date.clone()];
        let differs = front[..self.date.start] == self.bytes[..self.date.start]
            && front[self.date.end..] == self.bytes[self.date.end..]
            // A line break in its place would make another head of the same length.
            && date.iter().all(|byte| (b' '..=b'~').contains(byte));
        if differs {
            self.bytes[self.date.clone()].copy_from_slice(date);
        }
        differs
    }

    /// Keeps `head`, read from the front of `input`, with the place of its `Date`.
    pub(super) fn keep(&mut self, input: &[u8], head: Head, date: Range<usize>) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&input[..head.bytes]);
        self.date = date;
        self.head = Some(head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(u16, Framing, bool), Violation>) {
        let parsed = Head::parse(text.as_bytes(), false);
        let short = parsed.map(|head| {
            let head = head.expect("the head is whole");
            (head.status, head.framing, head.keep_alive)
        });
        assert_eq!(short, expected, "{text:?}");
    }

    #[test]
    fn framing_and_life_of_the_connection() {
        use Framing::*;
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            Ok((200, Length(5), true)),
        );
        check(
            "HTTP/1.1 200 OK\r\ncontent-length:5 , 5\r\n\r\n",
            Ok((200, Length(5), true)),
        );
        check("HTTP/1.1 200 OK\r\n\r\n", Ok((200, UntilClose, false)));
        check(
            "HTTP/1.1 204 No Content\r\n\r\n",
            Ok((204, Length(0), true)),
        );
        check(
            "HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n",
            Ok((304, Length(0), true)),
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n",
            Ok((200, Chunked, true)),
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: foo, Close\r\n\r\n",
            Ok((200, Length(1), false)),
        );
        check(
            "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n",
            Ok((200, Length(1), false)),
        );
        check(
            "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n",
            Ok((200, Length(1), true)),
        );
        check(
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n",
            Ok((200, Chunked, false)),
        );
    }

    #[test]
    fn broken_rules_are_named() {
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            Err(Violation::BadContentLength),
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
            Err(Violation::BadContentLength),
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            Err(Violation::BadContentLength),
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
            Err(Violation::BadTransferEncoding),
        );
        check("SSH-2.0-OpenSSH\r\n\r\n", Err(Violation::MalformedHead));
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(MAX_HEAD_BYTES));
        assert_eq!(
            Head::parse(endless.as_bytes(), false),
            Err(Violation::HeadTooLong)
        );
    }

    #[test]
    fn the_memo_recalls_only_heads_that_differ_in_the_date() {
        let first = b"HTTP/1.1 200 OK\r\nDate: AAA\r\nContent-Length: 5\r\n\r\nhello";
        let Parsed { head, date, .. } = Head::parse_whole(first, false).unwrap().unwrap();
        assert_eq!(&first[date.clone()], b"AAA");
        let mut memo = HeadMemo::default();
        assert_eq!(memo.recall(first), None);
        memo.keep(first, head, date);
        let mut recalls = |text: &[u8]| memo.recall(text).is_some();
        assert!(recalls(first));
        assert!(recalls(
            b"HTTP/1.1 200 OK\r\nDate: BBB\r\nContent-Length: 5\r\n\r\n"
        ));
        assert!(!recalls(
            b"HTTP/1.1 200 OK\r\nDate: BBB\r\nContent-Length: 6\r\n\r\n"
        ));
        assert!(!recalls(
            b"HTTP/1.1 404 OK\r\nDate: BBB\r\nContent-Length: 5\r\n\r\n"
        ));
        assert!(!recalls(
            b"HTTP/1.1 200 OK\r\nDate: \r\nX\r\nContent-Length: 5\r\n\r\n"
        ));
        assert!(!recalls(
            b"HTTP/1.1 200 OK\r\nDate: \nX:\r\nContent-Length: 5\r\n\r\n"
        ));
        assert!(!recalls(b"HTTP/1.1 200 OK\r\nDate: B"));
        assert!(recalls(first), "and the first one still");
    }
}
