//! How a request ended. Each started request ends in exactly one of these.

use serde::{Deserialize, Serialize};

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Outcome {
    /// Whole response, expected status, body right as far as it was checked.
    Ok,
    /// Whole response with another status than expected.
    Status,
    /// The connection was refused.
    Refused,
    /// No connection within the timeout.
    ConnectTimeout,
    /// Connected and sent, but no whole response within the timeout.
    Timeout,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before the first byte of the response.
    ClosedEarly,
    /// The peer closed the connection inside the response.
    Truncated,
    /// More bytes than the response announced.
    TooLong,
    /// Whole response with the expected status and another body than expected.
    WrongBody,
    /// The TLS handshake or a TLS record failed.
    Tls,
    /// The response broke the protocol.
    Protocol,
    /// The peer refused the stream (HTTP/2, HTTP/3) without working on it.
    RefusedStream,
    /// The engine could not send: no file, port or memory left on this side.
    Local,
}

impl Outcome {
    /// Every outcome, in the order of tables.
    pub const ALL: [Self; 14] = [
        Self::Ok,
        Self::Status,
        Self::Refused,
        Self::ConnectTimeout,
        Self::Timeout,
        Self::Reset,
        Self::ClosedEarly,
        Self::Truncated,
        Self::TooLong,
        Self::WrongBody,
        Self::Tls,
        Self::Protocol,
        Self::RefusedStream,
        Self::Local,
    ];

    /// Whether it was given up: how long it would have taken is not known.
    pub fn is_timeout(self) -> bool {
        matches!(self, Self::ConnectTimeout | Self::Timeout)
    }

    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Status => "status",
            Self::Refused => "refused",
            Self::ConnectTimeout => "connect_timeout",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed_early",
            Self::Truncated => "truncated",
            Self::TooLong => "too_long",
            Self::WrongBody => "wrong_body",
            Self::Tls => "tls",
            Self::Protocol => "protocol",
            Self::RefusedStream => "refused_stream",
            Self::Local => "local",
        }
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
