//! What is printed of a campaign where nothing can be drawn over: in a log, which somebody reads
//! later. A line for each block while they are few, then for those in which something new went
//! wrong; and a summary a minute.
//!
//! It prints nothing itself and knows no clock.

use std::collections::BTreeSet;
use std::time::Duration;

use bakeoff_conduct::Event;
use bakeoff_plan::Plan;
use bakeoff_record::{Disturbance, LoadResult, TrialEnd, TrialRecord};
use bakeoff_report::{count, counted};

use super::{Sparse, ended_line, how_it_ended, spoken, step_name, waited};
use crate::standings::{Block, Standings};

/// Blocks that have a line whatever happened: those of the first round, and whole rounds after it
/// up to so many in all.
const BLOCK_LINES: usize = 12;

/// What has a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFor {
    /// A block: its trials have the same load.
    Block,
    /// A trial: each has a load of its own.
    Trial,
}

impl LineFor {
    /// What the campaign of a plan is made of.
    pub(crate) fn of(plan: &Plan) -> Self {
        if plan.is_search() || plan.is_overload() {
            Self::Trial
        } else {
            Self::Block
        }
    }
}

pub(super) struct Log {
    line_for: LineFor,
    standings: Standings,
    sparse: Sparse,
    far: Far,
    /// What went wrong in the running block, in its order.
    wrong: Vec<Wrong>,
    /// What disturbed its trials.
    disturbed: Vec<Disturbance>,
    /// What has gone wrong so far: contender, workload with load, and what.
    known: BTreeSet<(String, String, &'static str)>,
    trials_failed: u64,
    trials_disturbed: u64,
}

/// How far the campaign has come.
#[derive(Debug, Default)]
struct Far {
    ended: usize,
    trials: usize,
    /// Expected time from `since` on.
    left: Duration,
    since: Duration,
}

/// Something went wrong in a trial.
struct Wrong {
    text: String,
    is_news: bool,
}

impl Log {
    pub(super) fn new(standings: Standings, line_for: LineFor) -> Self {
        Self {
            line_for,
            standings,
            sparse: Sparse::default(),
            far: Far::default(),
            wrong: Vec::new(),
            disturbed: Vec::new(),
            known: BTreeSet::new(),
            trials_failed: 0,
            trials_disturbed: 0,
        }
    }

    /// What to print of what happened, `passed` after the beginning: each is for one line.
    pub(super) fn hear(&mut self, event: &Event<'_>, passed: Duration) -> Vec<String> {
        let line = match event {
            Event::Trial {
                number,
                trials,
                left,
                ..
            } => {
                self.far = Far {
                    ended: *number - 1,
                    trials: *trials,
                    left: *left,
                    since: passed,
                };
                None
            }
            Event::Ended(record) => {
                self.far.ended += 1;
                self.ended(record)
            }
            Event::BlockEnded => self.block_ended(),
            Event::Began { .. } | Event::Step(_) | Event::Observed(_) | Event::Live { .. } => None,
        };
        let mut lines = Vec::from_iter(line);
        if self.sparse.is_due(passed) {
            let so_far = format!(
                "{}{}",
                how_far(&self.far, passed),
                self.standings_and_troubles()
            );
            lines.push(self.sparse.summary(&so_far));
        }
        lines
    }

    fn ended(&mut self, record: &TrialRecord) -> Option<String> {
        self.trials_disturbed += u64::from(record.is_disturbed());
        self.trials_failed += u64::from(matches!(record.end, TrialEnd::Failed { .. }));
        let wrong = self.wrong(record);
        if self.line_for == LineFor::Trial || record.end == TrialEnd::Interrupted {
            let is_news = wrong.is_some_and(|wrong| wrong.is_news);
            return self.sparse.line(ended_line(record), is_news);
        }
        self.standings.ended(record);
        self.wrong.extend(wrong);
        self.disturbed.extend_from_slice(&record.disturbed);
        None
    }

    /// What went wrong in a trial, and whether it is the first time.
    fn wrong(&mut self, record: &TrialRecord) -> Option<Wrong> {
        let result = record.result.as_ref();
        let is_right =
            |result: &LoadResult| result.requests.ok > 0 && result.outcomes.errors() == 0;
        let what = match &record.end {
            TrialEnd::Measured if !result.is_some_and(is_right) => "errors",
            TrialEnd::Measured if !waited(record).is_empty() => "late",
            TrialEnd::Measured => return None,
            TrialEnd::Failed { step, .. } => step_name(*step),
            TrialEnd::Skipped { .. } => "skipped",
            TrialEnd::Unsupported { .. } => "unsupported",
            TrialEnd::Interrupted => "interrupted",
        };
        let cell = format!("{} {}", record.workload, record.load_label());
        let is_news = self.known.insert((record.contender.clone(), cell, what));
        let text = format!("{}: {}", record.contender, how_it_ended(record));
        Some(Wrong { text, is_news })
    }

    fn block_ended(&mut self) -> Option<String> {
        let wrong = std::mem::take(&mut self.wrong);
        let disturbed = std::mem::take(&mut self.disturbed);
        let block = self.standings.block_ended()?;
        let is_news = wrong.iter().any(|wrong| wrong.is_news);
        if !is_news && !self.is_among_first(&block) {
            return None;
        }
        let disturbed = Disturbance::most_of(&disturbed);
        let disturbed = disturbed.map(|what| format!("disturbed by {}", what.source()));
        let wrong = wrong.into_iter().map(|wrong| wrong.text);
        let parts = block.medians.into_iter().chain(wrong).chain(disturbed);
        let parts: Vec<String> = parts.collect();
        Some(format!("{}: {}", block.name, parts.join("; ")))
    }

    fn is_among_first(&self, block: &Block) -> bool {
        let is_early = self.standings.blocks_up_to(block.round) <= BLOCK_LINES;
        !block.is_repeated && (block.round == 1 || is_early)
    }

    /// The end of a summary.
    fn standings_and_troubles(&self) -> String {
        let standings = match self.line_for {
            LineFor::Block => self.standings.overall(),
            LineFor::Trial => None,
        };
        let failed = self.trials_failed;
        let failed = (failed > 0).then(|| format!("{} failed", counted(failed, "trial")));
        let disturbed = self.trials_disturbed;
        let disturbed =
            (disturbed > 0).then(|| format!("{} disturbed", counted(disturbed, "trial")));
        let parts = [standings, failed, disturbed].into_iter().flatten();
        parts.map(|part| format!("; {part}")).collect()
    }
}

/// How far a campaign has come, and how long it will take.
fn how_far(far: &Far, passed: Duration) -> String {
    let left = far.left.saturating_sub(passed.saturating_sub(far.since));
    let (ended, trials) = (count(far.ended as u64), counted(far.trials as u64, "trial"));
    let (passed, left) = (spoken(passed), spoken(left));
    format!("after {passed}: {ended} of {trials}, about {left} left")
}

#[cfg(test)]
mod tests;
