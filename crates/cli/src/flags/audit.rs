//! Flags of `bakeoff audit`.

use std::path::PathBuf;
use std::time::Duration;

use bakeoff_published::{ColumnRule, Format};
use clap::Args;

use super::duration;

/// Which file, and what is known of where it came from.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff audit table.csv --duration 30s --body html-large=289812 --link 10Gbit\n  \
    bakeoff audit README.md --clients 50 --duration 30s\n  \
    bakeoff audit k6-summary.json\n  \
    wrk --latency -c50 http://127.0.0.1:8080/ | bakeoff audit - --link 1Gbit\n\
    Exit codes: 0 every row can be believed, 2 the file cannot be read, 4 some row cannot.")]
pub(crate) struct AuditFlags {
    /// The file: tables in CSV or Markdown, or the output of a load generator; - is standard
    /// input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What wrote the file, if its content does not say: csv, markdown, k6, vegeta, oha, wrk,
    /// h2load, hey, ab, autocannon, bombardier, fortio, locust or bakeoff
    #[arg(long, value_name = "TOOL", value_parser = format)]
    pub(crate) from: Option<Format>,
    /// What a column of a table holds, such as p99=tail:ms, failed=errors:percent or ignore=note;
    /// may be repeated
    #[arg(long, value_name = "QUANTITY=COLUMN[:UNIT]", value_parser = column)]
    pub(crate) column: Vec<ColumnRule>,
    #[command(flatten)]
    pub(crate) rig: RigFlags,
    /// Format of the result
    #[arg(long, value_enum, default_value_t = AuditFormat::Text)]
    pub(crate) format: AuditFormat,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Exit with 4 also for findings about the table as a whole, such as one-run
    #[arg(long)]
    pub(crate) strict: bool,
}

/// What is known beside the file. What a row says itself counts more.
#[derive(Debug, Args)]
#[command(next_help_heading = "About the measurement")]
pub(crate) struct RigFlags {
    /// Length of each measurement
    #[arg(long, value_name = "DURATION", value_parser = length)]
    pub(crate) duration: Option<Duration>,
    /// Size of the right answer's body, such as 4096 or 283KiB; with NAME= for rows that have a
    /// cell of this name; may be repeated
    #[arg(long, value_name = "[NAME=]BYTES", value_parser = body)]
    pub(crate) body: Vec<(Option<String>, f64)>,
    /// Bandwidth of the link between generator and server, such as 10Gbit
    #[arg(long, value_name = "RATE", value_parser = link)]
    pub(crate) link: Option<f64>,
    /// Number of clients, each of which waits for its answers
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) clients: Option<f64>,
    /// Requests that each client has in flight
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) streams: Option<f64>,
    /// Pause of a client between an answer and its next request
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) think: Option<Duration>,
    /// Requests per second that the generator was asked for; 0 if it was asked for no rate, as
    /// with vegeta's -rate=0
    #[arg(long, value_name = "N", value_parser = not_negative)]
    pub(crate) rate: Option<f64>,
    /// Requests per second that the generator reaches against a null server
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) ceiling: Option<f64>,
    /// Processors of the server
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) cores: Option<f64>,
    /// Processors of the generator
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) client_cores: Option<f64>,
}

/// How the result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AuditFormat {
    /// For a terminal
    Text,
    /// To paste where the table was published
    Md,
    /// For scripts: bakeoff.audit/1
    Json,
}

fn format(text: &str) -> Result<Format, String> {
    let known = Format::ALL.into_iter().find(|one| one.name() == text);
    known.ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        format!("`{text}` is not known: {names}")
    })
}

fn column(text: &str) -> Result<ColumnRule, String> {
    text.parse()
}

/// Reads a size such as `289812`, `283KiB` or `html-large=289812`.
fn body(text: &str) -> Result<(Option<String>, f64), String> {
    let (name, size) = match text.rsplit_once('=') {
        Some((name, size)) => (Some(name), size),
        None => (None, text),
    };
    let bytes = bakeoff_published::parse_bytes(size).filter(|_| name != Some(""));
    let bytes = bytes.ok_or_else(|| {
        format!("`{text}` is not a size: write bytes, such as 4096, 283KiB or html-large=289812")
    })?;
    Ok((name.map(str::to_owned), bytes))
}

/// Reads what a link carries, such as `10Gbit`, in bits a second.
fn link(text: &str) -> Result<f64, String> {
    bakeoff_published::parse_bits_per_s(text)
        .filter(|bits| *bits > 0.0)
        .ok_or_else(|| format!("`{text}` is not the rate of a link: write 10Gbit, or 100Mbit/s"))
}

/// Reads a duration above 0.
fn length(text: &str) -> Result<Duration, String> {
    let length = duration(text)?;
    if length.is_zero() {
        Err(format!("`{text}` is not a duration above 0"))
    } else {
        Ok(length)
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| format!("`{text}` is not a number of 0 or more"))
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && *number > 0.0)
        .ok_or_else(|| format!("`{text}` is not a number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_links_have_units() {
        assert_eq!(body("289812"), Ok((None, 289_812.0)));
        assert_eq!(body("a=b=1KiB"), Ok((Some("a=b".to_owned()), 1024.0)));
        assert_eq!(link("10Gbit"), Ok(10e9));
        assert_eq!(link("100Mbit/s"), Ok(100e6));
        assert_eq!(link("1.25GB/s"), Ok(10e9));
        for wrong in ["", "=5", "x", "5ms", "-1"] {
            assert!(body(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "10", "10G", "5ms", "0Gbit"] {
            assert!(link(wrong).is_err(), "{wrong}");
        }
        assert!(length("0s").is_err() && length("30s").is_ok());
        assert!(not_negative("-1").is_err() && not_negative("0") == Ok(0.0));
        assert!(positive("0").is_err() && positive("inf").is_err() && positive("1e3").is_ok());
    }
}
