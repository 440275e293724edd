//! What may come on unidirectional streams.

use super::*;

/// Identifiers of the server's first unidirectional streams.
const FIRST: u64 = 3;
const SECOND: u64 = 7;

/// Feeds a stream's bytes, cut in every way, and checks what comes of them.
fn check_end(input: &[u8], fin: bool, expected: &str) {
    for parts in cuts(input) {
        let mut connection = Connection::new(&Config::default());
        let mut seen = Vec::new();
        let last = parts.len().saturating_sub(1);
        let result = parts.iter().enumerate().try_for_each(|(number, part)| {
            let fin = fin && number == last;
            connection.handle_uni(FIRST, part, fin, |event| seen.push(named(event)))
        });
        if let Err(violation) = result {
            seen.push(format!("{violation:?}"));
            assert!(violation.ends_connection());
        }
        assert_eq!(seen.join(", "), expected, "{parts:x?}");
    }
}

fn named(event: ControlEvent) -> String {
    match event {
        ControlEvent::Settings => "settings".to_owned(),
        ControlEvent::GoAway { first_refused } => format!("goaway {first_refused}"),
        ControlEvent::Unwanted { stream } => format!("unwanted {stream}"),
    }
}

fn check(input: &[u8], expected: &str) {
    check_end(input, false, expected);
}

/// Checks frames behind empty SETTINGS on the control stream.
fn check_frames(frames: &[Vec<u8>], expected: &str) {
    let input = [&[0], &frame(SETTINGS, b"")[..], &frames.concat()].concat();
    let expected = ["settings", expected].join(", ");
    check(&input, expected.trim_end_matches(", "));
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    for &number in numbers {
        varint::write(number, &mut out);
    }
    out
}

#[test]
fn this_side_begins_with_settings() {
    let config = Config {
        max_field_section_size: 16_384,
    };
    let mut out = Vec::new();
    Connection::new(&config).begin(&mut out);
    assert_eq!(out, [0, 4, 5, 6, 0x80, 0, 0x40, 0]);
    // What a client sends there a client can read.
    let mut connection = Connection::new(&config);
    connection.handle_uni(FIRST, &out, false, |_| {}).unwrap();
    let size = connection.peer_settings().max_field_section_size;
    assert_eq!(size, Some(16_384));
}

#[test]
fn settings_are_known_once_they_came() {
    let payload = numbers(&[1, 4096, 6, 1 << 40, 7, 100, 0x33, 1, 0x1f * 99 + 0x21, 5]);
    let input = [&[0], &frame(SETTINGS, &payload)[..]].concat();
    check(&input, "settings");
    let mut connection = Connection::new(&Config::default());
    assert_eq!(connection.peer_settings(), &PeerSettings::default());
    connection.handle_uni(FIRST, &input, false, |_| {}).unwrap();
    let peer = connection.peer_settings();
    assert_eq!(peer.max_field_section_size, Some(1 << 40));
    assert_eq!(
        (peer.qpack_max_table_capacity, peer.qpack_blocked_streams),
        (4096, 100)
    );
}

#[test]
fn settings_are_checked() {
    let check = |payload: &[u8], expected: &str| {
        check(&[&[0], &frame(SETTINGS, payload)[..]].concat(), expected);
    };
    check(&numbers(&[6, 1, 6, 1]), "Setting");
    for id in [0, 2, 3, 4, 5] {
        check(&numbers(&[id, 0]), "Setting");
    }
    check(&numbers(&[6]), "FrameLength");
    check(&[6, 0x40], "FrameLength");
    check(&[0x40], "FrameLength");
}

#[test]
fn the_control_stream_begins_with_settings() {
    check(
        &[&[0], &frame(GOAWAY, &[0])[..]].concat(),
        "MissingSettings",
    );
    check(&[&[0], &grease(b"")[..]].concat(), "MissingSettings");
    check(&[&[0], &data(b"")[..]].concat(), "MissingSettings");
    check_frames(&[frame(SETTINGS, b"")], "FrameUnexpected");
}

#[test]
fn frames_belong_to_the_control_stream() {
    check_frames(&[data(b"")], "FrameUnexpected");
    check_frames(&[headers(&[])], "FrameUnexpected");
    check_frames(&[frame(PUSH_PROMISE, &[0])], "FrameUnexpected");
    check_frames(&[frame(MAX_PUSH_ID, &[0])], "FrameUnexpected");
    check_frames(&[frame(CANCEL_PUSH, &[0])], "Push");
    for kind in [0x2, 0x6, 0x8, 0x9] {
        check_frames(&[frame(kind, b"")], "Http2Frame");
    }
    check_frames(&[grease(b"anything"), grease(b"")], "");
}

#[test]
fn goaway_names_a_stream_and_never_a_later_one() {
    let goaway = |id| frame(GOAWAY, &numbers(&[id]));
    let first = (1 << 62) - 4;
    let frames = [
        goaway(first),
        grease(b"a"),
        goaway(400),
        goaway(400),
        goaway(0),
    ];
    check_frames(
        &frames,
        &format!("goaway {first}, goaway 400, goaway 400, goaway 0"),
    );
    check_frames(&[goaway(400), goaway(404)], "goaway 400, GoAwayId");
    for id in [1, 2, 3] {
        check_frames(&[goaway(id)], "GoAwayId");
    }
    check_frames(&[frame(GOAWAY, b"")], "FrameLength");
    check_frames(&[frame(GOAWAY, &[0x40])], "FrameLength");
    check_frames(&[frame(GOAWAY, &[0, 0])], "FrameLength");
}

