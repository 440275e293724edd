//! Flags of commands that read plans: what else these may use.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct LibraryFlags {
    /// Folder with your own servers/, workloads/ and plans/, searched before the built-in ones
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
    /// Let workloads read bodies and logs that lie outside the folder of the plan
    #[arg(long)]
    pub(crate) allow_outside_files: bool,
}
