//! Reads responses from a connection's bytes, cut anywhere.

use super::Violation;
use super::chunked::Chunked;
use super::head::{Framing, Head, HeadMemo, Parsed};
use super::partial::PartialHead;

/// A whole response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Status code of the final response.
    pub status: u16,
    /// Length of the body without framing, bytes.
    pub body_bytes: u64,
    /// Whether the connection can carry another request.
    pub keep_alive: bool,
}

/// How far a call of [`ResponseReader::handle`] got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes taken from the front of the input: all of it, unless the response ended earlier.
    pub consumed: usize,
    /// The response, once it is whole.
    pub response: Option<Response>,
}

/// Why the end of the stream was not the end of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyEnd {
    /// Not one byte of the response had come.
    BeforeFirstByte,
    /// The response had begun.
    InsideResponse,
}

/// A head that was read, and not recognised as one like the last: what it says to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewHead<'a> {
    /// Status code of a final response.
    pub status: u16,
    /// What stands behind it.
    pub reason: &'a [u8],
    /// Value of `Location`.
    pub location: Option<&'a [u8]>,
}

/// Who takes a response as it comes; any function takes bodies alone.
pub trait Taker {
    /// The head of a final response, unless it equals the last one.
    fn head(&mut self, _: &NewHead<'_>) {}

    /// The next part of a body.
    fn body(&mut self, part: &[u8]);
}

impl<F: FnMut(&[u8])> Taker for F {
    #[inline(always)]
    fn body(&mut self, part: &[u8]) {
        self(part);
    }
}

/// Reads the response to one request after another.
///
/// It owns memory only while a head is split over several reads: an idle connection owns none.
#[derive(Debug, Default)]
pub struct ResponseReader {
    state: State,
    /// The part of a head that came without its end.
    partial: PartialHead,
    body_bytes: u64,
    to_head_request: bool,
    passed_interim: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// No request is in flight.
    #[default]
    Idle,
    Head,
    Length {
        head: Head,
        left: u64,
    },
    Chunked {
        head: Head,
        machine: Chunked,
    },
    UntilClose {
        head: Head,
    },
}

impl ResponseReader {
    /// Expects the response to a request that is being sent now.
    #[inline]
    pub fn expect(&mut self, to_head_request: bool) {
        self.state = State::Head;
        self.body_bytes = 0;
        self.to_head_request = to_head_request;
    }

    /// Bytes of the response's body that have come, without framing.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether nothing of the next head has come: before the first byte, or behind the head of an
    /// interim response.
    pub fn awaits_head(&self) -> bool {
        self.state == State::Head && self.partial.is_empty()
    }

    /// Whether the head of an interim response ended since
    /// [`take_passed_interim`](Self::take_passed_interim): the final one begins behind it.
    #[inline]
    pub fn has_passed_interim(&self) -> bool {
        self.passed_interim
    }

    /// The same, and forgets it.
    pub fn take_passed_interim(&mut self) -> bool {
        std::mem::take(&mut self.passed_interim)
    }

    /// Body bytes that are next on the wire, whatever they are: a caller that does not look at
    /// them may drop as many unread and say so with [`handle_dropped`](Self::handle_dropped).
    #[inline]
    pub fn droppable(&self) -> u64 {
        match self.state {
            State::Length { left, .. } => left,
            _ => 0,
        }
    }

    /// Counts `bytes` of body that were dropped unread; at most [`droppable`](Self::droppable).
    pub fn handle_dropped(&mut self, bytes: u64) -> Option<Response> {
        let State::Length { head, left } = &mut self.state else {
            return None;
        };
        *left = left.saturating_sub(bytes);
        self.body_bytes += bytes;
        if *left > 0 {
            return None;
        }
        let head = *head;
        Some(self.finish(head))
    }

