//! Flags that `bakeoff find`, `bakeoff overload` and `bakeoff change` share.

use std::path::PathBuf;

use clap::Args;

use super::run::SearchFormat;
use super::{FarFlags, OtherCampaigns};

/// Where the record goes, and what is shown of it. Each command replaces the help of those flags
/// that do something else there.
#[derive(Debug, Args)]
pub(crate) struct SearchRecordFlags {
    /// Folder for the record; it must not contain one yet [default: a new one in bakeoff-results]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with this record; of the other flags only --hosts, --format, --full, --strict, --wait
    /// and --beside apply
    #[arg(long, value_name = "DIR", conflicts_with_all = ["what", "start", "workload"])]
    pub(crate) resume: Option<PathBuf>,
    /// Write the plan to this file, which must not exist yet; `bakeoff run FILE` repeats it
    #[arg(long, value_name = "FILE")]
    pub(crate) save_plan: Option<PathBuf>,
    /// Format of the report printed at the end
    #[arg(long, value_enum, default_value_t = SearchFormat::Text)]
    pub(crate) format: SearchFormat,
    /// Print everything after the answer
    #[arg(long)]
    pub(crate) full: bool,
    /// Exit with 4 if anything about a contender stays undecided
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) far: FarFlags,
    #[command(flatten)]
    pub(crate) others: OtherCampaigns,
    /// Folder with your own servers/, workloads/ and plans/
    #[arg(long, env = "BAKEOFF_LIBRARY", value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::flags::Flags;

    /// The help of a flag of a command.
    fn help(command: &str, flag: &str) -> String {
        let flags = Flags::command();
        let command = flags.find_subcommand(command);
        let mut arguments = command.expect("the command exists").get_arguments();
        let found = arguments.find(|it| it.get_id() == flag);
        let help = found.expect("the flag exists").get_help();
        help.expect("it has help").to_string()
    }

    #[test]
    fn each_command_has_the_help_of_its_own_flags() {
        for (command, flag, text) in [
            (
                "find",
                "out",
                "Folder for the record; it must not contain one yet [default: \
                 bakeoff-results/find-TIME]",
            ),
            (
                "overload",
                "out",
                "Folder for the record; it must not contain one yet [default: \
                 bakeoff-results/overload-TIME]",
            ),
            ("find", "full", "Print the trials after the answer"),
            ("overload", "full", "Print every step after the answer"),
            (
                "find",
                "resume",
                "Go on with the search of this record; of the other flags only --budget, --hosts, \
                 --format, --full, --strict, --wait and --beside apply",
            ),
            (
                "overload",
                "resume",
                "Go on with this record; of the other flags only --hosts, --format, --full, \
                 --strict, --wait and --beside apply",
            ),
        ] {
            assert_eq!(help(command, flag), text, "{command} --{flag}");
        }
    }
}
