//! Frames: which may come when, with which length, and what ends a connection.

use super::*;

#[test]
fn the_server_begins_with_settings() {
    let run = |bytes: &[u8]| Pair::new(&config(), &[GET]).handle(bytes);
    assert_eq!(
        run(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        Err(Violation::Http1)
    );
    assert_eq!(run(b"SSH-2.0-x\r\n"), Err(Violation::NoPreface));
    assert_eq!(run(&ack()), Err(Violation::NoPreface));
    assert_eq!(run(&headers(1, OK, true)), Err(Violation::NoPreface));
    assert_eq!(run(&settings(&[(3, 1)])), Ok(()));
}

#[test]
fn a_broken_connection_stays_broken() {
    let mut pair = Pair::new(&config(), &[GET]);
    assert_eq!(pair.handle(b"HTTP/1.1 "), Err(Violation::Http1));
    pair.out.clear();
    assert_eq!(pair.handle(&settings(&[])), Err(Violation::Http1));
    assert!(pair.seen.is_empty() && pair.out.is_empty());
    let opened = pair.client.open(GET, 7, &mut pair.out);
    assert_eq!(opened, Err(Blocked::GoingAway));
}

#[test]
fn pings_are_answered_and_acknowledgements_are_not() {
    check(
        &[GET],
        &[
            frame(kind::PING, 0, 0, b"12345678"),
            frame(kind::PING, flag::ACK, 0, b"abcdefgh"),
        ],
        "",
        &frame(kind::PING, flag::ACK, 0, b"12345678"),
    );
}

#[test]
fn what_is_not_known_is_skipped() {
    check(
        &[GET],
        &[
            frame(0xbe, 0xff, 0, b"whatever"),
            frame(0xef, 0xff, 99, b""),
            frame(kind::PRIORITY, 0, 99, b"\0\0\0\0\0"),
            settings(&[(0xbeef, 1), (8, 0)]),
            headers(1, OK, true),
        ],
        "settings, 0 head 200, 0 end 0",
        &ack(),
    );
}

#[test]
fn lengths_fit_their_types() {
    for wrong in [
        frame(kind::PRIORITY, 0, 1, b"1234"),
        frame(kind::RST_STREAM, 0, 1, b"123"),
        frame(kind::SETTINGS, 0, 0, b"12345"),
        frame(kind::SETTINGS, flag::ACK, 0, b"123456"),
        frame(kind::PING, 0, 0, b"1234567"),
        frame(kind::GOAWAY, 0, 0, b"1234567"),
        frame(kind::WINDOW_UPDATE, 0, 0, b"12345"),
    ] {
        check_violation(&[wrong], Violation::FrameLength);
    }
    let long = data(1, &vec![0; 16_385], false);
    check_violation(&[long], Violation::FrameTooLong);
}

#[test]
fn streams_fit_their_types() {
    for wrong in [
        data(0, b"", false),
        headers(0, OK, true),
        frame(kind::PRIORITY, 0, 0, b"12345"),
        reset(0, ErrorCode::CANCEL),
        frame(kind::SETTINGS, 0, 1, b""),
        frame(kind::PING, 0, 1, b"12345678"),
        frame(kind::GOAWAY, 0, 1, b"12345678"),
        frame(kind::PUSH_PROMISE, 0, 0, b"1234"),
    ] {
        check_violation(&[wrong], Violation::FrameStream);
    }
    for stream in [2, 3, 99, 0x7fff_ffff] {
        for wrong in [
            data(stream, b"", false),
            headers(stream, OK, true),
            reset(stream, ErrorCode::CANCEL),
            window_update(stream, 1),
        ] {
            check_violation(&[wrong], Violation::IdleStream);
        }
    }
}

#[test]
fn nothing_may_be_pushed() {
    let promise = frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, b"\0\0\0\x02\x82");
    check_violation(&[promise], Violation::Push);
    check_violation(&[settings(&[(2, 1)])], Violation::SettingValue);
    check(&[GET], &[settings(&[(2, 0)])], "settings", &ack());
}

#[test]
fn padding_is_shorter_than_its_frame() {
    for wrong in [
        frame(kind::HEADERS, flag::PADDED | flag::END_HEADERS, 1, b""),
        frame(
            kind::HEADERS,
            flag::PADDED | flag::END_HEADERS,
            1,
            b"\x02\x88",
        ),
        frame(
            kind::HEADERS,
            flag::PRIORITY | flag::END_HEADERS,
            1,
            b"1234",
        ),
    ] {
        check_violation(&[wrong], Violation::Padding);
    }
    for payload in [&b""[..], b"\x01", b"\x03ab"] {
        let frames = [
            headers(1, OK, false),
            frame(kind::DATA, flag::PADDED, 1, payload),
        ];
        let expected = "0 head 200, violation Padding";
        check(&[GET], &frames, expected, &goaway(0, 1));
    }
}

#[test]
fn a_header_block_is_not_interrupted() {
    let begun = || frame(kind::HEADERS, 0, 1, OK);
    let rest = |stream| frame(kind::CONTINUATION, flag::END_HEADERS, stream, b"");
    check_violation(&[rest(1)], Violation::Continuation);
    check_violation(&[begun(), rest(3)], Violation::Continuation);
    check_violation(&[begun(), data(1, b"", true)], Violation::Continuation);
    check_violation(&[begun(), frame(0xbe, 0, 0, b"")], Violation::Continuation);
    check_violation(
        &[begun(), frame(kind::PING, 0, 0, b"12345678")],
        Violation::Continuation,
    );
}

