//! `bakeoff plan`: what a plan would run, in which order and for how long.
//!
//! It executes nothing, not even for the version of a program: a plan from somebody else can be
//! looked at first.

use bakeoff_conduct::{Beyond, Depth, Sequence as _, preflight};
use bakeoff_plan::{Plan, expected_duration, trials};
use bakeoff_report::{Redaction, counted};
use bakeoff_stage::Asks;

use super::findings::print;
use super::plan_notes;
use crate::display::spoken;
use crate::flags::PlanFlags;
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::run_folder::RunFolder;
use crate::{exit, output};

pub(crate) fn carry_out(flags: &PlanFlags) -> anyhow::Result<u8> {
    let library = Folder::of(&flags.library)?;
    let plan = library.plan(flags)?;
    output::result(&listing(&plan))?;
    let redaction = Redaction::of_plan(&plan);
    plan_notes::print(&plan, &redaction);
    let interrupt = Interrupt::listen_with_limit()?;
    let scratch = RunFolder::make()?;
    let (_, stage) = scratch.stage(library.servers().asking(Asks::None))?;
    let findings = preflight(&plan, &stage, &scratch.path().join("check"), Depth::Files);
    if interrupt.came() {
        return Ok(exit::INTERRUPTED);
    }
    print(&findings, &redaction)?;
    Ok(exit::DONE)
}

fn listing(plan: &Plan) -> String {
    if plan.is_search() {
        return searches(plan);
    }
    if plan.is_overload() {
        return overloads(plan);
    }
    let trials = trials(plan);
    let mut text = format!("{}: {}\n", plan.name, plan.description.trim());
    text.push_str(&format!(
        "{}, {}, {}, {}: {}, about {}\n",
        counted(plan.contenders.len() as u64, "contender"),
        counted(plan.workloads.len() as u64, "workload"),
        counted(plan.loads.len() as u64, "load"),
        counted(u64::from(plan.rounds), "round"),
        counted(trials.len() as u64, "trial"),
        spoken(expected_duration(plan))
    ));
    let mut round = 0;
    for trial in &trials {
        if trial.round != round {
            round = trial.round;
            text.push_str(&format!("round {round}\n"));
        }
        let seconds = trial.load.warmup_s + trial.load.duration_s;
        text.push_str(&format!(
            "  {:4}  {:6.1} s  {}\n",
            trial.index + 1,
            seconds,
            trial.id
        ));
    }
    text
}

/// A search decides its trials as it goes.
fn searches(plan: &Plan) -> String {
    let mut text = format!("{}: {}\n", plan.name, plan.description.trim());
    for load in &plan.loads {
        let Some(search) = load.search() else {
            continue;
        };
        text.push_str(&format!(
            "{}: {} contenders, {} workloads, trials of {} s, at most {}\n",
            load.label(),
            plan.contenders.len(),
            plan.workloads.len(),
            load.duration_s,
            spoken(search.budget)
        ));
        for goal in &search.goals {
            text.push_str(&format!("  {goal}\n"));
        }
    }
    text
}

/// The rates of an overload are known once the capacities are.
fn overloads(plan: &Plan) -> String {
    let left = Beyond::new(plan, &[]).left(&[]);
    let mut text = format!("{}: {}\n", plan.name, plan.description.trim());
    text.push_str(&format!(
        "{}, {}, {}: {}, about {}\n",
        counted(plan.contenders.len() as u64, "contender"),
        counted(plan.workloads.len() as u64, "workload"),
        counted(u64::from(plan.rounds), "round"),
        counted(left.trials as u64, "trial"),
        spoken(left.expected)
    ));
    for load in &plan.loads {
        let Some(overload) = load.overload() else {
            continue;
        };
        let steps: Vec<String> = overload
            .steps
            .iter()
            .map(|it| format!("{}", it * 100.0))
            .collect();
        text.push_str(&format!(
            "  {}: {} % of the capacity, {} s each\n",
            load.label(),
            steps.join(", "),
            load.duration_s
        ));
    }
    text
}
