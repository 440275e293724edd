//! What a response's header block means.
//!
//! A server under load sends the same few blocks again and again. [`Meanings`] keeps the last
//! ones with what they meant, so a repeated block costs a comparison instead of decoding.
//!
//! nginx has each block insert its fields into the decoder's table and never refers to them. The
//! meaning of such a block does not hang on the table, so while it is repeated its insertions
//! are owed; they are made when another block comes that may look.

use super::Violation;
use super::hpack::{Decoder, HpackError};

/// Most blocks that are kept.
const MAX_MEMOS: usize = 4;
/// Longest block that is kept, bytes.
const MAX_MEMO_BYTES: usize = 1024;

/// What a header block means for its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Meaning {
    /// Value of `:status`; 0 if it has none, as in trailers.
    pub(super) status: u16,
    /// Value of `content-length`.
    pub(super) content_length: Option<u64>,
    /// The first rule that a field broke.
    pub(super) violation: Option<Violation>,
    /// Length of all names and values, bytes.
    pub(super) text_bytes: u32,
}

/// A block that was decoded.
#[derive(Debug)]
struct Memo {
    block: Vec<u8>,
    /// The decoder's version, before and after.
    version: u32,
    /// Size of what the block inserts into the table; 0 if it leaves the table as it is.
    inserts: u32,
    meaning: Meaning,
}

/// Finds out what blocks mean.
#[derive(Debug)]
pub(super) struct Meanings {
    decoder: Decoder,
    memos: Vec<Memo>,
    /// The memo that was made or of use last.
    latest: u8,
    /// Repetitions of the latest memo's block whose insertions have not been made.
    owed: u32,
}

impl Meanings {
    pub(super) fn new(decoder: Decoder) -> Self {
        Self {
            decoder,
            memos: Vec::new(),
            latest: 0,
            owed: 0,
        }
    }

    /// What `block` means.
    #[inline]
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Meaning, HpackError> {
        let version = self.decoder.version();
        let means = |memo: &&Memo| memo.version == version && memo.block == block;
        let latest = self.memos.get(usize::from(self.latest));
        if let Some(memo) = latest.filter(means) {
            self.owed = self.owed.saturating_add(u32::from(memo.inserts > 0));
            return Ok(memo.meaning);
        }
        self.pay()?;
        let version = self.decoder.version();
        let means = |memo: &&Memo| memo.version == version && memo.block == block;
        let Some((place, memo)) = (0..).zip(&self.memos).find(|(_, memo)| means(memo)) else {
            return self.decode(block);
        };
        self.latest = place;
        self.owed = u32::from(memo.inserts > 0);
        Ok(memo.meaning)
    }

    /// Makes the insertions that are owed, or as many as leave the same table.
    #[cold]
    fn pay(&mut self) -> Result<(), HpackError> {
        let owed = std::mem::take(&mut self.owed);
        if let Some(memo) = self
            .memos
            .get(usize::from(self.latest))
            .filter(|_| owed > 0)
        {
            let most = self.decoder.table_bytes_max() / memo.inserts.max(1) + 1;
            for _ in 0..owed.min(most) {
                self.decoder.decode(&memo.block, |_, _| {})?;
            }
        }
        Ok(())
    }

    fn decode(&mut self, block: &[u8]) -> Result<Meaning, HpackError> {
        let version = self.decoder.version();
        let mut reader = Reader::default();
        self.decoder
            .decode(block, |name, value| reader.field(name, value))?;
        let is_table_same = version == self.decoder.version();
        let inserts = if is_table_same {
            0
        } else {
            self.decoder.inserted_bytes()
        };
        let lasts = is_table_same || !self.decoder.used_table();
        if lasts && block.len() <= MAX_MEMO_BYTES {
            self.keep(block, inserts, reader.meaning);
        }
        Ok(reader.meaning)
    }

    fn keep(&mut self, block: &[u8], inserts: u32, meaning: Meaning) {
        let version = self.decoder.version();
        let stale = self.memos.iter().position(|memo| memo.version != version);
        let place = match stale {
            Some(place) => place,
            None if self.memos.len() < MAX_MEMOS => self.memos.len(),
            None => (usize::from(self.latest) + 1) % MAX_MEMOS,
        };
        self.latest = place as u8;
        if let Some(memo) = self.memos.get_mut(place) {
            memo.block.clear();
            memo.block.extend_from_slice(block);
            (memo.version, memo.meaning) = (version, meaning);
            memo.inserts = inserts;
        } else {
            self.memos.push(Memo {
                block: block.to_vec(),
                version,
                inserts,
                meaning,
            });
        }
    }
}

