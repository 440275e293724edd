//! Flags of `bakeoff hosts`, and those of `bakeoff load` for several hosts.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::LoadFlags;

#[derive(Debug, Subcommand)]
pub(crate) enum HostsCommand {
    /// Reach every host of a file, and report programs, machines, limits, clocks and links
    Check(HostsCheckFlags),
    /// Print a Job for Kubernetes whose pods are generators
    Manifest(ManifestFlags),
}

#[derive(Debug, Args)]
pub(crate) struct HostsCheckFlags {
    /// File with hosts and roles, such as hosts.toml
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Format of the report
    #[arg(long, value_enum, default_value_t = HostsFormat::Text)]
    pub(crate) format: HostsFormat,
    /// Show the addresses of hosts, which are left out otherwise
    #[arg(long)]
    pub(crate) addresses: bool,
    /// Don't measure the links between hosts, which takes 2 seconds for each generator
    #[arg(long)]
    pub(crate) no_links: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorFlags {
    /// Look at every host of this file instead of this machine
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts: Option<PathBuf>,
}

/// Format of a report on hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HostsFormat {
    /// Tables
    Text,
    /// One JSON document, `bakeoff.hosts/1`
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestFlags {
    /// Number of pods, each on a node of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) generators: u32,
    /// Name of the Job, and its pods' label `app`
    #[arg(long, value_name = "NAME", default_value = "bakeoff-generator", value_parser = label)]
    pub(crate) name: String,
    /// Namespace of the Job
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = label)]
    pub(crate) namespace: String,
    /// Image with a shell and the C library; bakeoff is copied into its pods
    #[arg(long, value_name = "IMAGE", default_value = "debian:12-slim", value_parser = image)]
    pub(crate) image: String,
    /// Processors of each pod
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) cpus: u32,
    /// Memory of each pod, MiB
    #[arg(long, value_name = "MIB", default_value_t = 2048,
          value_parser = clap::value_parser!(u32).range(256..=1_048_576))]
    pub(crate) memory: u32,
    /// Time after which Kubernetes ends the pods
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = super::duration)]
    pub(crate) deadline: std::time::Duration,
}

/// `bakeoff load`, here or from other hosts.
#[derive(Debug, Args)]
pub(crate) struct LoadCommand {
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    #[command(flatten)]
    pub(crate) hosts: GeneratorFlags,
}

/// Where a load comes from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several hosts")]
pub(crate) struct GeneratorFlags {
    /// Send the load from the generators of this file: one load, divided over them
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) hosts: Option<PathBuf>,
    /// Send the load from these hosts: names in the file of --hosts, or ssh aliases without it
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub(crate) generators: Vec<String>,
}

impl GeneratorFlags {
    /// Whether the load comes from other hosts.
    pub(crate) fn are_given(&self) -> bool {
        self.hosts.is_some() || !self.generators.is_empty()
    }
}

/// Reads a name that Kubernetes takes (RFC 1123), at most 52 characters: an indexed Job adds to it.
fn label(text: &str) -> Result<String, String> {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let fits = (1..=52).contains(&text.len()) && text.bytes().all(is_plain);
    if fits && !text.starts_with('-') && !text.ends_with('-') {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is not a name in Kubernetes: write at most 52 of a-z, 0-9 and `-`, with no `-` \
         at either end"
    ))
}

/// Reads the name of an image.
fn image(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "./_-:@".contains(c);
    if !text.is_empty() && text.len() <= 512 && text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is not the name of an image: write it as in debian:12-slim"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_kubernetes_takes() {
        for good in ["a", "bench-1", "0a"] {
            assert_eq!(label(good), Ok(good.to_owned()));
        }
        for wrong in ["", "-a", "a-", "A", "a b", "a\nb", "a: b", &"a".repeat(53)] {
            assert!(label(wrong).is_err(), "{wrong}");
        }
        assert!(image("registry.test:5000/a/b@sha256:00").is_ok());
        for wrong in ["", "a b", "a\"b", "a\nb"] {
            assert!(image(wrong).is_err(), "{wrong}");
        }
    }
}
