//! Flags of the servers and programs that the self-test starts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::duration;

/// What the self-test starts beside bakeoff's own servers.
#[derive(Debug, Subcommand)]
pub(crate) enum FaultyCommand {
    /// A server of HTTP/1.1 with a known service time, and one fault
    Server(FaultyServerFlags),
    /// A program that keeps processors busy
    Spin {
        /// Threads that compute without a pause
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
        threads: u32,
        /// Ends after this time in any case
        #[arg(long, default_value = "5m", value_parser = duration)]
        lasts: Duration,
    },
    /// A listener whose accept queue overflows all the time
    Flood {
        /// Ends after this time in any case
        #[arg(long, default_value = "5m", value_parser = duration)]
        lasts: Duration,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct FaultyServerFlags {
    /// Port to listen on, on 127.0.0.1
    #[arg(long)]
    pub(crate) port: u16,
    /// Processor time that each answer takes
    #[arg(long, default_value = "1ms", value_parser = duration)]
    pub(crate) work: Duration,
    /// Answers that are worked on at once
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) workers: u32,
    /// Bytes of the body, all of them the letter x
    #[arg(long, default_value_t = 100)]
    pub(crate) body: usize,
    /// Upstream that is asked for each answer
    #[arg(long)]
    pub(crate) origin: Option<SocketAddr>,
    /// What is wrong with it
    #[arg(long, value_enum)]
    pub(crate) fault: Option<Fault>,
    /// When the fault begins, from the start of the load on
    #[arg(long, default_value = "0s", value_parser = duration)]
    pub(crate) at: Duration,
    /// How long it lasts
    #[arg(long, default_value = "1m", value_parser = duration)]
    pub(crate) lasts: Duration,
    /// Folder for what it remembers from one start to the next, and for its log
    #[arg(long)]
    pub(crate) folder: Option<PathBuf>,
}

/// What is wrong with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// It answers nobody while the fault lasts
    Stop,
    /// Its work takes three times as long while the fault lasts
    Slow,
    /// One body in 20 has other bytes
    WrongBody,
    /// One body in 20 is cut
    ShortBody,
    /// It answers 503 at once
    WrongStatus,
    /// It resets one connection in 20 answers
    Reset,
    /// It ends all connections and refuses new ones
    Refuse,
    /// Its process ends
    Die,
    /// The process that answers ends, and another one takes its place
    Restart,
    /// Only every other connection gets answers
    Starve,
    /// It asks its upstream for every other answer only
    Cache,
    /// It makes a connection to its upstream for each answer
    NewUpstream,
    /// It ends each connection after an answer
    Close,
    /// It compresses bodies
    Compress,
    /// It writes a line to a log for each answer
    Log,
    /// Its accept queue has room for a few, and it accepts ten connections a second
    Backlog,
    /// All its connections together send 4 MB a second
    Pace,
    /// Every other start is slower by half
    Modes,
    /// Every other start fails
    Fail,
    /// It becomes slower from start to start, by 1 % a second
    Drift,
}
