//! One request outside the measured window, to see whether an answer is right.
//!
//! It is deliberately simple and separate from the load engine: what judges the answers should
//! not share the engine's mistakes. So HTTP/1.1 is read here by a few lines of its own, HTTP/2 by
//! the crate `h2`, and HTTP/3 by `h3` over `quinn`. It opens a connection for each request and
//! follows nothing; only to see what a server does for an answer ([`repeat`]) it asks several
//! times.

mod certificate;
#[cfg(test)]
mod endless;
mod h1;
mod h2;
mod h3;
mod hint;
mod message;
mod proxy;
mod repeat;
mod stream;
mod trust;

use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bakeoff_plan::{Client, Encoding, Protocol, Request, SentBody, with_user_agent};
use bakeoff_record::{AnswerCheck, Negotiated, When};

use crate::certificates::NAMES;
use crate::host;
use crate::program::sha256;
pub use hint::speaks_tls;
use stream::Stream;
pub(crate) use trust::Trust;

/// No answer of a workload is larger. Tests see to it with fewer bytes than may come before a
/// window of HTTP/2 is full.
const ANSWER_BYTES_MAX: usize = if cfg!(test) { 32 << 10 } else { 256 << 20 };
/// No body of a workload is larger when it is decoded.
const DECODED_BYTES_MAX: u64 = 256 << 20;

/// The request and the right answer to it.
#[derive(Debug, Clone)]
pub(crate) struct Expectation {
    request: Request,
    /// Its headers as the load sends them.
    headers: Vec<(String, String)>,
    /// What is sent with it.
    sent: Option<Vec<u8>>,
    /// The body of the right answer, decoded; `None` where any is.
    body: Option<Vec<u8>>,
    protocol: Protocol,
    approach: Approach,
}

/// How a server is asked, whatever the request.
#[derive(Debug, Clone)]
pub(crate) struct Approach {
    /// What its certificate must lead to.
    pub(crate) trust: Trust,
    /// Name that it is asked by instead of its address.
    pub(crate) host: Option<String>,
    /// How a connection is set up.
    pub(crate) client: Client,
}

impl Approach {
    /// Of a server whose certificate may be any.
    pub(crate) fn by(host: Option<String>, client: &Client) -> Self {
        Self {
            trust: Trust::Anything,
            host,
            client: client.clone(),
        }
    }
}

/// An answer as it came.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) negotiated: Negotiated,
}

/// A request as a protocol's module needs it.
struct Asked<'a> {
    method: &'a str,
    /// Host and port.
    authority: String,
    path: &'a str,
    headers: &'a [(String, String)],
    secure: bool,
    /// What it asks for over TLS (SNI).
    server_name: &'a str,
    body: Option<Sent<'a>>,
}

/// A body on its way to the server.
struct Sent<'a> {
    bytes: &'a [u8],
    /// In chunks instead of with a length.
    chunked: bool,
}

impl Expectation {
    pub(crate) fn of(request: &Request, protocol: Protocol, approach: &Approach) -> Self {
        Self {
            request: request.clone(),
            headers: with_user_agent(&request.headers),
            sent: request.body.as_ref().map(|body| body.content.bytes()),
            body: request.expect.body_bytes(),
            protocol,
            approach: approach.clone(),
        }
    }

    /// Asks once; `limit` is for the whole exchange.
    pub(crate) fn ask(&self, address: SocketAddr, limit: Duration) -> io::Result<Answer> {
        let answer = self.exchange(address, Instant::now() + limit);
        // What is cut short fails wherever it is.
        answer.map_err(|cause| {
            if host::is_interrupted() {
                host::interrupted()
            } else {
                cause
            }
        })
    }

    fn exchange(&self, address: SocketAddr, end: Instant) -> io::Result<Answer> {
        let asked = self.asked(address);
        if self.protocol.is_h3() {
            return h3::ask(address, &asked, &self.approach, 1, end).map(|(answer, _)| answer);
        }
        let mut stream = self.connect(address, end)?;
        let negotiated = stream.negotiated(self.protocol);
        let answer = if self.protocol.is_h2() {
            h2::ask(stream, &asked, 1, end)
        } else {
            h1::ask(&mut stream, &asked, true, end)
        };
        Ok(Answer {
            negotiated,
            ..answer.map_err(|cause| self.named(cause, address, end))?
        })
    }

