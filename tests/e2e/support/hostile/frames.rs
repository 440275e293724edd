//! HTTP/2 as far as a server needs it that plays no fair game.

use std::io;

use super::line::Line;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;

/// Flags.
pub(super) const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

/// `:status: 200`, and `:status: 103`, as header blocks that change no table.
pub(super) const OK: &[u8] = &[0x88];
pub(super) const EARLY_HINTS: &[u8] = b"\x08\x03103";

/// Length of what a client sends before its first frame.
const PREFACE_BYTES: usize = 24;
const HEADER_BYTES: usize = 9;

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    let stream = stream.to_be_bytes();
    [&[a, b, c, kind, flags][..], &stream, payload].concat()
}

pub(super) fn settings() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[])
}

/// An answer of a few bytes.
pub(super) fn answer(stream: u32) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, OK);
    [head, frame(DATA, END_STREAM, stream, b"hello")].concat()
}

/// What a client sends, cut into frames.
#[derive(Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    has_preface: bool,
}

/// A frame of a client's: of its payload only that of PING is of use.
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Incoming {
    /// Waits for more, and adds the frames that are whole to `frames`; `false` at the end.
    pub(super) fn read(&mut self, line: &mut Line, frames: &mut Vec<Frame>) -> io::Result<bool> {
        let mut buffer = [0; 16_384];
        let length = line.read(&mut buffer)?;
        self.bytes.extend_from_slice(&buffer[..length]);
        if !self.has_preface && self.bytes.len() >= PREFACE_BYTES {
            self.bytes.drain(..PREFACE_BYTES);
            self.has_preface = true;
        }
        while self.has_preface
            && let Some(&[a, b, c, kind, flags, d, e, f, g]) = self.bytes.first_chunk()
        {
            let end = HEADER_BYTES + u32::from_be_bytes([0, a, b, c]) as usize;
            if self.bytes.len() < end {
                break;
            }
            frames.push(Frame {
                kind,
                flags,
                stream: u32::from_be_bytes([d, e, f, g]),
                payload: self.bytes[HEADER_BYTES..end].to_vec(),
            });
            self.bytes.drain(..end);
        }
        Ok(length > 0)
    }

    /// Waits for the first request; returns its stream.
    pub(super) fn request(&mut self, line: &mut Line) -> io::Result<u32> {
        let mut frames = Vec::new();
        while self.read(line, &mut frames)? {
            if let Some(head) = frames.iter().find(|frame| frame.kind == HEADERS) {
                return Ok(head.stream);
            }
            frames.clear();
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
