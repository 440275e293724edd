//! Flags of `bakeoff origin` and `bakeoff yardstick`.

use std::net::SocketAddr;
use std::path::PathBuf;

use bakeoff_plan::{Delay, Protocol, SlowBody};
use clap::Args;

use super::run::protocol;
use super::{cpus, duration};

#[derive(Debug, Args)]
pub(crate) struct ServeFlags {
    /// Address to listen on; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// Further address to listen on, with threads of its own (can be given more than once)
    #[arg(long, value_name = "ADDR")]
    pub(crate) also: Vec<SocketAddr>,
    /// Protocol to serve: h1, h1-tls, h2, h2c or h3
    #[arg(long, default_value = "h1", value_parser = protocol)]
    pub(crate) protocol: Protocol,
    /// PEM file with the certificate chain for h1-tls, h2 and h3 [default: a self-signed
    /// certificate]
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) certificate: Option<PathBuf>,
    /// PEM file with the key of the certificate
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
    /// Address that reports counts: GET /counts
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    pub(crate) control: SocketAddr,
    /// Number of threads
    #[arg(short, long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: u32,
    /// Processors to pin the threads to
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

#[derive(Debug, Args)]
pub(crate) struct OriginFlags {
    #[command(flatten)]
    pub(crate) serve: ServeFlags,
    #[command(flatten)]
    pub(crate) demand: DemandFlags,
}

/// What an upstream does besides answering. Shares are of all requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Delays and errors on demand")]
pub(crate) struct DemandFlags {
    /// Delay before each answer: 5ms, uniform:2ms:10ms, exponential:5ms (the mean) or
    /// lognormal:5ms:50ms (median and p99); with --workers, the service time
    #[arg(long, value_name = "DELAY")]
    pub(crate) delay: Option<Delay>,
    /// Body sizes in bytes, drawn by weight: 4096, or 1000:3,20000:1
    #[arg(long, value_name = "BYTES[:WEIGHT],...", value_parser = size, value_delimiter = ',')]
    pub(crate) body_sizes: Vec<(usize, u32)>,
    /// Share of answers with --error-status, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub(crate) errors: f64,
    /// Status of these errors, 400 to 599
    #[arg(long, value_name = "STATUS", default_value_t = 503,
          value_parser = clap::value_parser!(u16).range(400..=599))]
    pub(crate) error_status: u16,
    /// Share of requests answered by resetting the connection, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub(crate) resets: f64,
    /// Share of requests whose connection is closed halfway through the body, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub(crate) closes: f64,
    /// Send the body in pieces of this many bytes, one per duration: 1024:10ms
    #[arg(long, value_name = "BYTES:DURATION", value_parser = slow_body)]
    pub(crate) slow_body: Option<SlowBody>,
    /// Requests served at once, over all threads; the others wait in order
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) workers: Option<u32>,
    /// Requests that may wait for a worker; any more get a 503 at once [default: no limit]
    #[arg(long, value_name = "N", requires = "workers")]
    pub(crate) queue: Option<u32>,
    /// Seed for all random choices; the n-th request is treated the same in each run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Start without delays and errors. POST /behaviour/on at the --control address turns them on,
    /// and POST /behaviour/off turns them off
    #[arg(long)]
    pub(crate) later: bool,
}

/// Reads a share such as `0.1`.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("`{text}` is not a share: write a number from 0 to 1, such as 0.1"))
}

/// Reads a size such as `4096`, or with its weight `1000:3`.
fn size(text: &str) -> Result<(usize, u32), String> {
    let (bytes, weight) = text.split_once(':').unwrap_or((text, "1"));
    match (bytes.parse(), weight.parse()) {
        (Ok(bytes), Ok(weight)) => Ok((bytes, weight)),
        _ => Err(format!(
            "`{text}` is not a size: write bytes, such as 4096, or with a weight 1000:3"
        )),
    }
}

/// Reads pieces such as `1024:10ms`.
fn slow_body(text: &str) -> Result<SlowBody, String> {
    let wrong = || format!("`{text}` is not a slow body: write bytes and a time, as in 1024:10ms");
    let (bytes, every) = text.split_once(':').ok_or_else(wrong)?;
    Ok(SlowBody {
        bytes: bytes.parse().map_err(|_| wrong())?,
        every: duration(every)?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn shares_sizes_and_pieces_are_read_or_refused() {
        assert_eq!((share("0.1"), share("1")), (Ok(0.1), Ok(1.0)));
        assert_eq!((size("5"), size("5:0")), (Ok((5, 1)), Ok((5, 0))));
        let every = Duration::from_millis(10);
        let pieces = SlowBody { bytes: 1024, every };
        assert_eq!(slow_body("1024:10ms"), Ok(pieces));
        for wrong in ["", "10%", "1.1", "-0.1", "NaN", "x"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "5k", "5:", ":5", "5:-1"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "5", "5:6", ":10ms", "-5:10ms"] {
            assert!(slow_body(wrong).is_err(), "{wrong}");
        }
    }
}
