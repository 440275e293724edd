//! Processes and memory of the server around each action, from the probe's readings. What comes and
//! goes between two of them (100 ms) is not seen.

use bakeoff_record::{TreeTick, TrialRecord};
use bakeoff_stats::{median, server_tree};
use serde::Serialize;

/// A reading around all actions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Around {
    /// The last before an action: the median.
    pub before: f64,
    /// The most from an action until half of the time to the next: the median.
    pub peak: f64,
    /// The most of all.
    pub most: f64,
    /// The last of these: the median. What stays is in it.
    pub at_end: f64,
}

/// One reading around one action.
#[derive(Debug, Clone, Copy)]
pub(super) struct One {
    before: f64,
    peak: f64,
    at_end: f64,
}

/// Readings around each action.
#[derive(Debug, Default)]
pub(super) struct Readings {
    pub(super) processes: Vec<One>,
    pub(super) memory_bytes: Vec<One>,
}

impl Readings {
    /// Of trials whose actions are `every_s` apart.
    pub(super) fn of(trials: &[&TrialRecord], every_s: f64) -> Self {
        let mut all = Self::default();
        for trial in trials {
            let ticks = server_tree(&trial.usage).map_or(&[][..], |tree| &tree.ticks);
            for done in trial.actions.iter().filter(|it| it.failed.is_none()) {
                let (from, to) = (done.at_s - every_s / 2.0, done.at_s + every_s / 2.0);
                let of = |value: fn(&TreeTick) -> f64| {
                    let is_in = |tick: &&TreeTick| (from..to).contains(&tick.at_s);
                    let (before, after): (Vec<&TreeTick>, Vec<&TreeTick>) = ticks
                        .iter()
                        .filter(is_in)
                        .partition(|tick| tick.at_s <= done.at_s);
                    let peak = after.iter().map(|tick| value(tick)).reduce(f64::max)?;
                    Some(One {
                        before: value(before.last()?),
                        peak,
                        at_end: value(after.last()?),
                    })
                };
                all.processes.extend(of(|tick| f64::from(tick.processes)));
                all.memory_bytes.extend(of(|tick| tick.rss_bytes as f64));
            }
        }
        all
    }
}

impl Around {
    /// Of all actions; `None` without a reading.
    pub(super) fn of(all: &[One]) -> Option<Self> {
        let values = |value: fn(&One) -> f64| -> Vec<f64> { all.iter().map(value).collect() };
        let peaks = values(|one| one.peak);
        Some(Self {
            before: median(&values(|one| one.before))?,
            peak: median(&peaks)?,
            most: peaks.into_iter().reduce(f64::max)?,
            at_end: median(&values(|one| one.at_end))?,
        })
    }
}
