//! Opening: what is sent first, how many streams there may be, and how heads are encoded.

use super::*;
use crate::h2::hpack::Decoder;

/// The frames in `bytes`: type, flags, stream, payload.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut frames = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk() {
        let header = frame::FrameHeader::read(header);
        let (payload, rest) = rest.split_at(header.length as usize);
        frames.push((header.kind, header.flags, header.stream, payload.to_vec()));
        bytes = rest;
    }
    frames
}

/// Reads the header blocks in `bytes`, one for each request.
fn heads(decoder: &mut Decoder, bytes: &[u8]) -> Vec<String> {
    let (mut heads, mut block) = (Vec::new(), Vec::new());
    for (kind, flags, _, payload) in frames(bytes) {
        if kind == kind::DATA {
            continue;
        }
        block.extend_from_slice(&payload);
        if flags & flag::END_HEADERS != 0 {
            let mut text = String::new();
            let mut add = |name: &[u8], value: &[u8]| {
                text += &format!("{} {};", name.escape_ascii(), value.escape_ascii());
            };
            decoder.decode(&block, &mut add).unwrap();
            heads.push(text);
            block.clear();
        }
    }
    heads
}

#[test]
fn the_preface_is_sent_first() {
    let mut out = Vec::new();
    let config = Config {
        streams: 10,
        stream_window: 1 << 20,
        connection_window: 1 << 24,
        header_table_size: 0,
        max_frame_size: 1 << 15,
    };
    Client::new(&config, requests()).begin(&mut out);
    let rest = out.strip_prefix(frame::PREFACE).unwrap();
    let expected = [
        settings(&[(1, 0), (2, 0), (4, 1 << 20), (5, 1 << 15), (6, 65_536)]),
        window_update(0, (1 << 24) - 65_535),
    ];
    assert_eq!(rest, expected.concat());
    let usual = Config {
        stream_window: 65_535,
        connection_window: 0,
        ..Config::default()
    };
    out.clear();
    Client::new(&usual, requests()).begin(&mut out);
    assert_eq!(
        out[frame::PREFACE.len()..],
        settings(&[(2, 0), (6, 65_536)])
    );
}

#[test]
fn both_sides_bound_the_number_of_streams() {
    let room = |streams, theirs: &[(u16, u32)]| {
        let config = Config {
            streams,
            ..config()
        };
        let mut pair = Pair::new(&config, &[GET]);
        pair.handle(&settings(theirs)).unwrap();
        (pair.client.capacity(), pair.client.can_open())
    };
    assert_eq!(room(1, &[]), (0, false));
    assert_eq!(room(1000, &[]), (999, true));
    assert_eq!(room(1000, &[(3, 7)]), (6, true));
    assert_eq!(room(1000, &[(3, 0)]), (0, false));
    assert_eq!(room(5, &[(3, 100)]), (4, true));
}

#[test]
fn one_stream_goes_ahead_of_the_servers_settings() {
    for (streams, first) in [(1000, 1), (1, 1), (0, 0)] {
        let config = Config {
            streams,
            ..config()
        };
        let client = Client::new(&config, requests());
        assert_eq!((client.capacity(), client.has_settings()), (first, false));
    }
    let mut pair = Pair::new(&config(), &[GET]);
    let opened = pair.client.open(GET, 1, &mut pair.out);
    assert_eq!((opened, pair.out.len()), (Err(Blocked::Full), 0));
    // Not even when nothing is open any more: an answer is no word about the limit.
    pair.client.cancel(0, &mut pair.out);
    assert_eq!(pair.client.capacity(), 1);
    pair.client.open(GET, 1, &mut pair.out).unwrap();
    let settings = settings(&[(3, 8)]);
    let (last, before) = settings.split_last().unwrap();
    pair.handle(before).unwrap();
    assert_eq!(
        (pair.client.capacity(), pair.client.has_settings()),
        (0, false)
    );
    pair.handle(&[*last]).unwrap();
    assert_eq!(
        (pair.client.capacity(), pair.client.has_settings()),
        (7, true)
    );
}

#[test]
fn never_more_streams_are_open_than_the_limit_of_the_moment() {
    let mut pair = Pair::new(&config(), &[]);
    let (mut limit, mut seed, mut open) = (1_u32, 7_u32, Vec::new());
    let mut next_id = 1_u32;
    for _ in 0..5_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if seed >> 27 == 0 {
            limit = seed >> 8 & 15;
            pair.handle(&settings(&[(3, limit)])).unwrap();
        } else if seed >> 30 == 0 && pair.client.has_settings() && !open.is_empty() {
            let id = open.swap_remove(seed as usize / 7 % open.len());
            pair.handle(&headers(id, OK, true)).unwrap();
        } else {
            let opened = pair.client.open(GET, 0, &mut pair.out);
            assert_eq!(opened.is_ok(), (open.len() as u32) < limit);
            if opened.is_ok() {
                open.push(next_id);
                next_id += 2;
            }
        }
        assert_eq!(pair.client.open_streams() as usize, open.len());
        let room = limit.saturating_sub(open.len() as u32);
        assert_eq!(pair.client.capacity(), room);
    }
}

