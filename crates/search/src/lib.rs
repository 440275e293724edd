//! Searches for the highest rate that meets a goal (method R27 to R30): chooses the next trial, and
//! says what was found.
//!
//! ```text
//! TrialRecord ─► Seen ─► meets | exceeds | limited ─► lower | upper | undecided ─► next rate
//!   (record)            (judged, goal by goal)        (classify, rate by rate)     (bounds)
//!                                      Progress: closed loop ─► search ─► confirm ─► curve
//! ```
//!
//! The terms and the classification of rates are those of MLRsearch (draft-ietf-bmwg-mlrsearch).
//! The draft leaves the choice of rates open; that part is this crate's own.
//!
//! Everything is computed from recorded trials alone. An interrupted search therefore continues
//! where it stopped, and a report finds what the search found. Both halves use this crate:
//! `conduct` to choose trials, `report` to show the result. A pure crate: no clock, no input or
//! output.

mod bounds;
mod campaign;
mod classify;
mod confirming;
mod curve;
mod found;
mod judged;
mod next;
mod places;
mod progress;
mod seen;
mod stage;
mod taken;
mod unseen;

pub use campaign::{Quest, quests, sought, yardstick};
pub use classify::Class;
pub use curve::CurvePoint;
pub use found::{Found, Irregular, Standing, Tally, TrialFound};
pub use judged::{Judged, Why, judge};
pub use places::Places;
pub use progress::{CLOSED_S, Progress, Step, TRIALS_MAX};
pub use seen::{Backlog, Came, Engine, Measured, Purpose, Seen, Slip};
