//! Flow control in both directions.

use super::*;

/// Lengths of the DATA frames in what was sent, and whether the last one ended its stream.
fn sent(out: &mut Vec<u8>) -> (Vec<usize>, bool) {
    let (mut lengths, mut ended, mut rest) = (Vec::new(), false, out.as_slice());
    while let Some((header, behind)) = rest.split_first_chunk() {
        let header = frame::FrameHeader::read(header);
        if header.kind == kind::DATA {
            lengths.push(header.length as usize);
            ended = header.has(flag::END_STREAM);
        }
        rest = &behind[header.length as usize..];
    }
    out.clear();
    (lengths, ended)
}

/// A connection on which a body of 100,000 bytes is being sent.
fn posting(theirs: &[(u16, u32)]) -> Pair {
    let mut pair = Pair::with_settings(&config(), theirs);
    pair.client.open(LONG_POST, 0, &mut pair.out).unwrap();
    pair
}

/// Whether bodies wait for the server to enlarge its windows, and for nothing else.
fn waits_for_windows(client: &Client) -> bool {
    client.unsent > 0 && !client.has_to_send()
}

#[test]
fn windows_are_enlarged_when_half_is_used() {
    let config = Config {
        stream_window: 10,
        connection_window: 65_535,
        ..config()
    };
    check_with(
        &config,
        &[GET],
        &[
            headers(1, OK, false),
            data(1, b"abcd", false),
            data(1, b"efgh", false),
        ],
        "0 head 200, 0 data abcdefgh",
        &window_update(1, 8),
    );
    let mut pair = Pair::new(&config, &[GET, GET, GET, GET]);
    pair.handle(&settings(&[])).unwrap();
    pair.out.clear();
    let config = Config {
        stream_window: 65_535,
        ..config
    };
    let mut pair = Pair::new(&config, &[GET, GET, GET]);
    let part = vec![0; 16_384];
    pair.handle(&[settings(&[]), headers(1, OK, false), headers(3, OK, false)].concat())
        .unwrap();
    pair.out.clear();
    pair.handle(&data(1, &part, false)).unwrap();
    assert!(pair.out.is_empty());
    pair.handle(&data(3, &part, true)).unwrap();
    assert_eq!(
        pair.out,
        window_update(0, 32_768),
        "and none for a stream that ended"
    );
}

#[test]
fn padding_and_late_data_count_against_the_windows() {
    let config = Config {
        stream_window: 10,
        connection_window: 65_535,
        ..config()
    };
    let padded = frame(kind::DATA, flag::PADDED, 1, b"\x06ab\0\0\0\0\0\0");
    check_with(
        &config,
        &[GET],
        &[headers(1, OK, false), padded],
        "0 head 200, 0 data ab",
        &window_update(1, 9),
    );
    let mut pair = Pair::new(&config, &[GET, GET]);
    pair.handle(&settings(&[])).unwrap();
    pair.client.cancel(0, &mut pair.out);
    pair.out.clear();
    let part = data(1, &[0; 16_384], false);
    pair.handle(&[&part[..], &part].concat()).unwrap();
    assert_eq!(pair.out, window_update(0, 32_768));
    assert_eq!(pair.seen, ["settings"]);
}

#[test]
fn the_server_may_not_exceed_a_window() {
    let config = Config {
        stream_window: 10,
        connection_window: 65_535,
        ..config()
    };
    let long = [headers(1, OK, false), data(1, b"elevenbytes", true)];
    let expected = "0 head 200, violation WindowExceeded";
    check_with(&config, &[GET], &long, expected, &goaway(0, 3));
    let config = Config {
        stream_window: 1 << 20,
        max_frame_size: 1 << 20,
        ..config
    };
    let mut pair = Pair::new(&config, &[GET]);
    let long = [
        settings(&[]),
        headers(1, OK, false),
        data(1, &vec![0; 65_536], true),
    ];
    assert_eq!(pair.handle(&long.concat()), Err(Violation::WindowExceeded));
}

#[test]
fn a_short_body_goes_with_its_head() {
    let mut pair = Pair::new(&config(), &[]);
    pair.client.open(POST, 0, &mut pair.out).unwrap();
    assert!(pair.out.ends_with(&data(1, b"question", true)));
    assert!(!pair.client.has_to_send() && !waits_for_windows(&pair.client));
}

#[test]
fn a_long_body_waits_for_the_windows() {
    let mut pair = posting(&[]);
    let (lengths, ended) = sent(&mut pair.out);
    assert_eq!(lengths, [16_384, 16_384, 16_384, 16_383]);
    assert!(!ended && waits_for_windows(&pair.client));
    // The stream's window alone is not enough.
    pair.handle(&window_update(1, 100_000)).unwrap();
    assert_eq!(sent(&mut pair.out).0, []);
    pair.handle(&window_update(0, 10)).unwrap();
    assert_eq!(sent(&mut pair.out), (vec![10], false));
    pair.handle(&window_update(0, 100_000)).unwrap();
    let (lengths, ended) = sent(&mut pair.out);
    assert_eq!(
        (lengths.iter().sum::<usize>(), ended),
        (100_000 - 65_545, true)
    );
    assert!(!waits_for_windows(&pair.client));
    pair.handle(&headers(1, OK, true)).unwrap();
    assert_eq!(pair.seen, ["0 head 200", "0 end 0"]);
    assert!(pair.out.is_empty());
}

