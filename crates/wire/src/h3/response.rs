//! The response on one request stream.

use super::frame::{FrameReader, Kind, Step};
use super::{Memo, Violation};

/// Most memory for a field section in parts that is kept from one response to the next, bytes.
const KEPT_BYTES: usize = 1024;

/// What came of a server's bytes on a request stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// An interim response (1xx).
    Informational {
        /// Status code.
        status: u16,
    },
    /// The head of the final response.
    Head {
        /// Status code.
        status: u16,
    },
    /// A part of the body, never empty; a body may come in many, cut anywhere.
    Data(&'a [u8]),
}

/// A response that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Whether trailers came behind the body.
    pub had_trailers: bool,
    /// Length of the body, bytes.
    pub body_bytes: u64,
}

/// The state of one request stream, to be used again for the next one.
///
/// What the server sends on the stream goes to [`handle`](Self::handle), and when it has ended
/// its side, [`finish`](Self::finish) says whether the response is whole. After a violation
/// there is nothing to do but [`begin`](Self::begin).
#[derive(Debug)]
pub struct Response {
    frames: FrameReader,
    body_bytes: u64,
    /// What `content-length` says, if `expected` is [`Expected::Length`].
    content_length: u64,
    /// The beginning of a field section whose end is still to come.
    partial: Vec<u8>,
    expected: Expected,
    to_head: bool,
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The head, or an interim one.
    Head,
    /// A body of any length, then trailers.
    AnyBody,
    /// A body as long as `content-length` says, then trailers.
    Length,
    /// No body: the request was HEAD, or the status is 204 or 304.
    NoBody,
    /// The end, as trailers have come; the body was right.
    End,
}

impl Response {
    /// The state of a stream whose request is HEAD or is not.
    pub fn new(to_head: bool) -> Self {
        Self {
            frames: FrameReader::default(),
            body_bytes: 0,
            content_length: 0,
            partial: Vec::new(),
            expected: Expected::Head,
            to_head,
        }
    }

    /// Forgets all about the stream before, but the memory, unless it is large.
    #[inline]
    pub fn begin(&mut self, to_head: bool) {
        self.frames = FrameReader::default();
        self.body_bytes = 0;
        self.partial.clear();
        // A stream may have ended within a long section.
        self.partial.shrink_to(KEPT_BYTES);
        self.expected = Expected::Head;
        self.to_head = to_head;
    }

    /// Memory that is kept for a field section in parts, bytes.
    #[cfg(test)]
    pub(super) fn kept_bytes(&self) -> usize {
        self.partial.capacity()
    }

    /// Length of the body that came so far, bytes.
    #[inline]
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Takes bytes from the server, cut anywhere, and hands what came of them to `on_event`.
    #[inline]
    pub fn handle(
        &mut self,
        bytes: &[u8],
        memo: &mut Memo,
        mut on_event: impl FnMut(Event<'_>),
    ) -> Result<(), Violation> {
        let mut at = 0;
        while let Some(step) = self.frames.next(bytes, &mut at) {
            match step {
                Step::Header(kind, length) => self.check(kind, length, memo)?,
                Step::Payload(Kind::Data, part, _) => {
                    if !part.is_empty() {
                        self.body_bytes += part.len() as u64;
                        on_event(Event::Data(part));
                    }
                }
                Step::Payload(Kind::Headers, part, is_last) => {
                    if !is_last {
                        self.partial.extend_from_slice(part);
                    } else if let Some(event) = self.handle_section(part, memo)? {
                        on_event(event);
                    }
                }
                Step::Payload(..) => {}
            }
        }
        Ok(())
    }

    /// Ends the response: the server has ended its side of the stream.
    #[inline]
    pub fn finish(&self) -> Result<End, Violation> {
        if !self.frames.is_between_frames() {
            return Err(Violation::FrameCut);
        }
        match self.expected {
            Expected::Head => Err(Violation::NoResponse),
            Expected::Length if self.body_bytes != self.content_length => {
                Err(Violation::ContentLength)
            }
            expected => Ok(End {
                had_trailers: expected == Expected::End,
                body_bytes: self.body_bytes,
            }),
        }
    }

    /// Checks what a frame's header alone can break.
    #[inline]
    fn check(&self, kind: Kind, length: u64, memo: &Memo) -> Result<(), Violation> {
        match (kind, self.expected) {
            (Kind::Data, Expected::AnyBody) => Ok(()),
            (Kind::Data, Expected::Length) => {
                let left = self.content_length - self.body_bytes;
                let fits = (length <= left).then_some(());
                fits.ok_or(Violation::ContentLength)
            }
            (Kind::Data, Expected::NoBody) => {
                let fits = (length == 0).then_some(());
                fits.ok_or(Violation::UnexpectedBody)
            }
            (Kind::Data, Expected::Head | Expected::End) | (Kind::Headers, Expected::End) => {
                Err(Violation::FrameUnexpected)
            }
            (Kind::Headers, _) => memo.check_length(length),
            (Kind::PushPromise, _) => Err(Violation::Push),
            (Kind::OfHttp2, _) => Err(Violation::Http2Frame),
            (Kind::Unknown, _) => Ok(()),
            (Kind::CancelPush | Kind::Settings | Kind::GoAway | Kind::MaxPushId, _) => {
                Err(Violation::FrameUnexpected)
            }
        }
    }

    /// Takes the last part of a field section.
    #[inline]
    fn handle_section(
        &mut self,
        part: &[u8],
        memo: &mut Memo,
    ) -> Result<Option<Event<'static>>, Violation> {
        if self.partial.is_empty() {
            return self.take_head(part, memo);
        }
        let mut section = std::mem::take(&mut self.partial);
        section.extend_from_slice(part);
        let event = self.take_head(&section, memo);
        if section.capacity() <= KEPT_BYTES {
            section.clear();
            self.partial = section;
        }
        event
    }

    /// Takes a head, interim or final, or trailers.
    #[inline]
    fn take_head(
        &mut self,
        section: &[u8],
        memo: &mut Memo,
    ) -> Result<Option<Event<'static>>, Violation> {
        let meaning = memo.read(section)?;
        if let Some(fault) = meaning.fault {
            return Err(fault.into());
        }
        let status = meaning.status;
        if self.expected != Expected::Head {
            return self.take_trailers(status).map(|()| None);
        }
        match status {
            0 => return Err(Violation::Status),
            101 => return Err(Violation::Interim),
            100..200 => return Ok(Some(Event::Informational { status })),
            _ => {}
        }
        self.expected = match meaning.content_length {
            _ if self.to_head || matches!(status, 204 | 304) => Expected::NoBody,
            Some(length) => {
                self.content_length = length;
                Expected::Length
            }
            None => Expected::AnyBody,
        };
        Ok(Some(Event::Head { status }))
    }

    fn take_trailers(&mut self, status: u16) -> Result<(), Violation> {
        if status != 0 {
            return Err(Violation::PseudoHeader);
        }
        if self.expected == Expected::Length && self.body_bytes != self.content_length {
            return Err(Violation::ContentLength);
        }
        self.expected = Expected::End;
        Ok(())
    }
}
