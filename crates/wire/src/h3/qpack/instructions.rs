//! The streams of encoder and decoder (RFC 9204, 4.3 and 4.4).

use super::section::DynamicTable;
use super::{EncoderStreamError, static_table};
use crate::fields::text::{self, Text};
use crate::fields::{CodingError, ENTRY_OVERHEAD_BYTES, integer};

/// Why an instruction could not be followed.
pub(super) enum Stop {
    /// Its end has not come.
    Partial,
    Error(EncoderStreamError),
}

impl From<CodingError> for Stop {
    fn from(error: CodingError) -> Self {
        match error {
            CodingError::Truncated => Self::Partial,
            CodingError::TooLarge => Self::Error(EncoderStreamError::IntegerTooLarge),
            CodingError::BadHuffman => Self::Error(EncoderStreamError::BadHuffman),
        }
    }
}

impl From<EncoderStreamError> for Stop {
    fn from(error: EncoderStreamError) -> Self {
        Self::Error(error)
    }
}

/// Follows the encoder's instruction at `at`, which is moved behind it. Nothing has happened
/// unless it is whole.
pub(super) fn follow(
    bytes: &[u8],
    at: &mut usize,
    dynamic: &mut DynamicTable,
    scratch: &mut Vec<u8>,
) -> Result<(), Stop> {
    scratch.clear();
    let first = *bytes.get(*at).ok_or(Stop::Partial)?;
    let mut read_index = |bits| {
        *at += 1;
        integer::read(first, bits, bytes, at)
    };
    let name = match first {
        0x80.. if first & 0x40 != 0 => {
            let entry = static_table::entry(read_index(6)?);
            Text::Fixed(entry.ok_or(EncoderStreamError::BadIndex)?.0)
        }
        0x80.. => {
            let (name, _) = relative(dynamic, read_index(6)?)?;
            copy(name, scratch)
        }
        0x40.. => string(5, bytes, at, dynamic, scratch)?,
        0x20.. => {
            let capacity = read_index(5)?;
            if capacity > dynamic.capacity_max {
                return Err(EncoderStreamError::BadCapacity.into());
            }
            dynamic.table.resize(capacity);
            return Ok(());
        }
        _ => {
            let (name, value) = relative(dynamic, read_index(5)?)?;
            let (name, value) = (copy(name, scratch), copy(value, scratch));
            return insert(dynamic, name.of(&[], scratch), value.of(&[], scratch));
        }
    };
    let value = string(7, bytes, at, dynamic, scratch)?;
    insert(dynamic, name.of(bytes, scratch), value.of(bytes, scratch))
}

/// Reads a string as [`text::read`] does; refuses one for which the table has no room before its
/// end has come, so that no more of it is kept.
fn string(
    bits: u32,
    bytes: &[u8],
    at: &mut usize,
    dynamic: &DynamicTable,
    scratch: &mut Vec<u8>,
) -> Result<Text, Stop> {
    let first = *bytes.get(*at).ok_or(Stop::Partial)?;
    let length = integer::read(first, bits, bytes, &mut (*at + 1))?;
    // A byte takes at most 30 bits of the Huffman code.
    if length > dynamic.table.size_max().saturating_mul(4) {
        return Err(EncoderStreamError::EntryTooLarge.into());
    }
    Ok(text::read(bits, bytes, at, scratch)?)
}

/// The entry that was inserted so many insertions before the last one.
fn relative(dynamic: &DynamicTable, age: u32) -> Result<(&[u8], &[u8]), EncoderStreamError> {
    dynamic.table.entry(age).ok_or(EncoderStreamError::BadIndex)
}

/// Copies what the insertion of this very entry may evict.
fn copy(text: &[u8], scratch: &mut Vec<u8>) -> Text {
    let start = scratch.len();
    scratch.extend_from_slice(text);
    let end = scratch.len();
    Text::Scratch { start, end }
}

fn insert(dynamic: &mut DynamicTable, name: &[u8], value: &[u8]) -> Result<(), Stop> {
    let bytes = (name.len() + value.len()).saturating_add(ENTRY_OVERHEAD_BYTES as usize);
    if bytes > dynamic.table.size_max() as usize {
        return Err(EncoderStreamError::EntryTooLarge.into());
    }
    dynamic.table.insert(name, value);
    dynamic.inserted += 1;
    Ok(())
}

/// Checks what an encoder says that was allowed no table: nothing but, again and again, that its
/// table has no bytes.
pub(in crate::h3) fn check_encoder_without_table(bytes: &[u8]) -> Result<(), EncoderStreamError> {
    match bytes.iter().find(|&&byte| byte != 0x20) {
        None => Ok(()),
        Some(0x20..0x40) => Err(EncoderStreamError::BadCapacity),
        Some(0x40..) => Err(EncoderStreamError::EntryTooLarge),
        Some(_) => Err(EncoderStreamError::BadIndex),
    }
}

/// Appends that a stream's section was decoded.
pub(super) fn write_acknowledgement(stream: u64, out: &mut Vec<u8>) {
    integer::write(0x80, 7, stream, out);
}

/// Appends that a stream's sections will not be decoded.
pub(super) fn write_cancellation(stream: u64, out: &mut Vec<u8>) {
    integer::write(0x40, 6, stream, out);
}

/// Appends that so many more entries are known, beside those that sections acknowledged.
pub(super) fn write_increment(count: u64, out: &mut Vec<u8>) {
    integer::write(0, 6, count, out);
}
