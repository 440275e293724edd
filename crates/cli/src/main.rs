//! `bakeoff`: flags and glue. Every important decision is made in another crate.
//!
//! ```text
//! flags ─► ready values ─► commands/* ─► conduct | load | report | ...
//!                             └─ output.rs prints, interrupt.rs catches Ctrl-C, exit.rs ends
//! ```

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bakeoff_stage::{host, keeper};
use clap::Parser;
use signal_hook::consts::SIGXFSZ;

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
    hear_of_large_files();
    let flags = match flags::Flags::try_parse_from(arguments()) {
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

/// The arguments. `bakeoff help --help` is `bakeoff help`, which would look for a command of that
/// name.
fn arguments() -> Vec<OsString> {
    let mut all: Vec<OsString> = std::env::args_os().collect();
    if all.get(1).is_some_and(|one| one == "help") {
        all.retain(|one| one != "--help" && one != "-h");
    }
    all
}

/// A write beyond `ulimit -f` fails with an error that says what to do, and does not end the
/// process: that is done by any handler of the signal, which programs that are started don't
/// inherit.
fn hear_of_large_files() {
    let heard = Arc::new(AtomicBool::new(false));
    // Without it the signal ends the process, as it would have.
    let _ = signal_hook::flag::register(SIGXFSZ, heard);
}
