//! A server's bytes on the streams of an HTTP/3 connection: never a panic, and the same however
//! they are cut and whatever the memo and the state met before.

use bakeoff_wire::h3::{
    Config, Connection, ControlEvent, End, Event, Memo, PeerSettings, Response, Violation,
};

/// What came of a request stream, the parts of the body joined.
#[derive(Debug, PartialEq)]
struct Seen {
    statuses: Vec<u16>,
    body: Vec<u8>,
    result: Result<End, Violation>,
}

fn respond(response: &mut Response, memo: &mut Memo, parts: &[&[u8]]) -> Seen {
    let (mut statuses, mut body) = (Vec::new(), Vec::new());
    let result = parts.iter().try_for_each(|part| {
        response.handle(part, memo, |event| match event {
            Event::Informational { status } => {
                assert!((100..200).contains(&status) && status != 101);
                statuses.push(status);
            }
            Event::Head { status } => {
                assert!((200..1000).contains(&status));
                statuses.push(status);
            }
            Event::Data(part) => {
                assert!(!part.is_empty());
                body.extend_from_slice(part);
            }
        })
    });
    let result = result.and_then(|()| response.finish());
    if let Ok(end) = result {
        assert_eq!(end.body_bytes, body.len() as u64);
    }
    assert_eq!(response.body_bytes(), body.len() as u64);
    Seen {
        statuses,
        body,
        result,
    }
}

/// Frames made of the input, so that fewer are wasted on headers.
fn frames(mut input: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some((&[kind, length], rest)) = input.split_first_chunk() {
        let (payload, rest) = rest.split_at(rest.len().min(usize::from(length % 64)));
        bytes.extend_from_slice(&[kind % 16, payload.len() as u8]);
        bytes.extend_from_slice(payload);
        input = rest;
    }
    bytes
}

fn check_responses(to_head: bool, size: usize, streams: &[(bool, Vec<u8>)]) {
    let config = Config {
        max_field_section_size: 200,
    };
    let (mut memo, mut used) = (Memo::new(&config), Response::new(false));
    for (is_framed, input) in streams {
        let bytes = if *is_framed {
            frames(input)
        } else {
            input.clone()
        };
        let mut response = Response::new(to_head);
        let whole = respond(&mut response, &mut Memo::new(&config), &[&bytes]);
        used.begin(to_head);
        let parts: Vec<_> = bytes.chunks(size).collect();
        assert_eq!(whole, respond(&mut used, &mut memo, &parts));
    }
}

type Control = (Vec<ControlEvent>, Result<(), Violation>, PeerSettings);

/// Feeds unidirectional streams, each piece cut again into parts of `size`.
fn control(size: usize, pieces: &[(u8, bool, Vec<u8>)]) -> Control {
    let mut connection = Connection::new(&Config::default());
    let mut events = Vec::new();
    let result = pieces.iter().try_for_each(|(stream, fin, bytes)| {
        let stream = u64::from(stream % 5) * 4 + 3;
        let mut parts = bytes.chunks(size).peekable();
        while let Some(part) = parts.next() {
            let fin = *fin && parts.peek().is_none();
            connection.handle_uni(stream, part, fin, |event| events.push(event))?;
        }
        if bytes.is_empty() && *fin {
            connection.handle_uni_reset(stream)?;
        }
        Ok(())
    });
    (events, result, *connection.peer_settings())
}

type Input = (
    bool,
    u8,
    Vec<(bool, Vec<u8>)>,
    Vec<(u8, bool, Vec<u8>)>,
    Vec<u8>,
);

pub(crate) fn check(data: Input) {
    let (to_head, cut, streams, mut pieces, control_frames) = data;
    let size = usize::from(cut).max(1);
    check_responses(to_head, size, &streams);

    assert_eq!(control(usize::MAX, &pieces), control(size, &pieces));
    // Once more behind a right beginning.
    pieces.insert(
        0,
        (
            0,
            false,
            [&[0, 4, 0], &frames(&control_frames)[..]].concat(),
        ),
    );
    assert_eq!(control(usize::MAX, &pieces), control(size, &pieces));
}
