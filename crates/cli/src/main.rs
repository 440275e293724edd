//! `bakeoff`: flags and glue. Every important decision is made in another crate.
//!
//! ```text
//! flags ─► ready values ─► commands/* ─► conduct | load | report | ...
//!                             └─ output.rs prints, interrupt.rs catches Ctrl-C, exit.rs ends
//! ```

use std::process::ExitCode;

use bakeoff_stage::{host, keeper};
use clap::Parser;

mod campaigns;
mod commands;
mod display;
mod exit;
mod flags;
mod interrupt;
mod library;
mod metrics;
mod output;
mod paths;
mod record_place;
mod run_folder;
mod standings;

fn main() -> ExitCode {
    // A keeper is started for each server. It needs no flags, prints nothing and must not wait.
    if std::env::args_os()
        .next()
        .is_some_and(|name| name == keeper::NAME)
    {
        let code = keeper::main();
        return ExitCode::from(u8::try_from(code).unwrap_or(exit::FAILED));
    }
    host::take_name(c"bakeoff");
    host::has_keeper();
    let flags = match flags::Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return output::from_clap(&error),
    };
    match commands::carry_out(flags) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::error(&error);
            ExitCode::from(exit::code_of(&error))
        }
    }
}
