//! The order of a plan, round after round, with what it adds to it: blocks that were disturbed are
//! repeated, and a stopping rule, or rounds that cannot be believed, may ask for more rounds.

use std::collections::HashMap;

use bakeoff_plan::{Block, Plan, REPEAT_FROM, Trial, attempt_id, blocks, expected};
use bakeoff_record::{ContenderKind, Disturbance, TrialEnd, TrialRecord, drift};

use crate::sequence::{Left, Sequence, at_found_rate};

/// A block may be repeated once in this many rounds.
const ROUNDS_A_REPEAT: u32 = 4;

/// How far the widest interval among the comparisons so far reaches to either side, as a share
/// (0.03 is 3 %); `None` where rounds are awaited whatever it is: nothing can be compared yet, or
/// too few of those that there are can be believed.
pub type Widest<'a> = dyn FnMut(&[TrialRecord]) -> Option<f64> + 'a;

/// The rounds of a plan.
///
/// Every round of the plan comes first. Then the blocks in which a trial was disturbed are
/// repeated, all entrants of them: at the end, because what disturbed one of them may be over by
/// then, and because only all rounds together show which one drifted. A repeat is decided by what
/// the machine did and by the yardstick, never by the values of a contender, so it chooses among no
/// results; both attempts stay in the record.
pub struct Rounds<'a> {
    plan: &'a Plan,
    blocks: Vec<Block>,
    widest: &'a mut Widest<'a>,
}

impl<'a> Rounds<'a> {
    /// The rounds of `plan`; `widest` is asked where it may have more of them.
    pub(crate) fn new(plan: &'a Plan, widest: &'a mut Widest<'a>) -> Self {
        Self {
            plan,
            blocks: blocks(plan, plan.rounds_at_most()),
            widest,
        }
    }

    /// Blocks of the rounds that are wanted now: those that are run in any case, and those that
    /// have been added.
    fn wanted(&self, book: &Book<'_>) -> &[Block] {
        let begun = self
            .blocks
            .iter()
            .rev()
            .find(|block| book.latest(block) > 0);
        let begun = begun.map_or(0, |block| block.round);
        let most = self.plan.rounds_at_most();
        self.up_to(begun.max(self.plan.rounds_at_least()).min(most))
    }

    fn up_to(&self, round: u32) -> &[Block] {
        let end = self.blocks.partition_point(|block| block.round <= round);
        &self.blocks[..end]
    }

    /// The next trial of a repeated block.
    fn repeated(&self, book: &Book<'_>, wanted: &[Block]) -> Option<Trial> {
        let unfinished = wanted.iter().find_map(|block| {
            let attempt = book.latest(block);
            let missing = book.missing(block, attempt).next();
            missing.filter(|_| attempt > 1)
        });
        if unfinished.is_some() {
            return unfinished;
        }
        let again = wanted
            .iter()
            .filter(|block| book.is_disturbed(block) && may_repeat(book, block, wanted));
        // All of them a second time before one of them a third time.
        let block = again.min_by_key(|block| book.latest(block))?;
        let next = book.latest(block) + 1;
        block.trials.first().map(|trial| trial.again(next))
    }

    fn sum(&self, trials: impl Iterator<Item = Trial>) -> Left {
        trials.fold(Left::default(), |left, trial| Left {
            trials: left.trials + 1,
            expected: left.expected.saturating_add(expected(self.plan, &trial)),
        })
    }

    /// Whether a round more is wanted than there are: for a stopping rule, or to make up for rounds
    /// that cannot be believed.
    fn goes_on(&mut self, round: u32, recorded: &[TrialRecord]) -> bool {
        if round >= self.plan.rounds_at_most() {
            return false;
        }
        let width = (self.widest)(recorded);
        match self.plan.until {
            Some(until) => width.is_none_or(|width| width > until.width),
            None => width.is_none(),
        }
    }
}

