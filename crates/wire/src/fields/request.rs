//! A request, as HTTP/2 and HTTP/3 say it: a list of fields and a body.

use super::{Field, is_connection_field, is_field_name, is_field_value};

/// A request: its header list and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub(crate) fields: Vec<Field>,
    pub(crate) body: Vec<u8>,
    pub(crate) to_head: bool,
}

/// Why a request cannot be sent over HTTP/2 or HTTP/3.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The method is no token, or CONNECT, which has another form.
    #[error("method {0:?} is not a token of letters and digits, or CONNECT")]
    Method(String),
    /// The target has a space, a control character or no leading slash.
    #[error(
        "request target {0:?} must start with a slash and hold no blank and no control character: \
         write %20 for a blank"
    )]
    Target(String),
    /// A header, here its name alone, has a character that it may not have (RFC 9113, 8.2.1).
    #[error("header {0:?} has a character that may not stand in a header field")]
    Header(String),
    /// A header that both forbid (RFC 9113, 8.2.2; RFC 9114, 4.2).
    #[error(
        "header {0:?} belongs to HTTP/1.1 connections and may not be sent over HTTP/2 or HTTP/3: \
         leave it out, or use the protocol h1"
    )]
    ConnectionHeader(String),
    /// The body is longer than 4 GiB.
    #[error("the body is longer than 4 GiB")]
    BodyTooLong,
}

impl Request {
    /// A request for `path`, which is the whole target with its query. A `host` among `headers`
    /// takes the place of `authority`; `content-length` is added where a body is, or belongs to
    /// the method. Names may be in any case.
    pub fn new(
        method: &str,
        scheme: &str,
        authority: &str,
        path: &str,
        headers: &[(String, String)],
        body: Vec<u8>,
    ) -> Result<Self, RequestError> {
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        if !is_word(method) || method.contains(':') || method == "CONNECT" {
            return Err(RequestError::Method(method.to_owned()));
        }
        let path_is_whole = path.starts_with('/') || path == "*";
        if !path_is_whole || path.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(RequestError::Target(path.to_owned()));
        }
        if u32::try_from(body.len()).is_err() {
            return Err(RequestError::BodyTooLong);
        }
        let (mut ordinary, mut host) = (Vec::new(), authority.to_owned());
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            if !is_field_name(name.as_bytes()) || !is_field_value(value.as_bytes()) {
                return Err(RequestError::Header(name));
            }
            if is_of_connection(&name, value) {
                return Err(RequestError::ConnectionHeader(name));
            }
            if name == "host" {
                host.clone_from(value);
            } else {
                ordinary.push(field(&name, value));
            }
        }
        let sends_body = !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH");
        if sends_body && !ordinary.iter().any(|(name, _)| name == b"content-length") {
            ordinary.push(field("content-length", &body.len().to_string()));
        }
        let mut fields = vec![
            field(":method", method),
            field(":scheme", scheme),
            field(":authority", &host),
            field(":path", path),
        ];
        fields.append(&mut ordinary);
        Ok(Self {
            fields,
            body,
            to_head: method == "HEAD",
        })
    }

    /// The first of `headers` that HTTP/1.1 alone has.
    pub fn connection_header(headers: &[(String, String)]) -> Option<&str> {
        let is_one = |name: &str, value| is_of_connection(&name.to_ascii_lowercase(), value);
        let mut headers = headers.iter();
        let found = headers.find(|(name, value)| is_one(name, value));
        found.map(|(name, _)| name.as_str())
    }

    /// The header list as it is sent, pseudo-header fields first.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// Whether a header, its name in lower case, belongs to connections of HTTP/1.1.
fn is_of_connection(name: &str, value: &str) -> bool {
    is_connection_field(name.as_bytes()) || name == "te" && value != "trailers"
}

fn field(name: &str, value: &str) -> Field {
    (name.as_bytes().to_vec(), value.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str, header: (&str, &str)) -> Result<Request, RequestError> {
        let headers = [(header.0.to_owned(), header.1.to_owned())];
        Request::new(method, "https", "a.test", path, &headers, Vec::new())
    }

    #[test]
    fn names_are_lowered_and_host_becomes_the_authority() {
        let made = request("GET", "/?q", ("HOST", "b.test")).unwrap();
        assert_eq!(
            made.fields,
            [
                field(":method", "GET"),
                field(":scheme", "https"),
                field(":authority", "b.test"),
                field(":path", "/?q"),
            ]
        );
        let made = request("POST", "/", ("X-Hotdogs", "aplenty")).unwrap();
        assert_eq!(
            made.fields[4..],
            [field("x-hotdogs", "aplenty"), field("content-length", "0")]
        );
    }

    #[test]
    fn what_may_not_be_sent_is_refused() {
        for (method, path, header) in [
            ("G T", "/", ("a", "b")),
            ("CONNECT", "/", ("a", "b")),
            ("GET", "a", ("a", "b")),
            ("GET", "/a b", ("a", "b")),
            ("GET", "/", (":path", "b")),
            ("GET", "/", ("a b", "b")),
            ("GET", "/", ("a", "b\r\nc")),
            ("GET", "/", ("Connection", "close")),
            ("GET", "/", ("te", "gzip")),
        ] {
            assert!(
                request(method, path, header).is_err(),
                "{method} {path} {header:?}"
            );
        }
        assert!(request("GET", "/", ("te", "trailers")).is_ok());
        let headers = ["Accept", "Connection"].map(|name| (name.to_owned(), "x".to_owned()));
        assert_eq!(Request::connection_header(&headers), Some("Connection"));
        assert_eq!(Request::connection_header(&headers[..1]), None);
    }
}