#[test]
fn who_cancels_a_request_learns_whether_a_window_held_it() {
    // Both windows are used up, then the connection's alone, then the stream's.
    for enlarged in [None, Some(1), Some(0)] {
        let mut pair = posting(&[]);
        if let Some(stream) = enlarged {
            pair.handle(&window_update(stream, 10)).unwrap();
        }
        assert!(pair.client.cancel(0, &mut pair.out), "{enlarged:?}");
    }
    let mut pair = posting(&[(4, 200_000)]);
    let more = window_update(0, 200_000);
    let handled = pair.client.handle(&more, &mut Vec::new(), &mut pair.out);
    assert_eq!(handled, Ok(more.len()));
    let was_held = pair.client.cancel(0, &mut pair.out);
    assert!(!was_held, "there was room that was not made use of yet");
    let mut pair = Pair::with_settings(&config(), &[(4, 0)]);
    pair.client.open(GET, 0, &mut pair.out).unwrap();
    let was_held = pair.client.cancel(0, &mut pair.out);
    assert!(!was_held, "it was sent whole");
}

#[test]
fn settings_change_the_windows_of_streams_in_flight() {
    let mut pair = posting(&[(4, 20_000)]);
    assert_eq!(sent(&mut pair.out).0, [16_384, 3_616]);
    pair.handle(&settings(&[(4, 10_000)])).unwrap();
    pair.handle(&window_update(1, 10_000)).unwrap();
    assert_eq!(
        sent(&mut pair.out).0,
        [],
        "the window was negative, and is 0 now"
    );
    pair.handle(&window_update(1, 1)).unwrap();
    assert_eq!(sent(&mut pair.out).0, [1]);
    pair.handle(&settings(&[(4, 10_005), (5, 20_000)])).unwrap();
    assert_eq!(sent(&mut pair.out).0, [5]);
    pair.handle(&window_update(1, 40_000)).unwrap();
    assert_eq!(
        sent(&mut pair.out).0,
        [20_000, 20_000],
        "longer frames are allowed now"
    );
}

#[test]
fn bodies_take_turns() {
    let mut pair = Pair::with_settings(&config(), &[(4, 0)]);
    for token in 0..3 {
        pair.client.open(LONG_POST, token, &mut pair.out).unwrap();
    }
    pair.out.clear();
    pair.handle(&settings(&[(4, 100_000)])).unwrap();
    let mut streams = Vec::new();
    let mut rest = &pair.out[frame::HEADER_BYTES..];
    while let Some((header, behind)) = rest.split_first_chunk() {
        let header = frame::FrameHeader::read(header);
        streams.push(header.stream);
        rest = &behind[header.length as usize..];
    }
    assert_eq!(streams, [1, 3, 5, 1]);
}

#[test]
fn no_more_is_sent_ahead_than_a_caller_can_hold() {
    let mut pair = Pair::with_settings(&config(), &[(4, 1 << 20)]);
    pair.handle(&window_update(0, 1 << 20)).unwrap();
    pair.out.clear();
    for token in 0..5 {
        pair.client.open(LONG_POST, token, &mut pair.out).unwrap();
    }
    let first: usize = sent(&mut pair.out).0.iter().sum();
    assert!(pair.client.has_to_send() && !waits_for_windows(&pair.client));
    assert!(first < 300_000, "{first}");
    pair.client.send(&mut pair.out);
    let second: usize = sent(&mut pair.out).0.iter().sum();
    assert_eq!(first + second, 500_000);
    assert!(!pair.client.has_to_send());
}

#[test]
fn an_early_answer_ends_the_request() {
    let mut pair = posting(&[]);
    pair.out.clear();
    pair.handle(&headers(1, OK, true)).unwrap();
    assert_eq!(pair.seen, ["0 head 200", "0 end 0"]);
    assert_eq!(pair.out, reset(1, ErrorCode::NO_ERROR));
    // What the server asked for meanwhile is no error.
    pair.handle(&[window_update(1, 5), window_update(0, 5)].concat())
        .unwrap();
    assert!(!pair.client.has_to_send() && !waits_for_windows(&pair.client));
}

#[test]
fn a_wrong_window_of_one_stream_ends_that_stream_alone() {
    for (increment, violation, code) in [
        (0, Violation::WindowIncrement, ErrorCode::PROTOCOL_ERROR),
        (
            0x7fff_ffff,
            Violation::WindowOverflow,
            ErrorCode::FLOW_CONTROL_ERROR,
        ),
    ] {
        let mut pair = Pair::new(&config(), &[GET, GET]);
        pair.out.clear();
        pair.handle(&window_update(1, increment)).unwrap();
        assert_eq!(pair.out, reset(1, code));
        // What the server had sent before it knew is dropped, and the other one goes on.
        pair.handle(&[headers(1, OK, true), headers(3, OK, true)].concat())
            .unwrap();
        let malformed = format!("0 malformed {violation:?}");
        assert_eq!(pair.seen, [malformed.as_str(), "1 head 200", "1 end 0"]);
        // Of one that is over it means nothing.
        pair.handle(&window_update(3, increment)).unwrap();
    }
}

#[test]
fn windows_are_enlarged_within_bounds() {
    check_violation(&[window_update(0, 0)], Violation::WindowIncrement);
    let most = 0x7fff_ffff;
    check_violation(&[window_update(0, most)], Violation::WindowOverflow);
    check(
        &[GET],
        &[
            window_update(0, most - 65_535),
            window_update(1, most - 65_535),
        ],
        "",
        &[],
    );
    let overflow = [window_update(1, most - 65_535), settings(&[(4, 65_536)])];
    check_violation(&overflow, Violation::WindowOverflow);
}
