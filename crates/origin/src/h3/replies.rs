//! Replies as the bytes of a stream, made before the first request.

use bakeoff_wire::h3::qpack;
use bytes::Bytes;

use crate::replies::Field;

/// A reply, whose bytes all streams share.
#[derive(Debug)]
pub(crate) struct Ready {
    /// HEADERS, and DATA if there is a body.
    pub(super) whole: Bytes,
    /// Length of HEADERS in it.
    pub(super) head: usize,
    /// Where in it the body begins.
    pub(super) body_at: usize,
}

/// Makes a reply ready.
pub(crate) fn encode(fields: &[Field], body: Bytes) -> Ready {
    let mut section = Vec::new();
    qpack::encode(fields, &mut section);
    let mut whole = vec![1];
    write_integer(section.len(), &mut whole);
    whole.append(&mut section);
    let head = whole.len();
    if !body.is_empty() {
        whole.push(0);
        write_integer(body.len(), &mut whole);
    }
    let body_at = whole.len();
    whole.extend_from_slice(&body);
    Ready {
        whole: whole.into(),
        head,
        body_at,
    }
}

impl Ready {
    /// Length of the body, bytes.
    pub(super) fn body(&self) -> usize {
        self.whole.len() - self.body_at
    }
}

/// Appends an integer of QUIC (RFC 9000, 16), below 2^30: lengths of replies are.
fn write_integer(value: usize, out: &mut Vec<u8>) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        _ => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
    }
}
