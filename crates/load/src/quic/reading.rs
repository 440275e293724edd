//! How much is read of a connection's streams in one turn, and which of them wait for the next.
//!
//! What comes in order is no more than a datagram or what the kernel joined. What comes behind a
//! gap waits in quinn-proto, up to the window, and is all there once the gap is filled.

use quinn_proto::StreamId;

/// Most bytes that are read at a time: some milliseconds where the server made of them as many
/// frames as they can be.
const BYTES_AT_A_TIME: usize = 256 * 1024;

/// How much is still read, and what waits.
#[derive(Debug, Default)]
pub(super) struct Reading {
    left: usize,
    /// Streams that were not read to the end of what has come, each once.
    behind: Vec<StreamId>,
}

impl Reading {
    /// Begins anew, with the streams that were left.
    pub(super) fn begin(&mut self) -> Vec<StreamId> {
        self.left = BYTES_AT_A_TIME;
        std::mem::take(&mut self.behind)
    }

    /// The same, and all of them are read to the end.
    pub(super) fn begin_without_limit(&mut self) -> Vec<StreamId> {
        self.left = usize::MAX;
        std::mem::take(&mut self.behind)
    }

    /// Whether streams were left.
    pub(super) fn is_behind(&self) -> bool {
        !self.behind.is_empty()
    }

    /// How much may be read at the most; `None` leaves the stream for the next time.
    #[inline]
    pub(super) fn left_for(&mut self, id: StreamId) -> Option<usize> {
        if self.left > 0 {
            return Some(self.left);
        }
        if !self.behind.contains(&id) {
            self.behind.push(id);
        }
        None
    }

    /// Counts what was read.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use quinn_proto::{Dir, Side};

    use super::*;

    #[test]
    fn what_is_left_waits_once_for_the_next_time() {
        let stream = |index| StreamId::new(Side::Client, Dir::Bi, index);
        let mut reading = Reading::default();
        assert!(reading.begin().is_empty());
        assert_eq!(reading.left_for(stream(0)), Some(BYTES_AT_A_TIME));
        reading.take(BYTES_AT_A_TIME - 1);
        assert_eq!(reading.left_for(stream(0)), Some(1));
        reading.take(1);
        assert!(!reading.is_behind());
        for index in [0, 1, 0] {
            assert_eq!(reading.left_for(stream(index)), None);
        }
        assert!(reading.is_behind());
        assert_eq!(reading.begin(), [stream(0), stream(1)]);
        assert!(!reading.is_behind());
        assert_eq!(reading.left_for(stream(1)), Some(BYTES_AT_A_TIME));
    }
}
