//! Responses: heads, bodies, trailers, and what makes one malformed.

use super::*;

/// Checks that a response to `request` is malformed, and that its stream is reset for that.
fn check_malformed(request: u32, frames: &[Vec<u8>], before: &str, violation: Violation) {
    let expected = format!("{before}, 0 malformed {violation:?}");
    check(&[request], frames, &expected, &reset(1, violation.code()));
}

#[test]
fn a_response_is_head_body_and_end() {
    check(
        &[GET],
        &[
            headers(1, OK, false),
            data(1, b"hello", false),
            data(1, b"!", true),
        ],
        "0 head 200, 0 data hello!, 0 end 6",
        &[],
    );
    check(&[GET], &[headers(1, OK, true)], "0 head 200, 0 end 0", &[]);
    check(
        &[GET],
        &[headers(1, OK, false), data(1, b"", true)],
        "0 head 200, 0 end 0",
        &[],
    );
}

#[test]
fn responses_to_several_streams_interleave() {
    check(
        &[GET, GET, GET],
        &[
            headers(5, OK, false),
            headers(1, OK, false),
            data(1, b"a", false),
            data(5, b"b", true),
            data(1, b"c", true),
            headers(3, OK, true),
        ],
        "2 head 200, 0 head 200, 0 data a, 2 data b, 2 end 1, 0 data c, 0 end 2, \
         1 head 200, 1 end 0",
        &[],
    );
}

#[test]
fn padding_is_no_body() {
    let padded = |payload: &[u8], end| {
        let flags = flag::PADDED | if end { flag::END_STREAM } else { 0 };
        frame(kind::DATA, flags, 1, payload)
    };
    check(
        &[GET],
        &[
            frame(
                kind::HEADERS,
                flag::END_HEADERS | flag::PADDED,
                1,
                b"\x02\x88\0\0",
            ),
            padded(b"\x03abc\0\0\0", false),
            padded(b"\x03\0\0\0", false),
            padded(b"\x00d", true),
        ],
        "0 head 200, 0 data abcd, 0 end 4",
        &[],
    );
    let all = flag::END_HEADERS | flag::PADDED | flag::PRIORITY | flag::END_STREAM;
    check(
        &[GET],
        &[frame(kind::HEADERS, all, 1, b"\x01\0\0\0\x07\xff\x88\0")],
        "0 head 200, 0 end 0",
        &[],
    );
}

#[test]
fn interim_responses_come_before_the_head() {
    check(
        &[GET],
        &[
            headers(1, EARLY_HINTS, false),
            headers(1, EARLY_HINTS, false),
            headers(1, OK, true),
        ],
        "0 interim 103, 0 interim 103, 0 head 200, 0 end 0",
        &[],
    );
    let no_end = [headers(1, EARLY_HINTS, true)];
    check_malformed(GET, &no_end, "", Violation::Interim);
    let switching = [headers(1, b"\x08\x03101", false)];
    check_malformed(GET, &switching, "", Violation::Interim);
}

#[test]
fn trailers_come_behind_the_body() {
    let trailers = block(&[("expires", "never")]);
    check(
        &[GET],
        &[
            headers(1, OK, false),
            data(1, b"ab", false),
            headers(1, &trailers, true),
        ],
        "0 head 200, 0 data ab, 0 end 2 with trailers",
        &[],
    );
    let endless = [headers(1, OK, false), headers(1, &trailers, false)];
    check_malformed(GET, &endless, "0 head 200", Violation::Trailers);
    let status = [headers(1, OK, false), headers(1, OK, true)];
    check_malformed(GET, &status, "0 head 200", Violation::PseudoHeader);
}

#[test]
fn the_body_is_as_long_as_content_length_says() {
    let head = block(&[(":status", "200"), ("content-length", "3")]);
    check(
        &[GET],
        &[headers(1, &head, false), data(1, b"abc", true)],
        "0 head 200, 0 data abc, 0 end 3",
        &[],
    );
    for body in ["ab", "abcd"] {
        check(
            &[GET],
            &[headers(1, &head, false), data(1, body.as_bytes(), true)],
            &format!("0 head 200, 0 data {body}, 0 malformed ContentLength"),
            &[],
        );
    }
    check(
        &[GET],
        &[headers(1, &head, true)],
        "0 head 200, 0 malformed ContentLength",
        &[],
    );
}

#[test]
fn some_responses_have_no_body_whatever_their_content_length() {
    let head = |status| block(&[(":status", status), ("content-length", "3")]);
    check(
        &[HEAD],
        &[headers(1, &head("200"), true)],
        "0 head 200, 0 end 0",
        &[],
    );
    for status in ["204", "304"] {
        let expected = format!("0 head {status}, 0 end 0");
        check(&[GET], &[headers(1, &head(status), true)], &expected, &[]);
    }
    let empty = [headers(1, &head("200"), false), data(1, b"", true)];
    check(&[HEAD], &empty, "0 head 200, 0 end 0", &[]);
    let body = [headers(1, &head("200"), false), data(1, b"abc", true)];
    check_malformed(HEAD, &body, "0 head 200", Violation::UnexpectedBody);
    let body = [headers(1, &head("204"), false), data(1, b"abc", false)];
    check_malformed(GET, &body, "0 head 204", Violation::UnexpectedBody);
}

