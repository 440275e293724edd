//! Finds the request in the bytes of one stream (RFC 9114, 4.1 and 7): its fields, and a body and
//! trailers to be thrown away. Bytes in, a method out, however the bytes were cut.

use bakeoff_wire::h3::qpack::SectionReader;

use crate::heads::Head;
use crate::request::Method;

/// Longest field section, bytes, and longest list of fields in it.
const SECTION_BYTES_MAX: u64 = 64 * 1024;
/// Longest section that is compared with the last one, bytes.
const MEMO_BYTES_MAX: usize = 256;

const DATA: u64 = 0x0;
const HEADERS: u64 = 0x1;

/// Why there is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The stream is to be reset with this code.
    Stream(u32),
    /// The connection is to be closed with this code.
    Connection(u32),
}

/// Codes of RFC 9114, 8.1, and RFC 9204, 6.
pub(super) mod code {
    use super::Refused;

    pub(in crate::h3) const NO_ERROR: u32 = 0x100;
    pub(in crate::h3) const INTERNAL_ERROR: u32 = 0x102;

    pub(super) const UNEXPECTED: Refused = Refused::Connection(0x105);
    pub(super) const BAD_FRAME: Refused = Refused::Connection(0x106);
    pub(super) const TOO_LONG: Refused = Refused::Stream(0x107);
    pub(super) const INCOMPLETE: Refused = Refused::Stream(0x10d);
    pub(super) const MALFORMED: Refused = Refused::Stream(0x10e);
    pub(super) const BAD_SECTION: Refused = Refused::Connection(0x200);
}

/// Reads field sections and remembers the last one. As none refers to a table, it means the same
/// on every connection: one for each thread.
#[derive(Debug, Default)]
pub struct Sections {
    reader: SectionReader,
    memo: Vec<u8>,
    meaning: Option<Method>,
}

/// Where in a request's stream the next byte falls.
#[derive(Debug, Clone, Default)]
pub struct RequestReader {
    place: Place,
    /// What has come of an integer, then the bytes of a payload to come.
    number: u64,
    /// Bytes of an integer to come; 0 before its first.
    missing: u8,
    /// Type of the present frame.
    kind: u64,
    /// A section that has not come whole.
    section: Vec<u8>,
    method: Option<Method>,
    /// Trailers have come: nothing may follow.
    has_trailers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Type,
    Length,
    Payload,
}

impl Sections {
    /// The method that a section says; `None` if it is no request's.
    fn read(&mut self, section: &[u8]) -> Result<Option<Method>, Refused> {
        if !section.is_empty() && self.memo == section {
            return Ok(self.meaning);
        }
        let mut head = Head::default();
        let list_max = SECTION_BYTES_MAX as u32;
        let read = self
            .reader
            .read(section, list_max, |name, value| head.field(name, value));
        read.map_err(|_| code::BAD_SECTION)?;
        if section.len() <= MEMO_BYTES_MAX {
            self.memo.clear();
            self.memo.extend_from_slice(section);
            self.meaning = head.method();
        }
        Ok(head.method())
    }
}

