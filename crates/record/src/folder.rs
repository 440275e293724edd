//! The record folder on disk: `plan.toml`, `machine.json`, `trials.jsonl`, `logs/`.

use bakeoff_plan::Plan;

use crate::machine::Machine;
use crate::trial::TrialRecord;

/// A record folder as read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The resolved plan.
    pub plan: Plan,
    /// The machine.
    pub machine: Machine,
    /// Trials in the order in which they ended; of two with the same id the later one counts.
    pub trials: Vec<TrialRecord>,
}
