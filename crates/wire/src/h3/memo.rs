//! What field sections mean, as far as this was found out before.

use super::qpack::{SectionError, SectionReader};
use super::{Config, Violation};
use crate::fields::{HeaderBytes, Locations, Meaning, Memos, Reader};

/// Reads field sections and remembers the last ones. Nothing in it belongs to a connection, as
/// no section refers to a dynamic table: one serves all connections of a thread.
#[derive(Debug)]
pub struct Memo {
    sections: SectionReader,
    memos: Memos,
    locations: Locations,
    header_bytes: HeaderBytes,
    max_field_section_size: u32,
}

impl Memo {
    /// A memo that knows nothing, for connections of this `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            sections: SectionReader::default(),
            memos: Memos::default(),
            locations: Locations::default(),
            header_bytes: HeaderBytes::default(),
            max_field_section_size: config.max_field_section_size,
        }
    }

    /// Size of the field sections that came so far.
    pub fn header_bytes(&self) -> HeaderBytes {
        self.header_bytes
    }

    /// What `location` said in the first head of a status, up to 1,024 bytes.
    pub fn location(&self, status: u16) -> Option<&[u8]> {
        self.locations.of(status)
    }

    /// Refuses a section that is longer than the fields in it may be: it would have to be kept.
    #[inline]
    pub(super) fn check_length(&self, length: u64) -> Result<(), Violation> {
        if length > u64::from(self.max_field_section_size) {
            return Err(Violation::Section(SectionError::ListTooLong));
        }
        Ok(())
    }

    /// What a section means.
    #[inline]
    pub(super) fn read(&mut self, section: &[u8]) -> Result<Meaning, SectionError> {
        let meaning = match self.memos.find(section, 0) {
            Some(meaning) => meaning,
            None => self.decode(section)?,
        };
        self.header_bytes.wire += section.len() as u64;
        self.header_bytes.text += u64::from(meaning.text_bytes);
        Ok(meaning)
    }

    fn decode(&mut self, section: &[u8]) -> Result<Meaning, SectionError> {
        let mut reader = Reader::default();
        let most = self.max_field_section_size;
        self.sections
            .read(section, most, |name, value| reader.field(name, value))?;
        self.memos.keep(section, 0, reader.meaning);
        let meaning = reader.meaning;
        self.locations.keep(reader);
        Ok(meaning)
    }
}
