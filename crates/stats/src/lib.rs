//! Computes estimates from a record, and compares them.
//!
//! The unit of replication is the trial: a fresh server, in a round of its own. Every estimate
//! first takes one value from each trial, and then looks at the rounds. Percentiles of different
//! trials are never averaged or pooled (R23), and requests are never treated as repetitions.
//!
//! This crate does not decide whether a trial can be believed, or what a difference means; `audit`
//! does.

mod accepted;
mod cell;
mod discovery;
mod estimate;
mod family;
mod floor;
mod holm;
mod level;
mod located;
mod looks;
mod metric;
mod paired;
mod proportion;
mod ratio;
mod shape;
mod steady;
mod student;
mod usage;
mod walsh;

pub use cell::{Cell, CellKey, cells, reference};
pub use discovery::discoveries;
pub use estimate::{
    CONFIDENCE_ROUNDS, Estimate, IntervalKind, estimate, median, quantile_floor_rank,
};
pub use family::{Held, Member, ROUNDS_ADVISED_MAX};
pub use floor::{FLOOR_MIN, FLOOR_UNMEASURED, INTERVAL_FROM, aa_floor, half_width};
pub use level::{
    CORRELATION, HISTORY_MAX, HISTORY_MIN, LEVEL_ALPHA, LEVEL_VALUES_MIN, LevelChange, LevelTest,
    Levels,
};
pub use located::{Located, locate, locate_apart};
pub use looks::{
    Decided, Decision, EQUAL_WITHIN, FAMILY_ALPHA, FIRST_LOOK, Look, SPENT_FIRST, Spending, decide,
    is_look,
};
pub use metric::{Metric, Missing, Number, latency_quantile};
pub use paired::Paired;
pub use proportion::share_interval;
pub use ratio::{ERROR_SHARE_APART, ratio_over_rounds};
pub use shape::{Modes, modes, neighbour_correlation, rounds_dependent};
pub use steady::{Better, Class as SteadyClass, SERIES_MIN, Segment, Steady, changes, steady};
pub use student::{student_point, student_tail};
pub use usage::{origin_tree, server_tree, window_cores};
pub use walsh::walsh;
