//! What each of a server's frames does.
//!
//! What most frames go through is inlined into the loop over whole frames: as calls, a request
//! takes an eighth more instructions.

use super::input::{Block, Data, Results};
use super::{Client, Control, limit};
use crate::fields::Meaning;
use crate::h2::frame::{self, FrameHeader, flag, kind};
use crate::h2::stream::{self, Expected};
use crate::h2::violation::ErrorCode;
use crate::h2::window::{self, SendWindow};
use crate::h2::{Event, Violation};

/// Longest header block that is read, bytes.
const MAX_BLOCK_BYTES: usize = 64 * 1024;
/// Most frames of one header block.
const MAX_BLOCK_FRAMES: u8 = 64;
/// What is kept of what a GOAWAY says beside its code, bytes.
const MAX_DEBUG_BYTES: usize = 100;

impl Client {
    /// Does what a whole frame asks for.
    pub(super) fn handle_frame(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        results: &mut Results<'_>,
    ) -> Result<(), Violation> {
        let stream = header.stream;
        match header.kind {
            kind::HEADERS => self.handle_headers(header, payload, results),
            kind::CONTINUATION => self.handle_continuation(header, payload, results),
            kind::RST_STREAM => {
                self.handle_reset(stream, ErrorCode(frame::number(payload, 0)), results);
                Ok(())
            }
            kind::SETTINGS if header.has(flag::ACK) => {
                let awaited = std::mem::replace(&mut self.control.awaits_ack, false);
                awaited.then_some(()).ok_or(Violation::SettingsAck)
            }
            kind::SETTINGS => self.handle_settings(payload, results),
            kind::PING => {
                if !header.has(flag::ACK) {
                    self.acknowledge(kind::PING, payload, results);
                }
                Ok(())
            }
            kind::GOAWAY => self.handle_goaway(payload, results),
            kind::WINDOW_UPDATE => {
                let increment = frame::number(payload, 0) & window::MAX_BYTES;
                take_window_update(self, stream, increment, results)
            }
            // PRIORITY: a client orders nothing.
            _ => Ok(()),
        }
    }

    /// Begins a DATA frame: all of its payload counts against both windows, padding too.
    #[inline(always)]
    pub(super) fn begin_data(
        &mut self,
        header: FrameHeader,
        results: &mut Results<'_>,
    ) -> Result<Data, Violation> {
        self.receive.take(header.length)?;
        let mut slot = stream::NONE;
        if let Some(at) = self.streams.find(header.stream) {
            let found = self.streams.slot(at);
            found.receive.take(header.length)?;
            if found.expected == Expected::NoHead {
                let end_stream = header.has(flag::END_STREAM);
                self.fail(at, Violation::NoHead, end_stream, results);
            } else {
                slot = at;
            }
        } else {
            self.check_closed(header.stream)?;
        }
        let padding_next = header.has(flag::PADDED);
        if padding_next && header.length == 0 {
            return Err(Violation::Padding);
        }
        Ok(Data {
            stream: header.stream,
            slot,
            end_stream: header.has(flag::END_STREAM),
            padding_next,
            padding: 0,
            left: header.length,
        })
    }

    /// Takes what belongs to a DATA frame from `bytes`, from `at` on; returns where that ends.
    #[inline(always)]
    pub(super) fn take_data(
        &mut self,
        data: &mut Data,
        bytes: &[u8],
        mut at: usize,
        results: &mut Results<'_>,
    ) -> Result<usize, Violation> {
        if data.padding_next
            && let Some(&padding) = bytes.get(at)
        {
            at += 1;
            data.left -= 1;
            data.padding_next = false;
            data.padding = padding;
            if u32::from(padding) > data.left {
                return Err(Violation::Padding);
            }
        }
        // What comes is body up to the padding, which may have begun.
        let body = data.left.saturating_sub(data.padding.into());
        let take = data.left.min((bytes.len() - at) as u32);
        let length = body.min(take);
        if length > 0 {
            self.handle_body(*data, at as u32, length, results);
        }
        data.left -= take;
        Ok(at + take as usize)
    }

    /// Counts a part of a body.
    #[inline(always)]
    fn handle_body(&mut self, data: Data, start: u32, length: u32, results: &mut Results<'_>) {
        let Some(at) = self.slot_of(data) else {
            return;
        };
        let slot = self.streams.slot(at);
        if slot.expected == Expected::NoBody {
            self.fail(at, Violation::UnexpectedBody, data.end_stream, results);
            return;
        }
        slot.body_bytes += u64::from(length);
        let token = slot.token;
        results.events.push(Event::Data {
            token,
            start,
            length,
        });
    }

