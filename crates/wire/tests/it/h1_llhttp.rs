//! What llhttp's tests of responses look at, one case of our own for each behaviour. Where we
//! differ on purpose the case says ours; `docs/http1.md` names the difference and why.

use bakeoff_wire::h1::{HeadMemo, Violation};

use crate::h1_support::{Read, read};

/// Each case, whole and cut into pieces of every small size.
#[track_caller]
fn check(input: &str, to_head_request: bool, expected: Result<Read, Violation>) {
    for piece in [input.len(), 1, 2, 3, 5] {
        let got = read(
            input.as_bytes(),
            piece,
            to_head_request,
            &mut HeadMemo::default(),
        );
        let got = got.map(|read| read.expect("the response ends"));
        assert_eq!(got, expected, "{input:?} in pieces of {piece}");
    }
}

/// `input` is a response with this status and body, and `left` is beyond it.
#[track_caller]
fn accepts(input: &str, status: u16, body: &str, keep_alive: bool, left: &str) {
    let read = Read {
        status,
        body: body.to_owned(),
        keep_alive,
        left: left.len(),
    };
    check(&format!("{input}{left}"), false, Ok(read));
}

#[track_caller]
fn refuses(inputs: &[&str], violation: Violation) {
    for input in inputs {
        check(input, false, Err(violation));
    }
}

#[test]
fn heads_as_they_should_be() {
    for head in [
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: one\r\nX-B:\t two\t \r\n\r\n",
        "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200  Two spaces\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 Grüß Gott\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-$et_.odd~: v; w=\"x y\"; $1\r\ncontent-LENGTH: 0\r\n\r\n",
        "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \t 0 \t\r\n\r\n",
    ] {
        accepts(head, 200, "", true, "");
    }
}

#[test]
fn a_line_without_value_swallows_no_other() {
    let head = "HTTP/1.1 301 Moved\r\nPragma: \r\nContent-Length: 2\r\nX:\r\n\r\n";
    accepts(&format!("{head}hi"), 301, "hi", true, "");
}

#[test]
fn status_lines_of_other_shapes_are_refused() {
    refuses(
        &[
            "HTP/1.1 200 OK\r\n\r\n",
            "HTTPS/1.1 200 OK\r\n\r\n",
            "http/1.1 200 OK\r\n\r\n",
            "HTTP/01.1 200 OK\r\n\r\n",
            "HTTP/10.1 200 OK\r\n\r\n",
            "HTTP/1.10 200 OK\r\n\r\n",
            "HTTP/1.1\t200 OK\r\n\r\n",
            "\rHTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1  200 OK\r\n\r\n",
            "HTTP/1.1 2 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 2x0 OK\r\n\r\n",
            "HTTP/1.1 200 OK\rContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\rContent-Length: 0\r\n\r\n",
            // llhttp takes these four; no server that is asked in HTTP/1.1 may answer so.
            "HTTP/0.9 200 OK\r\n\r\n",
            "HTTP/2.0 200 OK\r\n\r\n",
            "RTSP/1.0 200 OK\r\n\r\n",
            "ICE/1.0 200 OK\r\n\r\n",
        ],
        Violation::MalformedHead,
    );
}

#[test]
fn header_lines_of_other_shapes_are_refused() {
    refuses(
        &[
            "HTTP/1.1 200 OK\r\n X: leading space\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 1\rB: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nen GB X: two words\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: \u{1}\r\n\r\n",
        ],
        Violation::MalformedHead,
    );
}

#[test]
fn laxer_than_llhttp_in_lines() {
    // Lines that end in LF alone (RFC 9112, 2.2).
    let bare = "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi";
    accepts(bare, 200, "hi", true, "");
    // White space before the colon, which only a request must be refused for (RFC 9112, 5.1).
    let spaced = "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi";
    accepts(spaced, 200, "hi", true, "");
    // A value that goes on in the next line (RFC 9112, 5.2).
    let folded = "HTTP/1.1 200 OK\r\nX: a\r\n\tb\r\nContent-Length: 2\r\n\r\nhi";
    accepts(folded, 200, "hi", true, "");
}

#[test]
fn a_length_is_a_number_and_one() {
    let with = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\nhi");
    accepts(&with("Content-Length: 02"), 200, "hi", true, "");
    // llhttp refuses these; they say one thing (RFC 9112, 6.3).
    let twice = with("Content-Length: 2\r\nContent-Length: 2");
    accepts(&twice, 200, "hi", true, "");
    accepts(&with("Content-Length: 2, 2"), 200, "hi", true, "");
    for lines in [
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 2x",
        "Content-Length: +2",
        "Content-Length: -2",
        "Content-Length: 0x2",
        "Content-Length: 1 2",
        "Content-Length:",
        "Content-Length: 18446744073709551616",
    ] {
        refuses(&[&with(lines)], Violation::BadContentLength);
    }
    // Another name that begins alike is another name.
    let alike = with("Content-Length-Was: 0\r\nX-Content-Length: 0");
    accepts(&alike, 200, "hi", false, "");
}

#[test]
fn where_a_body_ends_without_length() {
    // Whatever follows is body, if it looks like a response too.
    let second = "HTTP/1.1 200 OK\r\n\r\n";
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    ] {
        accepts(&format!("{head}{second}"), 200, second, false, "");
    }
    accepts("HTTP/1.1 200 OK\r\n\r\n", 200, "", false, "");
    accepts("HTTP/1.1 404 Not Found\r\n\r\n", 404, "", false, "");
}

