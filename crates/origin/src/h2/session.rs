//! One HTTP/2 connection of the built-in server: decodes what has arrived, and encodes the answers.
//!
//! It has no socket: the caller passes bytes in, and sends what the session leaves in the caller's
//! buffer.

use std::time::Instant;

use bakeoff_wire::h2::ErrorCode;
use bakeoff_wire::h2::frame::{self, FrameHeader, HEADER_BYTES, PAYLOAD_MAX, PREFACE, flag, kind};

use super::fields::Fields;
use super::replies::Ready;
use super::streams::{STREAMS_MAX, Streams};
use super::window::{self, Received};
use crate::behaviour::{Behaviour, Decision, Immediate};
use crate::connection::{count, count_act};
use crate::counts::Counters;
use crate::delivery::{Delivery, Progress};
use crate::options::{OriginError, Reply};
use crate::replies::Replies;
use crate::request::{Method, Request, Version};

/// Bytes of answers that are written ahead of a socket; more waits for its turn.
const OUT_MAX: usize = 128 * 1024;
/// Window before anything was agreed on, bytes (RFC 9113, 6.9.2).
const DEFAULT_WINDOW: u32 = 65_535;
/// Largest window.
const WINDOW_MAX: i64 = (1 << 31) - 1;
/// Times that a client may change the window of all its streams: each is a walk over them.
const SHIFTS_MAX: u8 = 100;

mod setting {
    pub(super) const HEADER_TABLE_SIZE: u16 = 1;
    pub(super) const ENABLE_PUSH: u16 = 2;
    pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(super) const MAX_FRAME_SIZE: u16 = 5;
}

/// One connection.
#[derive(Debug)]
pub(super) struct Session {
    is_opened: bool,
    fields: Fields,
    streams: Streams,
    /// What the client lets through on all streams together, bytes.
    window: i64,
    /// What it lets through on each stream that begins, bytes.
    stream_window: u32,
    /// Times that it has changed that.
    shifts: u8,
    /// Whether the next head has to say that no dynamic table is used.
    shrinks: bool,
    received: Received,
    /// The last stream that the client has opened.
    last_stream: u32,
}

/// What a session works with, which is its thread's.
pub(super) struct Work<'a, B> {
    pub(super) replies: &'a Replies<Ready>,
    pub(super) counters: &'a Counters,
    pub(super) behaviour: &'a mut B,
    /// What is to be sent.
    pub(super) out: &'a mut Vec<u8>,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            is_opened: false,
            fields: Fields::default(),
            streams: Streams::default(),
            window: i64::from(DEFAULT_WINDOW),
            stream_window: DEFAULT_WINDOW,
            shifts: 0,
            shrinks: false,
            received: Received::default(),
            last_stream: 0,
        }
    }
}

impl Session {
    /// Takes what has come and answers it; returns how much of it was used, the rest being the
    /// start of a frame. The rest is shorter than a frame of 16 KiB.
    ///
    /// # Errors
    /// When the client broke a rule that ends the connection; the reason has been sent.
    pub(super) fn receive<B: Behaviour>(
        &mut self,
        bytes: &[u8],
        work: &mut Work<'_, B>,
    ) -> Result<usize, ErrorCode> {
        self.read(bytes, work).inspect_err(|code| {
            work.counters.bad_requests.add(1);
            frame::write_goaway(self.last_stream, *code, work.out);
        })
    }

    /// When a stream goes on that waits for its time.
    pub(super) fn next(&self) -> Option<Instant> {
        self.streams.next()
    }

    /// Goes on with the streams whose time has come.
    pub(super) fn wake(&mut self, now: Instant) {
        self.streams.wake(now);
    }

    /// Whether more can be written as soon as there is room.
    pub(super) fn has_more(&self) -> bool {
        self.window > 0 && self.streams.has_ready()
    }

    fn read<B: Behaviour>(
        &mut self,
        bytes: &[u8],
        work: &mut Work<'_, B>,
    ) -> Result<usize, ErrorCode> {
        let mut at = 0;
        if !self.is_opened {
            let seen = bytes.len().min(PREFACE.len());
            if bytes[..seen] != PREFACE[..seen] {
                return Err(ErrorCode::PROTOCOL_ERROR);
            }
            if seen < PREFACE.len() {
                return Ok(0);
            }
            at = seen;
            self.is_opened = true;
            write_opening(work.out);
        }
        while let Some(head) = bytes[at..].first_chunk::<HEADER_BYTES>() {
            let header = FrameHeader::read(head);
            let length = header.length as usize;
            if length > PAYLOAD_MAX {
                return Err(ErrorCode::FRAME_SIZE_ERROR);
            }
            let payload = at + HEADER_BYTES..at + HEADER_BYTES + length;
            let Some(payload) = bytes.get(payload) else {
                break;
            };
            at += HEADER_BYTES + length;
            self.frame(header, payload, work)?;
        }
        Ok(at)
    }

