//! Lines of Caddy's access log, one JSON object each.
//!
//! Form: [Caddy's logging](https://caddyserver.com/docs/logging). Headers are not looked at, so no
//! cookie and no credential comes into a plan.

use serde::Deserialize;

use super::Logged;

#[derive(Deserialize)]
struct Line {
    request: Request,
    status: u16,
    /// Bytes of the body as sent.
    size: u64,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    host: String,
    uri: String,
}

/// The request of a line; `None` where it is none, as lines of Caddy's other loggers.
pub(super) fn parse(line: &str) -> Option<Logged> {
    let line: Line = serde_json::from_str(line).ok()?;
    Some(Logged {
        method: line.request.method,
        target: line.request.uri,
        host: Some(line.request.host),
        status: line.status,
        bytes: Some(line.size),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_as_caddy_2_11_writes_it() {
        let line = r#"{"level":"info","ts":1763719200.5,"logger":"http.log.access.log0",
            "msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"5",
            "client_ip":"127.0.0.1","proto":"HTTP/1.1","method":"GET","host":"x:8080",
            "uri":"/a?b=c","headers":{"User-Agent":["curl/7"],"Cookie":["REDACTED"]}},
            "bytes_read":0,"user_id":"","duration":0.0002,"size":13,"status":200,
            "resp_headers":{"Server":["Caddy"]}}"#;
        let expected = Logged {
            method: "GET".to_owned(),
            target: "/a?b=c".to_owned(),
            host: Some("x:8080".to_owned()),
            status: 200,
            bytes: Some(13),
        };
        assert_eq!(parse(line), Some(expected));
    }

    #[test]
    fn what_is_no_request_is_not_taken_for_one() {
        let other = r#"{"level":"info","ts":1.5,"msg":"serving initial configuration"}"#;
        let negative = r#"{"request":{"method":"GET","host":"","uri":"/"},"status":-1,"size":1}"#;
        for line in ["", "{", "[]", "null", other, negative] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
