//! Flags as the user types them; each command turns its own into resolved values.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

mod audit;
mod change;
mod clean;
mod compare;
mod faulty;
mod find;
pub(crate) mod foreign;
mod groups;
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
mod sent;
mod serve;
mod site;
mod trying;

pub(crate) use audit::{AuditFlags, AuditFormat, RigFlags};
pub(crate) use change::{ChangeFlags, DoneFlags};
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
    AmountFlags, ArrivalFlag, ConnectFlag, LoadFlags, PaceFlags, PrintFlags, ProtocolFlag,
    ProxyVersionFlag, Switch, TlsFlags, TlsVersionFlag,
};
pub(crate) use overload::OverloadFlags;
pub(crate) use race::{OperandFlags, PinningFlags, RaceFlags, RaceLoadFlags};
pub(crate) use run::{
    DebugFlags, FarFlags, Format, ListFlags, OtherCampaigns, PlanFlags, ReportFlags, RunFlags,
};
pub(crate) use search::SearchRecordFlags;
pub(crate) use selftest::{SelftestFlags, SelftestFormat};
pub(crate) use sent::{BodyFlags, HeadFlags};
pub(crate) use serve::{DemandFlags, OriginFlags, ServeFlags};
pub(crate) use site::SiteFlags;
pub(crate) use trying::{TryFlags, TryFormat};

/// Compare web servers and proxies, and say how far the answer can be trusted
#[derive(Debug, Parser)]
#[command(
    name = "bakeoff",
    version,
    propagate_version = true,
    after_help = "Start with `bakeoff doctor`, then `bakeoff race` or `bakeoff run`.\n\
                  `bakeoff COMMAND --help` explains the flags of a command.\n\
                  Exit codes: 0 done, 1 the tool failed or a record does not verify,\n\
                  2 wrong usage or plan, 3 a gate or condition was breached,\n\
                  4 measured but not valid, or not decided, 130 interrupted with the record kept."
)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the command line may be, with the help that is shown of it.
pub(crate) fn command() -> clap::Command {
    groups::grouped(Flags::command())
}

impl Flags {
    /// Reads the arguments of this process, the first of which is its name.
    pub(crate) fn of(arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        Self::reader()(arguments)
    }

    /// Reads one command line after the other.
    pub(crate) fn reader() -> impl FnMut(Vec<OsString>) -> Result<Self, clap::Error> {
        let known = foreign::known(command());
        // It is built when it is first used, and knows more flags from then on.
        let mut parser = known.clone();
        move |arguments| {
            if let Some(error) = foreign::no_command(&known, &arguments) {
                return Err(error);
            }
            let arguments = foreign::with_two_dashes(&known, arguments);
            let matches = parser.try_get_matches_from_mut(arguments);
            let mut matches = matches.map_err(foreign::without_far_tip)?;
            Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command()))
        }
    }
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
    /// Print the JSON Schema of plan, workload or hosts files
    Schema {
        /// The kind of file
        #[arg(value_enum, default_value_t = SchemaOf::Plan)]
        of: SchemaOf,
    },
}

/// What measures: on Linux only.
#[derive(Debug, Subcommand)]
pub(crate) enum MeasureCommand {
    /// Run a plan: start and load each server, record it and report
    Run(Box<RunFlags>),
    /// Compare servers, URLs, configuration files or commands
    Race(Box<RaceFlags>),
    /// Show what a configuration file answers and a trial changes in it
    Try(TryFlags),
    /// Find the highest rate that keeps latency and errors within limits
    Find(Box<FindFlags>),
    /// Load servers beyond their capacity, and see how they recover
    Overload(Box<OverloadFlags>),
    /// Reload or upgrade servers under load, and count what is lost
    Change(Box<ChangeFlags>),
    /// Load one URL, as you would with wrk, h2load, vegeta or oha
    Load(Box<LoadCommand>),
}

/// What reads records and results: on every system.
#[derive(Debug, Subcommand)]
pub(crate) enum ExplainCommand {
    /// Print the report of a record, in any of its formats
    Report(ReportFlags),
    /// Compare two contenders or two records, with gates for CI
    Compare(CompareFlags),
    /// Show how numbers changed over many records
    History(HistoryFlags),
    /// Check a record: compute its verdicts and estimates again
    Verify(VerifyFlags),
    /// Write a static site of many records: rankings, reports, a feed
    Site(SiteFlags),
    /// Check other people's results: a table, or a tool's output
    Audit(Box<AuditFlags>),
}

/// What prepares this machine for measurements, looks at it, or starts a part of one: on Linux
/// only.
#[derive(Debug, Subcommand)]
pub(crate) enum MachineCommand {
    /// Plant faults, and check that bakeoff finds them and nothing else
    Selftest(SelftestFlags),
    /// Show a plan's trials and how long they take, without running it
    Plan(PlanFlags),
    /// List servers with their installed versions, workloads and plans
    List(ListFlags),
    /// List published comparisons that plans repeat, with their time
    Experiments,
    /// Install a server's program into the user's cache
    Install(InstallFlags),
    /// Remove caches and the folders of killed runs, but no records
    Clean(CleanFlags),
    /// Check the hosts of a measurement, or make some on Kubernetes
    #[command(subcommand)]
    Hosts(HostsCommand),
    /// Report what would distort results here, and how to fix it
    Doctor(DoctorFlags),
    /// Start a contender as a trial would, and keep it until Ctrl-C
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
        command().debug_assert();
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
