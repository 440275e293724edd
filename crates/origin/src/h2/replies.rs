//! Replies as frames, made before the first request.

use bakeoff_wire::h2::frame::{self, HEADER_BYTES, PAYLOAD_MAX, flag, kind};
use bytes::Bytes;

use crate::replies::Field;

/// A reply, ready to be copied.
#[derive(Debug)]
pub(crate) struct Ready {
    block: Vec<u8>,
    pub(super) body: Bytes,
    /// The whole answer, if its body fits one frame.
    whole: Vec<u8>,
    /// Where in it the frame of the body begins; 0 if there is none.
    data_at: usize,
}

/// Makes a reply ready.
pub(crate) fn encode(fields: &[Field], body: Bytes) -> Ready {
    let mut block = Vec::new();
    fields
        .iter()
        .for_each(|(name, value)| write_field(name, value, &mut block));
    let mut ready = Ready {
        block,
        body,
        whole: Vec::new(),
        data_at: 0,
    };
    let mut whole = Vec::new();
    if ready.body.len() <= PAYLOAD_MAX {
        ready.write_head(0, ready.body.is_empty(), false, &mut whole);
        if !ready.body.is_empty() {
            ready.data_at = whole.len();
            frame::write(kind::DATA, flag::END_STREAM, 0, &ready.body, &mut whole);
        }
    }
    ready.whole = whole;
    ready
}

impl Ready {
    /// Whether [`write_whole`](Self::write_whole) can write it.
    #[inline]
    pub(super) fn is_short(&self) -> bool {
        !self.whole.is_empty()
    }

    /// Appends the whole answer on `stream`.
    #[inline]
    pub(super) fn write_whole(&self, stream: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.whole);
        let mut number = |at: usize| {
            if let Some(place) = out.get_mut(at + 5..at + HEADER_BYTES) {
                place.copy_from_slice(&stream.to_be_bytes());
            }
        };
        number(start);
        if self.data_at > 0 {
            number(start + self.data_at);
        }
    }

    /// Appends the head on `stream`; `shrinks` says first that no dynamic table is used
    /// (RFC 7541, 4.2).
    pub(super) fn write_head(
        &self,
        stream: u32,
        ends_stream: bool,
        shrinks: bool,
        out: &mut Vec<u8>,
    ) {
        let flags = flag::END_HEADERS | if ends_stream { flag::END_STREAM } else { 0 };
        let length = self.block.len() + usize::from(shrinks);
        frame::write_header(kind::HEADERS, flags, stream, length, out);
        if shrinks {
            out.push(0x20);
        }
        out.extend_from_slice(&self.block);
    }
}

/// Appends a field that no table remembers (RFC 7541, 6.1 and 6.2.2).
fn write_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let index = match (name, value) {
        (b":status", b"200") => return out.push(0x88),
        (b":status", _) => 8,
        (b"content-length", _) => 28,
        (b"content-type", _) => 31,
        (b"server", _) => 54,
        _ => 0,
    };
    write_integer(4, index, out);
    if index == 0 {
        write_integer(7, name.len(), out);
        out.extend_from_slice(name);
    }
    write_integer(7, value.len(), out);
    out.extend_from_slice(value);
}

/// Appends an integer with a prefix of `bits`, the bits before it zero (RFC 7541, 5.1).
fn write_integer(bits: u32, value: usize, out: &mut Vec<u8>) {
    let most = (1_usize << bits) - 1;
    if value < most {
        return out.push(value as u8);
    }
    out.push(most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
