//! An answer on a stream of its own, in HTTP/2 and HTTP/3: how much of it may go, and its end.
//!
//! The stream has the place of a connection in HTTP/1.1: if it is reset or closed half way, other
//! streams continue. It owns no clock and no socket.

use std::time::Instant;

use bakeoff_plan::SlowBody;

use crate::behaviour::{Act, Ending};

/// An answer, and how far it has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    /// Number of the reply; see [`Replies::get`](crate::replies::Replies::get).
    pub(crate) reply: Option<u16>,
    /// Whether its head has been sent.
    pub(crate) is_begun: bool,
    /// Bytes of the body that go at all.
    end: usize,
    /// Bytes that may have gone by now.
    given: usize,
    sent: usize,
    wake_at: Option<Instant>,
    ending: Ending,
    slow_body: Option<SlowBody>,
}

/// How an answer goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is more to send.
    More,
    /// There is more from this time on.
    Wait(Instant),
    /// It is whole.
    Whole,
    /// The rest does not come: the stream is to be reset.
    Cut,
}

impl Delivery {
    /// The whole answer at once, with a body of `body` bytes.
    pub(crate) fn whole(body: usize) -> Self {
        Self {
            reply: None,
            is_begun: false,
            end: body,
            given: body,
            sent: 0,
            wake_at: None,
            ending: Ending::Whole,
            slow_body: None,
        }
    }

    /// What `act` makes of an answer with a body of `body` bytes.
    pub(crate) fn of(act: &Act, body: usize) -> Self {
        let end = match act.ending {
            Ending::Whole => body,
            Ending::Closed => body / 2,
            Ending::Reset => 0,
        };
        Self {
            reply: act.reply,
            end,
            given: act
                .slow_body
                .map_or(end, |slow| end.min(slow.bytes as usize)),
            wake_at: act.begin_at,
            ending: act.ending,
            slow_body: act.slow_body,
            ..Self::whole(body)
        }
    }

    /// When it goes on; `None` at once.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.wake_at
    }

    /// Its time has come.
    pub(crate) fn wake(&mut self) {
        self.wake_at = None;
    }

    /// Whether a head goes: where nothing follows it before the stream is reset, none does.
    pub(crate) fn has_head(&self) -> bool {
        self.ending == Ending::Whole || self.end > 0
    }

    /// Where in the body the next byte is, and how many may go now.
    pub(crate) fn ready(&self) -> (usize, usize) {
        (self.sent, self.given - self.sent)
    }

    /// Whether `bytes` more would be the end of a whole answer.
    pub(crate) fn ends_with(&self, bytes: usize) -> bool {
        self.ending == Ending::Whole && self.sent + bytes == self.end
    }

    /// Notes that `bytes` more were sent, and says how it goes on; `now` is asked for only where
    /// a time is to be set.
    pub(crate) fn advance(&mut self, bytes: usize, now: impl FnOnce() -> Instant) -> Progress {
        self.sent += bytes;
        if self.sent < self.given {
            return Progress::More;
        }
        match (self.slow_body, self.ending) {
            (Some(slow), _) if self.given < self.end => {
                self.given = self
                    .end
                    .min(self.given.saturating_add(slow.bytes.max(1) as usize));
                let wake_at = now() + slow.every;
                self.wake_at = Some(wake_at);
                Progress::Wait(wake_at)
            }
            (_, Ending::Whole) => Progress::Whole,
            (_, Ending::Closed | Ending::Reset) => Progress::Cut,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::behaviour::Queueing;

    const EVERY: Duration = Duration::from_millis(10);

    /// The pieces of a body of 10 bytes, and the end.
    fn check(ending: Ending, bytes: Option<u32>, pieces: &[usize], end: Progress) {
        let act = Act {
            begin_at: None,
            reply: None,
            ending,
            slow_body: bytes.map(|bytes| SlowBody {
                bytes,
                every: EVERY,
            }),
            is_error: false,
            queueing: Queueing::None,
        };
        let now = Instant::now();
        let mut delivery = Delivery::of(&act, 10);
        let mut found = Vec::new();
        let last = loop {
            let (at, ready) = delivery.ready();
            assert_eq!(at, found.iter().sum::<usize>());
            found.push(ready);
            match delivery.advance(ready, || now) {
                Progress::Wait(at) => assert_eq!(at, now + EVERY),
                Progress::More => panic!("nothing was held back"),
                last => break last,
            }
        };
        assert_eq!((found.as_slice(), last), (pieces, end), "{ending:?}");
        assert_eq!(delivery.has_head(), ending != Ending::Reset);
    }

    #[test]
    fn a_body_goes_in_pieces_to_its_end_or_half_of_it() {
        check(Ending::Whole, None, &[10], Progress::Whole);
        check(Ending::Whole, Some(4), &[4, 4, 2], Progress::Whole);
        check(Ending::Closed, Some(4), &[4, 1], Progress::Cut);
        check(Ending::Reset, None, &[0], Progress::Cut);
    }
}
