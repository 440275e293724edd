//! Flags of `bakeoff load`, in the groups of its help. `-h` shows the usual ones, on one screen.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bakeoff_plan::RateShape;
use clap::builder::{PathBufValueParser, StringValueParser};
use clap::{ArgAction, Args, ValueEnum};

use super::foreign::{self, Elsewhere};
use super::number::{per_second, whole};
use super::{BodyFlags, FailIfFlags, HeadFlags, cpus, duration};

mod connection;

pub(crate) use connection::{
    ConnectFlag, ConnectionFlags, ProtocolFlag, ProxyVersionFlag, TlsFlags, TlsVersionFlag,
    WayFlags,
};

#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    after_long_help = "Examples:\n  \
    bakeoff load localhost:8080 -c 200 -d 10s            200 clients, as fast as they can\n  \
    bakeoff load http://127.0.0.1:8080/ -r 500 -d 30s    500 requests/s, whatever comes back\n  \
    bakeoff load http://127.0.0.1:8080/ -n 10k --json    10,000 requests, as JSON\n  \
    bakeoff load --urls urls.txt -r 2k                   requests of a list, by their weights\n  \
    bakeoff load localhost:8080 --har page.har           a page's requests, at another server"
)]
pub(crate) struct LoadFlags {
    #[command(flatten)]
    pub(crate) amount: AmountFlags,
    #[command(flatten)]
    pub(crate) pace: PaceFlags,
    #[command(flatten)]
    pub(crate) request: RequestFlags,
    #[command(flatten)]
    pub(crate) way: WayFlags,
    #[command(flatten)]
    pub(crate) connection: ConnectionFlags,
    #[command(flatten)]
    pub(crate) tls: TlsFlags,
    #[command(flatten)]
    pub(crate) checks: CheckFlags,
    #[command(flatten)]
    pub(crate) print: PrintFlags,
}

/// What is loaded, by how many, for how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct AmountFlags {
    /// What to load: localhost:8080/page, or a whole URL
    ///
    /// With several URLs of one server, each request picks one at random. Without http:// or
    /// https://, an address with a port, an IP address and localhost are loaded over http. In the
    /// path, in headers and bodies, {random 1-1000}, {uuid}, {csv FILE COLUMN} and, for a running
    /// number, an n in braces differ from request to request.
    #[arg(value_name = "URL", help_heading = "Load", display_order = 0,
          value_parser = Elsewhere::new(StringValueParser::new(), foreign::word))]
    pub(crate) urls: Vec<String>,
    /// Number of connections
    #[arg(short, long, default_value_t = 10, value_name = "N", display_order = 1,
          value_parser = whole::<u32>(1, 1_000_000))]
    pub(crate) clients: u32,
    /// Measured time [default: 10s]
    ///
    /// With --requests, it is as long as they take, up to 10m. -z is the same flag.
    #[arg(short, long, short_alias = 'z', value_name = "TIME",
          value_parser = Elsewhere::new(duration, foreign::body))]
    pub(crate) duration: Option<Duration>,
    /// Stop when this many requests have ended; 10k, 1m
    #[arg(short = 'n', long, value_name = "N",
          value_parser = Elsewhere::new(whole::<u64>(1, u64::MAX), foreign::number))]
    pub(crate) requests: Option<u64>,
    /// Requests/s to send, whatever comes back; 500, 2.5k
    ///
    /// This makes it an open loop. 60/m is 60 a minute. 100..1000 rises evenly over warm-up and
    /// duration, 100,200,400 rises in steps; with --requests, both need --duration.
    #[arg(short, long, value_name = "R",
          value_parser = Elsewhere::new(rate, foreign::number))]
    pub(crate) rate: Option<Rate>,
    /// Time under load before measuring
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = duration,
          conflicts_with = "requests", hide_short_help = true)]
    pub(crate) warmup: Duration,
    /// End a request as `timeout` after this time
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = duration,
          hide_short_help = true)]
    pub(crate) timeout: Duration,
}

