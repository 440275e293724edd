//! What a plan asks of its contenders.

use crate::model::Plan;

/// What a plan asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// How they compare under one load, round by round.
    Rounds,
    /// The highest rate that each carries.
    Search,
    /// What each does beyond its capacity.
    Overload,
    /// What an action costs those who are connected.
    Change,
}

impl Plan {
    /// What it asks.
    pub fn question(&self) -> Question {
        match () {
            () if self.is_search() => Question::Search,
            () if self.is_overload() => Question::Overload,
            () if self.is_change() => Question::Change,
            () => Question::Rounds,
        }
    }
}

impl Question {
    /// Whether contenders are compared in rounds: only then there are gates and a history.
    pub fn has_rounds(self) -> bool {
        self == Self::Rounds
    }

    /// What such a plan is, for a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "a comparison",
            Self::Search => "a search",
            Self::Overload => "an overload",
            Self::Change => "a change",
        }
    }

    /// The command that carries such a plan out.
    pub fn command(self) -> &'static str {
        match self {
            Self::Rounds => "run",
            Self::Search => "find",
            Self::Overload => "overload",
            Self::Change => "change",
        }
    }
}
