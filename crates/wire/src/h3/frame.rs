//! Frames (RFC 9114, 7): cutting a stream's bytes into them, whatever parts they come in.

use super::varint;

/// Types of frames that HTTP/3 knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Headers,
    CancelPush,
    Settings,
    PushPromise,
    GoAway,
    MaxPushId,
    /// A type of HTTP/2 that HTTP/3 has no use for: an error on any stream (RFC 9114, 7.2.8).
    OfHttp2,
    /// Any other, to be skipped (RFC 9114, 9).
    Unknown,
}

impl Kind {
    fn of(number: u64) -> Self {
        match number {
            0x0 => Self::Data,
            0x1 => Self::Headers,
            0x3 => Self::CancelPush,
            0x4 => Self::Settings,
            0x5 => Self::PushPromise,
            0x7 => Self::GoAway,
            0xd => Self::MaxPushId,
            0x2 | 0x6 | 0x8 | 0x9 => Self::OfHttp2,
            _ => Self::Unknown,
        }
    }
}

/// Where in a stream the next byte belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameReader {
    /// What has come of an integer, then the bytes of the payload to come.
    number: u64,
    /// Bytes of an integer to come; 0 before its first.
    missing: u8,
    place: Place,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Type,
    Length,
    Payload,
}

/// What comes next in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// A frame begins, with a payload of this length in bytes.
    Header(Kind, u64),
    /// A part of its payload, empty only if all of it is, and whether it is the last one.
    Payload(Kind, &'a [u8], bool),
}

impl Default for FrameReader {
    fn default() -> Self {
        Self {
            number: 0,
            missing: 0,
            place: Place::Type,
            kind: Kind::Unknown,
        }
    }
}

impl FrameReader {
    /// Whether the next byte is the first one of a frame, so that the stream may end here.
    #[inline]
    pub(super) fn is_between_frames(&self) -> bool {
        self.place == Place::Type && self.missing == 0
    }

    /// The next step from `at` on, which is moved behind it; `None` if all bytes are read.
    #[inline]
    pub(super) fn next<'a>(&mut self, bytes: &'a [u8], at: &mut usize) -> Option<Step<'a>> {
        if self.place == Place::Payload {
            return self.payload(bytes, at);
        }
        if self.place == Place::Type {
            let number = varint::read(&mut self.number, &mut self.missing, bytes, at)?;
            self.kind = Kind::of(number);
            self.place = Place::Length;
        }
        let length = varint::read(&mut self.number, &mut self.missing, bytes, at)?;
        self.place = Place::Payload;
        Some(Step::Header(self.kind, length))
    }

    #[inline]
    fn payload<'a>(&mut self, bytes: &'a [u8], at: &mut usize) -> Option<Step<'a>> {
        let rest = bytes.get(*at..).unwrap_or_default();
        if rest.is_empty() && self.number > 0 {
            return None;
        }
        let most = usize::try_from(self.number).unwrap_or(usize::MAX);
        let part = &rest[..rest.len().min(most)];
        *at += part.len();
        self.number -= part.len() as u64;
        let is_last = self.number == 0;
        if is_last {
            self.place = Place::Type;
        }
        Some(Step::Payload(self.kind, part, is_last))
    }
}

/// Appends a frame's header.
pub(super) fn write_header(kind: u8, length: usize, out: &mut Vec<u8>) {
    out.push(kind);
    varint::write(length as u64, out);
}

/// Type of DATA.
pub(super) const DATA: u8 = 0x0;
/// Type of HEADERS.
pub(super) const HEADERS: u8 = 0x1;
/// Type of SETTINGS.
pub(super) const SETTINGS: u8 = 0x4;
