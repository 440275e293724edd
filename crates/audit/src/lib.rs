//! Record to verdicts: can this be believed, and what was the bottleneck.
//!
//! Each check is a figure held against a limit that `docs/method.md` numbers (R1 to R41). A check
//! that could not run counts against the trial, never for it. Whether contenders do equal work is
//! a check of their comparison ([`equivalences`]). This crate estimates nothing and compares no
//! numbers of contenders; a family of checks is a file in `checks/`.

mod attribution;
mod check;
mod checks;
mod equivalence;
mod judge;
pub mod limits;
mod subject;
mod words;

pub use attribution::{Bottleneck, Cause, bottleneck};
pub use check::{Check, Level};
pub use equivalence::{
    Class, EqualFact, Equivalence, FactRow, Inequality, Remedy, UnknownFact, equivalences,
};
pub use judge::{Judgement, TRIAL_ENDED, Verdict, judge_cell, judge_trial};
pub use subject::{Ceilings, Subject};
