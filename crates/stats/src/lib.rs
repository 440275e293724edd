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
mod flips;
mod floor;
mod holm;
mod level;
mod measure;
mod paired;
mod pooled;
mod ratio;
mod shape;
mod simultaneous;
mod steady;
mod student;
mod table;
mod usage;
mod walsh;

pub use cell::{Cell, CellKey, cells, reference};
pub use discovery::discoveries;
pub use estimate::{
    CONFIDENCE_ROUNDS, Estimate, IntervalKind, estimate, median, median_ranks, quantile_floor_rank,
};
pub use flips::{Flips, Tested, flips};
pub use floor::{
    FLIPS_FROM, FLOOR_MIN, FLOOR_UNMEASURED, INTERVAL_FROM, Power, ROUNDS_ADVISED_MAX, aa_floor,
    half_width, rounds_clear_of_one,
};
pub use level::{
    CORRELATION, HISTORY_MAX, HISTORY_MIN, LEVEL_ALPHA, LEVEL_VALUES_MIN, LevelChange, LevelTest,
    Levels,
};
pub use measure::{Measure, Missing, latency_quantile};
pub use paired::Paired;
pub use pooled::{Held, Pool};
pub use ratio::{ERROR_SHARE_APART, ratio_over_rounds};
pub use shape::{Modes, modes, neighbour_correlation, rounds_dependent};
pub use simultaneous::{Located, locate, locate_apart, within};
pub use steady::{Better, Class as SteadyClass, SERIES_MIN, Segment, Steady, changes, steady};
pub use student::{student_point, student_tail};
pub use table::{Method, Seen, look};
pub use usage::{engine_tree, memory_peak, origin_tree, server_tree, window_cores};
pub use walsh::{signed_rank, walsh, walsh_rank};
