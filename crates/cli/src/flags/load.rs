//! Flags of `bakeoff load`.

use std::path::PathBuf;
use std::time::Duration;

use bakeoff_plan::{Connect, RateShape};
use clap::{Args, ValueEnum};

use super::{FailIfFlags, cpus, duration, header};

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolFlag {
    /// HTTP/2 or HTTP/1.1 over TLS, as the server chooses; HTTP/1.1 without TLS
    Auto,
    /// HTTP/1.1
    H1,
    /// HTTP/2 over TLS
    H2,
    /// HTTP/2 without TLS, with prior knowledge
    H2c,
    /// HTTP/3 over QUIC, with prior knowledge
    H3,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff load http://127.0.0.1:8080/ -c 200 -d 10s       200 clients, as fast as they can\n  \
    bakeoff load http://127.0.0.1:8080/ -r 500 -d 30s       500 requests/s, whatever comes back\n  \
    bakeoff load http://127.0.0.1:8080/ -n 1000 --json       1,000 requests, as JSON")]
pub(crate) struct LoadFlags {
    /// URL to load. With several URLs of one server, each request picks one at random
    #[arg(required = true, value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// How often each URL is requested, relative to the others, such as 9,1
    #[arg(long, value_name = "N,...", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) weights: Option<Vec<u32>>,
    /// Number of connections
    #[arg(short, long, default_value_t = 10, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) clients: u32,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3
    #[arg(short = 'm', long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=65_534))]
    pub(crate) streams: u32,
    /// Protocol to use
    #[arg(long, value_enum, default_value_t = ProtocolFlag::Auto)]
    pub(crate) protocol: ProtocolFlag,
    /// Engine threads [default: one per processor in --pin, otherwise half of all processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Measured time [default: 10s; with --requests, as long as they take, up to 10m]
    #[arg(short, long, value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Stop when this many requests have ended
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Open loop: requests per second to send, whatever comes back. 100..1000 rises evenly over
    /// warm-up and duration, 100,200,400 rises in steps
    #[arg(short, long, value_name = "R", value_parser = rate)]
    pub(crate) rate: Option<Rate>,
    /// Gaps between the requests of an open loop
    #[arg(long, value_enum, default_value_t = ArrivalFlag::Constant, requires = "rate")]
    pub(crate) arrival: ArrivalFlag,
    /// Seed of a Poisson schedule
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Open loop: drop a request that has waited this long for a free connection
    #[arg(long, value_parser = duration, requires = "rate", value_name = "TIME")]
    pub(crate) deadline: Option<Duration>,
    /// Open loop: never sleep. This keeps the schedule best, but uses a whole processor per thread
    #[arg(long)]
    pub(crate) spin: bool,
    /// Open loop: send up to this much late, in batches. This takes the least processor time
    #[arg(long, value_parser = duration, requires = "rate", conflicts_with = "spin",
          value_name = "TIME")]
    pub(crate) slack: Option<Duration>,
    /// Closed loop with several streams: instead of waking up for each answer, collect answers for
    /// 1/64 of the recent latency (2ms at most) and send the next requests together
    #[arg(long, value_enum, default_value_t = Switch::On, value_name = "SWITCH")]
    pub(crate) gather: Switch,
    /// Time under load before measuring
    #[arg(long, default_value = "0s", value_parser = duration, conflicts_with = "requests")]
    pub(crate) warmup: Duration,
    /// Add a request header; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// Request method
    #[arg(long, default_value = "GET")]
    pub(crate) method: String,
    /// Send this file as the body of each request
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<PathBuf>,
    /// Send the body in chunks of 16 KiB, without announcing its length
    #[arg(long, requires = "body")]
    pub(crate) chunked: bool,
    /// End a request as `timeout` after this time
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Close the connection after each request
    #[arg(long)]
    pub(crate) no_keepalive: bool,
    /// Close a connection after this many requests
    #[arg(long, value_name = "N", conflicts_with = "no_keepalive",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) requests_per_connection: Option<u32>,
    /// Connect to this address instead of the URL's host
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "unix_socket")]
    pub(crate) connect_to: Option<String>,
    /// Connect to this Unix socket instead of the URL's host
    #[arg(long, value_name = "FILE")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Local address for connections; may be repeated, and the addresses are used in turn
    #[arg(long, value_name = "ADDR")]
    pub(crate) source: Vec<std::net::IpAddr>,
    /// Send a PROXY protocol header on each connection
    #[arg(long, value_enum, value_name = "VERSION")]
    pub(crate) proxy_protocol: Option<ProxyVersionFlag>,
    #[command(flatten)]
    pub(crate) tls: TlsFlags,
    /// Processors to pin the engine's threads to, such as 1 or 2-3
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    pub(crate) pin: Option<std::vec::Vec<usize>>,
    /// The only status that counts as ok [default: any from 200 to 399]
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u16).range(100..=999))]
    pub(crate) expect_status: Option<u16>,
    /// File that each body must equal; compares every length, and the bytes of one body in 64
    #[arg(long, value_name = "FILE")]
    pub(crate) expect_body: Option<PathBuf>,
    /// Compare the bytes of every body, not of one in 64
    #[arg(long, requires = "expect_body")]
    pub(crate) check_every_body: bool,
    /// Time between the starts of two connections [default: 50us]
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) ramp_gap: Option<Duration>,
    /// Open this many connections per second at the start; the inverse of --ramp-gap
    #[arg(long, value_name = "R", conflicts_with = "ramp_gap",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connect_rate: Option<u32>,
    /// When to open connections: all before the load begins, or with the first requests
    /// [default: first, or as-needed with --requests; an open loop always connects first]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) connect: Option<ConnectFlag>,
    /// Largest UDP payload that the server may send (RFC 9000, 18.2); HTTP/3 only
    #[arg(long, value_name = "BYTES",
          value_parser = clap::value_parser!(u16).range(1200..=65_527))]
    pub(crate) max_udp_payload: Option<u16>,
    /// How long a client waits after its connection failed [default: 10ms]
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) retry_pause: Option<Duration>,
    #[command(flatten)]
    pub(crate) print: PrintFlags,
    /// Exit with 4 if anything makes the numbers doubtful
    #[arg(long)]
    pub(crate) strict: bool,
}

