//! Flags as the user types them; each command turns its own into resolved values.

use clap::{Parser, Subcommand};

mod audit;
mod clean;
mod compare;
mod faulty;
mod find;
mod header;
mod history;
mod hosts;
mod install;
mod library;
mod load;
mod number;
mod overload;
mod race;
mod run;
mod search;
mod selftest;
mod serve;
mod site;
mod trying;

pub(crate) use audit::{AuditFlags, AuditFormat, RigFlags};
pub(crate) use clean::{CleanFlags, ManFlags};
pub(crate) use compare::{
    BaselineFlags, CompareFlags, CompareFormat, FailIfFlags, GateFlags, VerifyFlags,
};
pub(crate) use faulty::{Fault, FaultyCommand, FaultyServerFlags};
pub(crate) use find::FindFlags;
pub(crate) use history::{HistoryFlags, HistoryFormat};
pub(crate) use hosts::{
    DoctorFlags, HostsCheckFlags, HostsCommand, HostsFormat, LoadCommand, ManifestFlags,
};
pub(crate) use install::{InstallFlags, SourceFlag};
pub(crate) use library::LibraryFlags;
pub(crate) use load::{
    AmountFlags, ArrivalFlag, ConnectFlag, LoadFlags, PaceFlags, ProtocolFlag, ProxyVersionFlag,
    Switch, TlsFlags, TlsVersionFlag,
};
pub(crate) use overload::OverloadFlags;
pub(crate) use race::{OperandFlags, PinningFlags, RaceFlags, RaceLoadFlags};
pub(crate) use run::{
    DebugFlags, FarFlags, Format, ListFlags, OtherCampaigns, PlanFlags, ReportFlags, RunFlags,
};
pub(crate) use search::SearchRecordFlags;
pub(crate) use selftest::{SelftestFlags, SelftestFormat};
pub(crate) use serve::{DemandFlags, OriginFlags, ServeFlags};
pub(crate) use site::SiteFlags;
pub(crate) use trying::{TryFlags, TryFormat};

/// Compare web servers and reverse proxies, and say how far the answer can be trusted
#[derive(Debug, Parser)]
#[command(
    name = "bakeoff",
    version,
    propagate_version = true,
    after_help = "Start with `bakeoff doctor`, then `bakeoff run`.\nExit codes: 0 done, 1 the tool \
                  failed or a record does not verify, 2 wrong usage or plan, 3 a gate or \
                  condition was breached, 4 measured but not valid, or not decided, 130 \
                  interrupted with the record kept."
)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Measure(MeasureCommand),
    #[command(flatten)]
    Explain(ExplainCommand),
    #[command(flatten)]
    Machine(MachineCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page; view it with `bakeoff man | man -l -`
    Man(ManFlags),
    /// Print the JSON Schema of plan, workload or hosts files, for editors
    Schema {
        /// The kind of file
        #[arg(value_enum, default_value_t = SchemaOf::Plan)]
        of: SchemaOf,
    },
}

/// What measures: on Linux only.
#[derive(Debug, Subcommand)]
pub(crate) enum MeasureCommand {
    /// Run a plan: start, check and load each server, record what happens, report on it
    Run(Box<RunFlags>),
    /// Compare running URLs, commands, configuration files and servers, in one line
    Race(Box<RaceFlags>),
    /// Show what configuration files contain, what a trial changes in them, and what they answer
    Try(TryFlags),
    /// Find the highest rate at which contenders stay below a latency and a share of failures
    Find(Box<FindFlags>),
    /// Load contenders beyond their capacity and back: who refuses, who slows, who recovers
    Overload(Box<OverloadFlags>),
    /// Load one URL, as you would with wrk, h2load, vegeta or oha
    Load(Box<LoadCommand>),
}

/// What reads records and results: on every system.
#[derive(Debug, Subcommand)]
pub(crate) enum ExplainCommand {
    /// Report on a stored record
    Report(ReportFlags),
    /// Compare two contenders of a record, or two records, with gates for CI
    Compare(CompareFlags),
    /// Follow numbers over many records, and name where they changed
    History(HistoryFlags),
    /// Compute every verdict and estimate of a record again, and say whether they still hold
    Verify(VerifyFlags),
    /// Write many records as a static site to publish: an index, rankings, each report, a feed
    Site(SiteFlags),
    /// Judge other people's results: a table, or what k6, vegeta, oha, wrk or h2load printed
    Audit(Box<AuditFlags>),
}

/// What prepares this machine for measurements, looks at it, or starts a part of one: on Linux
/// only.
#[derive(Debug, Subcommand)]
pub(crate) enum MachineCommand {
    /// Judge the judge: plant faults, and see whether the checks name them and nothing else
    Selftest(SelftestFlags),
    /// Show the trials of a plan, their order and how long they will take, without running anything
    Plan(PlanFlags),
    /// List servers, workloads and plans, and the installed versions of each server
    List(ListFlags),
    /// Install a server's program into the user's cache
    Install(InstallFlags),
    /// Remove what bakeoff has left on this machine: folders of killed runs, caches; never records
    Clean(CleanFlags),
    /// Check hosts that take part in a measurement, or make some on Kubernetes
    #[command(subcommand)]
    Hosts(HostsCommand),
    /// Report what on this machine, or on other hosts, would distort results, and how to fix it
    Doctor(DoctorFlags),
    /// Start a contender as a trial would and keep it running until Ctrl-C
    Debug(DebugFlags),
    /// Run the built-in upstream on its own
    Origin(Box<OriginFlags>),
    /// Run the built-in null server on its own
    Yardstick(ServeFlags),
    /// Serve a bakeoff on another host over standard input and output; it starts this itself
    #[command(hide = true)]
    Agent,
    /// Be a server with a fault, or a program that disturbs; `selftest` starts this itself
    #[command(hide = true, subcommand)]
    Faulty(FaultyCommand),
}

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    Plan,
    Workload,
    Hosts,
}

/// Reads a duration such as `5s` or `200ms`.
pub(crate) fn duration(text: &str) -> Result<std::time::Duration, String> {
    bakeoff_plan::parse_duration(text).map_err(|error| error.to_string())
}

/// Reads processors such as `0`, `0,2` or `1-3`.
pub(crate) fn cpus(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("`{text}` is not a list of processors: write 0, or 0,2, or 1-3");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        use clap::CommandFactory;
        Flags::command().debug_assert();
    }

    #[test]
    fn a_record_goes_on_by_its_own_plan_alone() {
        let parsed = |flags: &[&str]| {
            let line = ["bakeoff", "run", "--resume", "record"].iter().chain(flags);
            Flags::try_parse_from(line).map_err(|error| error.kind())
        };
        let conflict = Some(clap::error::ErrorKind::ArgumentConflict);
        assert_eq!(parsed(&["./mine.toml"]).err(), conflict);
        assert_eq!(
            parsed(&["quick"]).err(),
            conflict,
            "though it is the default"
        );
        assert_eq!(parsed(&["--rounds", "14"]).err(), None);
    }

    #[test]
    fn processors_are_lists_and_ranges() {
        assert_eq!(cpus("0"), Ok(vec![0]));
        assert_eq!(cpus("0,2-4"), Ok(vec![0, 2, 3, 4]));
        assert!(cpus("a").is_err() && cpus("3-1").is_err() && cpus("").is_err());
    }
}
