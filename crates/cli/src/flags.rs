//! Flags as they are typed; each command turns its own into ready values.

use clap::{Parser, Subcommand};

mod install;
mod load;
mod run;
mod serve;

pub(crate) use install::{InstallFlags, SourceFlag};
pub(crate) use load::{
    ArrivalFlag, ConnectFlag, LoadFlags, ProtocolFlag, ProxyVersionFlag, Switch, TlsFlags,
    TlsVersionFlag,
};
pub(crate) use run::{DebugFlags, Format, ListFlags, PlanFlags, ReportFlags, RunFlags};
pub(crate) use serve::{DemandFlags, OriginFlags, ServeFlags};

/// Benchmarks web servers and reverse proxies side by side, and says whether to believe it.
#[derive(Debug, Parser)]
#[command(
    name = "bakeoff",
    version,
    propagate_version = true,
    after_help = "Start with `bakeoff doctor`, then `bakeoff run`. Exit codes: 0 done, 1 the tool \
                  failed, 2 wrong usage or plan, 3 a threshold was breached, 4 measured but not \
                  valid, 130 interrupted with the record kept."
)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Carry out a plan: start each server, check it, load it, record it, report it
    Run(RunFlags),
    /// Load one URL: what wrk, h2load, vegeta and oha are used for
    Load(Box<LoadFlags>),
    /// Print tables and write the report again from a stored record
    Report(ReportFlags),
    /// Print the trials of a plan, their order and the time they will take; run nothing
    Plan(PlanFlags),
    /// List servers, workloads and plans, with the version of each program found
    List(ListFlags),
    /// Get a server's program into the user's cache
    Install(InstallFlags),
    /// Tell what this machine will do to a result, and how to mend it
    Doctor,
    /// Start a contender as a trial would and keep it up until Ctrl-C
    Debug(DebugFlags),
    /// Run the built-in upstream by itself
    Origin(Box<OriginFlags>),
    /// Run the built-in null server by itself
    Yardstick(ServeFlags),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, for `man -l -`
    Man,
    /// Print the JSON Schema of plan files or workload files, for editors
    Schema {
        /// Which one
        #[arg(value_enum, default_value_t = SchemaOf::Plan)]
        of: SchemaOf,
    },
}

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    Plan,
    Workload,
}

/// Reads a duration such as `5s` or `200ms`.
pub(crate) fn duration(text: &str) -> Result<std::time::Duration, String> {
    bakeoff_plan::parse_duration(text).map_err(|error| error.to_string())
}

/// Reads processors such as `0`, `0,2` or `1-3`.
pub(crate) fn cpus(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("`{text}` names no processors: write 0, or 0,2, or 1-3");
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.trim().parse().map_err(|_| wrong())?;
        let last: usize = last.trim().parse().map_err(|_| wrong())?;
        if last < first || last - first > 4096 {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

/// Reads a header such as `X-Hotdogs: aplenty`.
pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    let wrong = || format!("`{text}` is no header: write `Name: value`");
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    if name.trim().is_empty() {
        return Err(wrong());
    }
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        use clap::CommandFactory;
        Flags::command().debug_assert();
    }

    #[test]
    fn processors_are_lists_and_ranges() {
        assert_eq!(cpus("0"), Ok(vec![0]));
        assert_eq!(cpus("0,2-4"), Ok(vec![0, 2, 3, 4]));
        assert!(cpus("a").is_err() && cpus("3-1").is_err() && cpus("").is_err());
    }

    #[test]
    fn headers_have_a_name() {
        assert_eq!(header("A: b: c"), Ok(("A".to_owned(), "b: c".to_owned())));
        assert!(header("no colon").is_err() && header(": x").is_err());
    }
}
