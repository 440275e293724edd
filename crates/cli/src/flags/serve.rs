//! Flags of `bakeoff origin` and `bakeoff yardstick`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::cpus;

#[derive(Debug, Args)]
pub(crate) struct ServeFlags {
    /// Where requests are answered; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// Where counts are told: GET /counts
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    pub(crate) control: SocketAddr,
    /// Threads
    #[arg(short, long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: u32,
    /// Processors that the threads are pinned to
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    pub(crate) pin: Option<std::vec::Vec<usize>>,
    /// Status of each answer
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..=599))]
    pub(crate) status: u16,
    /// Content type of each answer
    #[arg(long, default_value = "text/plain")]
    pub(crate) content_type: String,
    /// Body of each answer, as text
    #[arg(long, conflicts_with = "body")]
    pub(crate) body_text: Option<String>,
    /// Body of each answer, from a file
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<PathBuf>,
}
