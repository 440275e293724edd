//! Flags that `bakeoff find` and `bakeoff overload` share.

use std::path::PathBuf;

use clap::Args;

use super::run::SearchFormat;
use super::{FarFlags, OtherCampaigns};

/// Where the record goes, and what is shown of it. Each command replaces the help of those flags
/// that do something else there.
#[derive(Debug, Args)]
pub(crate) struct SearchRecordFlags {
    /// Folder for the record; it must not contain one yet [default: a new one in bakeoff-results]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with this record; of the other flags only --hosts, --format, --full, --strict, --wait
    /// and --beside apply
    #[arg(long, value_name = "DIR", conflicts_with_all = ["what", "start", "workload"])]
    pub(crate) resume: Option<PathBuf>,
    /// Write the plan to this file, which must not exist yet; `bakeoff run FILE` repeats it
    #[arg(long, value_name = "FILE")]
    pub(crate) save_plan: Option<PathBuf>,
    /// Format of the report printed at the end
    #[arg(long, value_enum, default_value_t = SearchFormat::Text)]
    pub(crate) format: SearchFormat,
    /// Print everything after the answer
    #[arg(long)]
    pub(crate) full: bool,
    /// Exit with 4 unless everything can be said of each contender
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) far: FarFlags,
    #[command(flatten)]
    pub(crate) others: OtherCampaigns,
    /// Folder with your own servers/, workloads/ and plans/
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
}
