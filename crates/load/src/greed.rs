//! Connections that keep the loop busy without carrying answers.
//!
//! Endless interim responses, one-byte chunks or PINGs cost the thread more than ordinary answers
//! do, and every other connection of the thread would wait for them. A connection that has sent
//! much, has moved little of bodies by it, and has ended no request, is read seldom until a request
//! on it ends.
//!
//! What moves a body is either a part of an answer, or what lets a part of a request through: an
//! acknowledgement of QUIC, a window of HTTP/2. What moves nothing is worth nothing, also in the
//! middle of an upload.

/// Bytes after which a connection that carries nothing is read seldom.
const BYTES_MIN: u64 = 64 * 1024;
/// A greedy connection rests for so many times what its turn took.
const REST_TIMES: u64 = 16;
/// Its rest at the least and at the most, nanoseconds.
const REST_NS_MIN: u64 = 1_000_000;
const REST_NS_MAX: u64 = 20_000_000;

/// What a connection sent since a request on it ended last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Greed {
    bytes: u64,
    /// Bytes of bodies that this has moved, of answers and of requests.
    body_bytes: u64,
    /// It is not read before this, nanoseconds; 0 where it is not greedy.
    pub(crate) held_until: u64,
}

impl Greed {
    /// A request ended.
    #[inline]
    pub(crate) fn forget(&mut self) {
        (self.bytes, self.body_bytes) = (0, 0);
    }

    /// What of `body_bytes`, of the body that comes, the last turns have not brought.
    pub(crate) fn body_bytes_since(&self, body_bytes: u64) -> u64 {
        body_bytes.saturating_sub(self.body_bytes)
    }

    /// The connection's turn from `from` to `to` brought so many bytes, moved so many of bodies,
    /// and ended no request. Returns when to read it again, if that is later than at once.
    #[cold]
    pub(crate) fn feed(&mut self, bytes: u64, body_bytes: u64, from: u64, to: u64) -> Option<u64> {
        self.bytes += bytes;
        self.body_bytes += body_bytes;
        if !self.is_greedy() {
            return None;
        }
        let took = to.saturating_sub(from);
        let rest = (REST_TIMES * took).clamp(REST_NS_MIN, REST_NS_MAX);
        self.held_until = to + rest;
        Some(self.held_until)
    }

    /// Whether it has sent much, and has moved little by it.
    pub(crate) fn is_greedy(&self) -> bool {
        self.bytes > BYTES_MIN && self.body_bytes < self.bytes / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_body_is_never_greed() {
        let mut greed = Greed::default();
        assert_eq!(greed.feed(1_000_000, 999_000, 0, 1_000), None);
        assert_eq!(greed.feed(1_000, 0, 0, 1_000), None, "its trailers");
    }

    #[test]
    fn much_that_is_no_body_makes_a_connection_rest_until_a_request_ends() {
        let mut greed = Greed::default();
        assert_eq!(greed.feed(60_000, 10_000, 0, 1_000), None, "a long head");
        let until = greed.feed(60_000, 10_000, 0, 100_000).expect("greedy");
        assert_eq!(until, 100_000 + 16 * 100_000);
        assert_eq!(greed.feed(9, 0, 0, 0), Some(REST_NS_MIN));
        assert_eq!(greed.feed(9, 0, 0, 1 << 40), Some((1 << 40) + REST_NS_MAX));
        greed.forget();
        assert!(!greed.is_greedy());
    }
}
