//! What the fields of a response mean, and a memo of the encoded lists seen last.
//!
//! A server under load sends the same few lists again and again. [`Memos`] keeps the last ones
//! with what they meant, so a repeated one costs a comparison instead of decoding.

use super::{is_connection_field, is_field_name, is_field_value};

/// Most lists that are kept.
const MAX_MEMOS: usize = 4;
/// Longest list that is kept, bytes as encoded.
const MAX_MEMO_BYTES: usize = 1024;

/// Most statuses of which a location is kept.
const MAX_LOCATIONS: usize = 4;
/// Longest location that is kept, bytes.
const MAX_LOCATION_BYTES: usize = 1024;

/// What a list of fields means for its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Meaning {
    /// Value of `:status`; 0 if it has none, as in trailers.
    pub(crate) status: u16,
    /// Value of `content-length`.
    pub(crate) content_length: Option<u64>,
    /// The first rule that a field broke.
    pub(crate) fault: Option<Fault>,
    /// Length of all names and values, bytes.
    pub(crate) text_bytes: u32,
}

/// A rule that a field of a response broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `:status` is no status, or there are two.
    Status,
    /// A pseudo-header field that responses do not have, or behind ordinary ones.
    PseudoHeader,
    /// A name has a character that it may not have.
    Name,
    /// A value has a character that it may not have.
    Value,
    /// A field that belongs to HTTP/1.1 connections.
    Connection,
    /// `content-length` is no number, or two of them differ.
    ContentLength,
}

/// Lists that were decoded, with what they mean.
#[derive(Debug, Default)]
pub(crate) struct Memos {
    memos: Vec<Memo>,
    /// The memo that was made or of use last.
    latest: u8,
}

#[derive(Debug)]
struct Memo {
    encoded: Vec<u8>,
    /// The dynamic table's version that it was decoded with.
    version: u32,
    meaning: Meaning,
}

impl Memos {
    /// What a list means, if it was kept and its bytes still mean the same.
    #[inline]
    pub(crate) fn find(&mut self, encoded: &[u8], version: u32) -> Option<Meaning> {
        let means = |memo: &&Memo| memo.version == version && memo.encoded == encoded;
        let latest = self.memos.get(usize::from(self.latest));
        if let Some(memo) = latest.filter(means) {
            return Some(memo.meaning);
        }
        let (place, memo) = (0..).zip(&self.memos).find(|(_, memo)| means(memo))?;
        self.latest = place;
        Some(memo.meaning)
    }

    /// Keeps a list, unless it is long, in the place of one that is of no more use or of one of
    /// the older ones.
    pub(crate) fn keep(&mut self, encoded: &[u8], version: u32, meaning: Meaning) {
        if encoded.len() > MAX_MEMO_BYTES {
            return;
        }
        let stale = self.memos.iter().position(|memo| memo.version != version);
        let place = match stale {
            Some(place) => place,
            None if self.memos.len() < MAX_MEMOS => self.memos.len(),
            None => (usize::from(self.latest) + 1) % MAX_MEMOS,
        };
        self.latest = place as u8;
        if let Some(memo) = self.memos.get_mut(place) {
            memo.encoded.clear();
            memo.encoded.extend_from_slice(encoded);
            (memo.version, memo.meaning) = (version, meaning);
        } else {
            self.memos.push(Memo {
                encoded: encoded.to_vec(),
                version,
                meaning,
            });
        }
    }
}

/// What `location` said in the first list of each status, of a few statuses.
#[derive(Debug, Default)]
pub(crate) struct Locations(Vec<(u16, Box<[u8]>)>);

impl Locations {
    /// Keeps that of a list that was read, if it has one.
    pub(crate) fn keep(&mut self, reader: Reader) {
        let status = reader.meaning.status;
        if let Some(location) = reader.location
            && self.of(status).is_none()
            && self.0.len() < MAX_LOCATIONS
        {
            self.0.push((status, location));
        }
    }

    /// That of a status.
    pub(crate) fn of(&self, status: u16) -> Option<&[u8]> {
        let found = self.0.iter().find(|(known, _)| *known == status);
        found.map(|(_, location)| &**location)
    }
}

/// Reads a response's fields, one after the other.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) meaning: Meaning,
    location: Option<Box<[u8]>>,
    /// Whether an ordinary field came: no pseudo-header field may follow.
    ordinary: bool,
}

impl Reader {
    /// Whether the list had a location.
    pub(crate) fn has_location(&self) -> bool {
        self.location.is_some()
    }

    pub(crate) fn field(&mut self, name: &[u8], value: &[u8]) {
        self.meaning.text_bytes += (name.len() + value.len()) as u32;
        if let Err(fault) = self.check(name, value) {
            self.meaning.fault.get_or_insert(fault);
        }
    }

    fn check(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        if name.first() == Some(&b':') {
            if self.ordinary || name != b":status" {
                return Err(Fault::PseudoHeader);
            }
            let status = read_status(value).ok_or(Fault::Status)?;
            if self.meaning.status != 0 {
                return Err(Fault::Status);
            }
            self.meaning.status = status;
            return Ok(());
        }
        self.ordinary = true;
        if !is_field_name(name) {
            return Err(Fault::Name);
        }
        if !is_field_value(value) {
            return Err(Fault::Value);
        }
        if is_connection_field(name) {
            return Err(Fault::Connection);
        }
        if name == b"location" && value.len() <= MAX_LOCATION_BYTES {
            self.location = Some(value.into());
        }
        if name == b"content-length" {
            let length = read_length(value).ok_or(Fault::ContentLength)?;
            let before = self.meaning.content_length.replace(length);
            if before.is_some_and(|before| before != length) {
                return Err(Fault::ContentLength);
            }
        }
        Ok(())
    }
}

/// Three digits that are a status (RFC 9110, 15).
fn read_status(value: &[u8]) -> Option<u16> {
    let &[a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else {
        return None;
    };
    let digit = |byte: u8| u16::from(byte - b'0');
    Some(digit(a) * 100 + digit(b) * 10 + digit(c))
}

/// Digits alone (RFC 9110, 8.6).
fn read_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}
