//! A load beyond a server's capacity and back as a ready value, with its ladder of closed loops.
//!
//! The results of the steps are judged from the record, not here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::schedule::Arrival;
use crate::stored;

/// Steps that a ramp may have.
pub const STEPS_MAX: usize = 12;
/// Rungs that a ladder may have.
pub const RUNGS_MAX: usize = 16;
/// Clients of the closed loop that shows a capacity, at the most.
const CLOSED_CLIENTS: u32 = 100;
/// Parts that a step is cut into, about: enough to see how long a server takes to recover.
const PARTS_OF_STEP: u32 = 20;

/// A load beyond the capacity and back.
///
/// The length of a step is the duration of the load that it belongs to, and the time after which a
/// client gives up is that load's timeout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overload {
    /// Shares of the capacity, in order. The first is the load before, and the last the way back;
    /// both are below the capacity.
    pub steps: Vec<f64>,
    /// Capacity, requests per second; `None` where a closed loop is to show it.
    pub capacity_per_s: Option<f64>,
    /// Gaps between requests.
    pub arrival: Arrival,
    /// Connections at the most; they are opened as requests need them.
    pub clients: u32,
    /// Numbers of clients of the closed loops that follow; empty leaves them out.
    pub ladder: Vec<u32>,
    /// Measured time of each of them.
    #[serde(rename = "rung_s", with = "stored::seconds")]
    pub rung: Duration,
}

impl Overload {
    /// The rates of the steps, requests per second, at a capacity.
    pub fn rates(&self, capacity_per_s: f64) -> Vec<f64> {
        let steps = self.steps.iter();
        steps.map(|share| share * capacity_per_s).collect()
    }

    /// Clients of the closed loop that shows the capacity; `None` where it is said.
    pub fn closed_loop_clients(&self) -> Option<u32> {
        let is_shown = self.capacity_per_s.is_none();
        is_shown.then(|| self.clients.min(CLOSED_CLIENTS))
    }

    /// A part of a load's label.
    pub(crate) fn label(&self) -> &'static str {
        "overload"
    }
}

/// What a trial of an overload is for. It is a part of the trial's load name, so that a report
/// finds the trial again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A closed loop that shows the capacity.
    Capacity,
    /// Beyond the capacity and back.
    Ramp,
    /// A rung of the ladder.
    Rung {
        /// Clients of the closed loop.
        clients: u32,
    },
}

impl Purpose {
    /// The load name of such a trial in the overload of a label.
    pub fn load_name(&self, label: &str) -> String {
        match self {
            Self::Capacity => format!("{label}-capacity"),
            Self::Ramp => format!("{label}-ramp"),
            Self::Rung { clients } => format!("{label}-ladder{clients}"),
        }
    }

    /// The purpose of a trial with a load name; `None` where it is not one of the overload of that
    /// label.
    pub fn of(load_name: &str, label: &str) -> Option<Self> {
        match load_name.strip_prefix(label)?.strip_prefix('-')? {
            "capacity" => Some(Self::Capacity),
            "ramp" => Some(Self::Ramp),
            other => {
                let clients = other.strip_prefix("ladder")?.parse().ok()?;
                Some(Self::Rung { clients })
            }
        }
    }
}

/// How the rate of a trial changes in its window, in steps of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp {
    /// Rates after the first, which is that of the load, requests per second.
    pub then_per_s: Vec<f64>,
    /// Length of the parts that the window is cut into.
    pub part: Duration,
}

impl Ramp {
    /// A ramp to rates after the first, with steps of a length.
    pub fn new(then_per_s: Vec<f64>, step: Duration) -> Self {
        let wanted = step / PARTS_OF_STEP;
        let lengths = [50, 100, 200, 250, 500, 1000].map(Duration::from_millis);
        let fits = |length: &Duration| *length >= wanted;
        let part = lengths.into_iter().find(fits);
        Self {
            then_per_s,
            part: part.unwrap_or(Duration::from_secs(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_name_says_the_purpose() {
        let label = "overload-c100";
        for purpose in [
            Purpose::Capacity,
            Purpose::Ramp,
            Purpose::Rung { clients: 10 },
        ] {
            assert_eq!(Purpose::of(&purpose.load_name(label), label), Some(purpose));
        }
        for other in [
            "overload-c1000-ramp",
            "overload-c100",
            "c100",
            "overload-c100-rampx",
        ] {
            assert_eq!(Purpose::of(other, label), None, "{other}");
        }
    }

    #[test]
    fn a_step_has_about_twenty_parts_of_at_most_a_second() {
        let check = |step_ms, part_ms| {
            let ramp = Ramp::new(vec![1.0], Duration::from_millis(step_ms));
            assert_eq!(ramp.part, Duration::from_millis(part_ms), "{step_ms}");
        };
        check(1_000, 50);
        check(4_000, 200);
        check(5_000, 250);
        check(20_000, 1_000);
        check(60_000, 1_000);
    }
}
