//! What a server says in place of a page is kept once for each status.

use bakeoff_record::Said;

use super::frames::{DATA, END_HEADERS, END_STREAM, HEADERS, frame};
use super::*;
use crate::driver::invented::Act;

fn spec(mut spec: LoadSpec, status: ExpectedStatus) -> LoadSpec {
    spec.exchanges[0].status = status;
    spec.exchanges[0].body = None;
    spec.exchanges[0].name = "http://a/x".to_owned();
    spec
}

/// Answers with these in turn.
fn in_turn<'a>(answers: &'a [&[u8]]) -> Server<'a> {
    Server::new(move |asked| {
        let answer = answers[asked.number as usize % answers.len()];
        // Head and body in pieces, as many servers send them.
        let length = if answer.len() > 1_000 { 1_000 } else { 30 };
        let pieces = answer.chunks(length).zip(1..);
        let pieces = pieces.map(|(piece, at)| Act::Send(us(100) * at, piece.to_vec()));
        pieces.collect()
    })
}

fn said(status: u16, reason: &str, location: Option<&str>, body: &str) -> Said {
    Said {
        url: "http://a/x".to_owned(),
        status,
        reason: reason.to_owned(),
        location: location.map(str::to_owned),
        body: body.to_owned(),
    }
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const MOVED: &[u8] = b"HTTP/1.1 301 Moved\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n";
const CHUNKED: &[u8] = b"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n\
                         9\r\nsay who\r\n\r\n4\r\nyou \r\n3\r\nare\r\n0\r\n\r\n";

#[test]
fn the_first_answer_of_each_status_is_kept() {
    let long = format!(
        "HTTP/1.1 503 Busy\r\nContent-Length: 70000\r\n\r\n{}",
        "no ".repeat(70_000)
    );
    let long = &long.as_bytes()[..long.len() - 140_000];
    let answers = [OK, MOVED, CHUNKED, long];
    let expected = [
        said(301, "Moved", Some("/y"), ""),
        said(403, "Forbidden", None, "say who you are"),
        said(503, "Busy", None, "no ".repeat(67)[..200].trim()),
    ];
    let mut spec = spec(counted(1, 12), ExpectedStatus::Success);
    for check in [BodyCheck::All, BodyCheck::OneIn(64)] {
        spec.check = check;
        let result = play(&spec, in_turn(&answers)).result;
        assert_eq!(result.observed.said, expected);
        assert_eq!(
            result.status,
            [(200, 3), (301, 3), (403, 3), (503, 3)].into()
        );
        assert_eq!((result.pages_missing(), result.bodies_checked), (3, 0));
    }
}

#[test]
fn nothing_is_kept_of_what_was_asked_for() {
    let expected = ExpectedStatus::Exactly(301);
    let result = play(&spec(counted(1, 5), expected), in_turn(&[MOVED])).result;
    assert_eq!((result.observed.said.len(), result.pages_missing()), (0, 0));
    let result = play(&spec(counted(1, 5), expected), in_turn(&[OK])).result;
    assert_eq!((result.observed.said.len(), result.requests.ok), (0, 0));
}

#[test]
fn over_http2_too() {
    // `:status: 301` and `location: /y`, by their names in the static table.
    let head = b"\x08\x03301\x0f\x1f\x02/y";
    let server = Server::h2(|asked| {
        let head = frame(HEADERS, END_HEADERS, asked.stream, head);
        let body = frame(DATA, END_STREAM, asked.stream, b"gone");
        vec![Act::Send(ms(1), [head, body].concat())]
    });
    let spec = over_h2(spec(counted(2, 10), ExpectedStatus::Success), 2);
    let result = play(&spec, server).result;
    assert_eq!(result.observed.said, [said(301, "", Some("/y"), "gone")]);
    assert_eq!(result.pages_missing(), 10);
}
