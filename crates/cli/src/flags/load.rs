//! Flags of `bakeoff load`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{cpus, duration, header};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff load http://127.0.0.1:8080/ -c 200 -d 10s        as fast as 200 clients can\n  \
    bakeoff load http://127.0.0.1:8080/ -r 500 -d 30s        500 requests/s, whatever comes back\n  \
    bakeoff load http://127.0.0.1:8080/ -n 1000 --json       1,000 requests, for a script")]
pub(crate) struct LoadFlags {
    /// Where requests go
    pub(crate) url: String,
    /// Connections held open
    #[arg(short, long, default_value_t = 10, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) clients: u32,
    /// Engine threads [default: as many as --pin names, else half the processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Measured time [default: 10s; with --requests, as long as they take up to 10m]
    #[arg(short, long, value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// End when so many requests have ended
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Open loop: so many requests per second, whatever comes back
    #[arg(short, long, value_name = "R")]
    pub(crate) rate: Option<f64>,
    /// Gaps between the requests of an open loop
    #[arg(long, value_enum, default_value_t = ArrivalFlag::Constant, requires = "rate")]
    pub(crate) arrival: ArrivalFlag,
    /// Seed of a Poisson schedule
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Time under load before measuring
    #[arg(long, default_value = "0s", value_parser = duration, conflicts_with = "requests")]
    pub(crate) warmup: Duration,
    /// A request header; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// Request method
    #[arg(long, default_value = "GET")]
    pub(crate) method: String,
    /// File sent as the body of each request
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<PathBuf>,
    /// A request older than this ends as `timeout`
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Close the connection after each request
    #[arg(long)]
    pub(crate) no_keepalive: bool,
    /// Close a connection after so many requests
    #[arg(long, value_name = "N", conflicts_with = "no_keepalive",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) requests_per_connection: Option<u32>,
    /// Connect here instead of to the URL's host
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect_to: Option<String>,
    /// Processors that the engine's threads are pinned to, such as 1 or 2-3
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    pub(crate) pin: Option<std::vec::Vec<usize>>,
    /// The one status that counts as ok [default: any from 200 to 399]
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u16).range(100..=999))]
    pub(crate) expect_status: Option<u16>,
    /// File that each body must equal: its length always, its bytes for one body in 64
    #[arg(long, value_name = "FILE")]
    pub(crate) expect_body: Option<PathBuf>,
    /// Compare the bytes of every body with --expect-body
    #[arg(long, requires = "expect_body")]
    pub(crate) check_every_body: bool,
    /// Gap between the starts of two connections [default: 50us]
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) ramp_gap: Option<Duration>,
    /// Rest of a client whose connection failed [default: 10ms]
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) retry_pause: Option<Duration>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 4 when something weakens the numbers
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Gaps between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalFlag {
    /// All gaps equal
    Constant,
    /// Exponential gaps, as of many independent users
    Poisson,
}
