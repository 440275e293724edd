//! Settings of both sides (RFC 9114, 7.2.4; RFC 9204, 5).

use super::{Violation, frame, varint};

/// Identifiers of settings.
mod id {
    pub(super) const QPACK_MAX_TABLE_CAPACITY: u64 = 0x1;
    pub(super) const MAX_FIELD_SECTION_SIZE: u64 = 0x6;
    pub(super) const QPACK_BLOCKED_STREAMS: u64 = 0x7;
}

/// What this side announces to the server. The rest is at its default: no dynamic table, so that no
/// stream ever waits for another one, and no push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Longest list of fields that is read, bytes: names, values and 32 for each field.
    pub max_field_section_size: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_field_section_size: 64 * 1024,
        }
    }
}

impl Config {
    /// Appends SETTINGS.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let mut payload = Vec::with_capacity(9);
        varint::write(id::MAX_FIELD_SECTION_SIZE, &mut payload);
        varint::write(self.max_field_section_size.into(), &mut payload);
        frame::write_header(frame::SETTINGS, payload.len(), out);
        out.extend_from_slice(&payload);
    }
}

/// The server's settings; their defaults, until they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PeerSettings {
    /// Longest list of fields that the server reads, bytes: names, values and 32 for each field.
    pub max_field_section_size: Option<u64>,
    /// Largest dynamic table that this side could use in its requests, bytes. It uses none.
    pub qpack_max_table_capacity: u64,
    /// Most streams that may wait for that table.
    pub qpack_blocked_streams: u64,
    /// Which of these settings came, a bit each.
    came: u8,
}

impl PeerSettings {
    /// Takes a setting.
    pub(super) fn set(&mut self, id: u64, value: u64) -> Result<(), Violation> {
        match id {
            id::QPACK_MAX_TABLE_CAPACITY => self.qpack_max_table_capacity = value,
            id::MAX_FIELD_SECTION_SIZE => self.max_field_section_size = Some(value),
            id::QPACK_BLOCKED_STREAMS => self.qpack_blocked_streams = value,
            // Settings of HTTP/2 (RFC 9114, 7.2.4.1 and 11.2.2).
            0x0 | 0x2..=0x5 => return Err(Violation::Setting),
            _ => return Ok(()),
        }
        let bit = 1 << id;
        if self.came & bit != 0 {
            return Err(Violation::Setting);
        }
        self.came |= bit;
        Ok(())
    }
}