    /// Ends a DATA frame: enlarges the windows that are half used, ends the stream if it says so.
    #[inline(always)]
    pub(super) fn end_data(&mut self, data: Data, results: &mut Results<'_>) {
        if let Some(increment) = self.receive.refill(self.config.connection_window) {
            frame::write_window_update(0, increment, results.out);
        }
        match self.slot_of(data) {
            Some(at) if data.end_stream => self.finish(at, false, results),
            Some(at) => {
                let refilled = self
                    .streams
                    .slot(at)
                    .receive
                    .refill(self.config.stream_window);
                if let Some(increment) = refilled {
                    frame::write_window_update(data.stream, increment, results.out);
                }
            }
            None if data.end_stream => self.streams.forget_cancelled(data.stream),
            None => {}
        }
    }

    /// The slot of a DATA frame's stream, unless that has ended meanwhile.
    #[inline(always)]
    fn slot_of(&mut self, data: Data) -> Option<u16> {
        let lives = data.slot != stream::NONE && self.streams.slot(data.slot).id == data.stream;
        lives.then_some(data.slot)
    }

    #[inline(always)]
    pub(super) fn handle_headers(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        results: &mut Results<'_>,
    ) -> Result<(), Violation> {
        let part = header.unpadded(payload).ok_or(Violation::Padding)?;
        if part.len() > MAX_BLOCK_BYTES {
            return Err(Violation::HeaderBlockTooLong);
        }
        let end_stream = header.has(flag::END_STREAM);
        if header.has(flag::END_HEADERS) {
            return self.handle_block(header.stream, end_stream, part, results);
        }
        self.input.block = Some(Block {
            stream: header.stream,
            end_stream,
            frames: 1,
            bytes: part.to_vec(),
        });
        Ok(())
    }

    fn handle_continuation(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        results: &mut Results<'_>,
    ) -> Result<(), Violation> {
        let Some(mut block) = self.input.block.take() else {
            return Err(Violation::Continuation);
        };
        block.frames += 1;
        if block.bytes.len() + payload.len() > MAX_BLOCK_BYTES || block.frames > MAX_BLOCK_FRAMES {
            return Err(Violation::HeaderBlockTooLong);
        }
        block.bytes.extend_from_slice(payload);
        if header.has(flag::END_HEADERS) {
            return self.handle_block(block.stream, block.end_stream, &block.bytes, results);
        }
        self.input.block = Some(block);
        Ok(())
    }

    /// Reads a whole header block, also of a stream that has ended: it may change the table.
    #[inline(always)]
    fn handle_block(
        &mut self,
        id: u32,
        end_stream: bool,
        block: &[u8],
        results: &mut Results<'_>,
    ) -> Result<(), Violation> {
        let meaning = self.meanings.read(block)?;
        self.header_bytes.wire += block.len() as u64;
        self.header_bytes.text += u64::from(meaning.text_bytes);
        let Some(at) = self.streams.find(id) else {
            self.check_closed(id)?;
            if end_stream {
                self.streams.forget_cancelled(id);
            }
            return Ok(());
        };
        let broken = meaning.fault.map_or(Ok(()), |fault| Err(fault.into()));
        match broken.and_then(|()| self.take_head(at, meaning, end_stream, results)) {
            Ok(true) => self.finish(at, meaning.status == 0, results),
            Ok(false) => {}
            Err(violation) => self.fail(at, violation, end_stream, results),
        }
        Ok(())
    }

    /// Takes a head, interim or final, or trailers; says whether the response is whole.
    #[inline(always)]
    fn take_head(
        &mut self,
        at: u16,
        meaning: Meaning,
        end_stream: bool,
        results: &mut Results<'_>,
    ) -> Result<bool, Violation> {
        let slot = self.streams.slot(at);
        let (token, status) = (slot.token, meaning.status);
        if slot.expected != Expected::NoHead {
            return match (status, end_stream) {
                (0, true) => Ok(true),
                (0, false) => Err(Violation::Trailers),
                _ => Err(Violation::PseudoHeader),
            };
        }
        match status {
            0 => return Err(Violation::Status),
            101 => return Err(Violation::Interim),
            100..200 if end_stream => return Err(Violation::Interim),
            100..200 => {
                results.events.push(Event::Informational { token, status });
                return Ok(false);
            }
            _ => {}
        }
        slot.expected = match meaning.content_length {
            _ if matches!(status, 204 | 304) => Expected::NoBody,
            _ if self.requests.is_to_head(slot.request) => Expected::NoBody,
            Some(length) => {
                slot.content_length = length;
                Expected::Length
            }
            None => Expected::AnyBody,
        };
        results.events.push(Event::Head { token, status });
        Ok(end_stream)
    }

    /// Ends a stream whose response is whole.
    fn finish(&mut self, at: u16, had_trailers: bool, results: &mut Results<'_>) {
        let slot = *self.streams.slot(at);
        if !slot.is_sent {
            // The answer came before the request's end: the rest of it is not wanted.
            frame::write_reset(slot.id, ErrorCode::NO_ERROR, results.out);
        }
        self.release(at);
        let (token, body_bytes) = (slot.token, slot.body_bytes);
        let is_cut = slot.expected == Expected::Length && body_bytes != slot.content_length;
        results.events.push(if is_cut {
            let violation = Violation::ContentLength;
            Event::Malformed { token, violation }
        } else {
            Event::End {
                token,
                had_trailers,
                body_bytes,
            }
        });
    }

