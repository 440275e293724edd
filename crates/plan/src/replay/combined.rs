//! Lines of a log in the combined or the common format, as Apache's and nginx's are.
//!
//! Form: [Apache's log files](https://httpd.apache.org/docs/2.4/logs.html#accesslog). Text before
//! the time and after the size is ignored.

use super::Logged;

/// The request of a line; `None` where it is none.
pub(super) fn parse(line: &str) -> Option<Logged> {
    // A user's name may hold blanks and quotes; a time ends with a bracket, and a quote follows.
    let (before, rest) = line.split_once("] \"")?;
    before.contains('[').then_some(())?;
    let (request, rest) = rest.split_at_checked(closing_quote(rest)?)?;
    let mut words = rest.strip_prefix("\" ")?.split_ascii_whitespace();
    let status = words.next().filter(|status| status.len() == 3)?;
    let bytes = match words.next()? {
        "-" => 0,
        digits => digits.parse().ok()?,
    };
    let mut request = request.split(' ');
    let (method, target) = (request.next()?, request.next()?);
    let version = request.next()?.strip_prefix("HTTP/")?;
    (!version.is_empty() && request.next().is_none()).then_some(())?;
    Some(Logged {
        method: method.to_owned(),
        target: target.to_owned(),
        host: None,
        status: status.parse().ok()?,
        bytes: Some(bytes),
    })
}

/// Where the first quote stands that no backslash precedes: Apache writes one inside as `\"`.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(&str, &str, u16, u64)>) {
        let found = parse(line);
        let found = found.as_ref().map(|it| {
            let bytes = it.bytes.unwrap();
            (it.method.as_str(), it.target.as_str(), it.status, bytes)
        });
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn combined_common_and_what_others_put_before_and_after() {
        let time = "[21/Nov/2026:10:00:00 +0000]";
        let page = Some(("GET", "/a?b=c", 200, 2326));
        check(
            &format!("::1 - - {time} \"GET /a?b=c HTTP/1.1\" 200 2326"),
            page,
        );
        check(
            &format!("10.0.0.1 - - {time} \"GET /a?b=c HTTP/2.0\" 200 2326 \"-\" \"curl/7\""),
            page,
        );
        check(
            &format!("www.x:443 ::1 - a \"b\" [c {time} \"GET /a?b=c HTTP/1.0\" 200 2326 0.004"),
            page,
        );
        let none = Some(("HEAD", "/", 304, 0));
        check(&format!("::1 - - {time} \"HEAD / HTTP/1.1\" 304 -"), none);
        let quoted = Some(("GET", "/\\\"", 404, 1));
        check(
            &format!("::1 - - {time} \"GET /\\\" HTTP/1.1\" 404 1"),
            quoted,
        );
    }

    #[test]
    fn what_is_no_request_is_not_taken_for_one() {
        let time = "[21/Nov/2026:10:00:00 +0000]";
        for request in [
            "",
            "\\x16\\x03\\x01",
            "GET /",
            "GET / b HTTP/1.1",
            "GET / HTTP/",
        ] {
            check(&format!("::1 - - {time} \"{request}\" 400 150"), None);
        }
        for rest in [
            "", " 200", " 20 1", " abc 1", " 200 -1", " 200 1.5", "200 1",
        ] {
            check(&format!("::1 - - {time} \"GET / HTTP/1.1\"{rest}"), None);
        }
        for line in [
            "",
            "] \"GET / HTTP/1.1\" 200 1",
            "[x] \"GET / HTTP/1.1 200 1",
            "\"\\",
        ] {
            check(line, None);
        }
    }
}
