//! A request, encoded once and sent as it is each time.

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
    /// Body, sent with its `Content-Length`.
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
    /// The target has a space, a control character or no leading slash.
    #[error("request target {0:?} must start with a slash and hold no spaces")]
    Target(String),
    /// A header's name or value would break the head.
    #[error("header {0:?} has a character that may not stand in a header line")]
    Header(String),
}

impl Request<'_> {
    /// The bytes of the request.
    pub fn encode(&self) -> Result<Vec<u8>, RequestError> {
        if self.method.is_empty() || !self.method.bytes().all(is_token) {
            return Err(RequestError::Method(self.method.to_owned()));
        }
        let target_starts = self.target.starts_with('/') || self.target == "*";
        if !target_starts || self.target.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(RequestError::Target(self.target.to_owned()));
        }
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        if !self.names_header("host") {
            push_header(&mut bytes, "Host", self.host)?;
        }
        for (name, value) in self.headers {
            push_header(&mut bytes, name, value)?;
        }
        let sends_body = !self.body.is_empty() || matches!(self.method, "POST" | "PUT" | "PATCH");
        if sends_body && !self.names_header("content-length") {
            push_header(&mut bytes, "Content-Length", &self.body.len().to_string())?;
        }
        if !self.keep_alive && !self.names_header("connection") {
            push_header(&mut bytes, "Connection", "close")?;
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(self.body);
        Ok(bytes)
    }

    fn names_header(&self, wanted: &str) -> bool {
        self.headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    }
}

/// Appends one header line, unless it would break the head (RFC 9110, 5.5 and 5.6.2).
fn push_header(bytes: &mut Vec<u8>, name: &str, value: &str) -> Result<(), RequestError> {
    let name_is_token = !name.is_empty() && name.bytes().all(is_token);
    if !name_is_token || value.bytes().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
        return Err(RequestError::Header(format!("{name}: {value}")));
    }
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b": ");
    bytes.extend_from_slice(value.as_bytes());
    bytes.extend_from_slice(b"\r\n");
    Ok(())
}

/// A character of a token (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
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