#[test]
fn a_header_block_is_bounded() {
    let mut pair = Pair::new(&config(), &[GET]);
    let flood = |part: &[u8], frames: usize| {
        let mut bytes = [settings(&[]), frame(kind::HEADERS, 0, 1, OK)].concat();
        for _ in 0..frames {
            bytes.extend_from_slice(&frame(kind::CONTINUATION, 0, 1, part));
        }
        bytes
    };
    let empty = pair.handle(&flood(b"", 64));
    assert_eq!(empty, Err(Violation::HeaderBlockTooLong));
    let mut pair = Pair::new(&config(), &[GET]);
    let long = pair.handle(&flood(&[0; 16_384], 4));
    assert_eq!(long, Err(Violation::HeaderBlockTooLong));
    let mut pair = Pair::new(&config(), &[GET]);
    assert_eq!(pair.handle(&flood(&[0; 16_384], 3)), Ok(()));
}

#[test]
fn a_block_that_cannot_be_decoded_ends_the_connection() {
    let violation = Violation::Hpack(hpack::HpackError::BadIndex);
    check_violation(&[headers(1, b"\xbe", true)], violation);
    assert_eq!(violation.code(), ErrorCode::COMPRESSION_ERROR);
}

#[test]
fn settings_are_in_their_ranges_and_acknowledged_once() {
    check_violation(&[settings(&[(4, 1 << 31)])], Violation::WindowOverflow);
    check_violation(&[settings(&[(5, 16_383)])], Violation::SettingValue);
    check_violation(&[settings(&[(5, 1 << 24)])], Violation::SettingValue);
    check(&[GET], &[ack()], "", &[]);
    check_violation(&[ack(), ack()], Violation::SettingsAck);
}

#[test]
fn a_closed_stream_tolerates_what_may_have_crossed() {
    let closed = [headers(1, OK, true)];
    let after = |frame: Vec<u8>| [closed[0].clone(), frame];
    for late in [window_update(1, 1), reset(1, ErrorCode::NO_ERROR)] {
        check(&[GET], &after(late), "0 head 200, 0 end 0", &[]);
    }
    let goaway = goaway(0, ErrorCode::STREAM_CLOSED.0);
    for wrong in [data(1, b"abc", false), headers(1, OK, true)] {
        let expected = "0 head 200, 0 end 0, violation ClosedStream";
        check(&[GET], &after(wrong), expected, &goaway);
    }
}

#[test]
fn the_server_resets_streams() {
    check(
        &[GET, GET],
        &[
            headers(1, OK, false),
            reset(1, ErrorCode(2)),
            reset(3, ErrorCode::REFUSED_STREAM),
        ],
        "0 head 200, 0 reset INTERNAL_ERROR, 1 refused",
        &[],
    );
}

#[test]
fn a_cancelled_stream_is_not_heard_of_again() {
    let mut pair = Pair::new(&config(), &[GET, GET]);
    pair.handle(&[settings(&[]), headers(1, OK, false)].concat())
        .unwrap();
    pair.seen.clear();
    pair.out.clear();
    // In the middle of a frame, whose rest belongs to nobody.
    let late = data(1, b"abcdef", false);
    pair.handle(&late[..12]).unwrap();
    pair.client.cancel(0, &mut pair.out);
    assert_eq!(pair.out, reset(1, ErrorCode::CANCEL));
    assert_eq!(pair.client.open_streams(), 1);
    pair.client.open(GET, 7, &mut pair.out).unwrap();
    pair.handle(&late[12..]).unwrap();
    pair.handle(&[data(1, b"x", true), headers(5, OK, true)].concat())
        .unwrap();
    assert_eq!(pair.seen, ["0 data abc", "7 head 200", "7 end 0"]);
    // The server has ended it as well: now nothing may come any more.
    assert_eq!(
        pair.handle(&data(1, b"x", true)),
        Err(Violation::ClosedStream)
    );
}

#[test]
fn cancelling_what_is_not_in_flight_does_nothing() {
    let mut pair = Pair::new(&config(), &[GET]);
    pair.client.cancel(99, &mut pair.out);
    assert!(pair.out.is_empty());
    assert_eq!(pair.client.open_streams(), 1);
}

#[test]
fn after_goaway_streams_up_to_the_last_go_on() {
    check(
        &[GET, GET, GET],
        &[
            goaway(0x7fff_ffff, 0),
            goaway(3, 0),
            headers(1, OK, true),
            headers(3, OK, true),
        ],
        "goaway 2147483647 NO_ERROR, goaway 3 NO_ERROR, 2 beyond, 0 head 200, 0 end 0, \
         1 head 200, 1 end 0",
        &[],
    );
    check(
        &[GET],
        &[goaway(0, 11), headers(1, OK, true)],
        "goaway 0 ENHANCE_YOUR_CALM, 0 beyond",
        &[],
    );
    let raised = [goaway(1, 0), goaway(3, 0)];
    check(
        &[GET],
        &raised,
        "goaway 1 NO_ERROR, violation GoAwayRaised",
        &goaway(0, 1),
    );
}