#[test]
fn what_has_no_body_ends_with_its_head() {
    let next = "HTTP/1.1 200 OK\r\n\r\n";
    for (head, status, keep_alive) in [
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, true),
        (
            "HTTP/1.0 204 No Content\r\nConnection: keep-alive\r\n\r\n",
            204,
            true,
        ),
        ("HTTP/1.0 204 No Content\r\n\r\n", 204, false),
        (
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
            204,
            false,
        ),
        (
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n",
            304,
            true,
        ),
        (
            "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
            304,
            true,
        ),
    ] {
        accepts(head, status, "", keep_alive, next);
    }
    let to_head = "HTTP/1.1 200 OK\r\nContent-Length: 123\r\n\r\n";
    let read = Read {
        status: 200,
        body: String::new(),
        keep_alive: true,
        left: next.len(),
    };
    check(&format!("{to_head}{next}"), true, Ok(read));
}

#[test]
fn what_comes_beyond_a_response_is_left_and_not_read_on() {
    // llhttp reads on; we ask for one response at a time, so the caller calls it too long.
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nAAA";
    accepts(length, 200, "AAA", true, "HTTP/1.1 201 Made\r\n\r\n");
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nAAA";
    accepts(closing, 200, "AAA", false, "more");
    // One that asks for an upgrade may get it: what follows is no HTTP (RFC 9110, 7.8).
    let upgraded = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n";
    let with_length = format!("{upgraded}Content-Length: 4\r\n\r\n");
    accepts(&with_length, 101, "", false, "body");
    let chunked = format!("{upgraded}Transfer-Encoding: chunked\r\n\r\n");
    accepts(&chunked, 101, "", false, "0\r\n\r\n");
    // Without the switch, Upgrade is a header line like others.
    let offered = "HTTP/1.1 200 OK\r\nUpgrade: x\r\nContent-Length: 4\r\n\r\nbody";
    accepts(offered, 200, "body", true, "");
}

#[test]
fn interim_responses_come_before_the_answer() {
    for interim in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n",
        "HTTP/1.1 102 Processing\r\nContent-Length: 9\r\n\r\n",
    ] {
        let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno!";
        accepts(&format!("{interim}{interim}{answer}"), 404, "no!", true, "");
    }
}

#[test]
fn who_may_close_and_who_may_not() {
    let with = |line: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{line}\r\n\r\n");
    accepts(&with("Connection: Close"), 200, "", false, "");
    accepts(
        &with("Connection: keep-alive, x, close"),
        200,
        "",
        false,
        "",
    );
    accepts(&with("Connection: closed"), 200, "", true, "");
    // llhttp takes it for Connection; no standard does.
    accepts(&with("Proxy-Connection: close"), 200, "", true, "");
}

/// A head that announces chunks, before `rest`.
fn chunked(rest: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{rest}")
}

#[test]
fn chunks_with_all_that_may_stand_beside_them() {
    for rest in [
        "5\r\nhello\r\n0\r\n\r\n",
        "1\r\nh\r\n0004\r\nello\r\n000\r\n\r\n",
        "5;a=b;c;d=\"e; f\"\r\nhello\r\n0;last\r\n\r\n",
        "5\r\nhello\r\n0\r\nX-Trailer: 1\r\nVary: *\r\n\r\n",
        // llhttp refuses these four: what stands behind a size changes nothing for us.
        "5  \r\nhello\r\n0 \r\n\r\n",
        "5 words\r\nhello\r\n0 more words\r\n\r\n",
        "5;\r\nhello\r\n0;\r\n\r\n",
        "5;a=\"b\r\nhello\r\n0\r\n\r\n",
    ] {
        accepts(&chunked(rest), 200, "hello", true, "");
    }
    let ten = "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n";
    accepts(&chunked(ten), 200, "01234567890123456789", true, "");
    accepts(&chunked("0\r\n\r\n"), 200, "", true, "left");
}

#[test]
fn broken_chunks_are_refused() {
    for rest in [
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "+1\r\nx\r\n0\r\n\r\n",
        "0x1\r\n",
        " 1\r\nx\r\n0\r\n\r\n",
        "1\nx\r\n0\r\n\r\n",
        "1;a\nx\r\n0\r\n\r\n",
        "1\r\nxy\r\n",
        "1\r\nx0\r\n\r\n",
        "1\r\nx\n0\r\n\r\n",
        "10000000000000000\r\n",
        "0\r\nX: 1\n\r\n",
    ] {
        refuses(&[&chunked(rest)], Violation::BadChunk);
    }
}

#[test]
fn which_transfer_coding_is_chunked() {
    let with = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n0\r\n\r\n");
    for lines in [
        "Transfer-Encoding: CHUNKED",
        "Transfer-Encoding:\tgzip ,chunked ",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
    ] {
        accepts(&with(lines), 200, "", true, "");
    }
    // Anything else at the end: the body ends with the connection (RFC 9112, 6.3).
    for lines in [
        "Transfer-Encoding: chunked, deflate",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: chunkedchunked",
        "Transfer-Encoding: chunked\r\n  or not",
        "Transfer-Encoding:",
    ] {
        accepts(&with(lines), 200, "0\r\n\r\n", false, "");
    }
    for lines in [
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nTransfer-Encoding: gzip",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked, gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: Chunked",
    ] {
        refuses(&[&with(lines)], Violation::BadTransferEncoding);
    }
}
