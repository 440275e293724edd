//! Flags of `bakeoff try`.

use std::path::PathBuf;

use bakeoff_plan::Protocol;
use clap::{Args, ValueEnum};

use super::run::protocol;

/// Which files are tried, and what is shown of it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff try ./Caddyfile\n  \
    bakeoff try ./a/nginx.conf ./b/Caddyfile --save-plan both.toml\n  \
    bakeoff try site.conf --server nginx --path /health\n\n\
    Exit codes: 0 each file answers, 2 one cannot be read or used, 4 one gives no right answer.")]
pub(crate) struct TryFlags {
    /// Configuration files of servers
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Server of the files, if neither their name nor their content shows it
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Protocol to use [default: one that all files support]
    #[arg(long, value_name = "NAME", value_parser = protocol)]
    pub(crate) protocol: Option<Protocol>,
    /// Host name to request (Host, and SNI over TLS) [default: the first name in the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// Path to request [default: one that the file answers, usually /]
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Write the plan to this file, which must not exist yet; `bakeoff run FILE` measures it
    #[arg(long, value_name = "FILE")]
    pub(crate) save_plan: Option<PathBuf>,
    /// Format of what is printed
    #[arg(long, value_enum, default_value_t = TryFormat::Text)]
    pub(crate) format: TryFormat,
    /// Show passwords, tokens, cookies and the like in configurations and answers
    #[arg(long)]
    pub(crate) show_secrets: bool,
    /// Folder with your own servers/, workloads/ and plans/
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
}

/// How a try is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TryFormat {
    /// For a terminal
    Text,
    /// One document of schema bakeoff.try/1
    Json,
}