/// How the load is timed, and on what it runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct PaceFlags {
    /// Gaps between the requests of an open loop
    #[arg(long, value_enum, default_value_t = ArrivalFlag::Constant, requires = "rate",
          hide_short_help = true)]
    pub(crate) arrival: ArrivalFlag,
    /// Seed of a Poisson schedule, of the choice among several URLs, and of placeholders
    #[arg(long, default_value_t = 1, value_name = "N", hide_short_help = true)]
    pub(crate) seed: u64,
    /// Open loop: drop a request that has waited this long for a free connection
    #[arg(long, value_parser = duration, requires = "rate", value_name = "TIME",
          hide_short_help = true)]
    pub(crate) deadline: Option<Duration>,
    /// Open loop: never sleep. This keeps the schedule best, but uses a whole processor per thread
    #[arg(long, requires = "rate", hide_short_help = true)]
    pub(crate) spin: bool,
    /// Open loop: send up to this much late, in batches. This takes the least processor time
    #[arg(long, value_parser = duration, requires = "rate", conflicts_with = "spin",
          value_name = "TIME", hide_short_help = true)]
    pub(crate) slack: Option<Duration>,
    /// Closed loop with several streams: instead of waking up for each answer, collect answers for
    /// 1/64 of the recent latency (2ms at most) and send the next requests together
    #[arg(long, value_enum, default_value_t = Switch::On, value_name = "SWITCH",
          hide_short_help = true)]
    pub(crate) gather: Switch,
    /// Engine threads [default: one per processor in --pin, otherwise half of all processors]
    #[arg(short, long, value_name = "N", hide_short_help = true,
          value_parser = Elsewhere::new(whole::<u32>(1, 1_024), foreign::time))]
    pub(crate) threads: Option<u32>,
    /// Processors to pin the engine's threads to, such as 1 or 2-3
    #[arg(long, value_name = "CPUS", value_parser = cpus, hide_short_help = true)]
    pub(crate) pin: Option<std::vec::Vec<usize>>,
}

/// What is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestFlags {
    #[command(flatten)]
    pub(crate) head: HeadFlags,
    #[command(flatten)]
    pub(crate) body: BodyFlags,
    /// Send the body in chunks of 16 KiB, without announcing its length
    #[arg(long, requires = "BodyFlags", hide_short_help = true)]
    pub(crate) chunked: bool,
    /// Read the URLs from this file, or from standard input if it is -
    ///
    /// Each line is URL, METHOD URL, WEIGHT URL or WEIGHT METHOD URL; lines that begin with # are
    /// comments. All URLs must be of one server, and up to 10,000 of them may differ. Each request
    /// picks one at random, by weight.
    #[arg(long = "urls", value_name = "FILE", conflicts_with_all = ["urls", "har"],
          hide_short_help = true)]
    pub(crate) list: Option<PathBuf>,
    /// Before the load, ask each URL once, and load what it redirects to
    ///
    /// One redirect is followed, and none during the load. For GET and HEAD alone.
    #[arg(long, conflicts_with_all = ["list", "har", "hosts", "generators"],
          hide_short_help = true)]
    pub(crate) follow: bool,
    /// How often each URL is requested, relative to the others, such as 9,1
    #[arg(long, value_name = "N,...", value_delimiter = ',', conflicts_with_all = ["list", "har"],
          value_parser = whole::<u32>(1, 1_000_000), hide_short_help = true)]
    pub(crate) weights: Option<Vec<u32>>,
    /// Repeat the requests of a page, in their order, from an HTTP Archive that a browser saved
    ///
    /// Those of the first page to its own server are sent, without the recorded headers, cookies
    /// and bodies; what needs them is left out. Each thread sends them one after the other, over
    /// and over. With a URL, they go to that server.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "BodyFlags"],
          hide_short_help = true)]
    pub(crate) har: Option<PathBuf>,
}

/// What a right answer is.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct CheckFlags {
    /// The only status that counts as ok [default: any from 200 to 399]
    #[arg(long, value_name = "CODE", value_parser = whole::<u16>(100, 999),
          hide_short_help = true)]
    pub(crate) expect_status: Option<u16>,
    /// File that each body must equal; compares every length, and the bytes of one body in 64
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) expect_body: Option<PathBuf>,
    /// Compare the bytes of every body, not of one in 64
    #[arg(long, requires = "expect_body", hide_short_help = true)]
    pub(crate) check_every_body: bool,
    /// Exit with 4 if anything makes the numbers doubtful
    #[arg(long, hide_short_help = true)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) conditions: FailIfFlags,
}

