//! The client at its seam: bytes in, events or a violation out, however the bytes are cut.

mod bounds;
mod control;
mod requests;
mod responses;

use super::frame::{DATA, HEADERS, SETTINGS};
use super::*;

/// Types of frames that a client does not send.
const CANCEL_PUSH: u8 = 3;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;
const MAX_PUSH_ID: u8 = 13;

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write_header(kind, payload.len(), &mut out);
    out.extend_from_slice(payload);
    out
}

/// A frame of an unknown type of eight bytes, its length in as many.
fn grease(payload: &[u8]) -> Vec<u8> {
    let kind = (0x1f * 1_000_000_007 + 0x21_u64) | 3 << 62;
    let length = payload.len() as u64 | 3 << 62;
    [&kind.to_be_bytes(), &length.to_be_bytes(), payload].concat()
}

fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let field =
        |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    let fields: Vec<_> = fields.iter().map(field).collect();
    let mut section = Vec::new();
    qpack::encode(&fields, &mut section);
    section
}

fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, &section(fields))
}

fn data(body: &[u8]) -> Vec<u8> {
    frame(DATA, body)
}

/// Each way of cutting `input` that is tried: in two at every byte, and in small pieces.
fn cuts(input: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    let in_two = (0..=input.len()).map(|cut| vec![&input[..cut], &input[cut..]]);
    let sizes = [1, 2, 3, 7, 10].into_iter();
    in_two.chain(sizes.map(|size| input.chunks(size).collect()))
}

#[test]
fn states_are_small() {
    assert_eq!(size_of::<Response>(), 64);
    assert!(
        size_of::<Connection>() <= 192,
        "{}",
        size_of::<Connection>()
    );
}

#[test]
fn codes_have_their_names() {
    for (code, name) in [
        (0xff, None),
        (0x100, Some("H3_NO_ERROR")),
        (0x10e, Some("H3_MESSAGE_ERROR")),
        (0x110, Some("H3_VERSION_FALLBACK")),
        (0x111, None),
        (0x200, Some("QPACK_DECOMPRESSION_FAILED")),
        (0x202, Some("QPACK_DECODER_STREAM_ERROR")),
        (u64::MAX, None),
    ] {
        assert_eq!(ErrorCode(code).name(), name);
    }
    assert_eq!(ErrorCode(0x1ff).to_string(), "error code 0x1ff");
}
