//! What a wrong answer suggests to try.
//!
//! It knows what servers usually mean by a status or a redirect, and nothing of the server asked.

use bakeoff_plan::Protocol;

use super::Answer;

/// Longest page of a server that refuses a request in the clear, bytes.
const REFUSAL_BYTES_MAX: usize = 4096;

/// What to try after an answer over `protocol` that was not the `expected` one, as a clause.
pub(super) fn hint(answer: &Answer, protocol: Protocol, expected: u16) -> Option<String> {
    let status = answer.status;
    if let Some(place) = answer
        .header("Location")
        .filter(|_| (300..400).contains(&status))
    {
        return Some(redirected(place, status, protocol));
    }
    match status {
        400 if speaks_tls(&answer.body) => {
            Some("it speaks TLS here: try `--protocol h1-tls`".to_owned())
        }
        401 | 407 => Some("it asks for credentials: add an `Authorization` header".to_owned()),
        404 if expected != 404 => {
            Some("it has nothing at this path: check the path and its document root".to_owned())
        }
        421 => Some("it does not know this name: set `host` to one that it serves".to_owned()),
        426 => Some("it wants another version of HTTP: try `--protocol h2`".to_owned()),
        429 => Some("it limits how often it is asked: raise that limit".to_owned()),
        502 | 504 => Some("its upstream does not answer: see its log".to_owned()),
        503 => Some(
            "its upstream does not answer, or it refuses by a limit or with a page of \
             maintenance: see its log"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Whether a body says that the request in the clear came to where TLS is spoken, in the words of
/// nginx, Go, Apache httpd and Node.js.
pub fn speaks_tls(body: &[u8]) -> bool {
    // They are short.
    let body = &body[..body.len().min(REFUSAL_BYTES_MAX)];
    let body = String::from_utf8_lossy(body).to_lowercase();
    let messages = [
        "sent to https port",
        "http request to an https server",
        "plain http to an ssl-enabled server port",
    ];
    messages.iter().any(|message| body.contains(message))
}

fn redirected(place: &str, status: u16, protocol: Protocol) -> String {
    if place.starts_with("https://") && !protocol.is_secure() {
        return format!("{status} to https: try `--protocol h2`");
    }
    let rest = place.split_once("://").map(|(_, rest)| rest);
    let path = match rest {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => place,
    };
    format!("{status} to {path:?}: try this path, or expect status {status}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, header: Option<&str>, body: &str, protocol: Protocol, expected: &str) {
        let location = header.map(|place| ("Location".to_owned(), place.to_owned()));
        let answer = Answer {
            status,
            headers: location.into_iter().collect(),
            body: body.as_bytes().to_vec(),
            ..Answer::default()
        };
        assert_eq!(hint(&answer, protocol, 200).unwrap_or_default(), expected);
    }

    #[test]
    fn a_cause_that_is_common_becomes_a_hint() {
        use Protocol::{H1, H2};
        let secure = "308 to https: try `--protocol h2`";
        check(308, Some("https://x/"), "", H1, secure);
        let path = "302 to \"/login\": try this path, or expect status 302";
        check(302, Some("https://x/login"), "", H2, path);
        check(302, Some("/login"), "", H1, path);
        let tls = "it speaks TLS here: try `--protocol h1-tls`";
        let nginx = "The plain HTTP request was sent to HTTPS port";
        check(400, None, nginx, H1, tls);
        check(
            400,
            None,
            "Client sent an HTTP request to an HTTPS server.",
            H1,
            tls,
        );
        check(400, None, "", H1, "");
        check(200, None, "other", H1, "");
        let upstream = "its upstream does not answer: see its log";
        check(502, None, "", H1, upstream);
        let refuses = "its upstream does not answer, or it refuses by a limit or with a page of \
                       maintenance: see its log";
        check(503, None, "", H1, refuses);
    }
}
