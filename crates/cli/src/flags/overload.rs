//! Flags of `bakeoff overload`.

use std::time::Duration;

use clap::Args;

use super::duration;
use super::load::ArrivalFlag;
use super::number::{clients, per_second, percent_of, whole};
use super::race::{OperandFlags, PinningFlags};
use super::search::SearchRecordFlags;

/// Clients of the ladder's rungs, where nothing else is said.
const LADDER: &str = "10,200,500,1000,10000";

/// Who is asked for too much, and by how much.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff overload nginx caddy\n  \
    bakeoff overload nginx caddy --quick\n  \
    bakeoff overload ./nginx.conf --workload proxy --ladder\n  \
    bakeoff overload http://127.0.0.1:9001/ --capacity 2000 --steps 50%,100%,150%,50%\n  \
    bakeoff overload --resume bakeoff-results/overload-20260101T120000Z")]
#[command(mut_arg("out", |it| it.help("Folder for the record; it must not contain one yet \
    [default: bakeoff-results/overload-TIME]")))]
#[command(mut_arg("full", |it| it.help("Print every step after the answer")))]
pub(crate) struct OverloadFlags {
    #[command(flatten)]
    pub(crate) operands: OperandFlags,
    #[command(flatten)]
    pub(crate) ramp: RampFlags,
    #[command(flatten)]
    pub(crate) ladder: LadderFlags,
    #[command(flatten)]
    pub(crate) record: SearchRecordFlags,
}

/// The load beyond the capacity and back.
#[derive(Debug, Args)]
pub(crate) struct RampFlags {
    /// Capacity of every contender, in requests per second [default: measured for each, with a
    /// closed loop of 100 clients]
    #[arg(long, value_name = "N", value_parser = per_second)]
    pub(crate) capacity: Option<f64>,
    /// Load of each step, as a share of the capacity. The first step is before the overload, the
    /// last one after it
    #[arg(long, value_name = "P%,...", value_delimiter = ',', value_parser = share,
          default_value = "50%,110%,140%,200%,400%,50%")]
    pub(crate) steps: Vec<f64>,
    /// Length of each step [default: 60s, and 4s with --quick]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) step: Option<Duration>,
    /// Time after which a client gives up: at most a quarter of a step, and less if the last step
    /// is above 50% [default: 5s, or half of that limit if it is shorter]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) patience: Option<Duration>,
    /// Largest number of connections, which are opened as requests need them
    #[arg(short, long, value_name = "N", default_value_t = 1000,
          value_parser = clients())]
    pub(crate) clients: u32,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3
    #[arg(long, value_name = "M")]
    pub(crate) streams: Option<u32>,
    /// Gaps between requests
    #[arg(long, value_enum, default_value_t = ArrivalFlag::Poisson)]
    pub(crate) arrival: ArrivalFlag,
    /// Repetitions, each on a fresh server [default: 3, and 1 with --quick]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1, 1000))]
    pub(crate) rounds: Option<u32>,
    /// A first look: steps of 4 s, once. Two contenders take about a minute
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed for schedules
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) pinning: PinningFlags,
}

/// The closed loops that follow.
#[derive(Debug, Args)]
pub(crate) struct LadderFlags {
    /// Afterwards run a closed loop with each of these numbers of clients, which shows who refuses
    /// and who slows down
    #[arg(long, value_name = "N,...", value_delimiter = ',', num_args = 0..=1,
          require_equals = true, default_missing_value = LADDER,
          value_parser = clients())]
    pub(crate) ladder: Vec<u32>,
    /// Measured time of each closed loop of --ladder [default: 10s, and 2s with --quick]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) rung: Option<Duration>,
    /// Time under load before each of them is measured [default: 1s, and 500ms with --quick]
    #[arg(long, value_parser = duration)]
    pub(crate) warmup: Option<Duration>,
}

/// Reads a share of the capacity such as `150%`.
fn share(text: &str) -> Result<f64, String> {
    percent_of("the capacity", 5.0..=2000.0, text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser as _;

    use super::*;
    use crate::flags::{Command, Flags, MeasureCommand};

    #[test]
    fn the_usual_steps_are_those_of_a_plan() {
        let flags = Flags::try_parse_from(["bakeoff", "overload", "nginx"]).unwrap();
        let Command::Measure(MeasureCommand::Overload(flags)) = flags.command else {
            panic!("the command is an overload");
        };
        let text = "name = \"p\"\nworkloads = [\"synthetic\"]\n[[contender]]\nname = \"a\"\n\
                    server = \"nginx\"\n[[overload]]\n";
        let library = &bakeoff_plan::Builtin;
        let plan = bakeoff_plan::parse(text, "p.toml", Path::new("/"), library).unwrap();
        let overload = plan.loads[0].overload().unwrap();
        assert_eq!(flags.ramp.steps, overload.steps);
    }

    #[test]
    fn shares_are_percent() {
        assert_eq!(share("150%"), Ok(1.5));
        assert_eq!(share(" 12.5 % "), Ok(0.125));
        for wrong in ["150", "%", "-5%", "4%", "nan%", "inf%", "2001%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