#[test]
fn malformed_heads_concern_their_stream_alone() {
    for (fields, violation) in [
        (&[("server", "a")][..], Violation::Status),
        (&[(":status", "20")], Violation::Status),
        (&[(":status", "2000")], Violation::Status),
        (&[(":status", "099")], Violation::Status),
        (&[(":status", "200"), (":status", "200")], Violation::Status),
        (
            &[(":status", "200"), (":path", "/")],
            Violation::PseudoHeader,
        ),
        (
            &[("server", "a"), (":status", "200")],
            Violation::PseudoHeader,
        ),
        (&[(":status", "200"), ("Server", "a")], Violation::FieldName),
        (
            &[(":status", "200"), ("ser ver", "a")],
            Violation::FieldName,
        ),
        (&[(":status", "200"), ("", "a")], Violation::FieldName),
        (&[(":status", "200"), ("a:b", "a")], Violation::FieldName),
        (
            &[(":status", "200"), ("server", "a\r\nb")],
            Violation::FieldValue,
        ),
        (
            &[(":status", "200"), ("server", " a")],
            Violation::FieldValue,
        ),
        (
            &[(":status", "200"), ("server", "a\t")],
            Violation::FieldValue,
        ),
        (
            &[(":status", "200"), ("connection", "close")],
            Violation::ConnectionField,
        ),
        (
            &[(":status", "200"), ("transfer-encoding", "chunked")],
            Violation::ConnectionField,
        ),
        (
            &[(":status", "200"), ("content-length", "a")],
            Violation::BadContentLength,
        ),
        (
            &[(":status", "200"), ("content-length", "+1")],
            Violation::BadContentLength,
        ),
        (
            &[(":status", "200"), ("content-length", "")],
            Violation::BadContentLength,
        ),
        (
            &[
                (":status", "200"),
                ("content-length", "1"),
                ("content-length", "2"),
            ],
            Violation::BadContentLength,
        ),
    ] {
        let frames = [headers(1, &block(fields), false), headers(3, OK, true)];
        let expected = format!("0 malformed {violation:?}, 1 head 200, 1 end 0");
        check(&[GET, GET], &frames, &expected, &reset(1, violation.code()));
    }
    let early = [data(1, b"abc", true)];
    check_malformed(GET, &early, "", Violation::NoHead);
}

#[test]
fn a_stream_that_failed_is_not_heard_of_again() {
    check(
        &[GET, GET],
        &[
            data(1, b"abc", false),
            headers(1, OK, false),
            data(1, b"def", true),
            headers(3, OK, true),
        ],
        "0 malformed NoHead, 1 head 200, 1 end 0",
        &reset(1, ErrorCode::PROTOCOL_ERROR),
    );
}

#[test]
fn a_repeated_block_means_the_same_until_the_table_changes() {
    // `x: y` is inserted; then index 62 is it, until `:status: 404` is inserted before it.
    let inserting = b"\x88\x40\x01x\x01y";
    let both = b"\x88\xbe";
    let frames = [
        headers(1, inserting, true),
        headers(3, both, true),
        headers(5, both, true),
        headers(7, b"\x48\x03404", true),
        headers(9, both, true),
        headers(11, b"\xbe", true),
        headers(13, b"\xbe", true),
    ];
    check(
        &[GET; 7],
        &frames,
        "0 head 200, 0 end 0, 1 head 200, 1 end 0, 2 head 200, 2 end 0, 3 head 404, 3 end 0, \
         4 malformed Status, 5 head 404, 5 end 0, 6 head 404, 6 end 0",
        &reset(9, ErrorCode::PROTOCOL_ERROR),
    );
}

#[test]
fn more_blocks_than_are_remembered_keep_their_meanings() {
    let mut pair = Pair::new(&config(), &[]);
    pair.handle(&settings(&[])).unwrap();
    for round in 0..100_u32 {
        let status = (200 + round * 7 % 13).to_string();
        pair.client.open(GET, round, &mut pair.out).unwrap();
        let head = block(&[(":status", &status), ("server", "a")]);
        pair.seen.clear();
        pair.handle(&headers(round * 2 + 1, &head, true)).unwrap();
        if status != "204" {
            assert_eq!(pair.seen[0], format!("{round} head {status}"));
        }
    }
    let wire = (block(&[(":status", "200"), ("server", "a")]).len() * 100) as u64;
    let text = (":status200servera".len() * 100) as u64;
    assert_eq!(pair.client.header_bytes(), HeaderBytes { wire, text });
}

#[test]
fn headers_may_be_continued() {
    check(
        &[GET],
        &[
            frame(kind::HEADERS, flag::END_STREAM, 1, b"\x88\0\x01a"),
            frame(kind::CONTINUATION, 0, 1, b""),
            frame(kind::CONTINUATION, 0, 1, b"\x02b"),
            frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"c"),
        ],
        "0 head 200, 0 end 0",
        &[],
    );
}