    /// A connection that ends without a word where a handshake of TLS succeeds is one of TLS.
    fn named(&self, cause: io::Error, address: SocketAddr, end: Instant) -> io::Error {
        use io::ErrorKind::{ConnectionReset, UnexpectedEof};
        let is_closed = matches!(cause.kind(), ConnectionReset | UnexpectedEof);
        let speaks_tls = || {
            let name = self.server_name();
            let approach = Approach {
                trust: Trust::Anything,
                ..self.approach.clone()
            };
            Stream::connect(address, Protocol::H1Tls, &approach, name, end).is_ok()
        };
        if is_closed && !self.protocol.is_secure() && speaks_tls() {
            let message = "it speaks TLS here: use https, or --protocol h1-tls";
            return io::Error::new(cause.kind(), message);
        }
        cause
    }

    /// A connection over TCP.
    fn connect(&self, address: SocketAddr, end: Instant) -> io::Result<Stream> {
        Stream::connect(
            address,
            self.protocol,
            &self.approach,
            self.server_name(),
            end,
        )
    }

    fn server_name(&self) -> &str {
        self.approach.host.as_deref().unwrap_or(NAMES[0])
    }

    fn asked(&self, address: SocketAddr) -> Asked<'_> {
        Asked {
            method: &self.request.method,
            authority: self
                .approach
                .host
                .clone()
                .unwrap_or_else(|| address.to_string()),
            path: &self.request.path,
            headers: &self.headers,
            secure: self.protocol.is_secure(),
            server_name: self.server_name(),
            body: self.sent(),
        }
    }

    fn sent(&self) -> Option<Sent<'_>> {
        let chunked = self.request.body.as_ref().is_some_and(|body| body.chunked);
        let bytes = self.sent.as_deref()?;
        Some(Sent { bytes, chunked })
    }

    /// What a workload's URL begins with.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.protocol.is_secure() {
            "https"
        } else {
            "http"
        }
    }

    /// Whether it travels in datagrams.
    pub(crate) fn is_over_udp(&self) -> bool {
        self.protocol.is_h3()
    }

    /// Whether this is the right answer; where nobody has said what that is, whether it is an
    /// answer and no failure.
    pub(crate) fn is_met_by(&self, answer: &Answer) -> bool {
        let expect = &self.request.expect;
        if expect.is_open() {
            return answer.status < 500;
        }
        let body = match &self.body {
            _ if self.request.method == "HEAD" => true,
            None => expect.sent().is_none_or(|sent| answer.is_sent_as(sent)),
            Some(body) => match expect.encoding {
                Encoding::Identity => answer.body == *body,
                Encoding::Gzip => answer.unzipped().as_ref() == Some(body),
            },
        };
        answer.status == expect.status && body
    }

    /// The right answer, for people.
    pub(crate) fn described(&self) -> String {
        let expect = &self.request.expect;
        let encoding = match expect.encoding {
            Encoding::Identity => "",
            Encoding::Gzip => " compressed by gzip",
        };
        match (&self.body, expect.sent()) {
            _ if expect.is_open() => "any answer with a status below 500".to_owned(),
            (Some(body), _) => describe(expect.status, body) + encoding,
            (None, Some(sent)) => format!("status {} and {sent}", expect.status),
            (None, None) => format!("status {} and any body", expect.status),
        }
    }

    /// What to try after a wrong answer; empty, or a clause that follows a sentence.
    pub(crate) fn hint(&self, answer: &Answer) -> String {
        let hint = hint::hint(answer, self.protocol, self.request.expect.status);
        hint.map_or(String::new(), |hint| format!("; {hint}"))
    }
}

