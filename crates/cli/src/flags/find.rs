//! Flags of `bakeoff find`.

use std::time::Duration;

use bakeoff_plan::{Objective, parse_errors};
use clap::Args;

use super::duration;
use super::load::ArrivalFlag;
use super::number::clients;
use super::race::{OperandFlags, PinningFlags};
use super::search::SearchRecordFlags;

/// Who is asked, and for what.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff find nginx caddy --slo 'p99<10ms'\n  \
    bakeoff find http://127.0.0.1:9001/ --slo 'p99<10ms,p99.9<50ms' --errors 0.001%,0.5%\n  \
    bakeoff find ./nginx.conf --workload proxy --slo 'p95<20ms' --quick\n  \
    bakeoff find --resume bakeoff-results/find-20260101T120000Z")]
#[command(mut_arg("out", |it| it.help("Folder for the record; it must not contain one yet \
    [default: bakeoff-results/find-TIME]")))]
#[command(mut_arg("resume", |it| it.help("Go on with the search of this record; of the other \
    flags only --budget, --hosts, --format, --full, --strict, --wait and --beside apply")))]
#[command(mut_arg("save_plan", |it| it.help("Write the plan to this file, which must not exist \
    yet; `bakeoff run FILE` repeats the search")))]
#[command(mut_arg("full", |it| it.help("Print the trials after the answer")))]
#[command(mut_arg("strict", |it| it.help("Exit with 4 unless each goal of each contender has two \
    bounds and is confirmed")))]
pub(crate) struct FindFlags {
    #[command(flatten)]
    pub(crate) operands: OperandFlags,
    #[command(flatten)]
    pub(crate) goals: FindGoalFlags,
    #[command(flatten)]
    pub(crate) load: FindLoadFlags,
    #[command(flatten)]
    pub(crate) record: SearchRecordFlags,
}

/// What is to be met.
#[derive(Debug, Args)]
pub(crate) struct FindGoalFlags {
    /// Limit on latency, such as p99<10ms; each of several is a goal of its own. Without any, only
    /// failures and growing queues limit the rate
    #[arg(long, value_name = "GOAL", value_delimiter = ',', value_parser = objective)]
    pub(crate) slo: Vec<Objective>,
    /// Share of the requests that may fail; each of several is a goal of its own
    #[arg(long, value_name = "P%", value_delimiter = ',', value_parser = errors,
          default_value = "0.001%")]
    pub(crate) errors: Vec<f64>,
    /// Distance between the two bounds of a rate at which the search ends
    #[arg(long, value_name = "P%", default_value = "2%", value_parser = super::run::percentage)]
    pub(crate) width: f64,
    /// Time limit for all trials together [default: 12 min for each contender and workload, plus
    /// 4 min for each goal after the first; a fifth of it with --quick]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) budget: Option<Duration>,
    /// A first look: trials of 2 s instead of 10 s, and of 6 s instead of 30 s to confirm
    #[arg(long)]
    pub(crate) quick: bool,
}

/// How it is asked.
#[derive(Debug, Args)]
pub(crate) struct FindLoadFlags {
    /// Number of connections
    #[arg(short, long, value_name = "N", default_value_t = 100,
          value_parser = clients())]
    pub(crate) clients: u32,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3
    #[arg(long, value_name = "M")]
    pub(crate) streams: Option<u32>,
    /// Gaps between requests
    #[arg(long, value_enum, default_value_t = ArrivalFlag::Poisson)]
    pub(crate) arrival: ArrivalFlag,
    /// Measured time of a full trial; three to seven of them decide a rate [default: 10s, and 2s
    /// with --quick]
    #[arg(short, long, value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Time under load before measuring [default: 1s, and 500ms with --quick]
    #[arg(long, value_parser = duration)]
    pub(crate) warmup: Option<Duration>,
    /// Length of each of the three trials that confirm the rate; 0s leaves them out [default: 30s,
    /// and 6s with --quick, or three times --duration where that is longer]
    #[arg(long, value_parser = duration)]
    pub(crate) confirm: Option<Duration>,
    /// Seed for schedules
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) pinning: PinningFlags,
}

fn objective(text: &str) -> Result<Objective, String> {
    text.trim()
        .parse()
        .map_err(|error: bakeoff_plan::GoalError| error.to_string())
}

fn errors(text: &str) -> Result<f64, String> {
    parse_errors(text).map_err(|error| error.to_string())
}
