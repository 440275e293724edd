//! The lanes of a load: requests on connections that are kept, and beside them requests each of
//! which has a connection of its own.
//!
//! A load in which something is done to the server has both. Each lane has clients and threads of
//! its own and its part of one schedule, so that what holds up the one does not delay the other,
//! and no other load pays for it. Which lane a request is of follows from its number alone: all
//! contenders get the same.

use std::borrow::Cow;

use bakeoff_plan::{Connect, LoadModel};

use crate::spec::LoadSpec;

/// Steps of this size through the circle of all numbers are spread evenly over it, also every
/// second or third of them (Knuth, TAOCP 3, 6.4): 2^64 divided by the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A part of a load.
#[derive(Debug)]
pub(crate) struct Lane<'a> {
    /// What it does.
    pub(crate) spec: Cow<'a, LoadSpec>,
    pub(crate) requests: Requests,
}

/// Which requests of the schedule a lane takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Requests {
    All,
    /// This share of them, on connections that are kept.
    Kept(f64),
    /// The others.
    Fresh(f64),
}

impl Requests {
    /// Whether the request of this number is among them.
    pub(crate) fn hold(self, number: u64) -> bool {
        let is_kept = |share: f64| (number.wrapping_mul(STEP) as f64) < share * 2_f64.powi(64);
        match self {
            Self::All => true,
            Self::Kept(share) => is_kept(share),
            Self::Fresh(share) => !is_kept(share),
        }
    }

    /// Whether a client whose connection was closed connects again with the next request, as a
    /// user who comes back would; else it waits until the other connections do not suffice.
    pub(crate) fn reconnect(self) -> bool {
        matches!(self, Self::Kept(_))
    }

    /// Whether each has a connection of its own.
    pub(crate) fn are_fresh(self) -> bool {
        matches!(self, Self::Fresh(_))
    }

    fn share(self) -> f64 {
        match self {
            Self::All => 1.0,
            Self::Kept(share) => share,
            Self::Fresh(share) => 1.0 - share,
        }
    }
}

impl LoadSpec {
    /// Its lanes; at least one.
    pub(crate) fn lanes(&self) -> Vec<Lane<'_>> {
        let Some(actions) = &self.load.actions else {
            return vec![Lane {
                spec: Cow::Borrowed(self),
                requests: Requests::All,
            }];
        };
        let kept = actions.kept;
        let lanes = [Requests::Kept(kept), Requests::Fresh(kept)].into_iter();
        let lanes = lanes.filter(|requests| requests.share() > 0.0);
        lanes.map(|requests| self.lane(requests)).collect()
    }

    fn lane(&self, requests: Requests) -> Lane<'_> {
        let mut spec = self.clone();
        if let LoadModel::Open { clients, .. } = &mut spec.load.model {
            let own = f64::from(*clients) * requests.share();
            *clients = (own.round() as u32).max(1);
        }
        if requests.are_fresh() {
            spec.connections.requests_per_connection = Some(1);
            spec.load.connect = Connect::AsNeeded;
            spec.load.streams = 1;
        }
        Lane {
            spec: Cow::Owned(spec),
            requests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_divide_every_part_of_the_schedule_alike() {
        for kept in [0.0, 0.2, 0.5, 0.8, 0.99, 1.0] {
            let (one, other) = (Requests::Kept(kept), Requests::Fresh(kept));
            for (first, step) in [(0, 1), (0, 2), (1, 2), (4, 5), (3, 7)] {
                let numbers = (first..).step_by(step).take(10_000);
                let held = numbers.filter(|number| {
                    assert_ne!(one.hold(*number), other.hold(*number));
                    one.hold(*number)
                });
                let expected = kept * 10_000.0;
                let held = held.count() as f64;
                assert!(
                    (held - expected).abs() <= 10.0,
                    "{kept} {first} {step}: {held}"
                );
            }
        }
    }
}
