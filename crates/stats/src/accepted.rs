//! Which attempt at a block of trials counts.
//!
//! A block is a round of one workload and load, references included. Where something disturbed it,
//! it was carried out again as a whole, and the first attempt that nothing disturbed counts for
//! all of its trials. Where each was disturbed, the one with the fewest disturbed trials of
//! contenders and controls does. So the choice rests on what the machine did, and on no result.
//! Only whole attempts are chosen from: one that was broken off has no trial to be held against the
//! others.

use std::collections::BTreeMap;

use bakeoff_record::{ContenderKind, Disturbance, TrialEnd, TrialRecord};

/// Names a block.
type Block = (u32, String, String);

/// An attempt at a block.
#[derive(Debug, Clone, Copy, Default)]
struct Attempt {
    /// Trials that were carried out to their end, whatever it was.
    ended: usize,
    is_disturbed: bool,
    /// Whether its yardstick drifted, which disturbs every trial beside it.
    has_drifted: bool,
    /// Trials of contenders and controls, and those of them that were disturbed themselves.
    entrants: usize,
    disturbed: usize,
}

impl Attempt {
    fn take(&mut self, trial: &TrialRecord) {
        let is_disturbed = trial.is_disturbed();
        self.ended += usize::from(trial.end != TrialEnd::Interrupted);
        self.is_disturbed |= is_disturbed;
        self.has_drifted |= trial.disturbed.contains(&Disturbance::Drift);
        if matches!(
            trial.kind,
            ContenderKind::Contender | ContenderKind::Control
        ) {
            self.entrants += 1;
            self.disturbed += usize::from(is_disturbed);
        }
    }

    /// Trials of contenders and controls whose numbers something disturbed.
    fn lost(&self) -> usize {
        if self.has_drifted {
            self.entrants
        } else {
            self.disturbed
        }
    }
}

/// The attempt that counts, by block.
pub(crate) struct Accepted(BTreeMap<Block, u32>);

impl Accepted {
    /// The first whole attempt of each block in which nothing was disturbed, else the whole one
    /// that lost the fewest trials, the last of several. An attempt that was broken off has fewer
    /// trials that came to their end than another.
    pub(crate) fn of<'r>(trials: impl Iterator<Item = &'r TrialRecord>) -> Self {
        let mut attempts: BTreeMap<Block, BTreeMap<u32, Attempt>> = BTreeMap::new();
        for trial in trials {
            let block = attempts.entry(block(trial)).or_default();
            let attempt = block.entry(trial.attempt).or_default();
            attempt.take(trial);
        }
        let chosen = attempts.into_iter().filter_map(|(block, attempts)| {
            let most = attempts.values().map(|one| one.ended).max()?;
            let whole = attempts.iter().filter(|(_, one)| one.ended == most);
            let clean = whole.clone().find(|(_, one)| !one.is_disturbed);
            // Of equal ones the first is the least: the last attempt is to be it.
            let fewest = || whole.rev().min_by_key(|(_, one)| one.lost());
            let (attempt, _) = clean.or_else(fewest)?;
            Some((block, *attempt))
        });
        Self(chosen.collect())
    }

    /// Whether the trial is of the attempt that counts.
    pub(crate) fn holds(&self, trial: &TrialRecord) -> bool {
        self.0.get(&block(trial)) == Some(&trial.attempt)
    }
}

fn block(trial: &TrialRecord) -> Block {
    (trial.round, trial.workload.clone(), trial.load_label())
}