#[test]
fn a_stream_that_ends_makes_room() {
    let config = Config {
        streams: 2,
        ..config()
    };
    let mut pair = Pair::new(&config, &[GET, GET]);
    let opened = pair.client.open(GET, 9, &mut pair.out);
    assert_eq!((opened, pair.out.len()), (Err(Blocked::Full), 0));
    pair.handle(&[settings(&[]), headers(3, OK, true)].concat())
        .unwrap();
    assert_eq!(pair.client.capacity(), 1);
    pair.client.open(GET, 9, &mut pair.out).unwrap();
    // The limit may fall below what is open; then it takes more than one end.
    pair.handle(&settings(&[(3, 1)])).unwrap();
    pair.handle(&headers(1, OK, true)).unwrap();
    assert_eq!(pair.client.capacity(), 0);
    pair.handle(&headers(5, OK, true)).unwrap();
    assert_eq!(pair.client.capacity(), 1);
}

#[test]
fn identifiers_run_out() {
    let mut pair = Pair::with_settings(&config(), &[]);
    pair.client.next_id(0x7fff_fffd);
    assert_eq!(pair.client.capacity(), 2);
    pair.client.open(GET, 0, &mut pair.out).unwrap();
    pair.client.open(GET, 1, &mut pair.out).unwrap();
    assert_eq!(pair.client.capacity(), 0);
    let opened = pair.client.open(GET, 2, &mut pair.out);
    assert_eq!(opened, Err(Blocked::UsedUp));
    let last = frames(&pair.out).last().map(|frame| frame.2);
    assert_eq!(last, Some(0x7fff_ffff));
    pair.handle(&headers(0x7fff_ffff, OK, true)).unwrap();
    assert_eq!(pair.seen, ["1 head 200", "1 end 0"]);
}

#[test]
fn heads_stay_right_whatever_the_order_and_the_table() {
    let mut pair = Pair::with_settings(&config(), &[]);
    let mut decoder = Decoder::new(4096);
    let expected = |request| match request {
        GET => ":method GET;:scheme http;:authority a.test;:path /;",
        HEAD => ":method HEAD;:scheme http;:authority a.test;:path /;",
        _ => ":method POST;:scheme http;:authority a.test;:path /;content-length 8;",
    };
    let open = |pair: &mut Pair, decoder: &mut Decoder, request| {
        pair.out.clear();
        pair.client.open(request, 0, &mut pair.out).unwrap();
        assert_eq!(heads(decoder, &pair.out), [expected(request)]);
        pair.out.len()
    };
    let first = open(&mut pair, &mut decoder, GET);
    let second = open(&mut pair, &mut decoder, GET);
    assert!(second < first);
    for request in [HEAD, GET, POST, GET, GET, HEAD, POST, POST] {
        open(&mut pair, &mut decoder, request);
    }
    assert_eq!(open(&mut pair, &mut decoder, GET), second);
    for size in [0, 4096, 60] {
        pair.handle(&settings(&[(1, size)])).unwrap();
        decoder.allow(size);
        for request in [GET, POST, GET, HEAD, GET] {
            open(&mut pair, &mut decoder, request);
        }
    }
    // One frame may name two sizes, and the smaller one empties the server's table.
    for sizes in [&[4096][..], &[0, 4096]] {
        let named: Vec<_> = sizes.iter().map(|size| (1, *size)).collect();
        pair.handle(&settings(&named)).unwrap();
        sizes.iter().for_each(|size| decoder.allow(*size));
        for request in [GET, POST, GET] {
            open(&mut pair, &mut decoder, request);
        }
    }
}

#[test]
fn more_requests_than_are_kept_ready_stay_right() {
    let request = |number| {
        let headers = [("x-number".to_owned(), format!("{number}"))];
        Request::new(
            "GET",
            "http",
            "a.test",
            &format!("/{number}"),
            &headers,
            vec![],
        )
        .unwrap()
    };
    let requests = Requests::new((0..300).map(request).collect());
    let mut client = Client::new(&config(), Arc::new(requests));
    let (mut decoder, mut out) = (Decoder::new(4096), Vec::new());
    for round in 0..3 {
        for number in 0..300 {
            out.clear();
            client.open(number, 0, &mut out).unwrap();
            client.cancel(0, &mut Vec::new());
            let head = &heads(&mut decoder, &out)[0];
            let end = format!(":path /{number};x-number {number};");
            assert!(head.ends_with(&end), "{round} {number} {head}");
        }
    }
}

#[test]
fn a_long_head_is_continued() {
    let headers = [("cookie".to_owned(), "\u{e9}".repeat(10_000))];
    let request = Request::new("GET", "http", "a.test", "/", &headers, vec![]).unwrap();
    let mut client = Client::new(&config(), Arc::new(Requests::new(vec![request])));
    let mut out = Vec::new();
    client.open(0, 0, &mut out).unwrap();
    let sent = frames(&out);
    assert!(sent.len() == 2 && sent.iter().all(|frame| frame.3.len() <= 16_384));
    assert_eq!((sent[0].0, sent[0].1), (kind::HEADERS, flag::END_STREAM));
    assert_eq!(
        (sent[1].0, sent[1].1),
        (kind::CONTINUATION, flag::END_HEADERS)
    );
    assert!(heads(&mut Decoder::new(4096), &out)[0].contains("cookie "));
}

#[test]
fn an_idle_connection_is_small() {
    assert!(size_of::<Client>() <= 520, "{}", size_of::<Client>());
    assert_eq!(size_of::<Event>(), 16);
}
