//! What may come on a request stream.

use super::*;

/// What came of a response, as text that does not depend on how it was cut.
fn run(parts: &[&[u8]], to_head: bool, memo: &mut Memo) -> String {
    let mut response = Response::new(to_head);
    let (mut seen, mut body) = (Vec::new(), Vec::new());
    let result = parts.iter().try_for_each(|part| {
        response.handle(part, memo, |event| match event {
            Event::Informational { status } => seen.push(format!("interim {status}")),
            Event::Head { status } => seen.push(format!("head {status}")),
            Event::Data(part) => {
                assert!(!part.is_empty());
                body.extend_from_slice(part);
            }
        })
    });
    if !body.is_empty() {
        seen.push(format!("body {}", body.escape_ascii()));
    }
    match result.and_then(|()| response.finish()) {
        Ok(End {
            had_trailers,
            body_bytes,
        }) => {
            assert_eq!(body_bytes, body.len() as u64);
            seen.push(
                if had_trailers {
                    "end with trailers"
                } else {
                    "end"
                }
                .to_owned(),
            );
        }
        Err(violation) => seen.push(format!("{violation:?}")),
    }
    seen.join(", ")
}

fn check_to(to_head: bool, frames: &[Vec<u8>], expected: &str) {
    let input = frames.concat();
    let (mut memo, config) = (Memo::new(&Config::default()), Config::default());
    for parts in cuts(&input) {
        // With and without what is known from before.
        assert_eq!(run(&parts, to_head, &mut memo), expected, "{parts:x?}");
        assert_eq!(
            run(&parts, to_head, &mut Memo::new(&config)),
            expected,
            "{parts:x?}"
        );
    }
}

fn check(frames: &[Vec<u8>], expected: &str) {
    check_to(false, frames, expected);
}

fn ok() -> Vec<u8> {
    headers(&[(":status", "200")])
}

/// Checks what comes of these fields as a response's only ones.
fn check_fields(fields: &[(&str, &str)], expected: &str) {
    check(&[headers(fields)], expected);
}

#[test]
fn a_response_is_head_body_and_end() {
    check(&[ok()], "head 200, end");
    check(&[ok(), data(b"hello")], "head 200, body hello, end");
    let cut = [ok(), data(b"he"), data(b""), data(b"llo")];
    check(&cut, "head 200, body hello, end");
    let trailers = headers(&[("x-checksum", "1")]);
    check(
        &[ok(), data(b"hello"), trailers.clone()],
        "head 200, body hello, end with trailers",
    );
    check(&[ok(), trailers], "head 200, end with trailers");
}

#[test]
fn interim_responses_come_before_the_head() {
    let early = headers(&[(":status", "103"), ("link", "</a>")]);
    check(
        &[early.clone(), early.clone(), ok()],
        "interim 103, interim 103, head 200, end",
    );
    check(&[early], "interim 103, NoResponse");
    check(&[headers(&[(":status", "101")])], "Interim");
    check(
        &[headers(&[(":status", "100")]), data(b"a")],
        "interim 100, FrameUnexpected",
    );
}

#[test]
fn frames_of_unknown_types_are_skipped_anywhere() {
    let grease = |length| grease(&vec![0xff; length]);
    let frames = [
        grease(3),
        ok(),
        grease(0),
        data(b"he"),
        grease(200),
        data(b"llo"),
        headers(&[("a", "b")]),
        grease(1),
    ];
    check(&frames, "head 200, body hello, end with trailers");
}

#[test]
fn frames_have_their_order() {
    check(&[data(b"")], "FrameUnexpected");
    check(&[data(b"early"), ok()], "FrameUnexpected");
    let trailers = headers(&[("a", "b")]);
    check(
        &[ok(), trailers.clone(), data(b"late")],
        "head 200, FrameUnexpected",
    );
    check(
        &[ok(), trailers.clone(), trailers],
        "head 200, FrameUnexpected",
    );
    check(&[ok(), ok()], "head 200, PseudoHeader");
    check(&[], "NoResponse");
}

