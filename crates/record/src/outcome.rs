//! How a request ended. Each started request ends in exactly one of these.

use serde::{Deserialize, Serialize};

bakeoff_plan::named! {
    /// How a request ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[repr(u8)]
    pub enum Outcome {
        /// Whole response, expected status, body right as far as it was checked.
        Ok = "ok",
        /// Whole response with another status than expected.
        Status = "status",
        /// The connection was refused.
        Refused = "refused",
        /// No connection within the timeout.
        ConnectTimeout = "connect_timeout",
        /// Connected and sent, but no whole response within the timeout.
        Timeout = "timeout",
        /// The peer reset the connection.
        Reset = "reset",
        /// The peer closed the connection before the first byte of the response.
        ClosedEarly = "closed_early",
        /// The peer closed the connection inside the response.
        Truncated = "truncated",
        /// More bytes than the response announced.
        TooLong = "too_long",
        /// Whole response with the expected status and another body than expected.
        WrongBody = "wrong_body",
        /// The TLS handshake or a TLS record failed.
        Tls = "tls",
        /// The response broke the protocol.
        Protocol = "protocol",
        /// The peer refused the stream (HTTP/2, HTTP/3) without working on it.
        RefusedStream = "refused_stream",
        /// The engine could not send: no file, port or memory left on this side.
        Local = "local",
    }
}

impl Outcome {
    /// Whether it was given up: how long it would have taken is not known.
    pub fn is_timeout(self) -> bool {
        matches!(self, Self::ConnectTimeout | Self::Timeout)
    }
}

/// Requests by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl OutcomeCounts {
    /// Counts one request.
    #[inline]
    pub fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    /// Counts `times` requests of this outcome.
    pub fn add_many(&mut self, outcome: Outcome, times: u64) {
        self.0[outcome as usize] += times;
    }

    /// Requests that ended in `outcome`.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// Requests that ended at all.
    pub fn completed(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Requests that ended in anything but `ok`.
    pub fn errors(&self) -> u64 {
        self.completed() - self.of(Outcome::Ok)
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// Every outcome with its count, in the order of tables.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        Outcome::ALL
            .into_iter()
            .map(|outcome| (outcome, self.of(outcome)))
    }
}

impl Serialize for OutcomeCounts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(outcome, n)| (outcome.name(), n)))
    }
}

impl<'de> Deserialize<'de> for OutcomeCounts {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = std::collections::BTreeMap::<Outcome, u64>::deserialize(deserializer)?;
        let mut counts = Self::default();
        for (outcome, n) in map {
            counts.0[outcome as usize] = n;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_are_the_names_in_tables() {
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
        }
        let mut counts = OutcomeCounts::default();
        counts.add(Outcome::Reset);
        let text = serde_json::to_string(&counts).unwrap();
        assert_eq!(
            serde_json::from_str::<OutcomeCounts>(&text).unwrap(),
            counts
        );
    }
}