    /// Ends a stream whose response broke a rule (RFC 9113, 5.4.2).
    #[cold]
    fn fail(&mut self, at: u16, violation: Violation, end_stream: bool, results: &mut Results<'_>) {
        let slot = *self.streams.slot(at);
        frame::write_reset(slot.id, violation.code(), results.out);
        if !end_stream {
            self.streams.remember_cancelled(slot.id);
        }
        self.release(at);
        let token = slot.token;
        results.events.push(Event::Malformed { token, violation });
    }

    /// Whether DATA or HEADERS may come for a stream that has ended: it was cancelled, or the
    /// server said that it does not process it.
    fn check_closed(&self, id: u32) -> Result<(), Violation> {
        let refused = self.last_taken.is_some_and(|last| id > last);
        if refused || self.streams.may_linger(id) {
            return Ok(());
        }
        Err(Violation::ClosedStream)
    }

    fn handle_reset(&mut self, id: u32, code: ErrorCode, results: &mut Results<'_>) {
        let Some(at) = self.streams.find(id) else {
            return self.streams.forget_cancelled(id);
        };
        let token = self.streams.slot(at).token;
        self.release(at);
        results.events.push(if code == ErrorCode::REFUSED_STREAM {
            Event::Refused { token }
        } else {
            Event::Reset { token, code }
        });
    }

    fn handle_settings(
        &mut self,
        payload: &[u8],
        results: &mut Results<'_>,
    ) -> Result<(), Violation> {
        let Control {
            peer, has_settings, ..
        } = &mut self.control;
        let before = peer.initial_window_size;
        if !std::mem::replace(has_settings, true) {
            peer.max_concurrent_streams = None;
        }
        let table_size_min = peer.update(payload)?;
        let change = i64::from(peer.initial_window_size) - i64::from(before);
        if change != 0 {
            for slot in self.streams.all_mut() {
                slot.send.change(change)?;
            }
        }
        // The values count in their order: the server's table may have shrunk in between.
        let table_size = self.control.peer.header_table_size;
        self.encoder.allow(table_size_min.min(table_size));
        self.encoder.allow(table_size);
        if self.last_taken.is_none() {
            self.limit = limit(&self.config, &self.control.peer);
        }
        self.acknowledge(kind::SETTINGS, &[], results);
        results.events.push(Event::SettingsChanged);
        Ok(())
    }

    /// Appends the acknowledgement of a PING or of SETTINGS.
    fn acknowledge(&mut self, kind: u8, payload: &[u8], results: &mut Results<'_>) {
        frame::write(kind, flag::ACK, 0, payload, results.out);
        let bytes = (frame::HEADER_BYTES + payload.len()) as u32;
        self.control.ack_bytes = self.control.ack_bytes.saturating_add(bytes);
    }

    fn handle_goaway(
        &mut self,
        payload: &[u8],
        results: &mut Results<'_>,
    ) -> Result<(), Violation> {
        let last = frame::number(payload, 0) & frame::STREAM_MAX;
        let code = ErrorCode(frame::number(payload, 4));
        if self.last_taken.is_some_and(|before| last > before) {
            return Err(Violation::GoAwayRaised);
        }
        self.last_taken = Some(last);
        self.limit = 0;
        let debug = payload.get(8..).unwrap_or_default();
        self.control.debug = Some(debug[..debug.len().min(MAX_DEBUG_BYTES)].into());
        results.events.push(Event::GoAway { last, code });
        for at in 0..self.streams.slots() as u16 {
            let slot = self.streams.slot(at);
            if slot.id > last {
                let token = slot.token;
                self.release(at);
                results.events.push(Event::BeyondGoAway { token });
            }
        }
        Ok(())
    }
}

/// Takes a WINDOW_UPDATE. What is wrong with the window of one stream ends that stream alone
/// (RFC 9113, 6.9 and 6.9.1).
fn take_window_update(
    client: &mut Client,
    id: u32,
    increment: u32,
    results: &mut Results<'_>,
) -> Result<(), Violation> {
    if id == 0 {
        return enlarge(&mut client.send, increment);
    }
    if let Some(at) = client.streams.find(id)
        && let Err(violation) = enlarge(&mut client.streams.slot(at).send, increment)
    {
        client.fail(at, violation, false, results);
    }
    Ok(())
}

fn enlarge(window: &mut SendWindow, increment: u32) -> Result<(), Violation> {
    match increment {
        0 => Err(Violation::WindowIncrement),
        _ => window.change(i64::from(increment)),
    }
}