impl Sequence for Rounds<'_> {
    fn next(&mut self, recorded: &[TrialRecord]) -> Option<Trial> {
        let book = Book::of(recorded);
        let wanted = self.wanted(&book);
        let first = wanted
            .iter()
            .find_map(|block| book.missing(block, 1).next());
        let known = first.or_else(|| self.repeated(&book, wanted));
        let round = wanted.last().map_or(0, |block| block.round);
        let next = match known {
            Some(known) => Some(known),
            None if self.goes_on(round, recorded) => {
                let more = self.blocks.iter().find(|block| block.round > round)?;
                more.trials.first().cloned()
            }
            None => None,
        };
        Some(at_found_rate(next?, recorded))
    }

    fn seen_later(&self, recorded: &[TrialRecord]) -> Vec<(usize, Disturbance)> {
        let book = Book::of(recorded);
        let wanted = self.wanted(&book);
        let is_complete = |block: &Block| book.missing(block, 1).next().is_none();
        if !wanted.iter().all(is_complete) {
            return Vec::new();
        }
        drifted(recorded)
    }

    fn left(&self, recorded: &[TrialRecord]) -> Left {
        let book = Book::of(recorded);
        let wanted = self.wanted(&book);
        let missing = wanted.iter().flat_map(|block| {
            let attempt = book.latest(block).max(1);
            book.missing(block, attempt)
        });
        self.sum(missing)
    }

    fn may_add(&self, recorded: &[TrialRecord]) -> Left {
        let wanted = self.wanted(&Book::of(recorded)).len();
        let more = self.blocks[wanted..].iter();
        self.sum(more.flat_map(|block| block.trials.iter().cloned()))
    }
}

impl std::fmt::Debug for Rounds<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Rounds")
            .field("plan", &self.plan.name)
            .field("blocks", &self.blocks.len())
            .finish_non_exhaustive()
    }
}

/// Whether the repeats of a block's workload and load are not used up.
fn may_repeat(book: &Book<'_>, block: &Block, wanted: &[Block]) -> bool {
    let round = wanted.last().map_or(0, |block| block.round);
    let same = wanted
        .iter()
        .filter(|other| (&other.workload, &other.load) == (&block.workload, &block.load));
    let repeats: u32 = same.map(|other| book.latest(other).saturating_sub(1)).sum();
    round >= REPEAT_FROM && repeats < round.div_ceil(ROUNDS_A_REPEAT)
}

/// Yardsticks that are not known to have drifted and have, by the rates of all rounds.
fn drifted(recorded: &[TrialRecord]) -> Vec<(usize, Disturbance)> {
    let mut rates: HashMap<(&str, String), Vec<(usize, f64)>> = HashMap::new();
    for (place, record) in recorded.iter().enumerate() {
        let rate = record.ok_per_s();
        if let Some(rate) = rate.filter(|_| record.kind == ContenderKind::Yardstick) {
            let key = (record.workload.as_str(), record.load_label());
            rates.entry(key).or_default().push((place, rate));
        }
    }
    let mut found = Vec::new();
    for series in rates.into_values() {
        let all: Vec<f64> = series.iter().map(|(_, rate)| *rate).collect();
        let known = |place: usize| &recorded[place].disturbed;
        let is_new = |place: usize| !known(place).contains(&Disturbance::Drift);
        let drifted = series
            .into_iter()
            .filter(|(place, rate)| is_new(*place) && drift(&all, *rate));
        found.extend(drifted.map(|(place, _)| (place, Disturbance::Drift)));
    }
    found.sort_unstable();
    found
}

/// What is recorded, by the ids of trials.
struct Book<'r>(HashMap<&'r str, &'r TrialRecord>);

impl<'r> Book<'r> {
    fn of(recorded: &'r [TrialRecord]) -> Self {
        Self(recorded.iter().map(|it| (it.id.as_str(), it)).collect())
    }

    fn record(&self, trial: &Trial, attempt: u32) -> Option<&'r TrialRecord> {
        self.0.get(attempt_id(&trial.id, attempt).as_str()).copied()
    }

    /// The last attempt of a block that was begun; 0 where none was.
    fn latest(&self, block: &Block) -> u32 {
        let begun = |attempt: &u32| {
            let mut trials = block.trials.iter();
            trials.any(|trial| self.record(trial, *attempt).is_some())
        };
        (1..).take_while(begun).last().unwrap_or(0)
    }

    /// Trials of an attempt that have not ended, in order.
    fn missing<'b>(&'b self, block: &'b Block, attempt: u32) -> impl Iterator<Item = Trial> + 'b {
        let has_ended = move |trial: &Trial| {
            self.record(trial, attempt)
                .is_some_and(|record| record.end != TrialEnd::Interrupted)
        };
        let missing = block.trials.iter().filter(move |trial| !has_ended(trial));
        missing.map(move |trial| trial.again(attempt))
    }

    /// Whether each attempt of a block had a trial that was disturbed.
    fn is_disturbed(&self, block: &Block) -> bool {
        let disturbed = |attempt: u32| {
            let records = block
                .trials
                .iter()
                .filter_map(|it| self.record(it, attempt));
            records.into_iter().any(|record| record.is_disturbed())
        };
        let latest = self.latest(block);
        latest > 0 && (1..=latest).all(disturbed)
    }
}

#[cfg(test)]
mod tests;
