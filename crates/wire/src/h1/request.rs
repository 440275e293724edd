//! A request, encoded once and sent as it is each time.

use std::io::Write as _;

/// Data in a chunk of a chunked body, bytes; the last chunk holds what remains.
pub const CHUNK_BYTES: usize = 16 * 1024;

/// What a request consists of, besides the framing that encoding adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// Method, such as `GET`.
    pub method: &'a str,
    /// Target in origin form, such as `/index.html?q=1`.
    pub target: &'a str,
    /// Value of `Host`, with a port where it is not the scheme's own.
    pub host: &'a str,
    /// Other header lines, in order; a `Host` among them takes the place of [`Self::host`].
    pub headers: &'a [(String, String)],
    /// Body, sent with its `Content-Length` or in chunks.
    pub body: &'a [u8],
    /// Whether the connection is to be kept; otherwise `Connection: close` is sent.
    pub keep_alive: bool,
}

/// Why a request cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The method is no token.
    #[error("method {0:?} is not a token of letters and digits")]
    Method(String),
    /// The target, here without its query, has a space, a control character or no leading slash.
    #[error(
        "request target {0:?} must start with a slash and hold no blank and no control character: \
         write %20 for a blank"
    )]
    Target(String),
    /// The name or the value of a header, here its name alone, would break the head.
    #[error("header {0:?} has a character that may not stand in a header line")]
    Header(String),
    /// A body in chunks has a length too.
    #[error("a chunked body must have no Content-Length (RFC 9112, 6.2)")]
    LengthOfChunked,
}

/// How the server learns where the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyFraming {
    Length,
    Chunked,
}

impl Request<'_> {
    /// The bytes of the request, its body with a length.
    pub fn encode(&self) -> Result<Vec<u8>, RequestError> {
        let mut bytes = self.head(BodyFraming::Length)?;
        bytes.extend_from_slice(self.body);
        Ok(bytes)
    }

    /// The bytes of the request, its body in chunks of [`CHUNK_BYTES`] (RFC 9112, 7.1).
    pub fn encode_chunked(&self) -> Result<Vec<u8>, RequestError> {
        let mut bytes = self.head(BodyFraming::Chunked)?;
        for chunk in self.body.chunks(CHUNK_BYTES) {
            push_chunk(&mut bytes, chunk);
        }
        push_chunk(&mut bytes, b"");
        Ok(bytes)
    }

    /// Request line and header lines, with the empty line behind them.
    fn head(&self, framing: BodyFraming) -> Result<Vec<u8>, RequestError> {
        if self.method.is_empty() || !self.method.bytes().all(is_token) {
            return Err(RequestError::Method(self.method.to_owned()));
        }
        let target_starts = self.target.starts_with('/') || self.target == "*";
        if !target_starts || self.target.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(RequestError::Target(without_query(self.target)));
        }
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        if !self.names_header("host") {
            push_header(&mut bytes, "Host", self.host)?;
        }
        for (name, value) in self.headers {
            push_header(&mut bytes, name, value)?;
        }
        self.push_framing(&mut bytes, framing)?;
        if !self.keep_alive && !self.names_header("connection") {
            push_header(&mut bytes, "Connection", "close")?;
        }
        bytes.extend_from_slice(b"\r\n");
        Ok(bytes)
    }

    /// Appends the line that says where the body ends, unless it is among the headers.
    fn push_framing(&self, bytes: &mut Vec<u8>, framing: BodyFraming) -> Result<(), RequestError> {
        let has_length = self.names_header("content-length");
        let has_coding = self.names_header("transfer-encoding");
        let sends_body = !self.body.is_empty() || matches!(self.method, "POST" | "PUT" | "PATCH");
        match framing {
            BodyFraming::Chunked if has_length => Err(RequestError::LengthOfChunked),
            BodyFraming::Chunked if !has_coding => {
                push_header(bytes, "Transfer-Encoding", "chunked")
            }
            BodyFraming::Length if sends_body && !has_length && !has_coding => {
                push_header(bytes, "Content-Length", &self.body.len().to_string())
            }
            _ => Ok(()),
        }
    }

    fn names_header(&self, wanted: &str) -> bool {
        self.headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    }
}

/// A target for a message: what stands in a query may let somebody in.
fn without_query(target: &str) -> String {
    match target.split_once('?') {
        Some((path, _)) => format!("{path}?..."),
        None => target.to_owned(),
    }
}

/// Appends one header line, unless it would break the head (RFC 9110, 5.5 and 5.6.2).
fn push_header(bytes: &mut Vec<u8>, name: &str, value: &str) -> Result<(), RequestError> {
    let name_is_token = !name.is_empty() && name.bytes().all(is_token);
    if !name_is_token || value.bytes().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
        return Err(RequestError::Header(name.to_owned()));
    }
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b": ");
    bytes.extend_from_slice(value.as_bytes());
    bytes.extend_from_slice(b"\r\n");
    Ok(())
}

/// Appends a chunk; an empty one is the last, and no trailers follow it.
fn push_chunk(bytes: &mut Vec<u8>, data: &[u8]) {
    write!(bytes, "{:x}\r\n", data.len()).expect("a vector takes what is written");
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(b"\r\n");
}