/// How the result is printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PrintFlags {
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the result to this file instead of printing it
    #[arg(short, long, value_name = "FILE", hide_short_help = true,
          value_parser = Elsewhere::new(PathBufValueParser::new(), foreign::format))]
    pub(crate) output: Option<PathBuf>,
    /// Write a line for each second to this file, as CSV
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) csv: Option<PathBuf>,
    /// Write a line for each request to this file, as CSV; of more than 100,000, for evenly spread
    /// ones
    #[arg(long, value_name = "FILE", conflicts_with_all = ["hosts", "generators"],
          hide_short_help = true)]
    pub(crate) log: Option<PathBuf>,
    /// Draw no live view
    ///
    /// It is drawn where standard error is a terminal, and not with --json.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Serve live figures as OpenMetrics at this loopback address until the load has ended,
    /// such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Show passwords and tokens in URLs and error messages, which are hidden otherwise
    #[arg(long, hide_short_help = true)]
    pub(crate) show_secrets: bool,
    /// Print the usual flags; --help explains all
    #[arg(short, long, action = ArgAction::Help)]
    pub(crate) help: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, action = ArgAction::Version, hide_short_help = true)]
    pub(crate) version: Option<bool>,
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

/// Reads a rate such as `500`, `2.5k`, `100..1000` or `100,200,400`.
fn rate(text: &str) -> Result<Rate, String> {
    let wrong = || {
        format!(
            "`{text}` is not a rate: write 500 or 2.5k, or 100..1000 for a ramp, or 100,200 for \
             steps, each above 0 and at most 10,000,000 requests per second"
        )
    };
    let number = |text: &str| {
        let number = per_second(text).map_err(|_| wrong())?;
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
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::flags::{Command, Flags, MeasureCommand};

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
        let short = RateShape::Ramp { to_per_s: 20_000.0 };
        assert_eq!(
            rate("2.5k..20k"),
            Ok(Rate {
                from_per_s: 2_500.0,
                shape: short
            })
        );
        for text in [
            "", "0", "-1", "x", "1..", "1,,2", "inf", "nan", "1e7..1e8", "10000001", "k", "11m",
        ] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    fn help(long: bool) -> String {
        let mut all = Flags::command().term_width(80);
        all.build();
        let load = all
            .find_subcommand_mut("load")
            .expect("there is a command load");
        if long {
            load.render_long_help().to_string()
        } else {
            load.render_help().to_string()
        }
    }

    #[test]
    fn the_short_help_fits_one_screen() {
        let help = help(false);
        let lines: Vec<&str> = help.trim_end().lines().collect();
        assert!(lines.len() < 24, "{} lines:\n{help}", lines.len());
        let is_wide = |line: &&&str| line.chars().count() > 80;
        assert_eq!(lines.iter().find(is_wide), None);
        for flag in ["-c,", "-d,", "-n,", "-r,", "-H,", "-q,", "--json", "--help"] {
            assert!(help.contains(flag), "no {flag} in\n{help}");
        }
    }

    #[test]
    fn the_long_help_has_all_flags_in_groups() {
        let help = help(true);
        let groups = [
            "Load:",
            "Request:",
            "Connection and protocol:",
            "TLS:",
            "Checks:",
            "Output:",
            "Several hosts:",
        ];
        let heads = help
            .lines()
            .filter(|line| !line.starts_with(' ') && line.ends_with(':'));
        let heads: Vec<&str> = heads.filter(|head| *head != "Examples:").collect();
        assert_eq!(heads, groups, "{help}");
        let mut all = Flags::command();
        let load = all
            .find_subcommand_mut("load")
            .expect("there is a command load");
        for flag in load.get_arguments().filter_map(|arg| arg.get_long()) {
            assert!(help.contains(&format!("--{flag}")), "no {flag} in\n{help}");
        }
    }

    #[test]
    fn flags_of_other_tools_are_understood() {
        let read = |arguments: &[&str]| {
            let all = ["bakeoff", "load"].iter().chain(arguments);
            match Flags::try_parse_from(all) {
                Ok(Flags {
                    command: Command::Measure(MeasureCommand::Load(flags)),
                }) => flags.load,
                other => panic!("{other:?}"),
            }
        };
        let flags = read(&[
            "localhost",
            "-z",
            "1m30s",
            "-c",
            "1k",
            "-n",
            "2.5k",
            "-r",
            "20k",
        ]);
        let amount = &flags.amount;
        assert_eq!(amount.duration, Some(Duration::from_secs(90)));
        assert_eq!((amount.clients, amount.requests), (1_000, Some(2_500)));
        assert_eq!(
            amount.rate.as_ref().map(|rate| rate.from_per_s),
            Some(20_000.0)
        );
    }
}
