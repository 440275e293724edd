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
pub(crate) use meaning::{Fault, Meaning, Memos, Reader};
pub use request::{Request, RequestError};
pub(crate) use table::Table;

/// A header field: name, in lower case, and value.
pub type Field = (Vec<u8>, Vec<u8>);

/// What a field counts beside its name and value in tables and lists, bytes (RFC 7541, 4.1;
/// RFC 9204, 3.2.1).
pub const ENTRY_OVERHEAD_BYTES: u32 = 32;

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
