//! The stages of a search: from a few short trials far apart to full ones close together.
//!
//! Each stage classifies rates by itself, and hands the next one two rates to begin with. What it
//! found is no more than that: a full trial decides against any number of short ones.

use bakeoff_plan::Search;

/// Length of the first trials, seconds.
const SHORTEST_S: f64 = 1.0;
/// How much wider apart than those of the last stage the bounds of the others may be.
const WIDER: [f64; 2] = [8.0, 4.0];
/// Fresh servers that stand behind each bound in the end.
pub(crate) const SERVERS_LEAST: usize = 3;

/// How much is measured before a rate is decided, and how close the bounds have to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stage {
    /// Length of a full trial, seconds.
    pub(crate) trial_s: f64,
    /// Measured time after which a rate is decided in any case, seconds.
    pub(crate) sum_s: f64,
    /// Share of that time that may exceed.
    pub(crate) exceed: f64,
    /// Distance of the bounds, as a share of the upper one.
    pub(crate) width: f64,
    /// Fresh servers behind a bound.
    pub(crate) servers_least: usize,
}

impl Stage {
    pub(crate) fn is_enough(&self, servers: usize) -> bool {
        servers >= self.servers_least
    }
}

/// The stages of a search with full trials of a length, the last one being the goal's own. A rate
/// is decided by one trial in those before it.
pub(crate) fn stages(search: &Search, trial_s: f64) -> Vec<Stage> {
    let early = |trial_s: f64, wider: f64| Stage {
        trial_s,
        sum_s: trial_s,
        exceed: search.exceed,
        width: (search.width * wider).min(0.5),
        servers_least: 1,
    };
    let shortest = SHORTEST_S.min(trial_s);
    let mut stages = vec![early(shortest, WIDER[0])];
    if trial_s > 2.0 * shortest {
        stages.push(early(
            ((shortest * trial_s).sqrt() * 10.0).round() / 10.0,
            WIDER[1],
        ));
    }
    stages.push(Stage {
        trial_s,
        sum_s: search.sum.as_secs_f64(),
        exceed: search.exceed,
        width: search.width,
        servers_least: SERVERS_LEAST,
    });
    stages
}
