//! The server's side of HTTP/2, frame by frame. It decodes no header blocks.

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
/// Of SETTINGS.
const ACK: u8 = 1;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;

pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

pub(super) const NO_ERROR: u32 = 0;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
/// `:status: 200`, by its index in the static table.
pub(super) const STATUS_200: &[u8] = &[0x88];

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// SETTINGS with these values, and the acknowledgement of the client's.
pub(super) fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let one = |(identifier, value): &(u16, u32)| {
        [&identifier.to_be_bytes()[..], &value.to_be_bytes()].concat()
    };
    let payload: Vec<u8> = values.iter().flat_map(one).collect();
    [
        frame(SETTINGS, 0, 0, &payload),
        frame(SETTINGS, ACK, 0, &[]),
    ]
    .concat()
}

/// A whole response with status 200.
pub(super) fn answer(stream: u32, body: &[u8]) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, STATUS_200);
    [head, frame(DATA, END_STREAM, stream, body)].concat()
}

/// Says that no stream after `last` is taken.
pub(super) fn go_away(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// The same of all streams, with a text for people.
pub(super) fn go_away_saying(code: u32, debug: &[u8]) -> Vec<u8> {
    let payload = [&0_u32.to_be_bytes(), &code.to_be_bytes(), debug].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// Takes the next whole request off what a client sent, and returns its stream.
pub(super) fn next_request(bytes: &mut Vec<u8>) -> Option<u32> {
    if bytes.starts_with(PREFACE) {
        bytes.drain(..PREFACE.len());
    }
    while bytes.len() >= 9 && !PREFACE.starts_with(&bytes[..9]) {
        let number = |at: usize| u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]]);
        let (length, kind, flags) = (number(0) as usize, bytes[3], bytes[4]);
        let stream = u32::from(bytes[5] & 0x7f) << 24 | number(6);
        if bytes.len() < 9 + length {
            return None;
        }
        bytes.drain(..9 + length);
        if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
            return Some(stream);
        }
    }
    None
}
