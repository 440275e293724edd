//! Judges a record: which numbers can be believed, who is ahead, and what the bottleneck was.
//!
//! [`judge`] is the only entry for code that shows a record; nothing else decides. A check compares
//! a figure with a limit and says what follows for each
//! number (rate, latency, CPU, memory, counts). A check that could not run weakens the numbers that
//! it guards. Unequal work of contenders is reported as a possible cause of a difference
//! ([`equivalences`]).
//!
//! `reference.txt` has each check, its requirement (R1 to R41) and limits; `docs/checks.md` is made
//! from it.
//! The arithmetic is in `stats`. Each family of checks is a file in `checks/`.

mod attribution;
mod cell;
pub mod change;
mod check;
mod checks;
mod code;
mod comparisons;
mod conclusion;
mod condition;
mod confirmation;
mod course;
mod decidable;
mod ended;
mod enough;
mod equivalence;
mod figures;
mod findings;
mod gate;
mod generators;
mod judge;
mod judged;
mod limiter;
mod load;
mod more;
pub mod overload;
#[cfg(test)]
mod page;
pub mod published;
mod reference;
mod sentence;
mod subject;
mod suspected;
mod trust;
mod verdict;

pub use bakeoff_record::limits;
pub use bakeoff_stats::{Metric, Number};

pub use attribution::{Bottleneck, Cause};
pub use cell::{JudgedCell, Withheld};
pub use check::{Check, Level, Weakness};
pub use checks::{link_has_changed, own_limit};
pub use code::Code;
pub use comparisons::{Compared, Floor, Settled, compare, widest_interval};
pub use conclusion::{Comparison, Conclusion, Direction, Evidence, PairKey, Reason, Side};
pub use condition::{Condition, Held};
pub use confirmation::{ConfirmAnswer, Confirmation};
pub use course::Course;
pub use decidable::{Undecidable, undecidable};
pub use equivalence::{
    Class, EqualFact, Equivalence, FactRow, Inequality, Remedy, UnknownFact, equivalences,
};
pub use figures::{count, counted, list};
pub use findings::{Finding, Grade, Tone};
pub use gate::{
    GateError, GateRow, Gates, Mismatch, Ruling, Worse, asked, compare_contenders, compare_records,
    engine_settings, fits, machine_mismatches, mismatches, plan_mismatches, without_yardstick,
    worst_ruling,
};
pub use generators::start_spread_ns;
pub use judge::{judge_cell, judge_trial};
pub use judged::{Judged, judge, leave_out_unsupported};
pub use limiter::Limiter;
pub use load::{LoadHosts, judge_load};
pub use more::{More, ROUNDS_PROPOSED_MAX};

pub use sentence::percent;
pub use subject::{Ceilings, Drift, ReferenceRates, Subject};
pub use suspected::suspected;
pub use trust::{NumberTrust, Trust};
pub use verdict::{Judgement, Verdict, Verdicts, blame};
