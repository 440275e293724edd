//! Every answer that the server can give, encoded once before the first request.

use crate::options::{OriginError, Reply};
use crate::request::{Method, Refusal, Request, Version};

/// All encoded answers, shared by all loops.
#[derive(Debug)]
pub(crate) struct Answers {
    encoded: [Encoded; 6],
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
    Malformed,
    HeadTooLarge,
    Continue,
}

#[derive(Debug)]
struct Encoded {
    bytes: Vec<u8>,
    head: usize,
}

/// An answer on its way: a value of a few words, because the bytes are shared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    kind: Kind,
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
        let error = |status, text: &str| {
            let body = format!("{text}\n").into_bytes();
            Reply {
                status,
                content_type: "text/plain".into(),
                body,
            }
        };
        let malformed = error(400, "bad request");
        let large = error(431, "request head too large");
        Ok(Self {
            encoded: [
                encode(name, reply, ""),
                encode(name, reply, "Connection: keep-alive\r\n"),
                encode(name, reply, "Connection: close\r\n"),
                encode(name, &malformed, "Connection: close\r\n"),
                encode(name, &large, "Connection: close\r\n"),
                Encoded {
                    bytes: b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(),
                    head: 25,
                },
            ],
        })
    }

    /// The answer to `request`.
    #[inline]
    pub(crate) fn reply(&self, request: &Request) -> Output {
        let kind = match (request.keep_alive, request.version) {
            (false, _) => Kind::Close,
            (true, Version::Http11) => Kind::Keep,
            (true, Version::Http10) => Kind::KeepOld,
        };
        self.output(kind, request.method == Method::Head)
    }

    /// The answer to what is no request.
    pub(crate) fn refusal(&self, refusal: Refusal) -> Output {
        let kind = match refusal {
            Refusal::Malformed => Kind::Malformed,
            Refusal::HeadTooLarge => Kind::HeadTooLarge,
        };
        self.output(kind, false)
    }

    /// The word that a client waits for before it sends its body.
    pub(crate) fn proceed(&self) -> Output {
        self.output(Kind::Continue, false)
    }

    /// What is left to send of `output`.
    #[inline]
    pub(crate) fn rest(&self, output: &Output) -> &[u8] {
        &self.encoded[output.kind as usize].bytes[output.sent..output.end]
    }

    #[inline]
    fn output(&self, kind: Kind, head_only: bool) -> Output {
        let encoded = &self.encoded[kind as usize];
        let end = if head_only {
            encoded.head
        } else {
            encoded.bytes.len()
        };
        Output { kind, sent: 0, end }
    }
}

impl Output {
    /// Notes that `bytes` more were sent; true when that was all.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) -> bool {
        self.sent += bytes;
        self.sent == self.end
    }

    /// What becomes of the connection afterwards.
    #[inline]
    pub(crate) fn after(&self) -> After {
        match self.kind {
            Kind::Keep | Kind::KeepOld | Kind::Continue => After::Read,
            Kind::Close => After::Close,
            Kind::Malformed | Kind::HeadTooLarge => After::Linger,
        }
    }
}

fn encode(name: &str, reply: &Reply, connection: &str) -> Encoded {
    let Reply {
        status,
        content_type,
        body,
    } = reply;
    let reason = reason(*status);
    let mut text = format!("HTTP/1.1 {status} {reason}\r\nServer: {name}\r\n");
    if !reply.forbids_body() {
        let length = body.len();
        text += &format!("Content-Type: {content_type}\r\nContent-Length: {length}\r\n");
    }
    text += connection;
    text += "\r\n";
    let head = text.len();
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    Encoded { bytes, head }
}

/// Words for the statuses that a workload is likely to ask for; the rest go without.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
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
        ] {
            assert!(Answers::new("x", &bad).is_err(), "{bad:?}");
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
            assert_eq!(answers.rest(&output).escape_ascii().to_string(), {
                expected.as_bytes().escape_ascii().to_string()
            });
            assert_eq!(output.after(), after);
        }
    }
}
