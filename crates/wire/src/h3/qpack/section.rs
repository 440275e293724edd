//! Reads field sections (RFC 9204, 4.5), with a dynamic table or without.

use super::{SectionError, static_table};
use crate::fields::text::{self, Text};
use crate::fields::{ENTRY_OVERHEAD_BYTES, Table, grow, integer};

/// Most scratch memory that is kept from one section to the next, bytes.
const KEPT_BYTES: usize = 1024;

/// The dynamic table, with the number of all insertions so far.
#[derive(Debug)]
pub(super) struct DynamicTable {
    pub(super) table: Table,
    pub(super) inserted: u64,
    /// Most that the encoder may choose for the table's size, bytes.
    pub(super) capacity_max: u32,
}

impl DynamicTable {
    pub(super) fn new(capacity_max: u32) -> Self {
        Self {
            table: Table::new(0),
            inserted: 0,
            capacity_max,
        }
    }

    /// The entry that was inserted as this one, from 0.
    pub(super) fn entry(&self, index: u64) -> Option<(&[u8], &[u8])> {
        let age = self.inserted.checked_sub(index)?.checked_sub(1)?;
        self.table.entry(u32::try_from(age).ok()?)
    }
}

/// What stands before a section's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    /// Insertions that the section needs.
    pub(super) required: u64,
    base: u64,
}

impl Prefix {
    /// Reads the prefix at `at`, which is moved behind it.
    pub(super) fn read(
        section: &[u8],
        at: &mut usize,
        dynamic: &DynamicTable,
    ) -> Result<Self, SectionError> {
        let first = *section.get(*at).ok_or(SectionError::Truncated)?;
        *at += 1;
        let encoded = integer::read(first, 8, section, at)?;
        let required = required(encoded.into(), dynamic)?;
        let first = *section.get(*at).ok_or(SectionError::Truncated)?;
        *at += 1;
        let delta = u64::from(integer::read(first, 7, section, at)?);
        let base = if first & 0x80 == 0 {
            required + delta
        } else {
            let base = required.checked_sub(delta).and_then(|b| b.checked_sub(1));
            base.ok_or(SectionError::BadBase)?
        };
        Ok(Self { required, base })
    }

    /// The insertion that an index relative to the base names.
    fn before_base(self, index: u32) -> Option<u64> {
        self.base.checked_sub(index.into())?.checked_sub(1)
    }
}

/// The Required Insert Count out of its remainder (RFC 9204, 4.5.1.1).
fn required(encoded: u64, dynamic: &DynamicTable) -> Result<u64, SectionError> {
    if encoded == 0 {
        return Ok(0);
    }
    let entries_max = u64::from(dynamic.capacity_max / ENTRY_OVERHEAD_BYTES);
    let range = 2 * entries_max;
    if encoded > range {
        return Err(SectionError::BadInsertCount);
    }
    let most = dynamic.inserted + entries_max;
    let mut required = most / range * range + encoded - 1;
    if required > most {
        required = required
            .checked_sub(range)
            .ok_or(SectionError::BadInsertCount)?;
    }
    if required == 0 {
        return Err(SectionError::BadInsertCount);
    }
    Ok(required)
}

/// Where a field's name is.
enum Name {
    Text(Text),
    /// In the dynamic table, as this insertion.
    Dynamic(u64),
}

/// Reads the fields behind a section's prefix, from `at` on, and hands each one's name and value
/// to `field`; `list_max` bounds their length.
pub(super) fn read_fields(
    section: &[u8],
    mut at: usize,
    (prefix, dynamic): (Prefix, &DynamicTable),
    scratch: &mut Vec<u8>,
    list_max: u32,
    mut field: impl FnMut(&[u8], &[u8]),
) -> Result<(), SectionError> {
    let mut list_bytes = 0;
    let mut take = |name: &[u8], value: &[u8]| {
        list_bytes = grow(list_bytes, name, value, list_max).ok_or(SectionError::ListTooLong)?;
        field(name, value);
        Ok::<_, SectionError>(())
    };
    // Only entries below the Required Insert Count may be meant (RFC 9204, 2.2.1).
    let known = |index: Option<u64>| {
        let index = index.filter(|&index| index < prefix.required);
        index.ok_or(SectionError::BadIndex)
    };
    let entry = |index| dynamic.entry(index).ok_or(SectionError::BadIndex);
    while let Some(&first) = section.get(at) {
        scratch.clear();
        let mut index = |bits| {
            at += 1;
            integer::read(first, bits, section, &mut at)
        };
        let name = match first {
            0xc0.. => {
                let (name, value) = fixed(index(6)?)?;
                take(name, value)?;
                continue;
            }
            0x80.. => {
                let (name, value) = entry(known(prefix.before_base(index(6)?))?)?;
                take(name, value)?;
                continue;
            }
            0x40.. if first & 0x10 != 0 => Name::Text(Text::Fixed(fixed(index(4)?)?.0)),
            0x40.. => Name::Dynamic(known(prefix.before_base(index(4)?))?),
            0x20.. => Name::Text(text::read(3, section, &mut at, scratch)?),
            0x10.. => {
                let index = known(prefix.base.checked_add(index(4)?.into()))?;
                let (name, value) = entry(index)?;
                take(name, value)?;
                continue;
            }
            _ => Name::Dynamic(known(prefix.base.checked_add(index(3)?.into()))?),
        };
        let value = text::read(7, section, &mut at, scratch)?;
        let name = match name {
            Name::Text(name) => name.of(section, scratch),
            Name::Dynamic(index) => entry(index)?.0,
        };
        take(name, value.of(section, scratch))?;
    }
    Ok(())
}

/// An entry of the static table.
fn fixed(index: u32) -> Result<(&'static [u8], &'static [u8]), SectionError> {
    static_table::entry(index).ok_or(SectionError::BadIndex)
}

/// Reads field sections where no dynamic table was allowed: each by itself, in any order.
#[derive(Debug)]
pub struct SectionReader {
    /// Empty, and stays so.
    dynamic: DynamicTable,
    /// Huffman-coded strings, decoded.
    scratch: Vec<u8>,
}

impl Default for SectionReader {
    fn default() -> Self {
        Self {
            dynamic: DynamicTable::new(0),
            scratch: Vec::new(),
        }
    }
}

impl SectionReader {
    /// Reads a whole section and hands each field's name and value to `field`; together they may
    /// have `list_max` bytes, with 32 for each field. Before an error, some may have come.
    pub fn read(
        &mut self,
        section: &[u8],
        list_max: u32,
        field: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), SectionError> {
        let mut at = 0;
        let prefix = Prefix::read(section, &mut at, &self.dynamic)?;
        let tables = (prefix, &self.dynamic);
        let result = read_fields(section, at, tables, &mut self.scratch, list_max, field);
        trim(&mut self.scratch);
        result
    }
}

/// Gives scratch memory back that one large section needed.
pub(super) fn trim(scratch: &mut Vec<u8>) {
    if scratch.capacity() > KEPT_BYTES {
        *scratch = Vec::new();
    }
}
