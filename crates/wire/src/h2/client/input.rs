//! Cuts a server's bytes into frames, whatever parts they come in, and checks the frames' headers.

use super::Client;
use crate::h2::frame::{self, FrameHeader, flag, kind};
use crate::h2::{Event, Violation};

/// Most memory for frames in parts that is kept from one to the next, bytes.
const KEPT_BYTES: usize = 1024;

/// Where in the server's bytes the next one belongs.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) reading: Reading,
    /// The beginning of a frame's header or payload whose end is still to come.
    partial: Vec<u8>,
    /// The header block whose end is still to come.
    pub(super) block: Option<Block>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Reading {
    #[default]
    Header,
    Payload(FrameHeader),
    Data(Data),
    /// A frame of a type that is not known.
    Unknown {
        left: u32,
    },
}

/// A DATA frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Data {
    pub(super) stream: u32,
    /// The stream's slot, as long as it holds this stream; [`stream::NONE`] if it had ended.
    pub(super) slot: u16,
    pub(super) end_stream: bool,
    /// Whether the length of the padding is next.
    pub(super) padding_next: bool,
    /// Bytes of padding at the end.
    pub(super) padding: u8,
    /// Bytes of the payload to come, padding included.
    pub(super) left: u32,
}

/// A header block in several frames.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
    pub(super) frames: u8,
    pub(super) bytes: Vec<u8>,
}

/// What a call adds to: events and bytes to be sent.
pub(super) struct Results<'a> {
    pub(super) events: &'a mut Vec<Event>,
    pub(super) out: &'a mut Vec<u8>,
}

impl Client {
    /// Reads all of `bytes`.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<Event>,
        out: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let results = &mut Results { events, out };
        let mut at = 0;
        loop {
            match self.input.reading {
                Reading::Header => {
                    let Some(header) = self.input.header(bytes, &mut at) else {
                        return Ok(());
                    };
                    self.check(header)?;
                    self.input.reading = match header.kind {
                        kind::DATA => Reading::Data(self.begin_data(header, results)?),
                        kind::HEADERS..=kind::CONTINUATION => Reading::Payload(header),
                        _ => Reading::Unknown {
                            left: header.length,
                        },
                    };
                }
                Reading::Payload(header) => {
                    let length = header.length as usize;
                    let rest = &bytes[at..];
                    if self.input.partial.is_empty() && rest.len() >= length {
                        at += length;
                        self.input.reading = Reading::Header;
                        self.handle_frame(header, &rest[..length], results)?;
                        continue;
                    }
                    let missing = length - self.input.partial.len();
                    let take = missing.min(rest.len());
                    at += take;
                    self.input.partial.extend_from_slice(&rest[..take]);
                    if take < missing {
                        return Ok(());
                    }
                    self.input.reading = Reading::Header;
                    let payload = std::mem::take(&mut self.input.partial);
                    self.handle_frame(header, &payload, results)?;
                    self.input.keep(payload);
                }
                Reading::Data(data) => {
                    if !self.handle_data(data, bytes, &mut at, results)? {
                        return Ok(());
                    }
                }
                Reading::Unknown { left } => {
                    let take = (left as usize).min(bytes.len() - at);
                    at += take;
                    let left = left - take as u32;
                    if left > 0 {
                        self.input.reading = Reading::Unknown { left };
                        return Ok(());
                    }
                    self.input.reading = Reading::Header;
                }
            }
        }
    }

    /// Checks what a frame's header alone can break.
    #[inline]
    fn check(&self, header: FrameHeader) -> Result<(), Violation> {
        let FrameHeader {
            length,
            kind,
            stream,
            ..
        } = header;
        if !self.has_peer_settings && (kind != kind::SETTINGS || header.has(flag::ACK)) {
            return Err(Violation::NoPreface);
        }
        if length > self.config.max_frame_size {
            return Err(Violation::FrameTooLong);
        }
        let continues = |block: &Block| kind == kind::CONTINUATION && stream == block.stream;
        match &self.input.block {
            Some(block) if !continues(block) => return Err(Violation::Continuation),
            None if kind == kind::CONTINUATION => return Err(Violation::Continuation),
            _ => {}
        }
        let of_stream = match kind {
            kind::DATA..=kind::RST_STREAM | kind::PUSH_PROMISE | kind::CONTINUATION => true,
            kind::SETTINGS | kind::PING | kind::GOAWAY => false,
            _ => stream != 0,
        };
        if of_stream != (stream != 0) {
            return Err(Violation::FrameStream);
        }
        let fits = match kind {
            kind::PRIORITY => length == 5,
            kind::RST_STREAM | kind::WINDOW_UPDATE => length == 4,
            kind::SETTINGS if header.has(flag::ACK) => length == 0,
            kind::SETTINGS => length % 6 == 0,
            kind::PING => length == 8,
            kind::GOAWAY => length >= 8,
            _ => true,
        };
        if !fits {
            return Err(Violation::FrameLength);
        }
        match kind {
            kind::PUSH_PROMISE => Err(Violation::Push),
            kind::DATA | kind::HEADERS | kind::RST_STREAM | kind::WINDOW_UPDATE
                if stream != 0 && (stream % 2 == 0 || stream >= self.next_id) =>
            {
                Err(Violation::IdleStream)
            }
            _ => Ok(()),
        }
    }
}

impl Input {
    /// The next frame's header; `None` when its end has not come.
    #[inline]
    fn header(&mut self, bytes: &[u8], at: &mut usize) -> Option<FrameHeader> {
        let rest = &bytes[*at..];
        if self.partial.is_empty()
            && let Some(header) = rest.first_chunk()
        {
            *at += frame::HEADER_BYTES;
            return Some(FrameHeader::read(header));
        }
        let missing = frame::HEADER_BYTES - self.partial.len();
        let take = missing.min(rest.len());
        self.partial.extend_from_slice(&rest[..take]);
        *at += take;
        let header = FrameHeader::read(self.partial.first_chunk()?);
        self.partial.clear();
        Some(header)
    }

    /// Keeps the memory of a frame that came in parts, unless it is large.
    fn keep(&mut self, mut payload: Vec<u8>) {
        if payload.capacity() <= KEPT_BYTES {
            payload.clear();
            self.partial = payload;
        }
    }
}