    #[inline]
    fn frame<B: Behaviour>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        work: &mut Work<'_, B>,
    ) -> Result<(), ErrorCode> {
        if self.fields.is_open() && header.kind != kind::CONTINUATION {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        match header.kind {
            kind::HEADERS => self.headers(header, payload, work),
            kind::DATA => self.data(header, payload, work),
            kind::CONTINUATION => {
                let is_last = header.has(flag::END_HEADERS);
                match self.fields.go_on(header.stream, payload, is_last)? {
                    Some((ends, method)) => self.request(header.stream, ends, method, work),
                    None => Ok(()),
                }
            }
            kind::WINDOW_UPDATE => self.window_update(header.stream, payload, work),
            kind::SETTINGS => self.settings(header, payload, work.out),
            kind::PING if payload.len() != 8 => Err(ErrorCode::FRAME_SIZE_ERROR),
            kind::PING if header.stream != 0 => Err(ErrorCode::PROTOCOL_ERROR),
            kind::PING => {
                if !header.has(flag::ACK) {
                    frame::write(kind::PING, flag::ACK, 0, payload, work.out);
                }
                Ok(())
            }
            kind::RST_STREAM if payload.len() != 4 => Err(ErrorCode::FRAME_SIZE_ERROR),
            kind::RST_STREAM => {
                self.check_opened(header.stream)?;
                self.streams.close(header.stream);
                Ok(())
            }
            kind::PRIORITY if header.stream == 0 => Err(ErrorCode::PROTOCOL_ERROR),
            kind::PRIORITY if payload.len() != 5 => Err(ErrorCode::FRAME_SIZE_ERROR),
            kind::GOAWAY if header.stream != 0 => Err(ErrorCode::PROTOCOL_ERROR),
            kind::PUSH_PROMISE => Err(ErrorCode::PROTOCOL_ERROR),
            // What is not known is read over (RFC 9113, 4.1).
            _ => Ok(()),
        }
    }

    /// Whether the client has opened this stream at any time.
    fn check_opened(&self, id: u32) -> Result<(), ErrorCode> {
        let is_opened = id != 0 && id % 2 == 1 && id <= self.last_stream;
        is_opened.then_some(()).ok_or(ErrorCode::PROTOCOL_ERROR)
    }

    #[inline]
    fn headers<B: Behaviour>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        work: &mut Work<'_, B>,
    ) -> Result<(), ErrorCode> {
        let block = header.unpadded(payload).ok_or(ErrorCode::PROTOCOL_ERROR)?;
        let ends = header.has(flag::END_STREAM);
        if header.stream.is_multiple_of(2) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        if !header.has(flag::END_HEADERS) {
            self.fields.begin(header.stream, ends, block);
            return Ok(());
        }
        let method = self.fields.read(block)?;
        self.request(header.stream, ends, method, work)
    }

    /// The head of a request is whole, or its trailers are.
    #[inline]
    fn request<B: Behaviour>(
        &mut self,
        id: u32,
        ends: bool,
        method: Option<Method>,
        work: &mut Work<'_, B>,
    ) -> Result<(), ErrorCode> {
        if id <= self.last_stream {
            // Of a stream that was reset, trailers may be on their way.
            let Some(stream) = self.streams.get_mut(id) else {
                return Ok(());
            };
            let method = stream.request.take().ok_or(ErrorCode::STREAM_CLOSED)?;
            if !ends {
                return Err(ErrorCode::PROTOCOL_ERROR);
            }
            self.answer(id, method, work);
            return Ok(());
        }
        self.last_stream = id;
        match method {
            None => {
                work.counters.bad_requests.add(1);
                frame::write_reset(id, ErrorCode::PROTOCOL_ERROR, work.out);
            }
            Some(_) if self.streams.is_full() => {
                frame::write_reset(id, ErrorCode::REFUSED_STREAM, work.out);
            }
            Some(method) if ends => self.answer(id, method, work),
            Some(method) => {
                let window = i64::from(self.stream_window);
                self.streams.open(id, window).request = Some(method);
            }
        }
        Ok(())
    }

    fn data<B: Behaviour>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        work: &mut Work<'_, B>,
    ) -> Result<(), ErrorCode> {
        self.check_opened(header.stream)?;
        header.unpadded(payload).ok_or(ErrorCode::PROTOCOL_ERROR)?;
        self.received.take(payload.len(), 0, work.out);
        // Of a stream that was reset, data may be on its way.
        let Some(stream) = self.streams.get_mut(header.stream) else {
            return Ok(());
        };
        let Some(method) = stream.request else {
            return Err(ErrorCode::STREAM_CLOSED);
        };
        if header.has(flag::END_STREAM) {
            stream.request = None;
            self.answer(header.stream, method, work);
        } else {
            let received = &mut stream.received;
            received.take(payload.len(), header.stream, work.out);
        }
        Ok(())
    }

    fn window_update<B>(
        &mut self,
        id: u32,
        payload: &[u8],
        work: &mut Work<'_, B>,
    ) -> Result<(), ErrorCode> {
        if payload.len() != 4 {
            return Err(ErrorCode::FRAME_SIZE_ERROR);
        }
        let increment = frame::number(payload, 0) & (u32::MAX >> 1);
        if id == 0 {
            self.window += i64::from(increment);
            return match increment {
                0 => Err(ErrorCode::PROTOCOL_ERROR),
                _ if self.window > WINDOW_MAX => Err(ErrorCode::FLOW_CONTROL_ERROR),
                _ => Ok(()),
            };
        }
        self.check_opened(id)?;
        let widened = match increment {
            0 => Err(ErrorCode::PROTOCOL_ERROR),
            by => self.streams.widen(id, by),
        };
        if let Err(code) = widened {
            self.streams.close(id);
            frame::write_reset(id, code, work.out);
        }
        Ok(())
    }

    fn settings(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorCode> {
        if header.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        if header.has(flag::ACK) {
            return if payload.is_empty() {
                Ok(())
            } else {
                Err(ErrorCode::FRAME_SIZE_ERROR)
            };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(ErrorCode::FRAME_SIZE_ERROR);
        }
        let mut window = self.stream_window;
        for entry in payload.chunks_exact(6) {
            let value = frame::number(entry, 2);
            match u16::from_be_bytes([entry[0], entry[1]]) {
                // Said once: no table is used from then on, whatever is allowed.
                setting::HEADER_TABLE_SIZE => self.shrinks |= value < 4096,
                setting::ENABLE_PUSH if value > 1 => return Err(ErrorCode::PROTOCOL_ERROR),
                setting::INITIAL_WINDOW_SIZE if i64::from(value) > WINDOW_MAX => {
                    return Err(ErrorCode::FLOW_CONTROL_ERROR);
                }
                setting::INITIAL_WINDOW_SIZE => window = value,
                setting::MAX_FRAME_SIZE if !(1 << 14..1 << 24).contains(&value) => {
                    return Err(ErrorCode::PROTOCOL_ERROR);
                }
                _ => {}
            }
        }
        let shift = i64::from(window) - i64::from(self.stream_window);
        self.stream_window = window;
        if shift != 0 {
            self.shifts += 1;
            if self.shifts > SHIFTS_MAX {
                return Err(ErrorCode::ENHANCE_YOUR_CALM);
            }
            self.streams.shift(shift)?;
        }
        frame::write(kind::SETTINGS, flag::ACK, 0, &[], out);
        Ok(())
    }

    /// Answers a request that is whole.
    #[inline]
    fn answer<B: Behaviour>(&mut self, id: u32, method: Method, work: &mut Work<'_, B>) {
        let request = Request {
            method,
            version: Version::Http2,
            keep_alive: true,
        };
        count(work.counters, &request);
        let is_head = method == Method::Head;
        let delivery = match work.behaviour.decide(&request) {
            Decision::Answer => {
                let ready = work.replies.get(None);
                if !is_head && self.answer_at_once(id, ready, work.out) {
                    return;
                }
                Delivery::whole(if is_head { 0 } else { ready.body.len() })
            }
            Decision::Act(act) => {
                count_act(work.counters, &act);
                let body = work.replies.get(act.reply).body.len();
                Delivery::of(&act, if is_head { 0 } else { body })
            }
        };
        self.streams.open(id, i64::from(self.stream_window));
        self.streams.deliver(id, delivery);
    }

    /// Writes the whole answer if nothing is in its way.
    #[inline]
    fn answer_at_once(&mut self, id: u32, ready: &Ready, out: &mut Vec<u8>) -> bool {
        let body = ready.body.len() as i64;
        let stream = self.streams.get_mut(id).map(|stream| stream.window);
        let fits = body <= self.window && body <= stream.unwrap_or(self.stream_window.into());
        if !fits || !ready.is_short() || self.shrinks || out.len() >= OUT_MAX {
            return false;
        }
        self.window -= body;
        if stream.is_some() {
            self.streams.close(id);
        }
        ready.write_whole(id, out);
        true
    }

    /// Writes what can go of the streams that are remembered, each in its turn.
    pub(super) fn pump<B: Behaviour>(&mut self, work: &mut Work<'_, B>) {
        while work.out.len() < OUT_MAX
            && let Some(id) = self.streams.take_ready()
        {
            let Some(progress) = self.write_some(id, work) else {
                continue;
            };
            match progress {
                Progress::Whole => self.streams.close(id),
                Progress::Cut => {
                    frame::write_reset(id, ErrorCode::INTERNAL_ERROR, work.out);
                    self.streams.close(id);
                }
                Progress::Wait(at) => self.streams.wait(id, at),
                Progress::More => {
                    let window = self.streams.get_mut(id).map_or(0, |stream| stream.window);
                    if window > 0 {
                        self.streams.make_ready(id);
                    }
                    if self.window <= 0 {
                        return;
                    }
                }
            }
        }
    }

    /// Writes as much of one answer as goes into a frame.
    fn write_some<B: Behaviour>(&mut self, id: u32, work: &mut Work<'_, B>) -> Option<Progress> {
        let stream = self.streams.get_mut(id)?;
        let delivery = stream.delivery.as_mut()?;
        let ready = work.replies.get(delivery.reply);
        let (at, bytes) = delivery.ready();
        if !delivery.is_begun && delivery.has_head() {
            delivery.is_begun = true;
            let ends = bytes == 0 && delivery.ends_with(0);
            let shrinks = std::mem::take(&mut self.shrinks);
            ready.write_head(id, ends, shrinks, work.out);
        }
        let window = stream.window.min(self.window).max(0) as usize;
        let bytes = bytes.min(PAYLOAD_MAX).min(window);
        if bytes > 0 {
            let part = ready.body.get(at..at + bytes)?;
            let flags = if delivery.ends_with(bytes) {
                flag::END_STREAM
            } else {
                0
            };
            frame::write(kind::DATA, flags, id, part, work.out);
            stream.window -= bytes as i64;
            self.window -= bytes as i64;
        }
        Some(delivery.advance(bytes, Instant::now))
    }
}