#[test]
fn frames_belong_to_their_streams() {
    for (kind, violation) in [
        (CANCEL_PUSH, "FrameUnexpected"),
        (SETTINGS, "FrameUnexpected"),
        (GOAWAY, "FrameUnexpected"),
        (MAX_PUSH_ID, "FrameUnexpected"),
        (PUSH_PROMISE, "Push"),
        (0x2, "Http2Frame"),
        (0x6, "Http2Frame"),
        (0x8, "Http2Frame"),
        (0x9, "Http2Frame"),
    ] {
        check(&[frame(kind, b"")], violation);
        check(
            &[ok(), frame(kind, &[0])],
            &format!("head 200, {violation}"),
        );
    }
}

#[test]
fn a_stream_ends_between_frames() {
    let mut cut = ok();
    cut.pop();
    check(&[cut], "FrameCut");
    for rest in [&[0x40][..], &[0], &[0, 0x40], &[0x21, 1], &[0, 5, b'a']] {
        let body = if rest.len() > 2 && rest[0] == 0 && rest[1] == 5 {
            ", body a"
        } else {
            ""
        };
        check(&[ok(), rest.to_vec()], &format!("head 200{body}, FrameCut"));
    }
}

#[test]
fn some_responses_have_no_body_whatever_their_content_length() {
    let head = |status| headers(&[(":status", status), ("content-length", "5")]);
    for status in ["204", "304"] {
        check(&[head(status)], &format!("head {status}, end"));
        check(&[head(status), data(b"")], &format!("head {status}, end"));
        check(
            &[head(status), data(b"hello")],
            &format!("head {status}, UnexpectedBody"),
        );
    }
    check_to(true, &[head("200")], "head 200, end");
    check_to(
        true,
        &[head("200"), data(b"hello")],
        "head 200, UnexpectedBody",
    );
    let trailers = headers(&[("a", "b")]);
    check_to(
        true,
        &[head("200"), trailers],
        "head 200, end with trailers",
    );
}

#[test]
fn the_body_is_as_long_as_content_length_says() {
    let head = headers(&[(":status", "200"), ("content-length", "5")]);
    let check = |frames: &[Vec<u8>], expected: &str| {
        check(
            &[std::slice::from_ref(&head), frames].concat(),
            &format!("head 200, {expected}"),
        );
    };
    check(&[data(b"hello")], "body hello, end");
    check(&[data(b"he"), data(b"llo"), data(b"")], "body hello, end");
    check(&[], "ContentLength");
    check(&[data(b"hell")], "body hell, ContentLength");
    check(&[data(b"hello!")], "ContentLength");
    check(&[data(b"hello"), data(b"!")], "body hello, ContentLength");
    let trailers = headers(&[("a", "b")]);
    check(
        &[data(b"hello"), trailers.clone()],
        "body hello, end with trailers",
    );
    check(&[data(b"hell"), trailers], "body hell, ContentLength");
}

#[test]
fn malformed_fields_are_refused() {
    let ok = (":status", "200");
    for (fields, violation) in [
        (&[][..], "Status"),
        (&[("a", "b")], "Status"),
        (&[(":status", "20")], "Status"),
        (&[(":status", "0200")], "Status"),
        (&[(":status", "abc")], "Status"),
        (&[ok, ok], "Status"),
        (&[(":authority", "a.test")], "PseudoHeader"),
        (&[(":path", "/"), ok], "PseudoHeader"),
        (&[("a", "b"), ok], "PseudoHeader"),
        (&[ok, ("A", "b")], "FieldName"),
        (&[ok, ("", "b")], "FieldName"),
        (&[ok, ("a b", "c")], "FieldName"),
        (&[ok, ("a", "b\nc")], "FieldValue"),
        (&[ok, ("a", " b")], "FieldValue"),
        (&[ok, ("connection", "close")], "ConnectionField"),
        (&[ok, ("transfer-encoding", "chunked")], "ConnectionField"),
        (&[ok, ("content-length", "-1")], "BadContentLength"),
        (
            &[ok, ("content-length", "1"), ("content-length", "2")],
            "BadContentLength",
        ),
    ] {
        check_fields(fields, violation);
    }
    check_fields(
        &[ok, ("content-length", "0"), ("content-length", "0")],
        "head 200, end",
    );
}

