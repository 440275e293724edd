//! Flags of `bakeoff change`.

use std::time::Duration;

use bakeoff_plan::Action;
use clap::Args;

use super::duration;
use super::load::ArrivalFlag;
use super::number::{clients, per_second, percent_of, whole};
use super::race::{OperandFlags, PinningFlags};
use super::search::SearchRecordFlags;

/// Who is changed under load, and how.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff change nginx caddy\n  \
    bakeoff change nginx --do none,reload,upgrade,kill-worker\n  \
    bakeoff change ./nginx.conf --with 'kill -HUP $BAKEOFF_PID' /index.html\n  \
    bakeoff change nginx caddy --workload proxy --do none,upstream-restart\n  \
    bakeoff change --resume bakeoff-results/change-20260101T120000Z")]
#[command(mut_arg("out", |it| it.help("Folder for the record; it must not contain one yet \
    [default: bakeoff-results/change-TIME]")))]
#[command(mut_arg("full", |it| it.help("Print every action after the answer")))]
pub(crate) struct ChangeFlags {
    #[command(flatten)]
    pub(crate) operands: OperandFlags,
    #[command(flatten)]
    pub(crate) done: DoneFlags,
    #[command(flatten)]
    pub(crate) record: SearchRecordFlags,
}

/// What is done, and the load during it.
#[derive(Debug, Args)]
pub(crate) struct DoneFlags {
    /// What is done, each in trials of its own; without `none` nothing shows what is lost anyway
    #[arg(long = "do", value_name = "ACTION,...", value_delimiter = ',', value_parser = action,
          default_value = "none,reload")]
    pub(crate) actions: Vec<Action>,
    /// Command for a shell that does it, in place of what the server's folder says. It has the
    /// server's process in BAKEOFF_PID, its port in PORT, and the configuration file that it reads
    /// in BAKEOFF_CONFIG
    #[arg(long, value_name = "COMMAND")]
    pub(crate) with: Option<String>,
    /// Times that it is done in a trial
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u32>(1, 100))]
    pub(crate) times: u32,
    /// From one time to the next
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = duration)]
    pub(crate) every: Duration,
    /// Requests per second [default: 1000]
    #[arg(short, long, value_name = "R", value_parser = per_second)]
    pub(crate) rate: Option<f64>,
    /// The same as a share of what the slowest contender carries, which is measured first
    #[arg(long, value_name = "P%", value_parser = share, conflicts_with = "rate")]
    pub(crate) share: Option<f64>,
    /// Share of the requests on kept connections; each of the others has one of its own
    #[arg(long, value_name = "P%", default_value = "80%", value_parser = kept)]
    pub(crate) kept: f64,
    /// Connections at the most
    #[arg(short, long, value_name = "N", default_value_t = 50, value_parser = clients())]
    pub(crate) clients: u32,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3
    #[arg(long, value_name = "M")]
    pub(crate) streams: Option<u32>,
    /// Gaps between requests
    #[arg(long, value_enum, default_value_t = ArrivalFlag::Constant)]
    pub(crate) arrival: ArrivalFlag,
    /// Time under load before measuring
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub(crate) warmup: Duration,
    /// Time after which a client gives up
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Rounds, each on fresh servers
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u32>(1, 1000))]
    pub(crate) rounds: u32,
    /// Seed for the order of trials and for schedules
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) pinning: PinningFlags,
}

/// Reads the name of an action.
fn action(text: &str) -> Result<Action, String> {
    let known = Action::ALL.into_iter().find(|it| it.name() == text.trim());
    known.ok_or_else(|| {
        let names = Action::ALL.map(Action::name).join(", ");
        format!("`{text}` is no action: write some of {names}")
    })
}

/// Reads a share of a capacity, such as `50%`.
fn share(text: &str) -> Result<f64, String> {
    percent_of("what they carry", 1.0..=100.0, text)
}

/// Reads a share such as `80%`.
fn kept(text: &str) -> Result<f64, String> {
    percent_of("the requests", 0.0..=100.0, text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bakeoff_plan::Actions;
    use clap::Parser as _;

    use super::*;
    use crate::flags::{Command, Flags, MeasureCommand};

    #[test]
    fn what_nobody_says_is_what_a_plan_takes() {
        let flags = Flags::try_parse_from(["bakeoff", "change", "nginx"]).unwrap();
        let Command::Measure(MeasureCommand::Change(flags)) = flags.command else {
            panic!("the command is a change");
        };
        let text = "name = \"p\"\nworkloads = [\"synthetic\"]\n[[contender]]\nname = \"a\"\n\
                    server = \"nginx\"\n[[change]]\n";
        let library = &bakeoff_plan::Builtin;
        let plan = bakeoff_plan::parse(text, "p.toml", Path::new("/"), library).unwrap();
        let done = &flags.done;
        let actions = Actions {
            action: Action::Reload,
            times: done.times,
            every: done.every,
            kept: done.kept,
        };
        assert_eq!(plan.loads[0].actions, Some(actions));
        assert_eq!(plan.loads[0].clients(), done.clients);
        assert_eq!(plan.loads[0].warmup_s, done.warmup.as_secs_f64());
        assert_eq!(plan.loads[0].timeout_s, done.timeout.as_secs_f64());
        assert_eq!(done.actions, [Action::None, Action::Reload]);
    }

    #[test]
    fn actions_and_shares_are_written_as_plans_and_people_write_them() {
        assert_eq!(action("kill-worker"), Ok(Action::KillWorker));
        assert!(action("restart").unwrap_err().contains("upstream-restart"));
        assert_eq!(kept("12.5 %"), Ok(0.125));
        for wrong in ["80", "-1%", "101%", "nan%", "%"] {
            assert!(kept(wrong).is_err(), "{wrong}");
        }
    }
}
