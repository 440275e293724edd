//! Flags of the commands that work on plans and records.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bakeoff_plan::Protocol;
use clap::{Args, ValueEnum};

use super::BaselineFlags;
use super::duration;
use super::library::LibraryFlags;
use super::load::ArrivalFlag;
use super::number::{clients, per_second, whole};

/// A plan and the flags that change it.
#[derive(Debug, Args)]
pub(crate) struct PlanFlags {
    /// Plan file, or name of a built-in plan
    #[arg(default_value = "quick", value_name = "PLAN")]
    pub(crate) plan: String,
    /// Run only this contender; may be repeated. `NAME@VERSION` changes its version, and
    /// `SERVER@VERSION` is any server with its default configuration, such as caddy@2.8.4
    #[arg(long, value_name = "NAME")]
    pub(crate) contender: Vec<String>,
    /// Run only this workload; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Vec<String>,
    /// Run each workload over each of these protocols, such as h1-tls,h2
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3
    #[arg(long, value_name = "M")]
    pub(crate) streams: Option<u32>,
    /// Stop each trial after this many requests, such as 10k, or after its duration
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1, u64::MAX))]
    pub(crate) requests: Option<u64>,
    /// Use closed loops with these numbers of clients, such as 10,200
    #[arg(long, value_name = "N,...", value_delimiter = ',',
          value_parser = clients())]
    pub(crate) clients: Option<Vec<u32>>,
    /// Use an open loop with this many requests per second, such as 500 or 2.5k
    #[arg(long, value_name = "R", value_parser = per_second)]
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
    /// Number of rounds; each trial runs once per round, with a fresh server
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,
    /// Seed for the order of trials and for schedules
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) library: LibraryFlags,
}

/// A share in percent, such as `3%` or `2.5 %`.
pub(super) fn percentage(text: &str) -> Result<f64, String> {
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
    /// Folder for the record; it must not contain one yet [default: bakeoff-results/PLAN-TIME]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Finish the campaign in this record folder, using the plan stored there; with --rounds or
    /// --until, go on after its end
    #[arg(long, value_name = "DIR",
          conflicts_with_all = ["plan", "contender", "workload", "protocol", "streams",
                                "requests", "clients", "rate", "arrival", "duration", "warmup",
                                "seed"])]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) far: FarFlags,
    #[command(flatten)]
    pub(crate) stopping: StoppingFlags,
    #[command(flatten)]
    pub(crate) held: BaselineFlags,
    #[command(flatten)]
    pub(crate) others: OtherCampaigns,
    /// Format of the report printed at the end
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print all tables before the answer
    #[arg(long)]
    pub(crate) full: bool,
    /// Exit with 4 unless every cell is valid
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show passwords, tokens, cookies and the like in the report and in progress messages
    #[arg(long)]
    pub(crate) show_secrets: bool,
    /// Serve progress as OpenMetrics at this loopback address until the last trial has ended,
    /// such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
}

/// Where a campaign runs, beside this machine.
#[derive(Debug, Clone, Args)]
pub(crate) struct FarFlags {
    /// Run servers, upstream and load on the hosts of this file, by their roles
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts: Option<PathBuf>,
    /// Keep the addresses of hosts in the record; otherwise their names replace them
    #[arg(long, requires = "hosts")]
    pub(crate) addresses: bool,
}

/// When a campaign has enough rounds, and what follows them.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct StoppingFlags {
    /// Measure until each difference is decided, or each gate if there are some, and for at most
    /// this long, such as 3m; with --resume, the time in all
    #[arg(long, value_name = "TIME", value_parser = duration,
          conflicts_with_all = ["until", "max_rounds", "rounds"])]
    pub(crate) budget: Option<Duration>,
    /// Add rounds until each comparison is known to within this, such as 3%, but run at least 10
    #[arg(long, value_name = "P%", value_parser = percentage)]
    pub(crate) until: Option<f64>,
    /// Largest number of rounds with --until [default: 40]
    #[arg(long, value_name = "N")]
    pub(crate) max_rounds: Option<u32>,
    /// After the rounds, test what limits each contender: change one resource at a time, such as a
    /// worker more or a processor less, for six rounds each
    #[arg(long, conflicts_with = "hosts")]
    pub(crate) confirm: bool,
}