/// When the connections of a load are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConnectFlag {
    /// All of them before the load begins
    First,
    /// With the first requests, so that setting them up is part of the load
    AsNeeded,
}

impl ConnectFlag {
    /// The plan's value for it.
    pub(crate) fn ready(self) -> Connect {
        match self {
            Self::First => Connect::First,
            Self::AsNeeded => Connect::AsNeeded,
        }
    }
}

/// How the result is printed.
#[derive(Debug, Args)]
pub(crate) struct PrintFlags {
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Show passwords and tokens in URLs and error messages, which are hidden otherwise
    #[arg(long)]
    pub(crate) show_secrets: bool,
    #[command(flatten)]
    pub(crate) conditions: FailIfFlags,
}

/// Flags of TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsFlags {
    /// Don't verify the server's certificate, its name or its signature
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,
    /// PEM file with the certificate authorities to trust, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Use only this version of TLS
    #[arg(long, value_enum, value_name = "VERSION")]
    pub(crate) tls_version: Option<TlsVersionFlag>,
    /// Use only these cipher suites, such as TLS13_AES_128_GCM_SHA256
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) ciphers: Vec<String>,
    /// Use only these key exchange groups [default: X25519,secp256r1,secp384r1]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) groups: Vec<String>,
    /// Server name to request (SNI) and verify, instead of the URL's host
    #[arg(long, value_name = "NAME")]
    pub(crate) server_name: Option<String>,
    /// Let a new connection resume an earlier session
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    pub(crate) resumption: Switch,
    /// Send requests before a resumed handshake is complete (0-RTT). The server may see such a
    /// request twice. HTTP/3 only, with --resumption on
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    pub(crate) early_data: Switch,
    /// PEM file with a client certificate
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// PEM file with the key for --cert
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsVersionFlag {
    #[value(name = "1.2")]
    V12,
    #[value(name = "1.3")]
    V13,
}

/// A version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProxyVersionFlag {
    V1,
    V2,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// The rate of an open loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rate {
    pub(crate) from_per_s: f64,
    pub(crate) shape: RateShape,
}

/// Requests per second that are more than any engine sends; plans have the same limit.
const RATE_MAX: f64 = 1e7;

/// Reads a rate such as `500`, `100..1000` or `100,200,400`.
fn rate(text: &str) -> Result<Rate, String> {
    let wrong = || {
        format!(
            "`{text}` is not a rate: write 500, or 100..1000 for a ramp, or 100,200 for steps, \
             each above 0 and at most 10,000,000 requests per second"
        )
    };
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().map_err(|_| wrong())?;
        if number > 0.0 && number <= RATE_MAX {
            Ok(number)
        } else {
            Err(wrong())
        }
    };
    if let Some((from, to)) = text.split_once("..") {
        let shape = RateShape::Ramp {
            to_per_s: number(to)?,
        };
        return Ok(Rate {
            from_per_s: number(from)?,
            shape,
        });
    }
    let mut rates = text.split(',').map(number);
    let from_per_s = rates.next().unwrap_or_else(|| Err(wrong()))?;
    let then_per_s = rates.collect::<Result<Vec<_>, _>>()?;
    let level = then_per_s.is_empty();
    let shape = if level {
        RateShape::Level
    } else {
        RateShape::Steps { then_per_s }
    };
    Ok(Rate { from_per_s, shape })
}

/// Gaps between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalFlag {
    /// All gaps equal
    Constant,
    /// Exponential gaps, as with many independent users
    Poisson,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_level_ramps_or_steps() {
        let level = Rate {
            from_per_s: 500.0,
            shape: RateShape::Level,
        };
        assert_eq!(rate("500"), Ok(level));
        let ramp = RateShape::Ramp { to_per_s: 1000.5 };
        assert_eq!(
            rate("100..1000.5"),
            Ok(Rate {
                from_per_s: 100.0,
                shape: ramp
            })
        );
        let steps = RateShape::Steps {
            then_per_s: vec![2.0, 3.0],
        };
        assert_eq!(
            rate("1,2,3"),
            Ok(Rate {
                from_per_s: 1.0,
                shape: steps
            })
        );
        for text in [
            "", "0", "-1", "x", "1..", "1,,2", "inf", "nan", "1e7..1e8", "10000001",
        ] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
