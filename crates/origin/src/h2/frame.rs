//! Frames (RFC 9113, 4 and 6): reading their headers, and writing those that a server sends.

/// Length of a frame's header, bytes.
pub(super) const HEADER_BYTES: usize = 9;
/// What a client sends first (RFC 9113, 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Longest payload in either direction: what holds where nothing else was agreed on.
pub(super) const PAYLOAD_MAX: usize = 1 << 14;

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

/// What a connection or a stream is ended with (RFC 9113, 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Protocol = 0x1,
    Internal = 0x2,
    FlowControl = 0x3,
    StreamClosed = 0x5,
    FrameSize = 0x6,
    RefusedStream = 0x7,
    Compression = 0x9,
    EnhanceYourCalm = 0xb,
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Length of the payload, bytes.
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Header {
    #[inline]
    pub(super) fn read(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [a, b, c, kind, flags, d, e, f, g] = *bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes([d, e, f, g]) & (u32::MAX >> 1),
        }
    }

    #[inline]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The payload without padding and priority (RFC 9113, 6.1 and 6.2); `None` if they are
    /// longer than it.
    #[inline]
    pub(super) fn unpadded(self, payload: &[u8]) -> Option<&[u8]> {
        let (mut padding, mut rest) = (0, payload);
        if self.has(flag::PADDED) {
            let (first, behind) = rest.split_first()?;
            (padding, rest) = (usize::from(*first), behind);
        }
        if self.kind == kind::HEADERS && self.has(flag::PRIORITY) {
            rest = rest.get(5..)?;
        }
        rest.get(..rest.len().checked_sub(padding)?)
    }
}

/// Appends a frame's header.
#[inline]
pub(super) fn write_header(kind: u8, flags: u8, stream: u32, length: usize, out: &mut Vec<u8>) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, d, e, f, g]);
}

/// Appends a frame.
pub(super) fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    write_header(kind, flags, stream, payload.len(), out);
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
pub(super) fn write_reset(stream: u32, code: Code, out: &mut Vec<u8>) {
    write(
        kind::RST_STREAM,
        0,
        stream,
        &(code as u32).to_be_bytes(),
        out,
    );
}

/// Appends GOAWAY; streams up to `last` may have been answered.
pub(super) fn write_goaway(last: u32, code: Code, out: &mut Vec<u8>) {
    let payload = [last.to_be_bytes(), (code as u32).to_be_bytes()].concat();
    write(kind::GOAWAY, 0, 0, &payload, out);
}

/// The number that a payload of four bytes is.
pub(super) fn number(payload: &[u8]) -> Option<u32> {
    payload.try_into().ok().map(u32::from_be_bytes)
}
