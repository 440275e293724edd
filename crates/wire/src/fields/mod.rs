//! What HTTP/2 and HTTP/3 share: header fields, what they may hold and mean, and the parts that
//! both ways of compressing them are made of.
//!
//! Nothing here knows a frame, a stream or a connection.

mod check;
pub(crate) mod huffman;
pub(crate) mod integer;
mod meaning;
mod request;
mod table;
pub(crate) mod text;

pub(crate) use check::{is_connection_field, is_field_name, is_field_value};
pub(crate) use meaning::{Fault, Locations, Meaning, Memos, Reader};
pub use request::{Request, RequestError};
pub(crate) use table::Table;

/// A header field: name, in lower case, and value.
pub type Field = (Vec<u8>, Vec<u8>);

/// What a field counts beside its name and value in tables and lists, bytes (RFC 7541, 4.1;
/// RFC 9204, 3.2.1).
pub const ENTRY_OVERHEAD_BYTES: u32 = 32;

/// Size of the encoded fields that came, for what compression saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderBytes {
    /// As they came, bytes.
    pub wire: u64,
    /// All names and values, bytes.
    pub text: u64,
}

/// Why an integer or a string could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodingError {
    /// The bytes end inside it.
    Truncated,
    /// An integer is larger than any that can be meant.
    TooLarge,
    /// A Huffman-coded string has the symbol for its end in it, or is padded with anything else.
    BadHuffman,
}

/// Adds a field to the length of its list; `None` if that becomes more than `most`.
pub(crate) fn grow(list_bytes: u32, name: &[u8], value: &[u8], most: u32) -> Option<u32> {
    let bytes = u32::try_from(name.len() + value.len()).unwrap_or(u32::MAX);
    let grown = list_bytes
        .saturating_add(bytes)
        .saturating_add(ENTRY_OVERHEAD_BYTES);
    (grown <= most).then_some(grown)
}

/// The index of the first of these entries with this name, if any, and whether one has the value
/// too: then that one's.
pub(crate) fn find<'a>(
    entries: impl Iterator<Item = (u32, &'a (&'a str, &'a str))>,
    name: &[u8],
    value: &[u8],
) -> Option<(u32, bool)> {
    let mut named = entries
        .filter(|(_, (own, _))| own.as_bytes() == name)
        .peekable();
    let first = named.peek()?.0;
    let whole = named.find(|(_, (_, own))| own.as_bytes() == value);
    Some(whole.map_or((first, false), |(index, _)| (index, true)))
}

/// Bytes out of hexadecimal digits, with white space among them.
#[cfg(test)]
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).expect("are digits"))
        .collect()
}
