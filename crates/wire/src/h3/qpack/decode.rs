//! A decoder with a dynamic table, for whatever an encoder may do.

use super::instructions::{self, Stop, follow};
use super::section::{DynamicTable, Prefix, read_fields, trim};
use super::{EncoderStreamError, SectionError};

/// Reads the field sections of one connection, and its encoder's stream.
#[derive(Debug)]
pub struct Decoder {
    dynamic: DynamicTable,
    /// Insertions that the encoder knows that this side knows of.
    acknowledged: u64,
    blocked_max: u32,
    /// Streams with a section that waits for insertions.
    blocked: Vec<u64>,
    list_max: u32,
    /// The beginning of an instruction whose end is still to come.
    partial: Vec<u8>,
    /// Huffman-coded strings, decoded, and copies out of the table.
    scratch: Vec<u8>,
}

/// What became of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// All fields were handed out.
    Whole,
    /// It waits for insertions and is to be given again when [`Decoder::inserted`] has reached
    /// this number.
    Blocked(u64),
}

impl Decoder {
    /// A decoder whose table may grow to `capacity_max` bytes, while `blocked_max` streams wait
    /// for it, as this side's settings say. Fields may have `list_max` bytes a section.
    pub fn new(capacity_max: u32, blocked_max: u32, list_max: u32) -> Self {
        Self {
            dynamic: DynamicTable::new(capacity_max),
            acknowledged: 0,
            blocked_max,
            blocked: Vec::new(),
            list_max,
            partial: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Number of all insertions so far.
    pub fn inserted(&self) -> u64 {
        self.dynamic.inserted
    }

    /// Follows the encoder's stream; its bytes may be cut anywhere.
    ///
    /// After an error the table is no longer what the encoder takes it for.
    pub fn handle_encoder_stream(&mut self, bytes: &[u8]) -> Result<(), EncoderStreamError> {
        let mut partial = std::mem::take(&mut self.partial);
        let result = if partial.is_empty() {
            self.follow_all(bytes).map(|taken| {
                partial.extend_from_slice(&bytes[taken..]);
            })
        } else {
            partial.extend_from_slice(bytes);
            self.follow_all(&partial).map(|taken| {
                partial.drain(..taken);
            })
        };
        self.partial = partial;
        result
    }

    /// Follows the instructions that are whole; returns how many bytes they take.
    fn follow_all(&mut self, bytes: &[u8]) -> Result<usize, EncoderStreamError> {
        let mut taken = 0;
        loop {
            let mut at = taken;
            match follow(bytes, &mut at, &mut self.dynamic, &mut self.scratch) {
                Ok(()) => taken = at,
                Err(Stop::Partial) => return Ok(taken),
                Err(Stop::Error(error)) => return Err(error),
            }
        }
    }

    /// Reads a whole section of a stream and hands each field's name and value to `field`, unless
    /// it has to wait. Appends to `out`, for the decoder's stream, that it was read.
    pub fn decode(
        &mut self,
        stream: u64,
        section: &[u8],
        out: &mut Vec<u8>,
        field: impl FnMut(&[u8], &[u8]),
    ) -> Result<Decoded, SectionError> {
        let mut at = 0;
        let prefix = Prefix::read(section, &mut at, &self.dynamic)?;
        if prefix.required > self.dynamic.inserted {
            self.block(stream)?;
            return Ok(Decoded::Blocked(prefix.required));
        }
        self.blocked.retain(|&blocked| blocked != stream);
        let tables = (prefix, &self.dynamic);
        read_fields(section, at, tables, &mut self.scratch, self.list_max, field)?;
        trim(&mut self.scratch);
        if prefix.required > 0 {
            instructions::write_acknowledgement(stream, out);
            self.acknowledged = self.acknowledged.max(prefix.required);
        }
        Ok(Decoded::Whole)
    }

    fn block(&mut self, stream: u64) -> Result<(), SectionError> {
        if self.blocked.contains(&stream) {
            return Ok(());
        }
        if self.blocked.len() >= self.blocked_max as usize {
            return Err(SectionError::TooManyBlocked);
        }
        self.blocked.push(stream);
        Ok(())
    }

    /// Forgets a stream that was reset or is no longer read, and appends so to `out`.
    pub fn cancel(&mut self, stream: u64, out: &mut Vec<u8>) {
        self.blocked.retain(|&blocked| blocked != stream);
        // Without a table the encoder has nothing to keep for the stream (RFC 9204, 2.2.2.2).
        if self.dynamic.capacity_max > 0 {
            instructions::write_cancellation(stream, out);
        }
    }

    /// Appends to `out` how many insertions are known that no section has acknowledged.
    pub fn acknowledge(&mut self, out: &mut Vec<u8>) {
        let count = self.dynamic.inserted - self.acknowledged;
        if count > 0 {
            instructions::write_increment(count, out);
            self.acknowledged = self.dynamic.inserted;
        }
    }

    /// Size of the table, bytes.
    #[cfg(test)]
    pub(super) fn table_bytes(&self) -> u32 {
        self.dynamic.table.size()
    }
}
