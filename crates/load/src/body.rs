//! Comparison of a response body with the expected one, as it comes.

use bakeoff_wire::h1::{NewHead, Taker};

use crate::answers::Answers;
use crate::spec::Exchange;

/// How far a body agrees with the expected one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BodyComparison {
    /// Whether this body is looked at: compared, or kept.
    pub(crate) is_looked_at: bool,
    /// Whether it is compared.
    pub(crate) on: bool,
    /// Which of the answers it is of that are kept, counted from 1; 0 where it is of none.
    kept: u8,
    /// Bytes compared.
    at: usize,
    /// A byte differed.
    differs: bool,
}

impl BodyComparison {
    pub(crate) fn start(on: bool) -> Self {
        Self {
            is_looked_at: on,
            on,
            kept: 0,
            at: 0,
            differs: false,
        }
    }

    /// The beginning of this body is kept, with the answer of this number.
    pub(crate) fn keep(&mut self, number: u8) {
        (self.is_looked_at, self.kept) = (true, number);
    }

    /// Takes the next bytes of a body.
    #[inline]
    pub(crate) fn take(&mut self, expected: &[u8], bytes: &[u8], answers: &mut Answers) {
        if !self.is_looked_at {
            return;
        }
        if self.kept > 0 {
            answers.add(self.kept, bytes);
        }
        if self.on && !self.differs {
            self.differs = !expected
                .get(self.at..)
                .is_some_and(|rest| rest.starts_with(bytes));
            self.at += bytes.len();
        }
    }

    /// Whether the whole body is right, given its length.
    #[inline]
    pub(crate) fn is_right(&self, expected: &[u8], body_bytes: u64) -> bool {
        !self.differs && body_bytes == expected.len() as u64
    }
}

/// Looks at a response over HTTP/1.1 as it comes.
pub(crate) struct Look<'a> {
    body: &'a mut BodyComparison,
    exchange: &'a Exchange,
    /// The exchange's place.
    at: u32,
    answers: &'a mut Answers,
}

impl<'a> Look<'a> {
    #[inline]
    pub(crate) fn new(
        body: &'a mut BodyComparison,
        exchange: &'a Exchange,
        at: u32,
        answers: &'a mut Answers,
    ) -> Self {
        Self {
            body,
            exchange,
            at,
            answers,
        }
    }
}

impl Taker for Look<'_> {
    fn head(&mut self, head: &NewHead<'_>) {
        if !(200..300).contains(&head.status) {
            let kept = self.answers.begin(self.at, self.exchange.status, head);
            kept.into_iter().for_each(|number| self.body.keep(number));
        }
    }

    #[inline]
    fn body(&mut self, part: &[u8]) {
        let expected = self.exchange.body.as_deref().unwrap_or_default();
        self.body.take(expected, part, self.answers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_right_only_as_a_whole() {
        let compare = |parts: &[&[u8]]| {
            let mut body = BodyComparison::start(true);
            let mut none = Answers::default();
            let mut take = |part: &&[u8]| body.take(b"hello", part, &mut none);
            parts.iter().for_each(&mut take);
            body.is_right(b"hello", parts.iter().map(|part| part.len() as u64).sum())
        };
        assert!(compare(&[b"hel", b"lo"]));
        assert!(!compare(&[b"hel"]));
        assert!(!compare(&[b"hellO"]));
        assert!(!compare(&[b"hello", b"!"]));
        assert!(BodyComparison::start(false).is_right(b"hello", 5));
        assert!(!BodyComparison::start(false).is_right(b"hello", 4));
    }
}
