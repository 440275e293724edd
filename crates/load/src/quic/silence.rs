//! How long a server may be silent that owes answers. Times are nanoseconds.

/// After so long it is asked for a sign of life, so that the idle timeouts do not end a connection
/// before its requests time out (RFC 9114, 5.1). Usual idle timeouts are 10 s and more.
const SILENCE_NS_MAX: u64 = 5_000_000_000;

/// A server's silence on one connection, while it owes answers.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// When it began to owe them, or was asked for a sign of life.
    since: u64,
}

impl Silence {
    /// The server owes an answer from `now` on, and owed none before.
    #[inline]
    pub(super) fn begin(&mut self, now: u64) {
        self.since = now;
    }

    /// When it is to be asked, having sent something at `last_received`.
    #[inline]
    pub(super) fn asks_at(&self, last_received: u64) -> u64 {
        self.since.max(last_received).saturating_add(SILENCE_NS_MAX)
    }

    /// Whether it is to be asked now. Then it has until the next time to answer.
    pub(super) fn asks(&mut self, last_received: u64, now: u64) -> bool {
        let is_too_long = self.asks_at(last_received) <= now;
        if is_too_long {
            self.since = now;
        }
        is_too_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// When the server is asked in 20 s, looked at once a second.
    fn asked(silence: &mut Silence, last_received: u64) -> Vec<u64> {
        let seconds = 0..20;
        let asks = |second: &u64| silence.asks(last_received * SECOND, second * SECOND);
        seconds.filter(asks).collect()
    }

    #[test]
    fn a_silent_server_is_asked_every_five_seconds() {
        // It has sent something since it owes an answer.
        let mut silence = Silence::default();
        silence.begin(SECOND);
        assert_eq!(asked(&mut silence, 2), [7, 12, 17]);
        // The connection was at rest before that.
        silence.begin(8 * SECOND);
        assert_eq!(silence.asks_at(0), 13 * SECOND);
        assert_eq!(asked(&mut silence, 0), [13, 18]);
    }
}