#[test]
fn streams_have_their_types() {
    check(&[1], "Push");
    check(&[2], "");
    check(&[3], "");
    check(&[0x21, 1, 2, 3], "unwanted 3");
    check(&[0xc0, 0, 0, 0, 0, 0, 0, 0x54, 7], "unwanted 3");
    // Types written in more bytes than it takes.
    check(&[0x40, 0x01], "Push");
    check(
        &[&[0x80, 0, 0, 0], &frame(SETTINGS, b"")[..]].concat(),
        "settings",
    );
}

#[test]
fn streams_that_are_needed_do_not_end() {
    check_end(&[0], true, "ClosedCriticalStream");
    check_end(&[2], true, "ClosedCriticalStream");
    check_end(&[3], true, "ClosedCriticalStream");
    // One that is not, and one whose type never came.
    check_end(&[0x21, 9], true, "unwanted 3");
    check_end(&[0x40], true, "");
    check_end(&[], true, "");
    for (kind, result) in [
        (0, Err(Violation::ClosedCriticalStream)),
        (2, Err(Violation::ClosedCriticalStream)),
        (0x21, Ok(())),
    ] {
        let mut connection = Connection::new(&Config::default());
        connection
            .handle_uni(FIRST, &[kind], false, |_| {})
            .unwrap();
        assert_eq!(
            connection.handle_uni_reset(SECOND),
            Ok(()),
            "was never heard of"
        );
        assert_eq!(connection.handle_uni_reset(FIRST), result);
    }
}

#[test]
fn there_is_one_stream_of_a_type() {
    for (kind, result) in [
        (0, Err(Violation::SecondStream)),
        (2, Err(Violation::SecondStream)),
        (3, Err(Violation::SecondStream)),
        (0x21, Ok(())),
    ] {
        let mut connection = Connection::new(&Config::default());
        connection
            .handle_uni(FIRST, &[kind], false, |_| {})
            .unwrap();
        let second = connection.handle_uni(SECOND, &[kind], false, |_| {});
        assert_eq!(second, result);
    }
}

#[test]
fn unknown_streams_are_bounded_while_they_are_open() {
    let mut connection = Connection::new(&Config::default());
    let mut open = |id: u64| connection.handle_uni(id * 4 + 3, &[0x21], false, |_| {});
    for id in 0..64 {
        open(id).unwrap();
    }
    assert_eq!(open(64), Err(Violation::TooManyStreams));
    connection.handle_uni(3, &[], true, |_| {}).unwrap();
    connection.handle_uni_reset(7).unwrap();
    for id in [64, 65] {
        connection
            .handle_uni(id * 4 + 3, &[0x21], false, |_| {})
            .unwrap();
    }
}

#[test]
fn without_a_table_qpack_has_little_to_say() {
    use qpack::EncoderStreamError as Error;
    let encoder = |error: Error| format!("{:?}", Violation::EncoderStream(error));
    check(&[2, 0x20, 0x20], "");
    check(&[2, 0x21], &encoder(Error::BadCapacity));
    check(&[2, 0x3f, 0], &encoder(Error::BadCapacity));
    check(&[2, 0x41, b'a', 0], &encoder(Error::EntryTooLarge));
    check(&[2, 0xc0, 0], &encoder(Error::EntryTooLarge));
    check(&[2, 0x00], &encoder(Error::BadIndex));

    // Streams may be cancelled, whatever their identifiers.
    check(&[3, 0x40, 0x7e, 0x7f, 0, 0x44], "");
    check(
        &[
            3, 0x7f, 0xc1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0x40,
        ],
        "",
    );
    let endless = [&[3, 0x7f][..], &[0x80; 9]].concat();
    check(&endless, "DecoderStream");
    check(&[3, 0x80], "DecoderStream");
    check(&[3, 0x00], "DecoderStream");
    check(&[3, 0x01], "DecoderStream");
}

#[test]
fn violations_have_their_codes() {
    for (violation, code) in [
        (Violation::MissingSettings, ErrorCode::MISSING_SETTINGS),
        (Violation::SecondStream, ErrorCode::STREAM_CREATION_ERROR),
        (
            Violation::ClosedCriticalStream,
            ErrorCode::CLOSED_CRITICAL_STREAM,
        ),
        (Violation::TooManyStreams, ErrorCode::EXCESSIVE_LOAD),
        (Violation::Http2Frame, ErrorCode::FRAME_UNEXPECTED),
        (Violation::FrameLength, ErrorCode::FRAME_ERROR),
        (Violation::Setting, ErrorCode::SETTINGS_ERROR),
        (Violation::GoAwayId, ErrorCode::ID_ERROR),
        (
            Violation::EncoderStream(qpack::EncoderStreamError::BadIndex),
            ErrorCode::QPACK_ENCODER_STREAM_ERROR,
        ),
        (
            Violation::DecoderStream,
            ErrorCode::QPACK_DECODER_STREAM_ERROR,
        ),
    ] {
        assert_eq!(violation.code(), code, "{violation}");
        assert!(violation.ends_connection());
    }
}