/// What to do while another campaign runs.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OtherCampaigns {
    /// If another campaign is running on this machine, begin when it has ended
    #[arg(long, conflicts_with = "beside")]
    pub(crate) wait: bool,
    /// If another campaign is running on this machine, measure beside it; both disturb each other
    #[arg(long)]
    pub(crate) beside: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// Record folder
    pub(crate) record: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print all tables before the answer in text, and everything in Markdown
    #[arg(long)]
    pub(crate) full: bool,
    /// Like --full, with long diffs of configurations too
    #[arg(long)]
    pub(crate) diffs: bool,
    /// File to write to, instead of standard output; with --format hgrm, a folder
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Show passwords, tokens, cookies and the like, which reports hide
    #[arg(long)]
    pub(crate) show_secrets: bool,
    /// Write a copy of the record to this new or empty folder, without configuration texts, logs,
    /// values of headers and secrets
    #[arg(long, value_name = "DIR",
          conflicts_with_all = ["format", "full", "diffs", "output", "show_secrets"])]
    pub(crate) share: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    /// Folder with your own servers/, workloads/ and plans/
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Run the version commands of your library's servers, too; without this, only those of
    /// built-in servers are run
    #[arg(long)]
    pub(crate) versions: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DebugFlags {
    /// A contender of the plan
    pub(crate) contender: String,
    /// A workload of the plan
    pub(crate) workload: String,
    /// Plan that contains them
    #[arg(long, default_value = "quick", value_name = "PLAN")]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) library: LibraryFlags,
    /// Show passwords, tokens, cookies and the like in configurations and commands
    #[arg(long)]
    pub(crate) show_secrets: bool,
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The answer for a terminal; with --full all tables
    Text,
    /// The page: one file that works offline
    Html,
    /// Markdown to paste: the answer and a table for each workload; with --full everything
    Md,
    /// One line per cell
    Csv,
    /// One document: bakeoff.report/1, of a search bakeoff.find/1, of an overload
    /// bakeoff.overload/1, of a change bakeoff.change/1
    Json,
    /// The answer alone as Markdown, for the summary of a CI job
    Summary,
    /// A JUnit file with the verdict of each cell
    Junit,
    /// Bencher's metric format
    Bencher,
    /// Rates for github-action-benchmark, as customBiggerIsBetter
    GithubBigger,
    /// The other numbers for github-action-benchmark, as customSmallerIsBetter
    GithubSmaller,
    /// OpenMetrics text
    Openmetrics,
    /// Lines of `go test -bench` for benchstat, one for each round
    Gobench,
    /// Names and a line of values for Otava's CSV
    Otava,
    /// HdrHistogram's percentile distribution, a file for each cell; only of `report`
    Hgrm,
}

/// Formats of the report of a search, an overload or a change: the others have no place for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchFormat {
    /// The answer for a terminal; with --full everything
    Text,
    /// The page: one file that works offline
    Html,
    /// Markdown to paste; with --full everything
    Md,
    /// Lines for other programs: one for each result of a search, each step of an overload, or each
    /// contender and action of a change
    Csv,
    /// One document: of a search bakeoff.find/1, of an overload bakeoff.overload/1, of a change
    /// bakeoff.change/1
    Json,
}

impl From<SearchFormat> for Format {
    fn from(format: SearchFormat) -> Self {
        match format {
            SearchFormat::Text => Self::Text,
            SearchFormat::Html => Self::Html,
            SearchFormat::Md => Self::Md,
            SearchFormat::Csv => Self::Csv,
            SearchFormat::Json => Self::Json,
        }
    }
}
