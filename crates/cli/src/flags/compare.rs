//! Flags of `bakeoff compare` and `bakeoff verify`, and the gates that other commands share.

use std::path::PathBuf;

use bakeoff_report::{Condition, Gates};
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff compare record caddy-2.8.4 caddy-2.11.7 --gate rate=5%\n  \
    bakeoff compare before after --gate rate=5%,p99=10%,cpu=5% --format junit\n\
    Exit codes: 0 every gate is passed, 3 one is breached, 4 one cannot be decided, 2 the two \
    cannot be compared.")]
pub(crate) struct CompareFlags {
    /// Record folder, or a file that `load --json` has printed
    pub(crate) record: PathBuf,
    /// The contender to compare with; or a second record or file, if no contender follows
    pub(crate) first: String,
    /// The contender that the gates judge
    pub(crate) second: Option<String>,
    /// How much worse each number may become, such as rate=5%,p99=10%,cpu=5%; the numbers are
    /// rate, p50, p90, p99, cpu and memory
    #[arg(long, value_name = "GATES", value_parser = Gates::parse)]
    pub(crate) gate: Option<Gates>,
    /// Compare two records even if machine, kernel, workloads, loads, engine or yardsticks differ
    #[arg(long)]
    pub(crate) force: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub(crate) format: CompareFormat,
    /// File to write to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Show passwords, tokens and the like in names, which are hidden otherwise
    #[arg(long)]
    pub(crate) show_secrets: bool,
}

/// Formats of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// For a terminal or a log
    Text,
    /// Markdown, such as for the summary of a CI job
    Md,
    /// One document of schema bakeoff.compare/1
    Json,
    /// A JUnit file with a test case for each gate
    Junit,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 everything that could be checked is right, and the first line says \
                  whether that is all; 1 something differs; 2 the record cannot be read; 4 \
                  nothing could be checked, because no trial has a checksum and there is no page \
                  to compare with."
)]
pub(crate) struct VerifyFlags {
    /// Record folder
    pub(crate) record: PathBuf,
}

/// What a campaign is held against when it has ended.
#[derive(Debug, Args)]
pub(crate) struct GateFlags {
    /// How much worse than the first contender, or than --baseline, each number may be, such as
    /// rate=5%,p99=10%,cpu=5%; exit with 3 if a gate is breached, and with 4 if one cannot be
    /// decided
    #[arg(long, value_name = "GATES", value_parser = Gates::parse)]
    pub(crate) gate: Option<Gates>,
    #[command(flatten)]
    pub(crate) conditions: FailIfFlags,
}

/// The same of a campaign that may be held against an earlier one.
#[derive(Debug, Args)]
pub(crate) struct BaselineFlags {
    #[command(flatten)]
    pub(crate) gated: GateFlags,
    /// Record to compare the campaign with for --gate, contender by contender. Comparing two
    /// contenders within one campaign is more exact
    #[arg(long, value_name = "DIR", requires = "gate")]
    pub(crate) baseline: Option<PathBuf>,
}

/// Conditions under which the command fails.
#[derive(Debug, Args)]
pub(crate) struct FailIfFlags {
    /// Exit with 3 if this holds, such as 'p99 > 50ms', and with 4 if that cannot be decided; may
    /// be repeated. The numbers are rate, p50, p99, p99.9, errors, cpu and memory
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse, hide_short_help = true)]
    pub(crate) fail_if: Vec<Condition>,
}
