//! Flags of `bakeoff race`.

use std::path::PathBuf;
use std::time::Duration;

use bakeoff_plan::{Cpus, Limits, Protocol};
use clap::Args;

use super::load::ArrivalFlag;
use super::number::{clients, per_second, whole};
use super::run::{percentage, protocol};
use super::{BodyFlags, FarFlags, GateFlags, HeadFlags, OtherCampaigns};
use super::{Format, cpus, duration};

/// What is compared, and how.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff race http://127.0.0.1:9001/ http://127.0.0.1:9002/\n  \
    bakeoff race --start 'node app.js' --start 'python3 -m http.server {port}' /index.html\n  \
    bakeoff race nginx:optimized caddy\n  \
    bakeoff race caddy@2.8.4 caddy@2.11.7\n  \
    bakeoff race caddy@2.8.4 caddy@2.11.7 --gate rate=5%\n  \
    bakeoff race ./nginx.conf ./Caddyfile --rate 500\n  \
    bakeoff race --image nginx:1.28 --image caddy:2.10 /")]
pub(crate) struct RaceFlags {
    #[command(flatten)]
    pub(crate) operands: OperandFlags,
    #[command(flatten)]
    pub(crate) load: RaceLoadFlags,
    #[command(flatten)]
    pub(crate) record: RaceRecordFlags,
}

/// Contenders, and what they are asked.
#[derive(Debug, Args)]
pub(crate) struct OperandFlags {
    /// Contenders: the URL of a running server, SERVER, SERVER@VERSION, SERVER:VARIANT, a
    /// configuration file or a compose file. After them the path to request, such as /index.html
    #[arg(value_name = "CONTENDER")]
    pub(crate) what: Vec<String>,
    /// Command line that starts a contender; may be repeated. The port to listen on replaces
    /// `{port}` in it, and is in the environment variable PORT
    #[arg(long, value_name = "COMMAND")]
    pub(crate) start: Vec<String>,
    /// Image of podman or docker that is a contender; may be repeated. It is measured from inside
    /// its container's network, so no port is published
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Vec<String>,
    /// Service of the compose files that is measured [default: the one that asks the others]
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
    /// Pull images that are not here
    #[arg(long, requires = "image")]
    pub(crate) pull: bool,
    /// Limits that the kernel holds each contender to, such as cpus=0.5,memory=64M; several values,
    /// as in cpus=0.25,0.5,1, make a contender of each
    #[arg(long, value_name = "LIMITS", value_parser = limits)]
    pub(crate) limits: Option<LimitsAsked>,
    /// Working folder of the commands [default: this one]
    #[arg(long, value_name = "DIR", requires = "start")]
    pub(crate) folder: Option<PathBuf>,
    /// Server of the configuration files, if neither their name nor their content shows it
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Workload to use instead of one path
    #[arg(long, value_name = "NAME", conflicts_with_all = ["HeadFlags", "BodyFlags"])]
    pub(crate) workload: Option<String>,
    #[command(flatten)]
    pub(crate) request: RequestFlags,
}

/// Limits, each of which makes a contender.
#[derive(Debug, Clone)]
pub(crate) struct LimitsAsked(pub(crate) Vec<Limits>);

fn limits(text: &str) -> Result<LimitsAsked, String> {
    Limits::several(text).map(LimitsAsked)
}

/// The request.
#[derive(Debug, Args)]
pub(crate) struct RequestFlags {
    /// Protocol [default: what the URLs or configuration files say, otherwise h1]
    #[arg(long, value_name = "NAME", value_parser = protocol)]
    pub(crate) protocol: Option<Protocol>,
    #[command(flatten)]
    pub(crate) head: HeadFlags,
    #[command(flatten)]
    pub(crate) body: BodyFlags,
}

/// How hard and how often.
#[derive(Debug, Args)]
pub(crate) struct RaceLoadFlags {
    /// Connections
    #[arg(short, long, value_name = "N", default_value_t = 50,
          value_parser = clients())]
    pub(crate) clients: u32,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3
    #[arg(long, value_name = "M")]
    pub(crate) streams: Option<u32>,
    /// Stop each trial after this many requests, such as 10k, or after its duration
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1, u64::MAX))]
    pub(crate) requests: Option<u64>,
    /// Compare latencies at this many requests per second, such as 500 or 2.5k
    #[arg(short, long, value_name = "R", value_parser = per_second)]
    pub(crate) rate: Option<f64>,
    /// Gaps between the requests of an open loop
    #[arg(long, value_enum, requires = "rate")]
    pub(crate) arrival: Option<ArrivalFlag>,
    /// Measured time of each trial [default: so that a minute has six rounds]
    #[arg(short, long, value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Time under load before measuring
    #[arg(long, value_parser = duration)]
    pub(crate) warmup: Option<Duration>,
    /// Measure until each difference is decided, or each gate if there are some, and for at most
    /// this long [default: 1m, with --gate 10m]
    #[arg(long, value_name = "TIME", value_parser = duration,
          conflicts_with_all = ["until", "rounds"])]
    pub(crate) budget: Option<Duration>,
    /// Number of rounds, whatever they show
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,
    /// Add rounds until each comparison is known to within this, such as 3%, but run at least 10
    #[arg(long, value_name = "P%", value_parser = percentage)]
    pub(crate) until: Option<f64>,
    /// Seed for the order of trials and for schedules
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) pinning: PinningFlags,
}

/// Which processors are whose.
#[derive(Debug, Args)]
pub(crate) struct PinningFlags {
    /// Processors of the servers: auto, any, or a list such as 0,1
    #[arg(long, value_name = "CPUS", value_parser = processors)]
    pub(crate) server_cpus: Option<Cpus>,
    /// Processors of the load engine
    #[arg(long, value_name = "CPUS", value_parser = processors)]
    pub(crate) engine_cpus: Option<Cpus>,
}

/// Where the record goes, and what is shown of it.
#[derive(Debug, Args)]
pub(crate) struct RaceRecordFlags {
    /// Folder for the record; it must not contain one yet [default: bakeoff-results/race-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the plan to this file, which must not exist yet; `bakeoff run FILE` repeats the race
    #[arg(long, value_name = "FILE")]
    pub(crate) save_plan: Option<PathBuf>,
    /// Format of the report printed at the end
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print all tables before the answer
    #[arg(long)]
    pub(crate) full: bool,
    /// Exit with 4 unless every cell is valid
    #[arg(long)]
    pub(crate) strict: bool,
    /// After the rounds, test what limits each contender: change one resource at a time, such as a
    /// worker more or a processor less, for six rounds each
    #[arg(long, conflicts_with = "hosts")]
    pub(crate) confirm: bool,
    #[command(flatten)]
    pub(crate) gated: GateFlags,
    #[command(flatten)]
    pub(crate) far: FarFlags,
    #[command(flatten)]
    pub(crate) others: OtherCampaigns,
    /// Folder with your own servers/, workloads/ and plans/
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
}

/// A choice of processors as plans have it.
fn processors(text: &str) -> Result<Cpus, String> {
    match text {
        "auto" => Ok(Cpus::Auto),
        "any" => Ok(Cpus::Any),
        list => cpus(list).map(Cpus::List),
    }
}
