//! Flags of `bakeoff clean`, and of the commands that write what a package needs.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CleanFlags {
    /// Only say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also remove the programs that `bakeoff install` has installed
    #[arg(long)]
    pub(crate) programs: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManFlags {
    /// Write a page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