/// Appends this side's settings, and the window of the connection.
fn write_opening(out: &mut Vec<u8>) {
    let settings = [
        (setting::MAX_CONCURRENT_STREAMS, STREAMS_MAX as u32),
        (setting::INITIAL_WINDOW_SIZE, window::BYTES),
    ];
    let mut payload = Vec::new();
    for (identifier, value) in settings {
        payload.extend_from_slice(&identifier.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame::write(kind::SETTINGS, 0, 0, &payload, out);
    frame::write_window_update(0, window::BYTES - DEFAULT_WINDOW, out);
}

/// What a connection that gives `reply` answers to `stream`, which comes in pieces of `piece`
/// bytes: for tests of the reader by any bytes. It ends where the client broke a rule.
///
/// # Errors
/// When the reply cannot be an HTTP answer.
pub fn answer(reply: &Reply, stream: &[u8], piece: usize) -> Result<Vec<u8>, OriginError> {
    let replies = Replies::new("x", reply, &[], super::encode)?;
    let (counters, mut out) = (Counters::default(), Vec::new());
    let (mut session, mut held) = (Session::default(), Vec::new());
    let mut answered = Vec::new();
    for bytes in stream.chunks(piece.max(1)) {
        held.extend_from_slice(bytes);
        let mut work = Work {
            replies: &replies,
            counters: &counters,
            behaviour: &mut Immediate,
            out: &mut out,
        };
        let used = session.receive(&held, &mut work);
        while !work.out.is_empty() {
            answered.append(work.out);
            session.pump(&mut work);
        }
        let Ok(used) = used else {
            break;
        };
        held.drain(..used);
    }
    Ok(answered)
}
