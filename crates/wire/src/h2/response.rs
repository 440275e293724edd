//! What a response's header block means.
//!
//! nginx has each block insert its fields into the decoder's table and never refers to them. The
//! meaning of such a block does not hang on the table, so while it is repeated its insertions
//! are owed; they are made before another block is read, which may look.

use super::hpack::{Decoder, HpackError};
use crate::fields::{Locations, Meaning, Memos, Reader};

/// Longest inserting block that is kept, bytes.
const MAX_INSERTING_BYTES: usize = 1024;

/// Finds out what blocks mean.
#[derive(Debug)]
pub(super) struct Meanings {
    decoder: Decoder,
    memos: Memos,
    /// Most servers redirect nobody.
    locations: Option<Box<Locations>>,
    inserting: Option<Box<Inserting>>,
    /// Repetitions of the inserting block whose insertions have not been made.
    owed: u32,
}

/// The last block that inserted into the table and did not look into it.
#[derive(Debug, Default)]
struct Inserting {
    block: Vec<u8>,
    /// Size of what it inserts, as the RFC counts, bytes.
    bytes: u32,
    meaning: Meaning,
}

impl Meanings {
    pub(super) fn new(decoder: Decoder) -> Self {
        Self {
            decoder,
            memos: Memos::default(),
            locations: None,
            inserting: None,
            owed: 0,
        }
    }

    /// What `block` means.
    #[inline]
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Meaning, HpackError> {
        if let Some(inserting) = &self.inserting
            && inserting.block == block
        {
            self.owed = self.owed.saturating_add(1);
            return Ok(inserting.meaning);
        }
        if self.owed > 0 {
            self.pay()?;
        }
        match self.memos.find(block, self.decoder.version()) {
            Some(meaning) => Ok(meaning),
            None => self.decode(block),
        }
    }

    /// Makes the insertions that are owed, or as many as leave the same table.
    #[cold]
    fn pay(&mut self) -> Result<(), HpackError> {
        let owed = std::mem::take(&mut self.owed);
        let Some(inserting) = &self.inserting else {
            return Ok(());
        };
        let most = self.decoder.table_bytes_max() / inserting.bytes.max(1) + 1;
        (0..owed.min(most)).try_for_each(|_| self.decoder.decode(&inserting.block, |_, _| {}))
    }

    fn decode(&mut self, block: &[u8]) -> Result<Meaning, HpackError> {
        let version = self.decoder.version();
        let mut reader = Reader::default();
        self.decoder
            .decode(block, |name, value| reader.field(name, value))?;
        if version == self.decoder.version() {
            self.memos.keep(block, version, reader.meaning);
        } else if !self.decoder.used_table() && block.len() <= MAX_INSERTING_BYTES {
            let inserting = self.inserting.get_or_insert_default();
            inserting.block.clear();
            inserting.block.extend_from_slice(block);
            inserting.bytes = self.decoder.inserted_bytes();
            inserting.meaning = reader.meaning;
        }
        let meaning = reader.meaning;
        if reader.has_location() {
            self.locations.get_or_insert_default().keep(reader);
        }
        Ok(meaning)
    }

    /// What `location` said in the first head of a status.
    pub(super) fn location(&self, status: u16) -> Option<&[u8]> {
        self.locations.as_ref()?.of(status)
    }
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
