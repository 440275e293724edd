//! Which attempt at a block of trials counts.
//!
//! A block is a round of one workload and load, references included. Where something disturbed it,
//! it was carried out again as a whole, and the first attempt that nothing disturbed counts for
//! all of its trials: so the choice rests on what the machine did, and on no result.

use std::collections::BTreeMap;

use bakeoff_record::TrialRecord;

/// Names a block.
type Block = (u32, String, String);

/// An attempt at a block.
#[derive(Debug, Clone, Copy, Default)]
struct Attempt {
    trials: usize,
    disturbed: bool,
}

/// The attempt that counts, by block.
pub(crate) struct Accepted(BTreeMap<Block, u32>);

impl Accepted {
    /// Of each block the first attempt in which nothing was disturbed, else the last. One that was
    /// broken off, and has fewer trials than another, does not count.
    pub(crate) fn of<'r>(trials: impl Iterator<Item = &'r TrialRecord>) -> Self {
        let mut attempts: BTreeMap<Block, BTreeMap<u32, Attempt>> = BTreeMap::new();
        for trial in trials {
            let block = attempts.entry(block(trial)).or_default();
            let attempt = block.entry(trial.attempt).or_default();
            attempt.trials += 1;
            attempt.disturbed |= !trial.disturbed.is_empty();
        }
        let chosen = attempts.into_iter().filter_map(|(block, attempts)| {
            let whole = attempts.values().map(|one| one.trials).max()?;
            let mut whole = attempts.iter().filter(|(_, one)| one.trials == whole);
            let clean = whole.clone().find(|(_, one)| !one.disturbed);
            let (attempt, _) = clean.or_else(|| whole.next_back())?;
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
