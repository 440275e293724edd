//! One HTTP/1.1 exchange. It follows nothing.

use std::io;
use std::time::Instant;

use super::stream::{LOOK, Stream};
use super::{ANSWER_BYTES_MAX, Answer, Asked, Sent};
use crate::host;

/// How a record of TLS begins that refuses something.
const TLS_ALERT: [u8; 2] = [0x15, 0x03];
/// Interim responses that are skipped before the answer.
const INTERIM_MAX: usize = 100;
/// Bytes of all heads of an answer.
const HEADS_BYTES_MAX: usize = 1 << 20;
/// Bytes of the trailers of a body in chunks.
const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// Asks on a connection that nothing is under way on, until `end` at the latest; `last` says that
/// it is not needed after that.
pub(super) fn ask(
    stream: &mut Stream,
    asked: &Asked<'_>,
    last: bool,
    end: Instant,
) -> io::Result<Answer> {
    stream.write_all(&head(asked, last))?;
    if let Some(sent) = &asked.body {
        stream.write_all(&framed(sent))?;
    }
    let mut bytes = Vec::new();
    let mut chunk = [0; 64 * 1024];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(super::too_late(bytes.len()));
        }
        if host::is_interrupted() {
            return Err(host::interrupted());
        }
        let length = match stream.read_within(&mut chunk, left.min(LOOK)) {
            Ok(length) => length,
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => continue,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) if stream.is_over() => continue,
            Err(cause) => return Err(cause),
        };
        bytes.extend_from_slice(&chunk[..length]);
        if length == 0 && (bytes.is_empty() || bytes.starts_with(&TLS_ALERT)) {
            let message = "the connection closed inside the head";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        if let Some(answer) = parse(&bytes, length == 0, asked.method == "HEAD")? {
            return Ok(answer);
        }
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(super::endless());
        }
    }
}

fn head(asked: &Asked<'_>, last: bool) -> Vec<u8> {
    let Asked {
        method,
        path,
        authority,
        ..
    } = asked;
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\n");
    for (name, value) in asked.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match &asked.body {
        Some(sent) if sent.chunked => head.push_str("Transfer-Encoding: chunked\r\n"),
        Some(sent) => head.push_str(&format!("Content-Length: {}\r\n", sent.bytes.len())),
        None if matches!(*method, "POST" | "PUT" | "PATCH") => {
            head.push_str("Content-Length: 0\r\n");
        }
        None => {}
    }
    head.push_str(if last {
        "Connection: close\r\n\r\n"
    } else {
        "\r\n"
    });
    head.into_bytes()
}

