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
    #[inline]
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<Event>,
        out: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let results = &mut Results { events, out };
        let mut at = 0;
        while at < bytes.len() {
            if self.input.is_between_frames() {
                at = self.read_whole(bytes, at, results)?;
            }
            if at < bytes.len() {
                at = self.read_part(bytes, at, results)?;
            }
        }
        Ok(())
    }

    /// Reads the frames from `at` on that are whole; returns where the first one begins that is
    /// not.
    fn read_whole(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        results: &mut Results<'_>,
    ) -> Result<usize, Violation> {
        while let Some((header, rest)) = bytes[at..].split_first_chunk() {
            let header = FrameHeader::read(header);
            // Of a frame such as nearly all are there is nothing to check.
            let is_usual = header.kind <= kind::HEADERS
                && header.stream % 2 == 1
                && header.stream < self.next_id
                && header.length <= self.config.max_frame_size
                && self.control.has_settings
                && self.input.block.is_none();
            if !is_usual {
                self.check(header)?;
            }
            let Some(payload) = rest.get(..header.length as usize) else {
                break;
            };
            let begin = at + frame::HEADER_BYTES;
            at = begin + payload.len();
            match header.kind {
                kind::DATA => {
                    let mut data = self.begin_data(header, results)?;
                    self.take_data(&mut data, &bytes[..at], begin, results)?;
                    self.end_data(data, results);
                }
                kind::HEADERS => self.handle_headers(header, payload, results)?,
                kind::PRIORITY..=kind::CONTINUATION => {
                    self.handle_frame(header, payload, results)?;
                }
                _ => {}
            }
        }
        Ok(at)
    }

    /// Reads on in a frame whose header or payload is not whole; returns where its end is, or
    /// the end of `bytes`.
    #[cold]
    fn read_part(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        results: &mut Results<'_>,
    ) -> Result<usize, Violation> {
        if let Reading::Header = self.input.reading {
            let Some(header) = self.input.header(bytes, &mut at) else {
                return Ok(at);
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
        match &mut self.input.reading {
            Reading::Header => {}
            Reading::Payload(header) => {
                let header = *header;
                let missing = header.length as usize - self.input.partial.len();
                let take = missing.min(bytes.len() - at);
                self.input.partial.extend_from_slice(&bytes[at..at + take]);
                at += take;
                if take == missing {
                    self.input.reading = Reading::Header;
                    let payload = std::mem::take(&mut self.input.partial);
                    self.handle_frame(header, &payload, results)?;
                    self.input.keep(payload);
                }
            }
            Reading::Data(data) => {
                let mut data = *data;
                at = self.take_data(&mut data, bytes, at, results)?;
                if data.left > 0 {
                    self.input.reading = Reading::Data(data);
                } else {
                    self.input.reading = Reading::Header;
                    self.end_data(data, results);
                }
            }
            Reading::Unknown { left } => {
                let take = (*left as usize).min(bytes.len() - at);
                at += take;
                *left -= take as u32;
                if *left == 0 {
                    self.input.reading = Reading::Header;
                }
            }
        }
        Ok(at)
    }

    /// Checks what a frame's header alone can break.
    fn check(&self, header: FrameHeader) -> Result<(), Violation> {
        let FrameHeader {
            length,
            kind,
            stream,
            ..
        } = header;
        if !self.control.has_settings && (kind != kind::SETTINGS || header.has(flag::ACK)) {
            return Err(if header.is_http1() {
                Violation::Http1
            } else {
                Violation::NoPreface
            });
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
    /// Whether the next byte is the first one of a frame.
    #[inline]
    fn is_between_frames(&self) -> bool {
        matches!(self.reading, Reading::Header) && self.partial.is_empty()
    }

    /// The next frame's header; `None` when its end has not come.
    fn header(&mut self, bytes: &[u8], at: &mut usize) -> Option<FrameHeader> {
        let rest = &bytes[*at..];
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