/// Reads a response's fields.
#[derive(Default)]
struct Reader {
    meaning: Meaning,
    /// Whether an ordinary field came: no pseudo-header field may follow.
    ordinary: bool,
}

impl Reader {
    fn field(&mut self, name: &[u8], value: &[u8]) {
        self.meaning.text_bytes += (name.len() + value.len()) as u32;
        if let Err(violation) = self.check(name, value) {
            self.meaning.violation.get_or_insert(violation);
        }
    }

    fn check(&mut self, name: &[u8], value: &[u8]) -> Result<(), Violation> {
        if name.first() == Some(&b':') {
            if self.ordinary || name != b":status" {
                return Err(Violation::PseudoHeader);
            }
            let status = read_status(value).ok_or(Violation::Status)?;
            if self.meaning.status != 0 {
                return Err(Violation::Status);
            }
            self.meaning.status = status;
            return Ok(());
        }
        self.ordinary = true;
        if !is_field_name(name) {
            return Err(Violation::FieldName);
        }
        if !is_field_value(value) {
            return Err(Violation::FieldValue);
        }
        if is_connection_field(name) {
            return Err(Violation::ConnectionField);
        }
        if name == b"content-length" {
            let length = read_length(value).ok_or(Violation::BadContentLength)?;
            let before = self.meaning.content_length.replace(length);
            if before.is_some_and(|before| before != length) {
                return Err(Violation::BadContentLength);
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

/// Whether a name may stand in an ordinary field (RFC 9113, 8.2.1).
pub(super) fn is_field_name(name: &[u8]) -> bool {
    let fits =
        |&byte: &u8| matches!(byte, 0x21..=0x7e if byte != b':') && !byte.is_ascii_uppercase();
    !name.is_empty() && name.iter().all(fits)
}

/// Whether a value may stand in a field (RFC 9113, 8.2.1).
pub(super) fn is_field_value(value: &[u8]) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
        && !is_space(value.first())
        && !is_space(value.last())
}

/// Whether a field is one of those that HTTP/2 has no use for (RFC 9113, 8.2.2).
pub(super) fn is_connection_field(name: &[u8]) -> bool {
    matches!(
        name,
        b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `:status: 200`, and a literal field that is inserted.
    fn block(value: &[u8; 3]) -> Vec<u8> {
        let mut block = vec![0x88, 0x40, 1, b'a', 3];
        block.extend_from_slice(value);
        block
    }

    #[test]
    fn insertions_of_repeated_blocks_are_made_before_anything_looks() {
        // Against a decoder that makes each insertion at once.
        let mut plain = Decoder::new(4096);
        let mut meanings = Meanings::new(Decoder::new(4096));
        let look = [0x88, 0x80 | 62, 0x80 | 63];
        let mut pick = 7_u32;
        for _ in 0..20_000 {
            pick = pick.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let blocks = [block(b"one"), block(b"two"), look.to_vec(), vec![0x88]];
            let kind = if (pick >> 16).is_multiple_of(160) {
                pick >> 20
            } else {
                0
            };
            let block = &blocks[kind as usize % blocks.len()];
            let (mut text, mut fails) = (0, false);
            fails |= plain
                .decode(block, |name, value| {
                    text += (name.len() + value.len()) as u32
                })
                .is_err();
            match meanings.read(block) {
                Ok(meaning) => assert_eq!((meaning.status, meaning.text_bytes), (200, text)),
                Err(_) => {
                    assert!(fails);
                    return;
                }
            }
            assert!(!fails);
            if pick >> 16 & 63 == 0 {
                let owed = meanings.owed;
                meanings.pay().unwrap();
                let entries = |decoder: &Decoder| decoder.table_text();
                assert_eq!(entries(&plain), entries(&meanings.decoder), "{owed} owed");
            }
        }
    }

    #[test]
    fn a_repeated_block_owes_and_costs_no_decoding() {
        let mut meanings = Meanings::new(Decoder::new(4096));
        (0..1_000).for_each(|_| {
            meanings.read(&block(b"one")).unwrap();
        });
        assert_eq!(meanings.owed, 999);
        meanings.read(&block(b"two")).unwrap();
        assert_eq!(meanings.owed, 0);
    }
}
