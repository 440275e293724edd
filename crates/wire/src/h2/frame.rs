//! Frames (RFC 9113, 4 and 6): reading their headers, writing those that a client sends.

use super::ErrorCode;

/// Length of a frame's header, bytes.
pub(super) const HEADER_BYTES: usize = 9;
/// What a client sends first (RFC 9113, 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Largest stream identifier.
pub(super) const STREAM_MAX: u32 = (1 << 31) - 1;

/// Types of frames.
pub(super) mod kind {
    pub(in super::super) const DATA: u8 = 0;
    pub(in super::super) const HEADERS: u8 = 1;
    pub(in super::super) const PRIORITY: u8 = 2;
    pub(in super::super) const RST_STREAM: u8 = 3;
    pub(in super::super) const SETTINGS: u8 = 4;
    pub(in super::super) const PUSH_PROMISE: u8 = 5;
    pub(in super::super) const PING: u8 = 6;
    pub(in super::super) const GOAWAY: u8 = 7;
    pub(in super::super) const WINDOW_UPDATE: u8 = 8;
    pub(in super::super) const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub(super) mod flag {
    pub(in super::super) const ACK: u8 = 0x1;
    pub(in super::super) const END_STREAM: u8 = 0x1;
    pub(in super::super) const END_HEADERS: u8 = 0x4;
    pub(in super::super) const PADDED: u8 = 0x8;
    pub(in super::super) const PRIORITY: u8 = 0x20;
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// Length of the payload, bytes.
    pub(super) length: u32,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    #[inline]
    pub(super) fn read(bytes: &[u8; HEADER_BYTES]) -> Self {
        // Two loads that overlap, for nine bytes.
        let [front @ .., _] = *bytes;
        let [.., d, e, f, g] = *bytes;
        let front = u64::from_be_bytes(front);
        Self {
            length: (front >> 40) as u32,
            kind: (front >> 32) as u8,
            flags: (front >> 24) as u8,
            stream: u32::from_be_bytes([d, e, f, g]) & STREAM_MAX,
        }
    }

    pub(super) fn bytes(self) -> [u8; HEADER_BYTES] {
        let [_, a, b, c] = self.length.to_be_bytes();
        let [d, e, f, g] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, d, e, f, g]
    }

    #[inline]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame.
pub(super) fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let header = FrameHeader {
        length: payload.len() as u32,
        kind,
        flags,
        stream,
    };
    out.extend_from_slice(&header.bytes());
    out.extend_from_slice(payload);
}

/// Appends WINDOW_UPDATE.
pub(super) fn write_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    write(
        kind::WINDOW_UPDATE,
        0,
        stream,
        &increment.to_be_bytes(),
        out,
    );
}

/// Appends RST_STREAM.
pub(super) fn write_reset(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    write(kind::RST_STREAM, 0, stream, &code.0.to_be_bytes(), out);
}

/// Appends GOAWAY; a client has processed no stream of the server's.
pub(super) fn write_goaway(code: ErrorCode, out: &mut Vec<u8>) {
    let [a, b, c, d] = code.0.to_be_bytes();
    write(kind::GOAWAY, 0, 0, &[0, 0, 0, 0, a, b, c, d], out);
}

/// Appends HEADERS, and CONTINUATION for what is longer than `length_max`.
pub(super) fn write_headers(
    stream: u32,
    end_stream: bool,
    block: &[u8],
    length_max: usize,
    out: &mut Vec<u8>,
) {
    let mut kind = kind::HEADERS;
    let mut flags = if end_stream { flag::END_STREAM } else { 0 };
    let mut rest = block;
    while rest.len() > length_max {
        let (part, more) = rest.split_at(length_max);
        write(kind, flags, stream, part, out);
        (kind, flags, rest) = (kind::CONTINUATION, 0, more);
    }
    write(kind, flags | flag::END_HEADERS, stream, rest, out);
}

/// A number of four bytes at `at`; 0 where there are none.
pub(super) fn number(payload: &[u8], at: usize) -> u32 {
    let bytes = payload.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Padding and priority taken off a payload (RFC 9113, 6.1 and 6.2); `None` if they are longer.
pub(super) fn unpadded(header: FrameHeader, payload: &[u8]) -> Option<&[u8]> {
    let (padding, mut rest) = match payload.split_first() {
        Some((&padding, rest)) if header.has(flag::PADDED) => (usize::from(padding), rest),
        None if header.has(flag::PADDED) => return None,
        _ => (0, payload),
    };
    if header.has(flag::PRIORITY) {
        rest = rest.get(5..)?;
    }
    rest.get(..rest.len().checked_sub(padding)?)
}
