//! Strings with a prefix: a flag for the Huffman code, the length, the bytes (RFC 7541, 5.2;
//! RFC 9204, 4.1.2).

use super::{CodingError, huffman, integer};

/// Where a name or a value is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text {
    /// In the static table.
    Fixed(&'static [u8]),
    /// In the encoded list, as it is.
    Encoded { start: usize, end: usize },
    /// In the scratch memory: decoded, or copied from the dynamic table.
    Scratch { start: usize, end: usize },
}

impl Text {
    pub(crate) fn of<'a>(self, encoded: &'a [u8], scratch: &'a [u8]) -> &'a [u8] {
        let part = match self {
            Self::Fixed(text) => Some(text),
            Self::Encoded { start, end } => encoded.get(start..end),
            Self::Scratch { start, end } => scratch.get(start..end),
        };
        part.unwrap_or_default()
    }
}

/// Reads a string whose first byte is at `at`, its length with a prefix of `bits` behind the
/// flag; moves `at` behind it.
pub(crate) fn read(
    bits: u32,
    encoded: &[u8],
    at: &mut usize,
    scratch: &mut Vec<u8>,
) -> Result<Text, CodingError> {
    let first = *encoded.get(*at).ok_or(CodingError::Truncated)?;
    *at += 1;
    let length = integer::read(first, bits, encoded, at)? as usize;
    let start = *at;
    let end = start.saturating_add(length);
    let bytes = encoded.get(start..end).ok_or(CodingError::Truncated)?;
    *at = end;
    if first & 1 << bits == 0 {
        return Ok(Text::Encoded { start, end });
    }
    let start = scratch.len();
    huffman::decode(bytes, scratch)?;
    let end = scratch.len();
    Ok(Text::Scratch { start, end })
}

/// Appends a string, Huffman-coded where that is shorter: its length has a prefix of `bits`,
/// `pattern` gives those above the flag.
pub(crate) fn write(pattern: u8, bits: u32, text: &[u8], out: &mut Vec<u8>) {
    let coded_len = huffman::coded_len(text);
    if coded_len < text.len() {
        integer::write(pattern | 1 << bits, bits, coded_len as u32, out);
        huffman::encode(text, out);
    } else {
        integer::write(pattern, bits, text.len() as u32, out);
        out.extend_from_slice(text);
    }
}