/// The body as it follows the head: whole, or as one chunk and the last.
fn framed(sent: &Sent<'_>) -> Vec<u8> {
    if !sent.chunked {
        return sent.bytes.to_vec();
    }
    let mut bytes = Vec::new();
    if !sent.bytes.is_empty() {
        bytes.extend_from_slice(format!("{:x}\r\n", sent.bytes.len()).as_bytes());
        bytes.extend_from_slice(sent.bytes);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// The answer in `bytes`, once it is whole; `ended` says that no more will come.
fn parse(bytes: &[u8], ended: bool, no_body: bool) -> io::Result<Option<Answer>> {
    let mut rest = bytes;
    for _ in 0..=INTERIM_MAX {
        let Some(length) = find(rest, b"\r\n\r\n") else {
            return if ended {
                Err(wrong("the connection closed inside the head"))
            } else if bytes.len() > HEADS_BYTES_MAX {
                Err(wrong("the head does not end"))
            } else {
                Ok(None)
            };
        };
        let head = String::from_utf8_lossy(&rest[..length]);
        rest = &rest[length + 4..];
        let status = status(&head)?;
        if !(100..200).contains(&status) || status == 101 {
            return parse_final(status, &head, rest, ended, no_body);
        }
    }
    Err(wrong("the server sends interim responses without end"))
}

/// The status in the first line of a head.
fn status(head: &str) -> io::Result<u16> {
    let first = head.split("\r\n").next().unwrap_or_default();
    let mut words = first.splitn(3, ' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|status| status.parse().ok());
    let status = status.filter(|_| version.starts_with("HTTP/1."));
    status.ok_or_else(|| wrong("the first line is none of HTTP/1"))
}

/// The answer whose head this is, once the `rest` has all of its body.
fn parse_final(
    status: u16,
    head: &str,
    rest: &[u8],
    ended: bool,
    no_body: bool,
) -> io::Result<Option<Answer>> {
    let lines = head.split("\r\n").skip(1);
    let headers: Option<Vec<(String, String)>> = lines
        .map(|line| line.split_once(':'))
        .map(|pair| pair.map(|(name, value)| (name.to_owned(), value.trim().to_owned())))
        .collect();
    let headers = headers.ok_or_else(|| wrong("a header line has no colon"))?;
    let length = length(&headers)?;
    let codings: Vec<&str> = items(&headers, "Transfer-Encoding").collect();
    let is_chunked = |coding: &&str| coding.eq_ignore_ascii_case("chunked");
    let body = if no_body || status == 204 || status == 304 || status == 101 {
        Some(Vec::new())
    } else if !codings.is_empty() && length.is_some() {
        return Err(wrong("Transfer-Encoding stands beside Content-Length"));
    } else if codings.iter().filter(|coding| is_chunked(coding)).count() > 1 {
        return Err(wrong("Transfer-Encoding has `chunked` twice"));
    } else if codings.last().is_some_and(is_chunked) {
        unchunk(rest).ok_or_else(|| wrong("a chunk is malformed"))?
    } else if let Some(length) = length {
        rest.get(..length).map(<[u8]>::to_vec)
    } else {
        ended.then(|| rest.to_vec())
    };
    match body {
        Some(body) => Ok(Some(Answer {
            status,
            headers,
            body,
            ..Answer::default()
        })),
        None if ended => Err(wrong("the connection closed inside the body")),
        None => Ok(None),
    }
}

/// The items of all headers of this name, which are lists.
fn items<'h>(
    headers: &'h [(String, String)],
    wanted: &'h str,
) -> impl Iterator<Item = &'h str> + 'h {
    let named = headers
        .iter()
        .filter(move |(name, _)| name.trim_end().eq_ignore_ascii_case(wanted));
    named.flat_map(|(_, value)| value.split(',').map(str::trim))
}

/// The announced length: several that are equal are one (RFC 9112, 6.3).
fn length(headers: &[(String, String)]) -> io::Result<Option<usize>> {
    let mut length = None;
    for item in items(headers, "Content-Length") {
        let digits = !item.is_empty() && item.bytes().all(|byte| byte.is_ascii_digit());
        let number = item.parse().ok().filter(|_| digits);
        let number = number.ok_or_else(|| wrong("Content-Length is no number"))?;
        if length.is_some_and(|known| known != number) {
            return Err(wrong("two values of Content-Length differ"));
        }
        length = Some(number);
    }
    Ok(length)
}

fn wrong(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause.to_owned())
}

/// The joined chunks; `Some(None)` while more must come, `None` when they are malformed.
#[expect(
    clippy::option_option,
    reason = "malformed, unfinished and whole are three answers"
)]
fn unchunk(mut rest: &[u8]) -> Option<Option<Vec<u8>>> {
    let mut body = Vec::new();
    loop {
        let Some(line_length) = find(rest, b"\r\n") else {
            return Some(None);
        };
        let line = std::str::from_utf8(&rest[..line_length]).ok()?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        rest = &rest[line_length + 2..];
        if size == 0 {
            return Some(is_past_trailers(rest)?.then_some(body));
        }
        let Some(chunk) = rest.get(..size.checked_add(2)?) else {
            return Some(None);
        };
        body.extend_from_slice(chunk.strip_suffix(b"\r\n")?);
        rest = &rest[size + 2..];
    }
}

