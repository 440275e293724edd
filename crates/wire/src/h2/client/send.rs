//! What a client sends: request heads, and bodies under flow control.

use super::Client;
use crate::h2::frame::{self, FrameHeader, flag, kind};

/// Most HEADERS frames that are kept ready, a power of two.
const MAX_READY: usize = 8;
/// Longest HEADERS frame that is kept ready, bytes.
const MAX_READY_BYTES: usize = 55;
/// No more of bodies is appended to `out` once it holds so much, bytes: what a server's window
/// takes may be gigabytes.
const SEND_AHEAD_BYTES: usize = 256 * 1024;

/// A HEADERS frame as it was sent last.
#[derive(Debug, Clone)]
pub(super) struct ReadyHead {
    /// Index of its request.
    request: u32,
    /// The encoder's version that it is for.
    version: u32,
    length: u8,
    bytes: [u8; MAX_READY_BYTES],
}

impl ReadyHead {
    const NONE: Self = Self {
        request: u32::MAX,
        version: 0,
        length: 0,
        bytes: [0; MAX_READY_BYTES],
    };
}

impl Client {
    /// Appends more of the requests' bodies, as flow control allows. To be called when `out` was
    /// written and [`has_to_send`](Self::has_to_send) says so, after each
    /// [`handle`](Self::handle) as well: that one sends no bodies, so a server that enlarges
    /// windows and reads nothing makes nothing pile up. Returns how many bytes of bodies it was.
    pub fn send(&mut self, out: &mut Vec<u8>) -> u64 {
        let slots = self.streams.slots() as u16;
        let (mut idle, mut sent) = (0, 0);
        // A frame a turn, so that one long body does not keep the others waiting.
        while idle < slots && self.unsent > 0 && self.send.left() > 0 {
            let at = self.turn % slots;
            self.turn = at + 1;
            let bytes = self.send_body(at, 1, out);
            idle = if bytes > 0 { 0 } else { idle + 1 };
            sent += bytes;
        }
        sent
    }

    /// Whether there is more of a body that may be sent now.
    pub fn has_to_send(&self) -> bool {
        let waits = |slot: &super::Slot| !slot.is_sent && slot.send.left() > 0;
        self.unsent > 0 && self.send.left() > 0 && self.streams.all().any(|(_, slot)| waits(slot))
    }

    /// Appends the HEADERS of a request.
    #[inline]
    pub(super) fn write_head(&mut self, id: u32, request: u32, end: bool, out: &mut Vec<u8>) {
        let place = request as usize & self.ready.len().wrapping_sub(1);
        if let Some(ready) = self.ready.get_mut(place)
            && ready.request == request
            && ready.version == self.encoder.version()
        {
            ready.bytes[5..9].copy_from_slice(&id.to_be_bytes());
            // A copy of a fixed length is a few moves instead of a call.
            let end = out.len() + usize::from(ready.length);
            out.extend_from_slice(&ready.bytes);
            out.truncate(end);
        } else {
            self.encode_head(id, request, end, out);
        }
    }

    /// Encodes the HEADERS of a request; keeps them if they will be the same the next time.
    fn encode_head(&mut self, id: u32, request: u32, end: bool, out: &mut Vec<u8>) {
        let start = out.len();
        let version = self.encoder.version();
        out.extend_from_slice(&[0; frame::HEADER_BYTES]);
        self.encoder.encode(&self.requests.lists, request, out);
        let length = out.len() - start - frame::HEADER_BYTES;
        let length_max = self.control.peer.max_frame_size as usize;
        if length > length_max {
            let block = out.split_off(start + frame::HEADER_BYTES);
            out.truncate(start);
            return frame::write_headers(id, end, &block, length_max, out);
        }
        let header = FrameHeader {
            length: length as u32,
            kind: kind::HEADERS,
            flags: flag::END_HEADERS | if end { flag::END_STREAM } else { 0 },
            stream: id,
        };
        out[start..start + frame::HEADER_BYTES].copy_from_slice(&header.bytes());
        if version == self.encoder.version() {
            self.keep_head(request, start, out);
        }
    }

    fn keep_head(&mut self, request: u32, start: usize, out: &[u8]) {
        let Some(frame) = out
            .get(start..)
            .filter(|frame| frame.len() <= MAX_READY_BYTES)
        else {
            return;
        };
        if self.ready.is_empty() {
            let places = self.requests.len().next_power_of_two().min(MAX_READY);
            self.ready = vec![ReadyHead::NONE; places];
        }
        let place = request as usize & (self.ready.len() - 1);
        let ready = &mut self.ready[place];
        ready.request = request;
        ready.version = self.encoder.version();
        ready.length = frame.len() as u8;
        ready.bytes[..frame.len()].copy_from_slice(frame);
    }

    /// Appends up to `frames` frames of a stream's body; returns how many bytes of it they hold.
    pub(super) fn send_body(&mut self, at: u16, frames: u32, out: &mut Vec<u8>) -> u64 {
        let slot = self.streams.slot(at);
        let body = self.requests.body(slot.request);
        let mut sent = 0;
        for _ in 0..frames {
            let rest = body.get(slot.sent_bytes as usize..).unwrap_or_default();
            let window = slot.send.left().min(self.send.left());
            let most = window.min(self.control.peer.max_frame_size) as usize;
            let part = &rest[..rest.len().min(most)];
            if slot.id == 0 || slot.is_sent || part.is_empty() || out.len() >= SEND_AHEAD_BYTES {
                break;
            }
            slot.is_sent = part.len() == rest.len();
            let flags = if slot.is_sent { flag::END_STREAM } else { 0 };
            frame::write(kind::DATA, flags, slot.id, part, out);
            let length = part.len() as u32;
            slot.sent_bytes += length;
            slot.send.take(length);
            self.send.take(length);
            self.unsent -= u32::from(slot.is_sent);
            sent += u64::from(length);
        }
        sent
    }
}
