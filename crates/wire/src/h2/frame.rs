//! Frames (RFC 9113, 4 and 6), which mean the same to a client and a server: reading their headers,
//! and writing them. It knows no stream and no connection, so it checks no rule about them.

use super::ErrorCode;

/// Length of a frame's header, bytes.
pub const HEADER_BYTES: usize = 9;
/// What a client sends first (RFC 9113, 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Longest payload in either direction unless another was agreed on (RFC 9113, 4.2).
pub const PAYLOAD_MAX: usize = 1 << 14;
/// Largest stream identifier.
pub const STREAM_MAX: u32 = (1 << 31) - 1;

/// Types of frames.
pub mod kind {
    /// A part of a body.
    pub const DATA: u8 = 0;
    /// A header block, or its first part.
    pub const HEADERS: u8 = 1;
    /// A priority, which nobody uses any more.
    pub const PRIORITY: u8 = 2;
    /// Ends a stream.
    pub const RST_STREAM: u8 = 3;
    /// What the sender allows.
    pub const SETTINGS: u8 = 4;
    /// Announces a response that nobody requested.
    pub const PUSH_PROMISE: u8 = 5;
    /// Asks whether the peer is there.
    pub const PING: u8 = 6;
    /// Ends the connection.
    pub const GOAWAY: u8 = 7;
    /// Allows more bytes of bodies.
    pub const WINDOW_UPDATE: u8 = 8;
    /// A further part of a header block.
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub mod flag {
    /// Of SETTINGS and PING: acknowledges one of the peer.
    pub const ACK: u8 = 0x1;
    /// Of DATA and HEADERS: the last frame of its sender on the stream.
    pub const END_STREAM: u8 = 0x1;
    /// Of HEADERS and CONTINUATION: the header block ends.
    pub const END_HEADERS: u8 = 0x4;
    /// Of DATA and HEADERS: padding follows.
    pub const PADDED: u8 = 0x8;
    /// Of HEADERS: a priority comes first.
    pub const PRIORITY: u8 = 0x20;
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Length of the payload, bytes.
    pub length: u32,
    /// One of [`kind`], or a type that this module does not know.
    pub kind: u8,
    /// Some of [`flag`], by the type.
    pub flags: u8,
    /// The stream; 0 is the connection.
    pub stream: u32,
}

impl FrameHeader {
    /// Reads a header; the reserved bit is ignored.
    #[inline]
    pub fn read(bytes: &[u8; HEADER_BYTES]) -> Self {
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

    /// Whether it is the beginning of an answer of HTTP/1, read as a frame's header.
    #[cold]
    pub(crate) fn is_http1(self) -> bool {
        self.bytes().starts_with(b"HTTP/1.")
    }

    /// The header as it is sent.
    #[inline]
    pub(crate) fn bytes(self) -> [u8; HEADER_BYTES] {
        let [_, a, b, c] = self.length.to_be_bytes();
        let [d, e, f, g] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, d, e, f, g]
    }

    /// Whether a flag is set.
    #[inline]
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The payload without padding and priority (RFC 9113, 6.1 and 6.2); `None` if they are longer
    /// than it.
    #[inline]
    pub fn unpadded(self, payload: &[u8]) -> Option<&[u8]> {
        let (padding, mut rest) = match payload.split_first() {
            Some((&padding, rest)) if self.has(flag::PADDED) => (usize::from(padding), rest),
            None if self.has(flag::PADDED) => return None,
            _ => (0, payload),
        };
        if self.kind == kind::HEADERS && self.has(flag::PRIORITY) {
            rest = rest.get(5..)?;
        }
        rest.get(..rest.len().checked_sub(padding)?)
    }
}

/// Appends the header of a frame whose payload has `length` bytes.
#[inline]
pub fn write_header(kind: u8, flags: u8, stream: u32, length: usize, out: &mut Vec<u8>) {
    let header = FrameHeader {
        length: length as u32,
        kind,
        flags,
        stream,
    };
    out.extend_from_slice(&header.bytes());
}

/// Appends a frame.
#[inline]
pub fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    write_header(kind, flags, stream, payload.len(), out);
    out.extend_from_slice(payload);
}

/// Appends WINDOW_UPDATE.
pub fn write_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    write(
        kind::WINDOW_UPDATE,
        0,
        stream,
        &increment.to_be_bytes(),
        out,
    );
}

/// Appends RST_STREAM.
pub fn write_reset(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    write(kind::RST_STREAM, 0, stream, &code.0.to_be_bytes(), out);
}

/// Appends GOAWAY; streams of the peer up to `last` may have been processed.
pub fn write_goaway(last: u32, code: ErrorCode, out: &mut Vec<u8>) {
    let payload = [last.to_be_bytes(), code.0.to_be_bytes()];
    write(kind::GOAWAY, 0, 0, payload.as_flattened(), out);
}

/// Appends HEADERS, and CONTINUATION for what is longer than `length_max`.
pub(crate) fn write_headers(
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

/// A number of four bytes at `at`; 0 if there are not so many.
#[inline]
pub fn number(payload: &[u8], at: usize) -> u32 {
    let bytes = payload.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
