//! Flags of `bakeoff history`.

use std::path::PathBuf;

use bakeoff_report::HistoryMetric;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff history bakeoff-results\n  \
    bakeoff history nightly/* --metric cpu --format html --output history.html\n\
    Exit codes: 0 done, 2 a folder holds no record, 4 no record has a number that \
    can be believed.")]
pub(crate) struct HistoryFlags {
    /// Record folders, and folders that hold record folders
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// Numbers to follow [default: rate of closed loops and p99 of open ones]
    #[arg(long, value_enum, value_name = "NUMBER,...", value_delimiter = ',')]
    pub(crate) metric: Vec<MetricFlag>,
    /// Output format
    #[arg(long, value_enum, default_value_t = HistoryFormat::Text)]
    pub(crate) format: HistoryFormat,
    /// File to write to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Read every record, and neither use nor keep the index in ~/.cache/bakeoff
    #[arg(long)]
    pub(crate) no_index: bool,
}

/// A number that can be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricFlag {
    /// Right answers per second, of closed loops
    Rate,
    /// 99th percentile of latency, of open loops
    P99,
    /// CPU time of the server per request
    Cpu,
}

impl MetricFlag {
    /// As the report names it.
    pub(crate) fn ready(self) -> HistoryMetric {
        match self {
            Self::Rate => HistoryMetric::Rate,
            Self::P99 => HistoryMetric::P99,
            Self::Cpu => HistoryMetric::Cpu,
        }
    }
}

/// Formats of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryFormat {
    /// For a terminal: the changes, then a line for each history
    Text,
    /// One document of schema bakeoff.history/1
    Json,
    /// A page with a picture of each history
    Html,
    /// One line for each record's number
    Csv,
}
