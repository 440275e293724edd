//! `bakeoff change`: what an action costs those who are connected.
//!
//! The operands are those of a race; what is made of them is a plan of rounds in whose loads
//! something is done, and it is carried out, recorded and continued like any other.

use bakeoff_plan::{
    Action, Actions, CHANGE_RATE, Contender, Load, LoadModel, Plan, Question, ServerChoice,
};

use super::made::{self, Asked, Kind};
use crate::flags::{ChangeFlags, DoneFlags};
use crate::library::Folder;
use crate::output;

/// A change, as the command line asks for one.
const CHANGE: Kind = Kind {
    question: Question::Change,
    name: "change",
    without_contenders: "a change needs a contender: a server, a configuration file, a URL or \
                         --start 'COMMAND', as in `bakeoff change nginx caddy`",
    announce,
};

pub(crate) fn carry_out(flags: &ChangeFlags) -> anyhow::Result<u8> {
    let plan = |library: &Folder| plan(flags, library);
    CHANGE.carry_out(&flags.operands, &flags.record, plan, |_| {})
}

/// What it will do.
fn announce(plan: &Plan) {
    let asked = asking(&made::names(plan), &plan.loads, plan.rounds);
    output::note(&format!("{asked}; Ctrl-C keeps what was measured"));
}

fn asking(names: &str, loads: &[Load], rounds: u32) -> String {
    let done = loads.iter().filter_map(|load| load.actions.as_ref());
    let done = done.map(|it| format!("{} x {}", it.times, it.action.name()));
    let done: Vec<String> = done.collect();
    format!("{names}: {} in each of {rounds} rounds", done.join(", "))
}

fn plan(flags: &ChangeFlags, library: &Folder) -> anyhow::Result<Plan> {
    let done = &flags.done;
    let asked = Asked {
        clients: done.clients,
        streams: done.streams,
        rounds: done.rounds,
        seed: done.seed,
        pinning: &done.pinning,
    };
    CHANGE.plan(&flags.operands, &asked, library, |plan| {
        let names = made::names(plan);
        plan.description = format!("What a change costs those connected to {names}.");
        for contender in &mut plan.contenders {
            if let Some(command) = done.with.as_ref().filter(|it| misses(contender, it)) {
                anyhow::bail!(
                    "--with `{command}` acts on a server that this machine runs, and not on {}, \
                     which bakeoff starts: write `kill -HUP $BAKEOFF_PID`, with the signal that it \
                     takes",
                    contender.name
                );
            }
            contender.action_command.clone_from(&done.with);
        }
        Ok(done.actions.iter().map(|it| load(done, *it)).collect())
    })
}

/// Programs that act on a server that the system runs.
const SERVICES: [&str; 4] = ["systemctl", "service", "apachectl", "apache2ctl"];

/// Whether a command is about a server that the system runs, and not the one of a trial.
fn misses(contender: &Contender, command: &str) -> bool {
    let says = |wanted: &str| {
        let mut words = command.split_whitespace();
        words.any(|word| word.rsplit('/').next() == Some(wanted))
    };
    // Where `nginx -s` gets another file of the process, it may be the right one.
    let is_by_file = says("nginx") && says("-s") && !command.contains("pid");
    matches!(contender.server, ServerChoice::Program { .. })
        && (is_by_file || SERVICES.iter().any(|program| says(program)))
}

fn load(done: &DoneFlags, action: Action) -> Load {
    let actions = Actions {
        action,
        times: done.times,
        every: done.every,
        kept: done.kept,
    };
    let (arrival, clients) = (done.arrival.ready(), done.clients);
    let rate_per_s = done.rate.unwrap_or(CHANGE_RATE);
    let open = LoadModel::Open {
        rate_per_s,
        arrival,
        clients,
    };
    let share = |capacity_share| LoadModel::OpenShare {
        capacity_share,
        arrival,
        clients,
    };
    let model = done.share.map_or(open, share);
    Load {
        warmup_s: done.warmup.as_secs_f64(),
        timeout_s: done.timeout.as_secs_f64(),
        ..Load::new(model, actions.window().as_secs_f64()).with_actions(actions)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::flags::{Command, Flags, MeasureCommand};

    #[track_caller]
    fn check(contender: &str, command: &str, is_refused: bool) {
        let flags = Flags::try_parse_from(["bakeoff", "change", contender, "--with", command]);
        let Command::Measure(MeasureCommand::Change(flags)) = flags.unwrap().command else {
            panic!("the command is a change");
        };
        let plan = plan(&flags, &Folder::new(None).unwrap());
        let refused = plan.err().map(|error| error.to_string());
        let says = refused
            .as_ref()
            .is_some_and(|it| it.contains("kill -HUP $BAKEOFF_PID"));
        assert_eq!(says, is_refused, "{command}: {refused:?}");
    }

    #[test]
    fn a_command_about_another_server_than_the_trials_is_refused() {
        for command in [
            "nginx -s reload",
            "sudo systemctl reload nginx",
            "/usr/sbin/nginx -s quit",
        ] {
            check("nginx", command, true);
            check("http://127.0.0.1:1/", command, false);
        }
        for command in [
            "kill -HUP $BAKEOFF_PID",
            "nginx -s reload -g 'pid a.pid;'",
            "./reload.sh",
        ] {
            check("nginx", command, false);
        }
    }
}