/// A character of a token (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::super::chunked::Chunked;
    use super::*;

    const GET: Request<'_> = Request {
        method: "GET",
        target: "/",
        host: "example.test:8080",
        headers: &[],
        body: b"",
        keep_alive: true,
    };

    fn check(request: &Request<'_>, expected: &str) {
        assert_eq!(
            String::from_utf8(request.encode().unwrap()).unwrap(),
            expected
        );
    }

    #[test]
    fn a_request_is_its_lines_and_its_body() {
        check(&GET, "GET / HTTP/1.1\r\nHost: example.test:8080\r\n\r\n");
        let headers = [("X-Hotdogs".to_owned(), "aplenty".to_owned())];
        check(
            &Request {
                headers: &headers,
                keep_alive: false,
                ..GET
            },
            "GET / HTTP/1.1\r\nHost: example.test:8080\r\nX-Hotdogs: aplenty\r\n\
             Connection: close\r\n\r\n",
        );
        check(
            &Request {
                method: "POST",
                body: b"ab",
                ..GET
            },
            "POST / HTTP/1.1\r\nHost: example.test:8080\r\nContent-Length: 2\r\n\r\nab",
        );
        let own_host = [("host".to_owned(), "other".to_owned())];
        check(
            &Request {
                headers: &own_host,
                ..GET
            },
            "GET / HTTP/1.1\r\nhost: other\r\n\r\n",
        );
    }

    /// `body` in chunks, behind the head of a `PUT`.
    #[track_caller]
    fn check_chunked(body: &[u8], expected: &[u8]) {
        let request = Request {
            method: "PUT",
            body,
            ..GET
        };
        let head =
            "PUT / HTTP/1.1\r\nHost: example.test:8080\r\nTransfer-Encoding: chunked\r\n\r\n";
        let bytes = request.encode_chunked().unwrap();
        assert_eq!(bytes, [head.as_bytes(), expected].concat());
        // The reader of chunks takes it for what it was.
        let mut read = Vec::new();
        let mut machine = Chunked::START;
        let chunks = &bytes[head.len()..];
        let taken = machine.handle(chunks, &mut |data| read.extend_from_slice(data));
        assert_eq!((taken, machine), (Ok(chunks.len()), Chunked::Done));
        assert_eq!(read, body);
    }

    #[test]
    fn a_body_can_be_sent_in_chunks() {
        check_chunked(b"", b"0\r\n\r\n");
        check_chunked(b"onion rings", b"b\r\nonion rings\r\n0\r\n\r\n");
        let long = vec![b'x'; CHUNK_BYTES + 1];
        let chunks = [b"4000\r\n", &long[1..], b"\r\n1\r\nx\r\n0\r\n\r\n"];
        check_chunked(&long, &chunks.concat());
    }

    #[test]
    fn framing_that_headers_name_is_not_named_again() {
        let header = |line: (&str, &str)| [(line.0.to_owned(), line.1.to_owned())];
        let with = |headers: &[(String, String)], chunked: bool| {
            let request = Request {
                headers,
                body: b"ab",
                ..GET
            };
            let bytes = if chunked {
                request.encode_chunked()
            } else {
                request.encode()
            };
            bytes.map(|bytes| String::from_utf8(bytes).unwrap())
        };
        let start = "GET / HTTP/1.1\r\nHost: example.test:8080\r\n";
        let gzip = header(("transfer-encoding", "gzip, chunked"));
        let named = format!("{start}transfer-encoding: gzip, chunked\r\n\r\n");
        let chunks = "2\r\nab\r\n0\r\n\r\n";
        assert_eq!(with(&gzip, true), Ok(format!("{named}{chunks}")));
        assert_eq!(with(&gzip, false), Ok(format!("{named}ab")));
        let length = header(("content-length", "9"));
        let lying = format!("{start}content-length: 9\r\n\r\nab");
        assert_eq!(with(&length, false), Ok(lying));
        assert_eq!(with(&length, true), Err(RequestError::LengthOfChunked));
    }

    #[test]
    fn a_message_repeats_neither_a_query_nor_the_value_of_a_header() {
        let target = Request {
            target: "/a b?token=sesame",
            ..GET
        };
        let wrong = target.encode().unwrap_err().to_string();
        assert!(wrong.contains("\"/a b?...\""), "{wrong}");
        let headers = [("Api Key".to_owned(), "sesame".to_owned())];
        let header = Request {
            headers: &headers,
            ..GET
        };
        let wrong = header.encode().unwrap_err().to_string();
        assert!(
            wrong.contains("\"Api Key\"") && !wrong.contains("sesame"),
            "{wrong}"
        );
    }

    #[test]
    fn what_would_break_the_head_is_refused() {
        let smuggled = [("X".to_owned(), "a\r\nY: b".to_owned())];
        assert!(
            Request {
                headers: &smuggled,
                ..GET
            }
            .encode()
            .is_err()
        );
        assert!(
            Request {
                target: "/a b",
                ..GET
            }
            .encode()
            .is_err()
        );
        assert!(Request { target: "a", ..GET }.encode().is_err());
        assert!(
            Request {
                method: "G T",
                ..GET
            }
            .encode()
            .is_err()
        );
    }
}
