//! How long a closed loop of many streams lets answers gather.

/// How long a closed loop may let answers gather before it looks at its sockets.
///
/// Waking for each answer of a server with a long queue costs more than the answers, and makes
/// the server's own batches small. A wait that is a small part of what requests take anyway
/// changes neither: by Little's law the rate falls by that part at most.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    latency_ns: u64,
}

impl Gathering {
    /// Part of the usual latency that is waited.
    const PART: u64 = 64;
    /// Shortest wait; below it the sleep costs more than it saves.
    const NS_MIN: u64 = 50_000;
    const NS_MAX: u64 = 2_000_000;

    /// Takes the latency of a response and returns how long to wait before the next look, if at
    /// all.
    pub(crate) fn next(&mut self, latency_ns: u64) -> Option<u64> {
        self.latency_ns = self.latency_ns - self.latency_ns / 8 + latency_ns / 8;
        let wait = (self.latency_ns / Self::PART).min(Self::NS_MAX);
        (wait >= Self::NS_MIN).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_gather_only_where_they_take_long() {
        let settled = |latency_ns| {
            let mut gathering = Gathering::default();
            (0..100).for_each(|_| {
                gathering.next(latency_ns);
            });
            gathering.next(latency_ns)
        };
        assert_eq!(settled(1_000_000), None);
        assert!(settled(10_000_000).is_some_and(|ns| (140_000..157_000).contains(&ns)));
        assert_eq!(settled(10_000_000_000), Some(Gathering::NS_MAX));
        let mut gathering = Gathering::default();
        assert_eq!(
            gathering.next(10_000_000),
            None,
            "one slow answer is no queue"
        );
    }
}
