//! One module for each command, and what several of them share: `confirm`, `ending`, `findings`,
//! `first`, `gated`, `generators`, `load_together`, `made`, `own_file`, `plan_notes`, `resumed`,
//! `run_hosts` and `saved_plan`.

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use bakeoff_record::FolderError;
use bakeoff_report::Redaction;
use clap::CommandFactory;

use crate::flags::{Command, Flags, HostsCommand, SchemaOf};
use crate::{exit, output, run_folder};

mod agent;
mod audit;
mod clean;
mod compare;
mod confirm;
mod debug;
mod doctor;
mod ending;
mod faulty;
mod find;
mod findings;
mod first;
mod gated;
mod generators;
mod history;
mod hosts;
mod install;
mod list;
mod load;
mod load_together;
mod made;
mod man;
mod overload;
mod own_file;
mod plan;
mod plan_notes;
mod race;
mod report;
mod resumed;
mod run;
mod run_hosts;
mod saved_plan;
mod selftest;
mod serve;
mod share;
mod site;
mod trying;
mod verify;

/// Longest body that a flag names, bytes: it is kept in memory, for each thread of a server.
const BODY_BYTES_MAX: u64 = 256 << 20;

/// Carries out a command and returns its exit code.
pub(crate) fn carry_out(flags: Flags) -> anyhow::Result<u8> {
    // The built-in servers run below another bakeoff, and the others only print.
    let is_small = matches!(
        flags.command,
        Command::Audit(_)
            | Command::Origin(_)
            | Command::Yardstick(_)
            | Command::Faulty(_)
            | Command::Agent
            | Command::Completions { .. }
            | Command::Clean(_)
            | Command::Man(_)
            | Command::Schema { .. }
    );
    if !is_small {
        run_folder::clean();
    }
    match flags.command {
        Command::Run(flags) => run::carry_out(&flags),
        Command::Race(flags) => race::carry_out(&flags),
        Command::Try(flags) => trying::carry_out(&flags),
        Command::Find(flags) => find::carry_out(&flags),
        Command::Overload(flags) => overload::carry_out(&flags),
        Command::Load(flags) if flags.hosts.are_given() => load_together::carry_out(*flags),
        Command::Load(flags) => load::carry_out(&flags.load),
        Command::Report(flags) => report::carry_out(&flags),
        Command::Compare(flags) => compare::carry_out(&flags),
        Command::History(flags) => history::carry_out(&flags),
        Command::Verify(flags) => verify::carry_out(&flags),
        Command::Site(flags) => site::carry_out(&flags),
        Command::Audit(flags) => audit::carry_out(&flags),
        Command::Selftest(flags) => selftest::carry_out(&flags),
        Command::Faulty(command) => faulty::carry_out(&command),
        Command::Plan(flags) => plan::carry_out(&flags),
        Command::List(flags) => list::carry_out(&flags),
        Command::Install(flags) => install::carry_out(&flags),
        Command::Clean(flags) => clean::carry_out(&flags),
        Command::Hosts(HostsCommand::Check(flags)) => hosts::check(&flags),
        Command::Hosts(HostsCommand::Manifest(flags)) => hosts::manifest(&flags),
        Command::Doctor(flags) => doctor::carry_out(&flags),
        Command::Debug(flags) => debug::carry_out(&flags),
        Command::Origin(flags) => serve::origin(&flags),
        Command::Agent => agent::carry_out(),
        Command::Yardstick(flags) => serve::yardstick(&flags),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Flags::command(), "bakeoff", &mut text);
            print(&text)
        }
        Command::Man(flags) => man::carry_out(&flags),
        Command::Schema { of: SchemaOf::Plan } => print(bakeoff_plan::plan_schema().as_bytes()),
        Command::Schema {
            of: SchemaOf::Hosts,
        } => print(bakeoff_plan::hosts_schema().as_bytes()),
        Command::Schema {
            of: SchemaOf::Workload,
        } => print(bakeoff_plan::workload_schema().as_bytes()),
    }
}

fn print(text: &[u8]) -> anyhow::Result<u8> {
    output::document(&String::from_utf8_lossy(text))?;
    Ok(exit::DONE)
}

/// Exit code 2 for a record that is missing or not as it should be, which the user can fix; 1 for
/// a disk that cannot be written or read.
fn folder_error(error: FolderError) -> anyhow::Error {
    match error {
        // A file that is not there, or is no text, is a damaged record.
        FolderError::File {
            action: "read",
            ref source,
            ..
        } if matches!(
            source.kind(),
            ErrorKind::NotFound | ErrorKind::InvalidData | ErrorKind::InvalidInput
        ) =>
        {
            exit::usage(error)
        }
        FolderError::File { .. } | FolderError::Append { .. } => error.into(),
        other => exit::usage(other),
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
