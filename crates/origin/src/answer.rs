//! Every answer that the server can give, encoded once before the first request.

use bytes::Bytes;

use crate::fastcgi;
use crate::options::{OriginError, Reply};
use crate::request::{Method, Refusal, Request, Version};

/// All encoded answers, shared by all loops.
#[derive(Debug)]
pub(crate) struct Answers {
    encoded: [Encoded; 8],
    /// Other replies than the one to every request, in the order of the first kinds.
    others: Vec<[Encoded; 5]>,
}

/// Which of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The reply; HTTP/1.1 leaves the connection open without saying so.
    Keep,
    /// The reply to an HTTP/1.0 client that asked to keep the connection.
    KeepOld,
    /// The reply, and the connection ends.
    Close,
    /// The reply in records of FastCGI.
    FastCgi,
    /// The same, and the connection ends.
    FastCgiClose,
    Malformed,
    HeadTooLarge,
    Continue,
}

#[derive(Debug)]
struct Encoded {
    bytes: Bytes,
    head: usize,
}

/// An answer on its way: a small value, because the bytes are shared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    kind: Kind,
    /// One of the other replies, counted from 1; 0 is none of them.
    other: u16,
    sent: usize,
    end: usize,
}

/// What becomes of a connection when an answer has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// It is used again.
    Read,
    /// It ends; everything that the client sent has been read.
    Close,
    /// It ends, but the client may still be sending: closing at once would make the kernel send a
    /// reset, and the answer could be lost.
    Linger,
}

impl Answers {
    /// Encodes all answers of a server called `name`.
    ///
    /// # Errors
    /// When the reply cannot be an HTTP answer.
    pub(crate) fn new(name: &str, reply: &Reply) -> Result<Self, OriginError> {
        reply.check()?;
        let refused = |status, text: &str| {
            let body = format!("{text}\n").into_bytes();
            Reply {
                status,
                content_type: "text/plain".into(),
                body,
            }
        };
        let malformed = refused(400, "bad request");
        let large = refused(431, "request head too large");
        let [keep, keep_old, close, fastcgi, fastcgi_close] = encode_each(name, reply);
        Ok(Self {
            encoded: [
                keep,
                keep_old,
                close,
                fastcgi,
                fastcgi_close,
                encode(name, &malformed, "Connection: close\r\n"),
                encode(name, &large, "Connection: close\r\n"),
                Encoded {
                    bytes: Bytes::from_static(b"HTTP/1.1 100 Continue\r\n\r\n"),
                    head: 25,
                },
            ],
            others: Vec::new(),
        })
    }

    /// The same with other replies, which [`other`](Self::other) gives by their number.
    ///
    /// # Errors
    /// When one of them cannot be an HTTP answer.
    pub(crate) fn with(mut self, name: &str, replies: &[Reply]) -> Result<Self, OriginError> {
        for reply in replies {
            reply.check()?;
            self.others.push(encode_each(name, reply));
        }
        Ok(self)
    }

    /// The answer to `request`.
    #[inline]
    pub(crate) fn reply(&self, request: &Request) -> Output {
        self.output(Kind::of(request), request.method == Method::Head)
    }

    /// The other reply with this number; the reply itself where there is none.
    pub(crate) fn other(&self, request: &Request, number: u16) -> Output {
        let kind = Kind::of(request);
        let Some(encoded) = self.others.get(usize::from(number)) else {
            return self.reply(request);
        };
        let encoded = &encoded[kind as usize];
        let end = encoded.end(request.method == Method::Head);
        let other = number + 1;
        Output {
            kind,
            other,
            sent: 0,
            end,
        }
    }

    /// Bytes of the head of `output`.
    pub(crate) fn head(&self, output: &Output) -> usize {
        self.encoded::<true>(output).head
    }

    /// The answer to what is no request.
    pub(crate) fn refusal(&self, refusal: Refusal) -> Output {
        let kind = match refusal {
            Refusal::Malformed => Kind::Malformed,
            Refusal::HeadTooLarge => Kind::HeadTooLarge,
        };
        self.output(kind, false)
    }

    /// What a client waits for before it sends its body.
    pub(crate) fn proceed(&self) -> Output {
        self.output(Kind::Continue, false)
    }

    /// What is left to send of `output`; `OTHERS` says whether it may be another reply.
    #[inline]
    pub(crate) fn rest<const OTHERS: bool>(&self, output: &Output) -> &[u8] {
        &self.encoded::<OTHERS>(output).bytes[output.sent..output.end]
    }

    #[inline]
    fn encoded<const OTHERS: bool>(&self, output: &Output) -> &Encoded {
        if OTHERS && output.other > 0 {
            return &self.others[usize::from(output.other) - 1][output.kind as usize];
        }
        &self.encoded[output.kind as usize]
    }

    #[inline]
    fn output(&self, kind: Kind, head_only: bool) -> Output {
        let end = self.encoded[kind as usize].end(head_only);
        Output {
            kind,
            other: 0,
            sent: 0,
            end,
        }
    }
}