impl Answer {
    /// The first header of this name, in any case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The answer, for people.
    pub(crate) fn described(&self) -> String {
        let sent_on = self
            .header("Location")
            .map_or(String::new(), |place| format!(", redirected to {place:?}"));
        let description = match (self.header("Content-Encoding"), self.unzipped()) {
            (Some(_), Some(body)) => describe(self.status, &body) + " compressed by gzip",
            (Some(other), None) => {
                describe(self.status, &self.body) + &format!(" encoded as {other:?}")
            }
            (None, _) => describe(self.status, &self.body),
        };
        description + &sent_on
    }

    /// Whether its body is like this on the wire.
    fn is_sent_as(&self, sent: &SentBody) -> bool {
        let length = self.body.len() as u64;
        let is_length = sent.bytes.is_none_or(|bytes| bytes == length);
        let digest = sent.sha256.as_ref();
        let changing = sent.changing.as_ref();
        is_length
            && digest.is_none_or(|digest| *digest == sha256(&self.body))
            && changing.is_none_or(|it| it.may_have(length as f64))
    }

    pub(crate) fn to_check(&self, when: When, request: String, right: bool) -> AnswerCheck {
        let decoded = self.unzipped();
        AnswerCheck {
            when,
            request,
            status: self.status,
            body_bytes: self.body.len() as u64,
            body_sha256: sha256(&self.body),
            decoded_bytes: decoded.as_ref().map(|body| body.len() as u64),
            decoded_sha256: decoded.as_ref().map(|body| sha256(body)),
            negotiated: self.negotiated.clone(),
            headers: self.headers.clone(),
            right,
        }
    }

    /// The body without its compression; `None` unless it says that it is compressed by gzip,
    /// and is.
    fn unzipped(&self) -> Option<Vec<u8>> {
        let encoding = self.header("Content-Encoding")?;
        if !encoding.eq_ignore_ascii_case("gzip") {
            return None;
        }
        let mut decoded = Vec::new();
        let decoder = flate2::bufread::MultiGzDecoder::new(self.body.as_slice());
        let length = decoder
            .take(DECODED_BYTES_MAX + 1)
            .read_to_end(&mut decoded)
            .ok()?;
        (length as u64 <= DECODED_BYTES_MAX).then_some(decoded)
    }
}

fn describe(status: u16, body: &[u8]) -> String {
    let beginning: String = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
    let more = if body.len() > 80 { "..." } else { "" };
    format!(
        "status {status} and {} bytes {beginning:?}{more}",
        body.len()
    )
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

fn too_late(came: usize) -> io::Error {
    let message = format!("no whole answer in time; {came} bytes arrived");
    io::Error::new(io::ErrorKind::TimedOut, message)
}

/// More came than an answer can have.
fn endless() -> io::Error {
    io::Error::other(format!(
        "the answer does not end: more than {ANSWER_BYTES_MAX} bytes arrived"
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_compressed_answer_is_compared_as_what_it_stands_for() {
        let text = "name = \"w\"\nheaders = [\"Accept-Encoding: gzip\"]\n\
                    [expect]\nencoding = \"gzip\"\ntext = \"hello\"\n";
        let workload = bakeoff_plan::parse_workload(text, "w").unwrap();
        let request = workload.requests.first();
        let expectation = Expectation::of(
            request,
            workload.protocol,
            &Approach::by(None, &Client::default()),
        );
        let zipped = |text: &str| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let check = |encoding: Option<&str>, body: &[u8], right: bool| {
            let name = "content-encoding".to_owned();
            let answer = Answer {
                status: 200,
                headers: encoding
                    .map(|it| (name, it.to_owned()))
                    .into_iter()
                    .collect(),
                body: body.to_vec(),
                ..Answer::default()
            };
            assert_eq!(
                expectation.is_met_by(&answer),
                right,
                "{}",
                answer.described()
            );
        };
        check(Some("gzip"), &zipped("hello"), true);
        check(Some("gzip"), &zipped("hallo"), false);
        check(Some("gzip"), b"hello", false);
        check(Some("br"), &zipped("hello"), false);
        check(None, &zipped("hello"), false);
        check(None, b"hello", false);
    }
}
