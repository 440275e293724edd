//! How the requests of a part of a window failed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::outcome::Outcome;

/// How the requests of a part that did not come out `ok` ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// Requests by outcome; without outcomes that no request had.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Whole responses by status.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<u16, u64>,
    /// Times of all of them from the intended send time to the end.
    pub latency: Histogram,
}

impl Failed {
    /// Counts a request; `status` is that of a whole response.
    pub fn count(&mut self, outcome: Outcome, status: Option<u16>, age_ns: u64) {
        *self.outcomes.entry(outcome).or_default() += 1;
        if let Some(status) = status {
            *self.status.entry(status).or_default() += 1;
        }
        self.latency.record(age_ns);
    }

    /// Adds what another part counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (outcome, count) in &other.outcomes {
            *self.outcomes.entry(*outcome).or_default() += count;
        }
        for (status, count) in &other.status {
            *self.status.entry(*status).or_default() += count;
        }
        let mut latency = Histogram::new();
        latency.merge(&self.latency);
        latency.merge(&other.latency);
        self.latency = latency.trimmed();
    }

    /// What was counted, in the form that is kept; `None` where nothing failed.
    pub fn take(&mut self) -> Option<Self> {
        let failed = std::mem::take(self);
        (failed.latency.count() > 0).then(|| Self {
            latency: failed.latency.trimmed(),
            ..failed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_a_file_gives_back_the_same() {
        let mut first = Failed::default();
        assert_eq!(first.take(), None);
        first.count(Outcome::Status, Some(503), 5_000);
        first.count(Outcome::Refused, None, 1_000);
        let mut sum = first.clone();
        first.count(Outcome::Status, Some(429), 7_000);
        sum.merge(&first);
        assert_eq!(sum.outcomes[&Outcome::Status], 3);
        assert_eq!(sum.status, BTreeMap::from([(429, 1), (503, 2)]));
        assert_eq!(sum.latency.count(), 5);
        let kept = sum.take().expect("it counted something");
        let text = serde_json::to_string(&kept).expect("it is written");
        let read: Failed = serde_json::from_str(&text).expect("it is read");
        assert_eq!(read, kept);
        assert_eq!(sum, Failed::default(), "it begins anew");
    }
}
