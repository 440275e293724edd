//! The commands that measure, and those for the machine that they need, with a module for each; and
//! what several of them share: `confirm`, `destination`, `ending`, `findings`, `first`, `gated`,
//! `generators`, `load_together`, `made`, `own_file`, `plan_notes`, `resumed`, `run_hosts`,
//! `saved_plan` and `sent`.
//!
//! They start, load and observe programs by what Linux has. `elsewhere.rs` takes the place of this
//! module on other systems.

use std::io::Read as _;
use std::path::Path;

use bakeoff_conduct::SiteError;
use bakeoff_plan::repeated_header;
use bakeoff_report::Redaction;

use crate::flags::{HostsCommand, MachineCommand, MeasureCommand};
use crate::{exit, run_folder};

mod agent;
mod change;
mod clean;
mod confirm;
mod debug;
mod destination;
mod doctor;
mod ending;
mod experiments;
mod faulty;
mod find;
mod findings;
mod first;
mod gated;
mod generators;
mod hosts;
mod install;
mod invented;
mod list;
mod load;
mod load_together;
mod made;
mod overload;
mod own_file;
mod places;
mod plan;
mod plan_notes;
mod race;
mod resumed;
mod run;
mod run_hosts;
mod saved_plan;
mod selftest;
mod sent;
mod serve;
mod trying;

/// Longest body that a flag names, bytes: it is kept in memory, for each thread of a server.
const BODY_BYTES_MAX: u64 = 256 << 20;

/// Carries out a command that measures.
pub(super) fn carry_out(command: MeasureCommand) -> anyhow::Result<u8> {
    end_leftovers();
    match command {
        MeasureCommand::Run(flags) => run::carry_out(&flags),
        MeasureCommand::Race(flags) => race::carry_out(&flags),
        MeasureCommand::Try(flags) => trying::carry_out(&flags),
        MeasureCommand::Find(flags) => find::carry_out(&flags),
        MeasureCommand::Overload(flags) => overload::carry_out(&flags),
        MeasureCommand::Change(flags) => change::carry_out(&flags),
        MeasureCommand::Load(flags) if flags.hosts.are_given() => load_together::carry_out(*flags),
        MeasureCommand::Load(flags) => load::carry_out(flags.load),
    }
}

/// Carries out a command for the machine.
pub(super) fn on_machine(command: MachineCommand) -> anyhow::Result<u8> {
    // The built-in servers run below another bakeoff, and `clean` says what it ends.
    let is_apart = matches!(
        command,
        MachineCommand::Origin(_)
            | MachineCommand::Yardstick(_)
            | MachineCommand::Faulty(_)
            | MachineCommand::Agent
            | MachineCommand::Clean(_)
    );
    if !is_apart {
        end_leftovers();
    }
    match command {
        MachineCommand::Selftest(flags) => selftest::carry_out(&flags),
        MachineCommand::Faulty(command) => faulty::carry_out(&command),
        MachineCommand::Plan(flags) => plan::carry_out(&flags),
        MachineCommand::List(flags) => list::carry_out(&flags),
        MachineCommand::Experiments => experiments::carry_out(),
        MachineCommand::Install(flags) => install::carry_out(&flags),
        MachineCommand::Clean(flags) => clean::carry_out(&flags),
        MachineCommand::Hosts(HostsCommand::Check(flags)) => hosts::check(&flags),
        MachineCommand::Hosts(HostsCommand::Manifest(flags)) => hosts::manifest(&flags),
        MachineCommand::Doctor(flags) => doctor::carry_out(&flags),
        MachineCommand::Debug(flags) => debug::carry_out(&flags),
        MachineCommand::Origin(flags) => serve::origin(&flags),
        MachineCommand::Agent => agent::carry_out(),
        MachineCommand::Yardstick(flags) => serve::yardstick(&flags),
    }
}

/// Ends and removes what bakeoffs that were killed have left.
pub(super) fn end_leftovers() {
    run_folder::clean();
}

/// The exit of a site that did not do what it was asked before the first trial.
fn not_asked(error: SiteError) -> anyhow::Error {
    match error {
        SiteError::Refused(why) => exit::usage(why),
        SiteError::Lost(why) => exit::not_valid(why),
    }
}

/// A stage's error with the server's own message below it. The user can fix what the server rejects
/// and what is not installed, so the exit code is 2.
fn stage_error(error: bakeoff_stage::StageError) -> anyhow::Error {
    // It may quote lines of the configuration.
    let message = error.message.as_deref().unwrap_or("").trim_end();
    let message = Redaction::default().line(message);
    let below = if message.is_empty() {
        String::new()
    } else {
        format!("\n{message}")
    };
    let step = crate::display::step_name(error.step);
    exit::usage(format!("failed at {step}: {error}{below}"))
}

/// Refuses headers that a request may have once and that are given again.
fn refuse_repeated(headers: &[(String, String)]) -> anyhow::Result<()> {
    match repeated_header(headers) {
        Some(name) => Err(exit::usage(format!(
            "header {name:?} is given twice, and a request has it once: leave one of them out"
        ))),
        None => Ok(()),
    }
}

/// The body in a file that a flag names, which may be a pipe.
fn body_at(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(BODY_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BODY_BYTES_MAX {
        let problem = format!("it is longer than {BODY_BYTES_MAX} bytes");
        return Err(std::io::Error::other(problem));
    }
    Ok(bytes)
}
