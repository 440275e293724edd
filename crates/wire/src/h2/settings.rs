//! What both sides announce to each other about their limits (RFC 9113, 6.5).

use super::frame::{self, kind};
use super::hpack::{DEFAULT_TABLE_BYTES, MAX_LIST_BYTES};
use super::{Violation, window};

/// Smallest limit of a frame's length, and the one before anything was agreed on, bytes.
const MIN_FRAME_BYTES: u32 = 1 << 14;
/// Largest limit of a frame's length, bytes.
const MAX_FRAME_BYTES: u32 = (1 << 24) - 1;
/// Streams at most while the server's limit is not known. One goes with the preface, so that an
/// answer takes no round trip more; of several, a server with a low limit would refuse some.
const ASSUMED_STREAMS: u32 = 1;

mod identifier {
    pub(super) const HEADER_TABLE_SIZE: u16 = 1;
    pub(super) const ENABLE_PUSH: u16 = 2;
    pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(super) const MAX_FRAME_SIZE: u16 = 5;
    pub(super) const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// This side's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Streams at most at once, up to 65,534.
    pub streams: u32,
    /// Flow-control window of each stream, bytes, up to 2^31-1.
    pub stream_window: u32,
    /// Flow-control window of the connection, bytes, from 65,535 up to 2^31-1.
    pub connection_window: u32,
    /// Largest table for decoding header blocks, bytes.
    pub header_table_size: u32,
    /// Longest frame that the server may send, bytes, from 16,384 up to 16,777,215.
    pub max_frame_size: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            streams: 1,
            stream_window: 1 << 30,
            connection_window: 1 << 30,
            header_table_size: DEFAULT_TABLE_BYTES,
            max_frame_size: MIN_FRAME_BYTES,
        }
    }
}

impl Config {
    /// The same, with what is out of its range brought to the nearest value in it.
    pub(super) fn clamped(self) -> Self {
        Self {
            streams: self.streams.min(u32::from(u16::MAX) - 1),
            stream_window: self.stream_window.min(window::MAX_BYTES),
            connection_window: self
                .connection_window
                .clamp(window::DEFAULT_BYTES, window::MAX_BYTES),
            header_table_size: self.header_table_size,
            max_frame_size: self.max_frame_size.clamp(MIN_FRAME_BYTES, MAX_FRAME_BYTES),
        }
    }

    /// Appends SETTINGS: what differs from the values that hold without them.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut payload = Vec::with_capacity(36);
        let mut add = |identifier: u16, value: u32, default: Option<u32>| {
            if default != Some(value) {
                payload.extend_from_slice(&identifier.to_be_bytes());
                payload.extend_from_slice(&value.to_be_bytes());
            }
        };
        add(
            identifier::HEADER_TABLE_SIZE,
            self.header_table_size,
            Some(DEFAULT_TABLE_BYTES),
        );
        add(identifier::ENABLE_PUSH, 0, None);
        add(
            identifier::INITIAL_WINDOW_SIZE,
            self.stream_window,
            Some(window::DEFAULT_BYTES),
        );
        add(
            identifier::MAX_FRAME_SIZE,
            self.max_frame_size,
            Some(MIN_FRAME_BYTES),
        );
        add(identifier::MAX_HEADER_LIST_SIZE, MAX_LIST_BYTES, None);
        frame::write(kind::SETTINGS, 0, 0, &payload, out);
    }
}

/// The server's limits, as far as a client has to know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerSettings {
    /// Largest table for encoding header blocks, bytes.
    pub header_table_size: u32,
    /// Streams at most at once; none while the server set no limit.
    pub max_concurrent_streams: Option<u32>,
    /// Flow-control window that each stream begins with, bytes.
    pub initial_window_size: u32,
    /// Longest frame that may be sent, bytes.
    pub max_frame_size: u32,
}

impl PeerSettings {
    /// What holds until the server's SETTINGS come.
    pub(super) const ASSUMED: Self = Self {
        header_table_size: DEFAULT_TABLE_BYTES,
        max_concurrent_streams: Some(ASSUMED_STREAMS),
        initial_window_size: window::DEFAULT_BYTES,
        max_frame_size: MIN_FRAME_BYTES,
    };

    /// Takes the values of a SETTINGS frame, in their order; unknown ones are ignored. Returns the
    /// smallest size of the table that it names, or the largest number.
    pub(super) fn update(&mut self, payload: &[u8]) -> Result<u32, Violation> {
        let mut table_size_min = u32::MAX;
        for entry in payload.chunks_exact(6) {
            let (Some(&[a, b]), value) = (entry.first_chunk(), frame::number(entry, 2)) else {
                continue;
            };
            match u16::from_be_bytes([a, b]) {
                identifier::HEADER_TABLE_SIZE => {
                    self.header_table_size = value;
                    table_size_min = table_size_min.min(value);
                }
                // A server may say only that it does not push (RFC 9113, 6.5.2).
                identifier::ENABLE_PUSH if value != 0 => return Err(Violation::SettingValue),
                identifier::MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = Some(value),
                identifier::INITIAL_WINDOW_SIZE if value > window::MAX_BYTES => {
                    return Err(Violation::WindowOverflow);
                }
                identifier::INITIAL_WINDOW_SIZE => self.initial_window_size = value,
                identifier::MAX_FRAME_SIZE
                    if !(MIN_FRAME_BYTES..=MAX_FRAME_BYTES).contains(&value) =>
                {
                    return Err(Violation::SettingValue);
                }
                identifier::MAX_FRAME_SIZE => self.max_frame_size = value,
                _ => {}
            }
        }
        Ok(table_size_min)
    }
}
