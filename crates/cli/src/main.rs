//! `bakeoff`: flags and glue. Every important decision is made in another crate.
//!
//! ```text
//! flags ─► ready values ─► commands/* ─► conduct | load | report | ...
//!                             └─ output.rs prints, interrupt.rs catches Ctrl-C, exit.rs ends
//! ```

use std::process::ExitCode;

use clap::Parser;

mod commands;
mod display;
mod exit;
mod flags;
mod interrupt;
mod library;
mod output;
mod run_folder;
mod standings;

fn main() -> ExitCode {
    // A keeper is started for each server. It needs no flags, prints nothing and must not wait.
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("keeper") {
        let code = bakeoff_stage::keeper::main(arguments);
        return ExitCode::from(u8::try_from(code).unwrap_or(exit::FAILED));
    }
    let flags = flags::Flags::parse();
    match commands::carry_out(flags) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::error(&error);
            ExitCode::from(exit::code_of(&error))
        }
    }
}
