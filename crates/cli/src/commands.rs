//! A module for each command that explains, and `measure` for those that need Linux.

use std::io::ErrorKind;

use bakeoff_record::FolderError;

use crate::flags::{Command, ExplainCommand, Flags, SchemaOf, command};
use crate::{exit, output};

mod audit;
mod compare;
mod found;
mod history;
mod man;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(not(target_os = "linux"))]
#[path = "commands/elsewhere.rs"]
mod measure;
mod report;
mod share;
mod site;
mod unanswered;
mod verify;

/// Carries out a command and returns its exit code.
pub(crate) fn carry_out(flags: Flags) -> anyhow::Result<u8> {
    match flags.command {
        Command::Measure(command) => measure::carry_out(command),
        Command::Machine(command) => measure::on_machine(command),
        Command::Explain(command) => explain(command),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command(), "bakeoff", &mut text);
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

fn explain(command: ExplainCommand) -> anyhow::Result<u8> {
    // An audit is of other people's results.
    if !matches!(command, ExplainCommand::Audit(_)) {
        measure::end_leftovers();
    }
    match command {
        ExplainCommand::Report(flags) => match &flags.share {
            Some(folder) => share::carry_out(&flags.record, folder),
            None => report::carry_out(&flags),
        },
        ExplainCommand::Compare(flags) => compare::carry_out(&flags),
        ExplainCommand::History(flags) => history::carry_out(&flags),
        ExplainCommand::Verify(flags) => verify::carry_out(&flags),
        ExplainCommand::Site(flags) => site::carry_out(&flags),
        ExplainCommand::Audit(flags) => audit::carry_out(&flags),
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
