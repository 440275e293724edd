//! Field compression (RFC 9204).
//!
//! ```text
//! list of fields ──► encode ──► section                    static table and literals alone
//! section ──► SectionReader ──► name and value, field by field     with no dynamic table
//! section, encoder's stream ──► Decoder ──► the same, and the decoder's stream
//! ```
//!
//! The client needs the first two. [`Decoder`] takes whatever the RFC allows: dynamic table,
//! entries behind the base, sections that wait for the encoder's stream.

mod decode;
mod encode;
mod instructions;
mod section;
mod static_table;

pub use decode::{Decoded, Decoder};
pub use encode::encode;
pub(super) use instructions::check_encoder_without_table;
pub use section::SectionReader;

use crate::fields::CodingError;

/// Why a field section could not be decoded: QPACK_DECOMPRESSION_FAILED, unless it is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// The section ends inside its prefix or a field.
    #[error("a field section ends inside a field (RFC 9204, 4.5)")]
    Truncated,
    /// An integer is larger than any that can be meant.
    #[error("an integer in a field section is too large (RFC 9204, 4.1.1)")]
    IntegerTooLarge,
    /// A Huffman-coded string has the symbol for its end in it, or is padded with anything else.
    #[error("a Huffman-coded string is malformed (RFC 7541, 5.2)")]
    BadHuffman,
    /// The Required Insert Count is none that an encoder can mean.
    #[error("a field section requires entries that there cannot be (RFC 9204, 4.5.1.1)")]
    BadInsertCount,
    /// The Base is negative.
    #[error("a field section's base is negative (RFC 9204, 4.5.1.2)")]
    BadBase,
    /// An index is beyond its table, or beyond the Required Insert Count.
    #[error("a field section refers to an entry that does not exist (RFC 9204, 2.2.3 and 3.1)")]
    BadIndex,
    /// More streams wait for entries than this side allows.
    #[error("more streams wait for entries than is allowed (RFC 9204, 2.1.2)")]
    TooManyBlocked,
    /// The fields together are longer than this side's SETTINGS_MAX_FIELD_SECTION_SIZE.
    #[error("the fields are longer than SETTINGS_MAX_FIELD_SECTION_SIZE allows (RFC 9114, 4.2.2)")]
    ListTooLong,
}

impl From<CodingError> for SectionError {
    fn from(error: CodingError) -> Self {
        match error {
            CodingError::Truncated => Self::Truncated,
            CodingError::TooLarge => Self::IntegerTooLarge,
            CodingError::BadHuffman => Self::BadHuffman,
        }
    }
}

/// Why an instruction on the encoder's stream could not be followed: QPACK_ENCODER_STREAM_ERROR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncoderStreamError {
    /// An integer is larger than any that can be meant.
    #[error("an integer on the encoder's stream is too large (RFC 9204, 4.1.1)")]
    IntegerTooLarge,
    /// A Huffman-coded string has the symbol for its end in it, or is padded with anything else.
    #[error("a Huffman-coded string on the encoder's stream is malformed (RFC 7541, 5.2)")]
    BadHuffman,
    /// An index is beyond its table.
    #[error("the encoder's stream refers to an entry that does not exist (RFC 9204, 3.1)")]
    BadIndex,
    /// The table is to become larger than this side allows.
    #[error("the dynamic table is to exceed what the settings allow (RFC 9204, 4.3.1)")]
    BadCapacity,
    /// An entry is larger than the table.
    #[error("an entry is larger than the dynamic table (RFC 9204, 3.2.2)")]
    EntryTooLarge,
}

#[cfg(test)]
mod tests;