    /// Takes bytes from the wire; heads and body bytes are handed to `taker`.
    // Each caller has its own `taker`; a call costs a tenth of what most answers take here.
    #[inline(always)]
    pub fn handle(
        &mut self,
        input: &[u8],
        memo: &mut HeadMemo,
        taker: &mut impl Taker,
    ) -> Result<Progress, Violation> {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            match &mut self.state {
                State::Idle if rest.is_empty() => {
                    return Ok(Progress {
                        consumed,
                        response: None,
                    });
                }
                State::Idle => return Err(Violation::Unsolicited),
                State::Head => match self.handle_head(rest, memo, taker)? {
                    Some(taken) => consumed += taken,
                    None => {
                        return Ok(Progress {
                            consumed: input.len(),
                            response: None,
                        });
                    }
                },
                State::Length { head, left } => {
                    let take = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    if take > 0 {
                        taker.body(&rest[..take]);
                    }
                    *left -= take as u64;
                    self.body_bytes += take as u64;
                    consumed += take;
                    let head = (*left == 0).then_some(*head);
                    let response = head.map(|head| self.finish(head));
                    return Ok(Progress { consumed, response });
                }
                State::Chunked { head, machine } => {
                    let mut bytes = 0;
                    consumed += machine.handle(rest, &mut |data| {
                        bytes += data.len() as u64;
                        taker.body(data);
                    })?;
                    self.body_bytes += bytes;
                    let head = (*machine == Chunked::Done).then_some(*head);
                    let response = head.map(|head| self.finish(head));
                    return Ok(Progress { consumed, response });
                }
                State::UntilClose { .. } => {
                    self.body_bytes += rest.len() as u64;
                    if !rest.is_empty() {
                        taker.body(rest);
                    }
                    return Ok(Progress {
                        consumed: input.len(),
                        response: None,
                    });
                }
            }
        }
    }

    /// Takes the end of the stream, which is the end of a body that has no other end.
    pub fn handle_end(&mut self) -> Result<Response, EarlyEnd> {
        match self.state {
            State::UntilClose { head } => Ok(self.finish(head)),
            State::Idle => Err(EarlyEnd::BeforeFirstByte),
            State::Head if self.partial.is_empty() => Err(EarlyEnd::BeforeFirstByte),
            _ => Err(EarlyEnd::InsideResponse),
        }
    }

    /// Reads a head from `rest`, behind what came of it before. Returns the bytes of `rest` that
    /// belonged to it, or `None` when its end is still to come.
    fn handle_head(
        &mut self,
        rest: &[u8],
        memo: &mut HeadMemo,
        taker: &mut dyn Taker,
    ) -> Result<Option<usize>, Violation> {
        if self.partial.is_empty()
            && !self.to_head_request
            && let Some(head) = memo.recall(rest)
        {
            self.begin_body(head);
            return Ok(Some(head.bytes));
        }
        if rest.is_empty() {
            return Ok(None);
        }
        if !self.partial.is_empty() {
            return self.handle_rest_of_head(rest, taker);
        }
        let Some(Parsed { head, date, words }) = Head::parse_whole(rest, self.to_head_request)?
        else {
            self.partial.add(rest);
            return Ok(None);
        };
        if !self.to_head_request {
            memo.keep(rest, head, date);
        }
        if !head.is_interim() {
            taker.head(&words);
        }
        self.begin_body(head);
        Ok(Some(head.bytes))
    }

    /// The same, of a head that was cut.
    fn handle_rest_of_head(
        &mut self,
        rest: &[u8],
        taker: &mut dyn Taker,
    ) -> Result<Option<usize>, Violation> {
        let before = self.partial.bytes().len();
        if !self.partial.add(rest) {
            return Ok(None);
        }
        let parsed = Head::parse_whole(self.partial.bytes(), self.to_head_request)?;
        let Some(Parsed { head, words, .. }) = parsed else {
            return Ok(None);
        };
        if !head.is_interim() {
            taker.head(&words);
        }
        self.partial = PartialHead::default();
        self.begin_body(head);
        // A head is parsed as soon as its end is there, so it ends behind what was there before.
        Ok(Some(head.bytes.saturating_sub(before)))
    }

    /// Goes from a head to its body; an interim response (1xx) has none and a head follows.
    fn begin_body(&mut self, head: Head) {
        let interim = head.is_interim();
        if interim {
            self.passed_interim = true;
        }
        self.state = match head.framing {
            _ if interim => State::Head,
            Framing::Length(left) => State::Length { head, left },
            Framing::Chunked => State::Chunked {
                head,
                machine: Chunked::START,
            },
            Framing::UntilClose => State::UntilClose { head },
        };
    }

    fn finish(&mut self, head: Head) -> Response {
        self.state = State::Idle;
        Response {
            status: head.status,
            body_bytes: self.body_bytes,
            keep_alive: head.keep_alive,
        }
    }
}

#[cfg(test)]
mod tests;