#[test]
fn sections_that_cannot_be_decoded_are_refused() {
    let refuse = |section: &[u8], expected: &str| check(&[frame(HEADERS, section)], expected);
    refuse(&[], "Section(Truncated)");
    refuse(&[0, 0, 0xff], "Section(Truncated)");
    refuse(&[2, 0, 0x80], "Section(BadInsertCount)");
    refuse(&[0, 0, 0x80], "Section(BadIndex)");
    refuse(&[0, 0, 0xff, 0x24], "Section(BadIndex)");
}

#[test]
fn sections_are_bounded() {
    let config = Config {
        max_field_section_size: 100,
    };
    let run = |input: &[u8]| {
        let memo = &mut Memo::new(&config);
        let whole = run(&[input], false, memo);
        assert_eq!(run(&[&input[..4], &input[4..]], false, memo), whole);
        whole
    };
    let fields = |length| headers(&[(":status", "200"), ("a", &"\u{1}".repeat(length))]);
    assert_eq!(run(&fields(25)), "head 200, end");
    // Short as it comes, and too long as the fields in it count.
    assert_eq!(run(&fields(26)), "Section(ListTooLong)");
    // Too long as it comes: refused before it is there.
    assert_eq!(run(&[HEADERS, 0x40, 101, 0, 0]), "Section(ListTooLong)");
    assert_eq!(run(&[HEADERS, 0x40, 100, 0, 0]), "FrameCut");
}

#[test]
fn more_sections_than_are_remembered_keep_their_meanings() {
    let mut memo = Memo::new(&Config::default());
    let answers: Vec<_> = (200..210_u16)
        .map(|status| (status, headers(&[(":status", &status.to_string())])))
        .collect();
    let mut wire = 0;
    for number in 0..1000_usize {
        let (status, input) = &answers[number * number % 13 % answers.len()];
        let expected = format!("head {status}, end");
        assert_eq!(run(&[input], false, &mut memo), expected);
        wire += input.len() as u64 - 2;
    }
    // `:status` and three digits.
    let header_bytes = memo.header_bytes();
    assert_eq!((header_bytes.wire, header_bytes.text), (wire, 10_000));
}

#[test]
fn a_state_is_used_again_whatever_came_before() {
    let mut memo = Memo::new(&Config::default());
    let mut response = Response::new(true);
    for cut in 0..ok().len() {
        response.handle(&ok()[..cut], &mut memo, |_| {}).unwrap();
        response.begin(false);
        let whole = [ok(), data(b"hello")].concat();
        response.handle(&whole, &mut memo, |_| {}).unwrap();
        let end = End {
            had_trailers: false,
            body_bytes: 5,
        };
        assert_eq!(response.finish(), Ok(end));
        response.begin(false);
    }
}

#[test]
fn violations_end_the_stream_or_the_connection() {
    for (violation, code, ends_connection) in [
        (Violation::ContentLength, ErrorCode::MESSAGE_ERROR, false),
        (Violation::Status, ErrorCode::MESSAGE_ERROR, false),
        (Violation::NoResponse, ErrorCode::MESSAGE_ERROR, false),
        (
            Violation::Section(qpack::SectionError::ListTooLong),
            ErrorCode::EXCESSIVE_LOAD,
            false,
        ),
        (
            Violation::Section(qpack::SectionError::BadIndex),
            ErrorCode::QPACK_DECOMPRESSION_FAILED,
            true,
        ),
        (Violation::FrameCut, ErrorCode::FRAME_ERROR, true),
        (
            Violation::FrameUnexpected,
            ErrorCode::FRAME_UNEXPECTED,
            true,
        ),
        (Violation::Push, ErrorCode::ID_ERROR, true),
    ] {
        assert_eq!(violation.code(), code);
        assert_eq!(violation.ends_connection(), ends_connection, "{violation}");
    }
}
