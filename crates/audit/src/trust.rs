//! How far a campaign can be trusted, in a few plain lines.

use bakeoff_record::Record;
use serde::Serialize;

use crate::check::Level;
use crate::comparisons::Floor;
use crate::conclusion::Comparison;
use crate::judged::JudgedCell;

/// How far a campaign can be trusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Trust {
    /// Whether it says which one is better.
    pub direction: bool,
    /// Whether it says by how much.
    pub size: bool,
    /// Why, worst first; four at the most.
    pub reasons: Vec<Weakness>,
}

/// Something that weakens a campaign.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weakness {
    /// Stable name, of a check where it comes from one.
    pub code: String,
    /// For people.
    pub text: String,
    /// How bad it is.
    pub level: Level,
}

pub(crate) fn weigh(
    _record: &Record,
    _cells: &[JudgedCell<'_>],
    _comparisons: &[Comparison],
    _floors: &[Floor],
) -> Trust {
    Trust::default()
}
