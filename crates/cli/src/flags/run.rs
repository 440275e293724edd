//! Flags of the commands that work on plans and records.

use std::path::PathBuf;
use std::time::Duration;

use bakeoff_plan::Protocol;
use clap::{Args, ValueEnum};

use super::duration;
use super::load::ArrivalFlag;

/// A plan and what is changed of it.
#[derive(Debug, Args)]
pub(crate) struct PlanFlags {
    /// A plan file, or the name of a ready plan
    #[arg(default_value = "quick", value_name = "PLAN")]
    pub(crate) plan: String,
    /// Only this contender; may be repeated. `NAME@VERSION` is one in another version, and
    /// `SERVER@VERSION` any server with its default configuration, such as caddy@2.8.4
    #[arg(long, value_name = "NAME")]
    pub(crate) contender: Vec<String>,
    /// Only this workload; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Vec<String>,
    /// Each workload over each of these, such as h1-tls,h2
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3
    #[arg(long, value_name = "M")]
    pub(crate) streams: Option<u32>,
    /// End each trial after so many requests, or after its duration
    #[arg(long, value_name = "N")]
    pub(crate) requests: Option<u64>,
    /// Closed loops with so many clients, such as 10,200
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(crate) clients: Option<Vec<u32>>,
    /// An open loop of so many requests per second
    #[arg(long, value_name = "R")]
    pub(crate) rate: Option<f64>,
    /// Gaps between the requests of an open loop
    #[arg(long, value_enum, requires = "rate")]
    pub(crate) arrival: Option<ArrivalFlag>,
    /// Measured time of each trial
    #[arg(long, value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Time under load before measuring
    #[arg(long, value_parser = duration)]
    pub(crate) warmup: Option<Duration>,
    /// How often each trial is repeated with a fresh server
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,
    /// Seed of the order of trials and of schedules
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Folder with servers/, workloads/ and plans/ of your own, searched before the built-in ones
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
}

/// A share in percent, such as `3%` or `2.5 %`.
fn percentage(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::trim);
    let number: Option<f64> = number.and_then(|number| number.parse().ok());
    let share = number.map(|percent| percent / 100.0);
    share.ok_or_else(|| "expected a percentage, such as 3%".to_owned())
}

/// A protocol by its name.
pub(super) fn protocol(name: &str) -> Result<Protocol, String> {
    let found = Protocol::ALL.into_iter().find(|it| it.name() == name);
    found.ok_or_else(|| {
        let names = Protocol::ALL.map(Protocol::name).join(", ");
        format!("expected one of {names}")
    })
}

#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    #[command(flatten)]
    pub(crate) plan: PlanFlags,
    /// Record folder; it must not hold a record yet [default: bakeoff-results/PLAN-TIME]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Carry out what is missing in this record folder, by the plan stored there; with --rounds or
    /// --until, go on after its end
    #[arg(long, value_name = "DIR",
          conflicts_with_all = ["contender", "workload", "protocol", "streams", "requests",
                                "clients", "rate", "arrival", "duration", "warmup", "seed"])]
    pub(crate) resume: Option<PathBuf>,
    /// Add rounds until every comparison is known to within this, such as 3%; looked at from 10
    /// rounds on
    #[arg(long, value_name = "P%", value_parser = percentage)]
    pub(crate) until: Option<f64>,
    /// Rounds after which --until gives up [default: 40]
    #[arg(long, value_name = "N")]
    pub(crate) max_rounds: Option<u32>,
    /// What is printed at the end
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print all tables before the answer
    #[arg(long)]
    pub(crate) full: bool,
    /// Exit with 4 unless every cell is valid, not only when none can be shown
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// Record folder
    pub(crate) record: PathBuf,
    /// What is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// All tables before the answer in text, and everything in Markdown
    #[arg(long)]
    pub(crate) full: bool,
    /// As --full, with differences and changes of configurations whole, not only short ones
    #[arg(long)]
    pub(crate) diffs: bool,
    /// File to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    /// Folder with servers/, workloads/ and plans/ of your own
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DebugFlags {
    /// Contender of the plan
    pub(crate) contender: String,
    /// Workload of the plan
    pub(crate) workload: String,
    /// The plan that names them
    #[arg(long, default_value = "quick", value_name = "PLAN")]
    pub(crate) plan: String,
    /// Folder with servers/, workloads/ and plans/ of your own
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
}

/// Formats that a record can be shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The answer for a terminal; with --full all tables
    Text,
    /// The page, one offline file
    Html,
    /// Markdown to paste: the answer and a table for each workload; with --full everything
    Md,
    /// One line a cell
    Csv,
    /// One document of schema bakeoff.report/1
    Json,
}
