//! `bakeoff change`: what an action costs those who are connected.
//!
//! The operands are those of a race; what is made of them is a plan of rounds in whose loads
//! something is done, and it is carried out, recorded and continued like any other.

use bakeoff_plan::{Action, Actions, Load, LoadModel, Overrides, Plan, RoundsAsked};

use super::made::Kind;
use super::{made, race};
use crate::flags::{ChangeFlags, DoneFlags};
use crate::library::Folder;
use crate::output;

/// A change, as the command line asks for one.
const CHANGE: Kind = Kind {
    name: "change",
    is_in: Plan::is_change,
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

/// The plan of the change, as its file would be read again.
fn plan(flags: &ChangeFlags, library: &Folder) -> anyhow::Result<Plan> {
    let done = &flags.done;
    let asked = Overrides {
        clients: Some(vec![done.clients]),
        streams: done.streams,
        rounds: RoundsAsked::number(done.rounds),
        seed: done.seed,
        ..Overrides::default()
    };
    let mut plan = made::contenders("change", &flags.operands, &done.pinning, asked, library)?;
    plan.description = format!(
        "What a change costs those connected to {}.",
        made::names(&plan)
    );
    for contender in &mut plan.contenders {
        contender.action_command.clone_from(&done.with);
    }
    let streams = plan.loads.first().map_or(1, |load| load.streams);
    let load = |action: &Action| Load {
        streams,
        ..load(done, *action)
    };
    plan.loads = done.actions.iter().map(load).collect();
    race::checked(&plan, &plan.name, library)
}

fn load(done: &DoneFlags, action: Action) -> Load {
    let actions = Actions {
        action,
        times: done.times,
        every: done.every,
        kept: done.kept,
    };
    let model = LoadModel::Open {
        rate_per_s: done.rate,
        arrival: done.arrival.ready(),
        clients: done.clients,
    };
    Load {
        warmup_s: done.warmup.as_secs_f64(),
        timeout_s: done.timeout.as_secs_f64(),
        ..Load::new(model, actions.window().as_secs_f64()).with_actions(actions)
    }
}
