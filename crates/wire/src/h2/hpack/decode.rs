//! Reads header blocks (RFC 7541, 3 and 6).

use super::{DEFAULT_TABLE_BYTES, HpackError, static_table};
use crate::fields::ENTRY_OVERHEAD_BYTES;
use crate::fields::text::{self, Text};
use crate::fields::{Table, grow, integer};

/// Longest header list that is read: names, values and 32 bytes a field.
pub const MAX_LIST_BYTES: u32 = 64 * 1024;
/// Most scratch memory that is kept from one block to the next, bytes.
const SCRATCH_KEPT_BYTES: usize = 1024;

/// Reads the header blocks of one connection, in their order.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// Most that the encoder may choose for the table's size, bytes.
    size_allowed: u32,
    /// Whether the encoder has yet to choose a size that is allowed.
    must_shrink: bool,
    /// Huffman-coded strings, decoded, and names out of the table.
    scratch: Vec<u8>,
    /// Whether the last block looked into the dynamic table or changed its size.
    used_table: bool,
    inserted_bytes: u32,
}

impl Decoder {
    /// A decoder whose table may grow to `size_allowed` bytes, as this side's settings say.
    pub fn new(size_allowed: u32) -> Self {
        Self {
            table: Table::new(DEFAULT_TABLE_BYTES),
            size_allowed,
            must_shrink: size_allowed < DEFAULT_TABLE_BYTES,
            scratch: Vec::new(),
            used_table: false,
            inserted_bytes: 0,
        }
    }

    /// Whether the last block looked into the dynamic table or changed its size. One that did
    /// not means the same whatever the table holds.
    pub(in crate::h2) fn used_table(&self) -> bool {
        self.used_table
    }

    /// Size of all that the last block inserted, as the RFC counts, bytes.
    pub(in crate::h2) fn inserted_bytes(&self) -> u32 {
        self.inserted_bytes
    }

    /// Largest size of the table, bytes.
    pub(in crate::h2) fn table_bytes_max(&self) -> u32 {
        self.table.size_max()
    }

    /// A number that is the same before and after a block only if the table is: then the same
    /// bytes will mean the same again.
    #[inline]
    pub fn version(&self) -> u32 {
        self.table.version()
    }

    /// Sets what the table may grow to; the encoder must shrink a larger one in its next block.
    pub fn allow(&mut self, size_allowed: u32) {
        self.size_allowed = size_allowed;
        self.must_shrink |= size_allowed < self.table.size_max();
    }

    /// Reads a whole block and hands each field's name and value to `field`.
    ///
    /// After an error the table is no longer what the encoder takes it for.
    pub fn decode(
        &mut self,
        block: &[u8],
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let mut at = self.resize(block)?;
        self.used_table = at > 0;
        self.inserted_bytes = 0;
        let mut list_bytes = 0_u32;
        while let Some(&first) = block.get(at) {
            at += 1;
            self.scratch.clear();
            let (name, value) = match first {
                0x80.. => {
                    let index = integer::read(first, 7, block, &mut at)?;
                    self.indexed(index, |name, value| {
                        list_bytes = grow(list_bytes, name, value, MAX_LIST_BYTES)
                            .ok_or(HpackError::ListTooLong)?;
                        field(name, value);
                        Ok(())
                    })?;
                    continue;
                }
                0x40.. => self.literal(first, 6, block, &mut at)?,
                0x20.. => return Err(HpackError::BadTableSize),
                _ => self.literal(first, 4, block, &mut at)?,
            };
            let name = name.of(block, &self.scratch);
            let value = value.of(block, &self.scratch);
            list_bytes =
                grow(list_bytes, name, value, MAX_LIST_BYTES).ok_or(HpackError::ListTooLong)?;
            field(name, value);
            if first >= 0x40 {
                self.table.insert(name, value);
                let bytes = (name.len() + value.len()) as u32 + ENTRY_OVERHEAD_BYTES;
                self.inserted_bytes = self.inserted_bytes.saturating_add(bytes);
            }
        }
        if self.scratch.capacity() > SCRATCH_KEPT_BYTES {
            self.scratch = Vec::new();
        }
        Ok(())
    }

    /// Reads the changes of the table's size at the front of a block; returns where it goes on.
    fn resize(&mut self, block: &[u8]) -> Result<usize, HpackError> {
        let mut at = 0;
        while let Some(&first @ 0x20..=0x3f) = block.get(at) {
            at += 1;
            let size = integer::read(first, 5, block, &mut at)?;
            if size > self.size_allowed {
                return Err(HpackError::BadTableSize);
            }
            self.table.resize(size);
            self.must_shrink = false;
        }
        if self.must_shrink {
            return Err(HpackError::NotShrunk);
        }
        Ok(at)
    }

    /// Looks an index up in both tables.
    fn indexed<T>(
        &mut self,
        index: u32,
        found: impl FnOnce(&[u8], &[u8]) -> Result<T, HpackError>,
    ) -> Result<T, HpackError> {
        let entry = match index.checked_sub(static_table::LEN + 1) {
            Some(age) => {
                self.used_table = true;
                self.table.entry(age)
            }
            None => static_table::entry(index),
        };
        let (name, value) = entry.ok_or(HpackError::BadIndex)?;
        found(name, value)
    }

    /// Reads a literal field, whose first byte has a prefix of `bits` with the name's index.
    fn literal(
        &mut self,
        first: u8,
        bits: u32,
        block: &[u8],
        at: &mut usize,
    ) -> Result<(Text, Text), HpackError> {
        let index = integer::read(first, bits, block, at)?;
        let name = if index == 0 {
            text::read(7, block, at, &mut self.scratch)?
        } else if index <= static_table::LEN {
            Text::Fixed(static_table::entry(index).map_or(&[], |(name, _)| name))
        } else {
            // The entry may be evicted by the insertion of this very field.
            let mut scratch = std::mem::take(&mut self.scratch);
            let end = self.indexed(index, |name, _| {
                scratch.extend_from_slice(name);
                Ok(name.len())
            });
            self.scratch = scratch;
            Text::Scratch {
                start: 0,
                end: end?,
            }
        };
        let value = text::read(7, block, at, &mut self.scratch)?;
        Ok((name, value))
    }

    /// All entries, the last inserted first.
    #[cfg(test)]
    pub(in crate::h2) fn table_text(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let entries = (0..).map_while(|age| self.table.entry(age));
        entries
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect()
    }

    /// Size of the table, bytes.
    #[cfg(test)]
    pub(super) fn table_bytes(&self) -> u32 {
        self.table.size()
    }
}
