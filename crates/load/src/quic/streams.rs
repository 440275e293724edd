//! Which request is on which stream of a connection.

use std::collections::VecDeque;

use quinn_proto::StreamId;

/// No place: the stream's request has ended.
const NONE: u32 = u32::MAX;

/// Which place's request is on which stream. Streams are opened in order and end in about that
/// order, so a queue does for a map.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// Index of the first stream in `tokens`.
    first: u64,
    tokens: VecDeque<u32>,
}

impl Streams {
    pub(super) fn open(&mut self, id: StreamId, token: u32) {
        debug_assert_eq!(id.index(), self.first + self.tokens.len() as u64);
        self.tokens.push_back(token);
    }

    #[inline]
    fn place(&self, id: StreamId) -> Option<usize> {
        usize::try_from(id.index().checked_sub(self.first)?).ok()
    }

    #[inline]
    pub(super) fn token(&self, id: StreamId) -> Option<u32> {
        let token = self.tokens.get(self.place(id)?).copied();
        token.filter(|token| *token != NONE)
    }

    /// Forgets the stream.
    #[inline]
    pub(super) fn end(&mut self, id: StreamId) {
        if let Some(token) = self.place(id).and_then(|place| self.tokens.get_mut(place)) {
            *token = NONE;
        }
        while self.tokens.front() == Some(&NONE) {
            self.tokens.pop_front();
            self.first += 1;
        }
    }

    /// Whether no stream is open.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The tokens of open streams, the last stream's first.
    pub(super) fn tokens_from_last(&self) -> impl Iterator<Item = u32> {
        let tokens = self.tokens.iter().rev().copied();
        tokens.filter(|token| *token != NONE)
    }

    /// The indexes from `index` on that streams were opened for.
    pub(super) fn open_from(&self, index: u64) -> std::ops::Range<u64> {
        index.max(self.first)..self.first + self.tokens.len() as u64
    }
}
