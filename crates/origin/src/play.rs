//! An answer that is not given at once: when it goes on, with which bytes, and how it ends.
//!
//! It owns no clock and no socket: a connection asks it for its next piece when the time has come.

use std::time::Instant;

use crate::answer::{Answers, Output};
use bakeoff_plan::SlowBody;

use crate::behaviour::{Act, Ending};
use crate::request::Request;

/// An answer on its way.
#[derive(Debug)]
pub(crate) struct Play {
    /// When it goes on; `None` at once.
    pub(crate) wake_at: Option<Instant>,
    /// The answer from its first byte to the last one that is sent.
    output: Output,
    head: usize,
    /// Bytes that have been given out.
    given: usize,
    ending: Ending,
    slow_body: Option<SlowBody>,
}

/// The answers of a loop that are on their way, by the file descriptor of their connection. They
/// lie apart from the connections, which are the smaller for it where nothing is ever played.
#[derive(Debug, Default)]
pub(crate) struct Plays(Vec<Option<Play>>);

impl Plays {
    pub(crate) fn put(&mut self, slot: usize, play: Play) {
        if slot >= self.0.len() {
            self.0.resize_with(slot + 1, || None);
        }
        self.0[slot] = Some(play);
    }

    pub(crate) fn get(&self, slot: usize) -> Option<&Play> {
        self.0.get(slot)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut Play> {
        self.0.get_mut(slot)?.as_mut()
    }

    /// The answer has been given, or there is nobody left to give it to.
    pub(crate) fn remove(&mut self, slot: usize) {
        if let Some(play) = self.0.get_mut(slot) {
            *play = None;
        }
    }
}

/// What is to be done next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Send this.
    Piece(Output),
    /// Reset the connection.
    Reset,
}

/// What is to be done when a piece has been sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Wait until this time for the next piece.
    Wait(Instant),
    /// That was the answer.
    Ended,
    /// That was all that will come of the answer: close the connection.
    Close,
}

impl Play {
    /// What `act` makes of the answer to `request`.
    pub(crate) fn new(answers: &Answers, request: &Request, act: &Act) -> Self {
        let output = match act.reply {
            Some(number) => answers.other(request, number),
            None => answers.reply(request),
        };
        let (head, end) = (answers.head(&output), output.end());
        let end = match act.ending {
            Ending::Closed if end > head => head + (end - head) / 2,
            Ending::Closed => head / 2,
            Ending::Whole | Ending::Reset => end,
        };
        Self {
            wake_at: act.begin_at,
            output: output.piece(0, end),
            head,
            given: 0,
            ending: act.ending,
            slow_body: act.slow_body,
        }
    }

    /// The next piece: the head comes with the first one.
    pub(crate) fn next(&mut self) -> Next {
        if self.ending == Ending::Reset {
            return Next::Reset;
        }
        let end = self.output.end();
        let begin = self.given;
        self.given = match self.slow_body {
            Some(slow) => end.min(begin.max(self.head).saturating_add(slow.bytes as usize)),
            None => end,
        };
        Next::Piece(self.output.piece(begin, self.given))
    }

    /// Called when a piece has been sent, at `now`.
    pub(crate) fn sent(&mut self, now: Instant) -> Then {
        match (self.slow_body, self.ending) {
            (Some(slow), _) if self.given < self.output.end() => {
                let wake_at = now + slow.every;
                self.wake_at = Some(wake_at);
                Then::Wait(wake_at)
            }
            (_, Ending::Closed) => Then::Close,
            _ => Then::Ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::behaviour::Queueing;
    use crate::options::Reply;
    use crate::request::{Method, Version};

    const EVERY: Duration = Duration::from_millis(10);

    /// The pieces of an answer with a body of 10 bytes, without its head, and how it ends.
    fn check(method: Method, ending: Ending, pieces: &[&str], then: &Then) {
        let reply = Reply {
            status: 200,
            content_type: "text/plain".into(),
            body: b"0123456789".to_vec(),
        };
        let answers = Answers::new("x", &reply).unwrap();
        let request = Request {
            method,
            version: Version::Http11,
            keep_alive: true,
        };
        let bytes = 4;
        let act = Act {
            begin_at: None,
            reply: None,
            ending,
            slow_body: Some(SlowBody {
                bytes,
                every: EVERY,
            }),
            is_error: false,
            queueing: Queueing::None,
        };
        let mut play = Play::new(&answers, &request, &act);
        let mut now = Instant::now();
        for (index, piece) in pieces.iter().enumerate() {
            let Next::Piece(output) = play.next() else {
                panic!("a reset instead of {piece:?}")
            };
            let sent = String::from_utf8_lossy(answers.rest::<true>(&output));
            assert_eq!(sent.rsplit("\r\n\r\n").next(), Some(*piece));
            assert_eq!(sent.starts_with("HTTP/1.1 200 OK\r\n"), index == 0);
            if index + 1 < pieces.len() {
                assert_eq!(play.sent(now), Then::Wait(now + EVERY));
                now += EVERY;
            }
        }
        assert_eq!(play.sent(now), *then);
    }

    #[test]
    fn a_body_goes_in_pieces_to_its_end_or_half_of_it() {
        check(
            Method::Get,
            Ending::Whole,
            &["0123", "4567", "89"],
            &Then::Ended,
        );
        check(Method::Get, Ending::Closed, &["0123", "4"], &Then::Close);
        check(Method::Head, Ending::Whole, &[""], &Then::Ended);
    }
}