impl Kind {
    /// Which reply a request gets.
    #[inline]
    fn of(request: &Request) -> Self {
        match (request.keep_alive, request.version) {
            (false, Version::FastCgi) => Self::FastCgiClose,
            (true, Version::FastCgi) => Self::FastCgi,
            (false, _) => Self::Close,
            (true, Version::Http10) => Self::KeepOld,
            (true, _) => Self::Keep,
        }
    }
}

impl Encoded {
    #[inline]
    fn end(&self, head_only: bool) -> usize {
        if head_only {
            self.head
        } else {
            self.bytes.len()
        }
    }
}

impl Output {
    /// Notes that `bytes` more were sent; true when that was all.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) -> bool {
        self.sent += bytes;
        self.sent == self.end
    }

    /// The bytes from `begin` to `end` of it.
    pub(crate) fn piece(self, begin: usize, end: usize) -> Self {
        Self {
            sent: begin,
            end,
            ..self
        }
    }

    /// Where it ends.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// What becomes of the connection afterwards.
    #[inline]
    pub(crate) fn after(&self) -> After {
        match self.kind {
            Kind::Keep | Kind::KeepOld | Kind::FastCgi | Kind::Continue => After::Read,
            Kind::Close | Kind::FastCgiClose => After::Close,
            Kind::Malformed | Kind::HeadTooLarge => After::Linger,
        }
    }
}

/// A reply as it is sent on a connection that stays, stays on request, or ends, and then in
/// records: in the order of [`Kind`].
fn encode_each(name: &str, reply: &Reply) -> [Encoded; 5] {
    let (bytes, head) = fastcgi::encode(reply, reason(reply.status));
    let bytes = Bytes::from(bytes);
    let records = || Encoded {
        bytes: bytes.clone(),
        head,
    };
    [
        encode(name, reply, ""),
        encode(name, reply, "Connection: keep-alive\r\n"),
        encode(name, reply, "Connection: close\r\n"),
        records(),
        records(),
    ]
}

fn encode(name: &str, reply: &Reply, connection: &str) -> Encoded {
    let Reply {
        status,
        content_type,
        body,
    } = reply;
    let reason = reason(*status);
    let mut text = format!("HTTP/1.1 {status} {reason}\r\nServer: {name}\r\n");
    if !reply.has_no_length() {
        let length = body.len();
        text += &format!("Content-Type: {content_type}\r\nContent-Length: {length}\r\n");
    }
    text += connection;
    text += "\r\n";
    let head = text.len();
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    Encoded {
        bytes: bytes.into(),
        head,
    }
}

/// Reason phrases for the statuses that a workload is likely to use; the rest go without.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        205 => "Reset Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, content_type: &str, body: &str) -> Reply {
        Reply {
            status,
            content_type: content_type.into(),
            body: body.into(),
        }
    }

    #[test]
    fn replies_that_cannot_be_sent_are_refused() {
        for bad in [
            reply(99, "text/plain", ""),
            reply(600, "text/plain", ""),
            reply(200, "text/plain\r\nSet-Cookie: a", ""),
            reply(204, "text/plain", "body"),
            reply(205, "text/plain", "body"),
        ] {
            assert!(Answers::new("x", &bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_answer_has_a_length_unless_its_status_ends_it_at_its_head() {
        for (status, expected) in [
            (200, "\r\nContent-Length: 0\r\n"),
            (204, "204 No Content\r\n"),
            (205, "205 Reset Content\r\n"),
            (205, "\r\nContent-Length: 0\r\n"),
            (304, "304 Not Modified\r\n"),
        ] {
            let reply = reply(status, "text/plain", "");
            for encoded in encode_each("x", &reply) {
                let text = String::from_utf8(encoded.bytes.to_vec()).unwrap();
                assert!(text.contains(expected), "{text}");
                let has_length = text.contains("Content-Length");
                assert_eq!(has_length, !matches!(status, 204 | 304), "{text}");
            }
        }
    }

    #[test]
    fn an_answer_says_what_becomes_of_the_connection() {
        let answers = Answers::new("x", &reply(200, "text/plain", "hi")).unwrap();
        let request = |keep_alive, version| Request {
            method: Method::Get,
            version,
            keep_alive,
        };
        for (request, line, after) in [
            (request(true, Version::Http11), "", After::Read),
            (
                request(true, Version::Http10),
                "Connection: keep-alive\r\n",
                After::Read,
            ),
            (
                request(false, Version::Http11),
                "Connection: close\r\n",
                After::Close,
            ),
        ] {
            let output = answers.reply(&request);
            let expected = format!(
                "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\
                 {line}\r\nhi"
            );
            assert_eq!(answers.rest::<false>(&output).escape_ascii().to_string(), {
                expected.as_bytes().escape_ascii().to_string()
            });
            assert_eq!(output.after(), after);
        }
    }
}
