//! What a campaign runs next, decided from what it has recorded.
//!
//! A sequence has no memory of its own, so a campaign that was interrupted goes on exactly where
//! it was.

use std::collections::BTreeMap;
use std::time::Duration;

use bakeoff_plan::{LoadModel, Trial};
use bakeoff_record::{ContenderKind, Disturbance, TrialRecord};

/// Rates that an open loop may have, requests per second.
const RATES: std::ops::RangeInclusive<f64> = 0.001..=1e7;

/// What is left of a campaign, as far as is known now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Left {
    /// Trials.
    pub trials: usize,
    /// About how long they take.
    pub expected: Duration,
}

/// Chooses the trials of a campaign, one after the other.
pub trait Sequence {
    /// The next trial, or `None` where the campaign is complete. `recorded` holds the trials so
    /// far in the order in which they ended, each once.
    fn next(&mut self, recorded: &[TrialRecord]) -> Option<Trial>;

    /// Trials, by their place in `recorded`, that are seen to be disturbed only now that there are
    /// others to compare them with.
    fn seen_later(&self, recorded: &[TrialRecord]) -> Vec<(usize, Disturbance)>;

    /// What is left.
    fn left(&self, recorded: &[TrialRecord]) -> Left;

    /// What a stopping rule may add to that at the most.
    fn may_add(&self, _recorded: &[TrialRecord]) -> Left {
        Left::default()
    }
}

/// The trial at a rate that is found in the campaign, if its load asks for one and the campaign
/// shows it: a share of what the slowest contender carried in the closed loops of the first
/// round. Once a trial has had a rate, all others of its workload and load have the same.
pub(crate) fn at_found_rate(trial: Trial, recorded: &[TrialRecord]) -> Trial {
    let LoadModel::OpenShare { capacity_share, .. } = trial.load.model else {
        return trial;
    };
    let label = trial.load.label();
    let same = |record: &&TrialRecord| record.workload == trial.workload.name;
    let had_before = recorded.iter().filter(same).find_map(|record| {
        let rate = record.load.model.rate_per_s();
        rate.filter(|_| record.load_name.as_deref() == Some(label.as_str()))
    });
    let found = had_before.or_else(|| {
        let slowest = slowest_capacity(recorded.iter().filter(same))?;
        Some(rounded_down(slowest * capacity_share).clamp(*RATES.start(), *RATES.end()))
    });
    match found {
        Some(found) => trial.at_rate(found),
        None => trial,
    }
}

/// The lowest of the contenders' rates in closed loops, each at its best load, requests per
/// second; of the first round's first attempt.
fn slowest_capacity<'r>(recorded: impl Iterator<Item = &'r TrialRecord>) -> Option<f64> {
    let mut best: BTreeMap<&str, f64> = BTreeMap::new();
    for record in recorded {
        let counts = record.kind == ContenderKind::Contender
            && (record.round, record.attempt) == (1, 1)
            && !record.load.model.is_open();
        if let Some(rate) = record.ok_per_s().filter(|_| counts) {
            let best = best.entry(&record.contender).or_insert(rate);
            *best = best.max(rate);
        }
    }
    best.into_values().reduce(f64::min)
}

/// The rate to two significant digits: a rate that was found reads like one that somebody chose.
fn rounded_down(rate: f64) -> f64 {
    let places = rate.log10().floor() as i32 - 1;
    match places {
        0.. => (rate / 10_f64.powi(places)).floor() * 10_f64.powi(places),
        _ => (rate * 10_f64.powi(-places)).floor() / 10_f64.powi(-places),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_found_rate_has_two_digits_and_is_not_above_the_share() {
        for (rate, expected) in [
            (23_981.7, 23_000.0),
            (1_299.0, 1_200.0),
            (100.0, 100.0),
            (99.9, 99.0),
            (3.79, 3.7),
            (0.042_9, 0.042),
        ] {
            assert_eq!(rounded_down(rate), expected, "{rate}");
        }
    }
}
