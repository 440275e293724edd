//! Flags of `bakeoff selftest`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration;
use super::run::OtherCampaigns;

/// Which faults, how often, and where the result goes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff selftest --quick\n  \
    bakeoff selftest --fault wrong-body --fault hang\n  \
    bakeoff selftest --format md --output docs/selftest.md\n\
    Exit codes: 0 the limits hold, 3 they do not, 130 interrupted.")]
pub(crate) struct SelftestFlags {
    /// Plant only faults that are found on a busy machine too, once each, within 3 minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Plant only this fault, by its name; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) fault: Vec<String>,
    /// How often each fault is planted [default: 5, and 1 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeats: Option<u32>,
    /// Number of pairs of equal servers to compare [default: 40, and 0 with --quick or --fault]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) pairs: Option<u32>,
    /// Time after which nothing more is planted [default: 60m, and 3m with --quick]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) within: Option<Duration>,
    /// Print the faults and the checks that must name them, and plant nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value_t = SelftestFormat::Text)]
    pub(crate) format: SelftestFormat,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) others: OtherCampaigns,
}

/// How the result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelftestFormat {
    /// Tables for a terminal
    Text,
    /// Markdown
    Md,
    /// JSON, `bakeoff.selftest/1`
    Json,
}
