//! What a campaign reports while it runs: the only thing that a display sees of it.

use std::time::Duration;

use bakeoff_record::{Step, TrialRecord};

use crate::sequence::Left;

/// Something happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// The campaign began.
    Began {
        /// Trials in all, as far as is known now.
        trials: usize,
        /// Trials recorded before, which are not run again.
        recorded: usize,
        /// Expected time of what is missing.
        expected: Duration,
        /// What a stopping rule may add to that at the most.
        may_add: Left,
    },
    /// A trial began.
    Trial {
        /// Number of the trial, from 1.
        number: usize,
        /// Trials in all, as far as is known now.
        trials: usize,
        /// The trial's id.
        id: &'a str,
        /// Its contender's name, and its workload's.
        what: (&'a str, &'a str),
        /// Expected time of this trial and those after it.
        left: Duration,
    },
    /// A step of the running trial began.
    Step(Step),
    /// A contender was observed, before its load: its record so far, with what it does for an
    /// answer.
    Observed(&'a TrialRecord),
    /// Load is on; about ten times a second, and once at its end.
    Live {
        /// Requests that ended as `ok` since the last such event.
        ok: u64,
        /// Requests that ended otherwise since then.
        errors: u64,
        /// Time since then.
        since: Duration,
    },
    /// A trial ended and is recorded.
    Ended(&'a TrialRecord),
    /// The trials since the last such event were a block: one workload under one load, asked of
    /// everyone in one round.
    BlockEnded,
}
