//! The answer: sentences that hold over several cells.

use serde::Serialize;

use crate::conclusion::{Comparison, Metric};

/// A sentence that holds over several cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// How to take it.
    pub tone: Tone,
    /// By what.
    pub metric: Metric,
    /// The contender that it is held against.
    pub first: String,
    /// The contender that it speaks of.
    pub second: String,
    /// Cells that were compared.
    pub cells: usize,
    /// Cells that agree with the sentence.
    pub cells_agreeing: usize,
    /// How well it is founded.
    pub grade: Grade,
}

/// How to take a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Can be relied on.
    Good,
    /// Must be known.
    Note,
    /// Weakens the numbers.
    Warning,
    /// Takes numbers away.
    Bad,
}

/// How well a finding is founded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Beyond chance and the floor in each of the cells that it counts.
    Shown,
    /// Too few rounds for a proof, and all of them agree.
    Plain,
    /// Likely, and not corrected for how much was looked at.
    Indication,
    /// No difference was shown.
    NotShown,
}

/// The findings of a campaign, most important first.
pub(crate) fn find(_comparisons: &[Comparison]) -> Vec<Finding> {
    Vec::new()
}
