//! Header compression (RFC 7541).
//!
//! ```text
//! header lists ──► Lists (once per load) ──► Encoder (one per connection) ──► block
//! block ──► Decoder (one per connection) ──► name and value, field by field
//! ```
//!
//! The encoder serves a client that sends the same few lists again and again: it never evicts what
//! it inserted, so after a list's first use its block is indexes alone. The decoder takes whatever
//! the RFC allows. Neither keeps strings outside the dynamic table.

mod decode;
mod encode;
mod static_table;

pub use decode::{Decoder, MAX_LIST_BYTES};
pub use encode::{Encoder, Lists};

use crate::fields::CodingError;
pub use crate::fields::{ENTRY_OVERHEAD_BYTES, Field};

/// Size of a dynamic table before anything was agreed on, bytes (RFC 9113, 6.5.2).
pub const DEFAULT_TABLE_BYTES: u32 = 4096;

/// Why a header block could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    /// The block ends inside a field.
    #[error("a header block ends inside a field (RFC 7541, 5)")]
    Truncated,
    /// An integer is larger than any that can be meant.
    #[error("an integer in a header block is too large (RFC 7541, 5.1)")]
    IntegerTooLarge,
    /// A Huffman-coded string has the symbol for its end in it, or is padded with anything else.
    #[error("a Huffman-coded string is malformed (RFC 7541, 5.2)")]
    BadHuffman,
    /// An index is zero or beyond both tables.
    #[error("a header block refers to an entry that does not exist (RFC 7541, 2.3.3)")]
    BadIndex,
    /// A change of the dynamic table's size stands behind a field, or exceeds what was allowed.
    #[error("a change of the dynamic table's size is not allowed (RFC 7541, 4.2 and 6.3)")]
    BadTableSize,
    /// The encoder ignored that its table has to shrink.
    #[error("the dynamic table was not shrunk as the settings ask (RFC 7541, 4.2)")]
    NotShrunk,
    /// The fields together are longer than [`MAX_LIST_BYTES`].
    #[error("the header list exceeds 64 KiB")]
    ListTooLong,
}

impl From<CodingError> for HpackError {
    fn from(error: CodingError) -> Self {
        match error {
            CodingError::Truncated => Self::Truncated,
            CodingError::TooLarge => Self::IntegerTooLarge,
            CodingError::BadHuffman => Self::BadHuffman,
        }
    }
}

#[cfg(test)]
mod tests;
