//! The record: outcomes, counts, histograms, and their file format.
//!
//! The measuring half of bakeoff writes these values, and the explaining half reads them. Nothing
//! else passes between the two halves. Names contain units, and a missing value is `None`, never 0.

mod action;
mod addresses;
mod answer;
pub mod bytes;
mod cache;
mod disturbance;
mod disturbed;
mod exchange;
mod failed;
mod folder;
mod histogram;
mod hosts;
pub mod limits;
mod load;
mod machine;
mod merge;
mod observed;
mod outcome;
mod own_limits;
mod peer;
mod private;
mod quic;
mod regular;
mod samples;
mod shell;
mod sketch;
mod thinned;
mod thousands;
mod trial;
mod usage;
mod work;

pub use action::*;
pub use addresses::Addresses;
pub use answer::{AnswerCheck, When};
pub use bytes::FileBytes;
pub use cache::cache_folder;
pub use disturbance::Disturbance;
pub use disturbed::*;
pub use exchange::exchange;
pub use failed::Failed;
pub use folder::{
    CONFIRM_FOLDER, COPY_FILE, Changed, FolderError, LINKS_FILE, PLAN_SCHEMA, Record, RecordFolder,
    SumCheck, Writer, check_beside, check_lines, check_links, check_machine, check_sums, hex,
};
pub use histogram::Histogram;
pub use hosts::*;
pub use limits::{
    DRIFT_LOG_MIN, DRIFT_SPREADS, FOREIGN_DISTURBED_CPUS, FOREIGN_SUSPECT_CPUS,
    KEPT_DISTURBED_SHARE, STEAL_DISTURBED_SHARE, THROTTLED_SHARE,
};
pub use load::*;
pub use machine::{MACHINE_SCHEMA, Machine, MachineSettings};
pub use merge::MergeError;
pub use observed::*;
pub use outcome::{Outcome, OutcomeCounts};
pub use own_limits::{OwnLimits, RequestLimit, Statement};
pub use peer::{AddressUse, Said};
pub use private::{private_folder, replace_private, write_private};
pub use quic::{CloseKind, EarlyData, QuicLedger};
pub use regular::{kind_of_bytes, open_regular, read_regular, read_regular_text, text_of};
pub use samples::Samples;
pub use shell::{shell_path, shell_word};
pub use sketch::Sketch;
pub use thousands::thousands;
pub use trial::*;
pub use usage::*;
pub use work::*;
