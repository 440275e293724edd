//! Floods: a server that sends the same few bytes for as long as the client stays.

use std::io;

use super::Protocol;
use super::frames::{self, Incoming};
use super::good;
use super::line::Line;

/// What is sent at once is about so long, bytes: one record of TLS.
const BLOCK_BYTES: usize = 16 * 1024;

/// What a connection is flooded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flood {
    /// A body in chunks of one byte.
    Chunks,
    /// Interim responses: 100 over HTTP/1.1, 103 over HTTP/2.
    Interim,
    Ping,
    Settings,
    WindowUpdate,
    /// DATA of no bytes.
    EmptyData,
    /// DATA of one byte.
    ShortData,
    /// Frames of a type that nobody knows.
    Unknown,
    /// PING, whose acknowledgements are never read.
    UnreadPing,
    /// SETTINGS, whose acknowledgements are never read.
    UnreadSettings,
}

impl Flood {
    /// Those that a protocol has.
    pub(crate) fn over(protocol: Protocol) -> &'static [Self] {
        if protocol.is_h2() {
            &[
                Self::Interim,
                Self::Ping,
                Self::Settings,
                Self::WindowUpdate,
                Self::EmptyData,
                Self::ShortData,
                Self::Unknown,
                Self::UnreadPing,
                Self::UnreadSettings,
            ]
        } else {
            &[Self::Chunks, Self::Interim]
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Interim => "interim",
            Self::Ping => "ping",
            Self::Settings => "settings",
            Self::WindowUpdate => "window-update",
            Self::EmptyData => "empty-data",
            Self::ShortData => "short-data",
            Self::Unknown => "unknown",
            Self::UnreadPing => "unread-ping",
            Self::UnreadSettings => "unread-settings",
        }
    }

    /// Whether the server reads what the client sends meanwhile.
    pub(super) fn is_drained(self) -> bool {
        !matches!(self, Self::UnreadPing | Self::UnreadSettings)
    }

    /// Floods a connection until it ends.
    pub(super) fn send(self, protocol: Protocol, line: &mut Line) -> io::Result<()> {
        let stream = if protocol.is_h2() {
            line.open(&frames::settings())?;
            if self.answers() {
                Incoming::default().request(line)?
            } else {
                0
            }
        } else {
            line.open(&[])?;
            good::read_request(line)?;
            0
        };
        if self.is_drained() {
            line.drain_aside()?;
        }
        line.send(&self.beginning(protocol, stream))?;
        let unit = self.unit(protocol, stream);
        let block = unit.repeat(BLOCK_BYTES / unit.len());
        loop {
            line.send(&block)?;
        }
    }

    /// Whether it is part of an answer, so that there has to be a request.
    fn answers(self) -> bool {
        matches!(self, Self::Interim | Self::EmptyData | Self::ShortData)
    }

    /// What goes before the flood, once.
    fn beginning(self, protocol: Protocol, stream: u32) -> Vec<u8> {
        match self {
            Self::Chunks => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
            Self::EmptyData | Self::ShortData if protocol.is_h2() => {
                frames::frame(frames::HEADERS, frames::END_HEADERS, stream, frames::OK)
            }
            _ => Vec::new(),
        }
    }

    /// What is sent again and again.
    fn unit(self, protocol: Protocol, stream: u32) -> Vec<u8> {
        match self {
            Self::Chunks => b"1\r\na\r\n".to_vec(),
            Self::Interim if !protocol.is_h2() => b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(),
            Self::Interim => {
                let block = frames::EARLY_HINTS;
                frames::frame(frames::HEADERS, frames::END_HEADERS, stream, block)
            }
            Self::Ping | Self::UnreadPing => frames::frame(frames::PING, 0, 0, b"pingping"),
            Self::Settings | Self::UnreadSettings => {
                // The windows of streams change back and forth: work for whoever has many.
                let window = |bytes: u16| {
                    let [a, b] = bytes.to_be_bytes();
                    frames::frame(frames::SETTINGS, 0, 0, &[0, 4, 0, 0, a, b])
                };
                [window(65_534), window(65_535)].concat()
            }
            Self::WindowUpdate => frames::frame(frames::WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
            Self::EmptyData => frames::frame(frames::DATA, 0, stream, b""),
            Self::ShortData => frames::frame(frames::DATA, 0, stream, b"a"),
            Self::Unknown => frames::frame(0xbe, 0, 0, b""),
        }
    }
}