/// Whether the trailers behind the last chunk have come to their end; `None` where they do not end.
fn is_past_trailers(mut rest: &[u8]) -> Option<bool> {
    let whole = rest.len();
    while let Some(line_length) = find(rest, b"\r\n") {
        if line_length == 0 {
            return Some(true);
        }
        rest = &rest[line_length + 2..];
    }
    (whole <= TRAILER_BYTES_MAX).then_some(false)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ended: bool, expected: Result<Option<(u16, &str)>, &str>) {
        let parsed = parse(text.as_bytes(), ended, false);
        let parsed = parsed.map(|answer| {
            answer.map(|answer| (answer.status, String::from_utf8(answer.body).unwrap()))
        });
        match (parsed, expected) {
            (Ok(parsed), Ok(expected)) => {
                let expected = expected.map(|(status, body)| (status, body.to_owned()));
                assert_eq!(parsed, expected, "{text:?}");
            }
            (Err(cause), Err(part)) => assert!(cause.to_string().contains(part), "{cause}"),
            (parsed, _) => panic!("{text:?}: {parsed:?}"),
        }
    }

    #[test]
    fn reads_every_kind_of_body_and_refuses_what_is_cut() {
        let sized = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
        check(&format!("{sized}hello"), false, Ok(Some((200, "hello"))));
        check(&format!("{sized}hel"), false, Ok(None));
        check(&format!("{sized}hel"), true, Err("inside the body"));
        check(
            "HTTP/1.0 404 No\r\nA: b\r\n\r\nuntil the end",
            true,
            Ok(Some((404, "until the end"))),
        );
        check("HTTP/1.0 404 No\r\nA: b\r\n\r\nuntil", false, Ok(None));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(
            &format!("{chunked}3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"),
            false,
            Ok(Some((200, "abcde"))),
        );
        let capital = chunked.replace("chunked", "Chunked");
        check(
            &format!("{capital}3\r\nabc\r\n0\r\n\r\n"),
            false,
            Ok(Some((200, "abc"))),
        );
        check(&format!("{chunked}3\r\nab"), false, Ok(None));
        check(&format!("{chunked}3\r\nabcd\r\n"), false, Err("malformed"));
        check(
            &format!("HTTP/1.1 100 Continue\r\n\r\n{sized}hello"),
            false,
            Ok(Some((200, "hello"))),
        );
        check("HTTP/1.1 100 Continue\r\n\r\n", false, Ok(None));
        check("SSH-2.0-OpenSSH\r\n\r\n", true, Err("none of HTTP/1"));
        check(
            "HTTP/1.1 204 No\r\nA: b\r\n\r\n",
            false,
            Ok(Some((204, ""))),
        );
        check("HTTP/1.1 200 OK\r\nA", true, Err("inside the head"));
    }

    /// What the engine would refuse under load must not pass as a right answer before it.
    #[test]
    fn an_answer_that_can_be_read_in_two_ways_is_refused() {
        let with = |lines: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n{body}");
        let differs = with("Content-Length: 5\r\nContent-Length: 4", "hello");
        check(&differs, true, Err("differ"));
        check(&with("Content-Length: 5, 4", "hello"), true, Err("differ"));
        check(&with("Content-Length: +5", "hello"), true, Err("no number"));
        let same = with("Content-Length: 5\r\nContent-Length: 5", "hello");
        check(&same, false, Ok(Some((200, "hello"))));
        let chunks = "3\r\nabc\r\n0\r\n\r\n";
        let coded = with("Transfer-Encoding: gzip, chunked", chunks);
        check(&coded, false, Ok(Some((200, "abc"))));
        let two = with(
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
            chunks,
        );
        check(&two, false, Ok(Some((200, "abc"))));
        let twice = with("Transfer-Encoding: chunked, chunked", chunks);
        check(&twice, false, Err("twice"));
        let both = with("Transfer-Encoding: chunked\r\nContent-Length: 3", chunks);
        check(&both, false, Err("beside"));
        let last = with("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n");
        check(&last, false, Ok(None));
        check(&last, true, Err("inside the body"));
        let trailers = format!("{last}{}", "A: b\r\n".repeat(10));
        check(&trailers, false, Ok(None));
        check(&format!("{trailers}\r\n"), false, Ok(Some((200, "abc"))));
        let endless = format!("{last}{}", "A: b\r\n".repeat(10_000));
        check(&endless, false, Err("malformed"));
    }

    #[test]
    fn a_server_that_sends_heads_without_end_is_given_up() {
        let flood = "HTTP/1.1 100 C\r\n\r\n".repeat(200_000);
        check(&flood, false, Err("interim responses without end"));
        let flood = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEADS_BYTES_MAX));
        check(&flood, false, Err("head does not end"));
    }
}