impl RequestReader {
    /// Takes what has come.
    ///
    /// # Errors
    /// When that is no request.
    pub fn take(&mut self, bytes: &[u8], sections: &mut Sections) -> Result<(), Refused> {
        let mut at = 0;
        loop {
            match self.place {
                Place::Type => {
                    let Some(kind) = self.integer(bytes, &mut at) else {
                        return Ok(());
                    };
                    self.check(kind)?;
                    (self.kind, self.place) = (kind, Place::Length);
                }
                Place::Length => {
                    let Some(length) = self.integer(bytes, &mut at) else {
                        return Ok(());
                    };
                    if self.kind == HEADERS && length > SECTION_BYTES_MAX {
                        return Err(code::TOO_LONG);
                    }
                    (self.number, self.place) = (length, Place::Payload);
                }
                Place::Payload => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let part = &rest[..rest.len().min(self.number.min(1 << 32) as usize)];
                    at += part.len();
                    self.number -= part.len() as u64;
                    let is_last = self.number == 0;
                    if self.kind == HEADERS {
                        self.headers(part, is_last, sections)?;
                    }
                    if !is_last {
                        return Ok(());
                    }
                    self.place = Place::Type;
                }
            }
        }
    }

    /// The request, when nothing more will come.
    ///
    /// # Errors
    /// When it is not whole.
    pub fn finish(&self) -> Result<Method, Refused> {
        let is_between = self.place == Place::Type && self.missing == 0;
        if !is_between {
            return Err(code::BAD_FRAME);
        }
        self.method.ok_or(code::INCOMPLETE)
    }

    /// Whether a frame of this type may stand here (RFC 9114, 4.1 and 7.2.8).
    fn check(&self, kind: u64) -> Result<(), Refused> {
        match kind {
            HEADERS if !self.has_trailers => Ok(()),
            DATA if self.method.is_some() && !self.has_trailers => Ok(()),
            HEADERS | DATA | 0x2..=0x9 | 0xd => Err(code::UNEXPECTED),
            _ => Ok(()),
        }
    }

    #[inline]
    fn headers(
        &mut self,
        part: &[u8],
        is_last: bool,
        sections: &mut Sections,
    ) -> Result<(), Refused> {
        if !is_last || !self.section.is_empty() {
            self.section.extend_from_slice(part);
        }
        if !is_last {
            return Ok(());
        }
        let section = std::mem::take(&mut self.section);
        let whole = if section.is_empty() { part } else { &section };
        let method = sections.read(whole)?;
        if self.method.is_some() {
            self.has_trailers = true;
            return Ok(());
        }
        self.method = Some(method.ok_or(code::MALFORMED)?);
        Ok(())
    }

    /// Reads an integer of QUIC (RFC 9000, 16), as far as it has come.
    #[inline]
    fn integer(&mut self, bytes: &[u8], at: &mut usize) -> Option<u64> {
        if self.missing == 0 {
            let first = *bytes.get(*at)?;
            *at += 1;
            self.number = u64::from(first & 0x3f);
            self.missing = (1 << (first >> 6)) - 1;
        }
        while self.missing > 0 {
            let byte = *bytes.get(*at)?;
            *at += 1;
            self.missing -= 1;
            self.number = self.number << 8 | u64::from(byte);
        }
        Some(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GET https / by the static table alone.
    const GET: &[u8] = &[1, 5, 0, 0, 0xc0 | 17, 0xc0 | 23, 0xc0 | 1];

    /// What comes of a stream, however it is cut.
    fn check(stream: &[u8], expected: Result<Method, Refused>) {
        let mut sections = Sections::default();
        for piece in [1, 2, 3, stream.len().max(1)] {
            let mut reader = RequestReader::default();
            let mut parts = stream.chunks(piece);
            let taken = parts.try_for_each(|part| reader.take(part, &mut sections));
            let found = taken.and_then(|()| reader.finish());
            assert_eq!(found, expected, "{piece}: {stream:x?}");
        }
    }

    #[test]
    fn a_request_is_found_among_other_frames() {
        check(GET, Ok(Method::Get));
        let body = [GET, &[0, 3, 1, 2, 3, 0, 0, 0x40, 0x21, 2, 9, 9]].concat();
        check(&body, Ok(Method::Get));
        // Trailers: a name of one letter with an empty value.
        check(
            &[&body, &[1, 5, 0, 0, 0x21, b'a', 0][..]].concat(),
            Ok(Method::Get),
        );
        check(&[&[0x21, 1, 0][..], GET].concat(), Ok(Method::Get));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        check(&[], Err(code::INCOMPLETE));
        check(&GET[..6], Err(code::BAD_FRAME));
        check(&[0, 1, 7], Err(code::UNEXPECTED));
        check(&[4, 0], Err(code::UNEXPECTED));
        check(&[1, 3, 0, 0, 0xc0 | 17], Err(code::MALFORMED));
        check(&[1, 3, 0, 0, 0xff], Err(code::BAD_SECTION));
        check(&[1, 0x80, 2, 0, 0], Err(code::TOO_LONG));
        let trailers = [1, 5, 0, 0, 0x21, b'a', 0];
        check(
            &[GET, &trailers, &[0, 1, 7]].concat(),
            Err(code::UNEXPECTED),
        );
    }
}
