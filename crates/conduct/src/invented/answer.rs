//! Answers of an invented server outside the window.

use bakeoff_plan::{Encoding, Protocol, Request};
use bakeoff_record::{AnswerCheck, Negotiated, When};
use bakeoff_stage::Fetched;

use super::chance::Chance;
use super::world::Server;

impl Server {
    /// What it agrees on over a protocol.
    pub(super) fn negotiated(&self, protocol: Protocol) -> Negotiated {
        let tls = |text: &str| protocol.is_secure().then(|| text.to_owned());
        // What QUIC agreed on is not seen.
        let seen = |text: &str| tls(text).filter(|_| !protocol.is_h3());
        let name = match protocol {
            Protocol::H1Tls => "h1",
            other => other.name(),
        };
        let alpn = match protocol {
            Protocol::H1Tls => "http/1.1",
            other => other.name(),
        };
        Negotiated {
            protocol: self.answer.protocol.clone().unwrap_or(name.to_owned()),
            tls_version: tls("TLSv1.3"),
            cipher: seen("TLS13_AES_128_GCM_SHA256"),
            group: seen("X25519"),
            alpn: tls(alpn),
            settings: None,
        }
    }

    /// Its `number`th answer to a request where nothing is wrong.
    pub(super) fn fetched(&self, request: &Request, protocol: Protocol, number: u32) -> Fetched {
        let expect = &request.expect;
        let own = || {
            if self.answer.changes {
                // As long as an id that counts requests becomes.
                let id = 37_u32.pow(number);
                format!("{}{id}", self.answer.body).into_bytes()
            } else {
                self.answer.body.clone().into_bytes()
            }
        };
        let is_open = expect.is_open();
        let decoded = expect.body_bytes().unwrap_or_else(own);
        let is_zipped = expect.encoding == Encoding::Gzip;
        // Nobody decodes it.
        let body = if is_zipped {
            decoded[..decoded.len() / 2].to_vec()
        } else {
            decoded.clone()
        };
        let status = if is_open {
            self.answer.status
        } else {
            expect.status
        };
        let mut headers = vec![
            ("Server".to_owned(), super::INVENTED.to_owned()),
            ("Content-Length".to_owned(), body.len().to_string()),
        ];
        if is_zipped {
            headers.push(("Content-Encoding".to_owned(), "gzip".to_owned()));
        }
        let sent = expect.sent();
        let is_sent = sent.is_none_or(|sent| {
            let digest = sent.sha256.as_ref();
            sent.bytes.is_none_or(|bytes| bytes == body.len() as u64)
                && digest.is_none_or(|it| *it == digest_of(&body))
                && sent
                    .changing
                    .as_ref()
                    .is_none_or(|it| it.may_have(body.len() as f64))
        });
        Fetched {
            check: AnswerCheck {
                when: When::Before,
                request: request.name(),
                status,
                body_bytes: body.len() as u64,
                body_sha256: digest_of(&body),
                decoded_bytes: is_zipped.then_some(decoded.len() as u64),
                decoded_sha256: is_zipped.then(|| digest_of(&decoded)),
                negotiated: self.negotiated(protocol),
                headers,
                right: if is_open { status < 500 } else { is_sent },
            },
            body,
        }
    }

    /// Its answer on a side of the window.
    pub(super) fn answered(&self, request: &Request, protocol: Protocol, when: When) -> Fetched {
        let number = 2 + u32::from(when == When::After);
        let mut fetched = self.fetched(request, protocol, number);
        fetched.check.when = when;
        if self.answer.wrong == Some(when) {
            fetched.body.push(b'?');
            fetched.check.body_bytes += 1;
            fetched.check.body_sha256 = digest_of(&fetched.body);
            fetched.check.right = false;
        }
        fetched
    }
}

/// As long as a SHA-256, and another one for other bytes. No more is asked of it here.
fn digest_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    format!("{:016x}", Chance::of(bytes.len() as u64, &text).seed()).repeat(4)
}
