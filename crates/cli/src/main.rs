//! `bakeoff`: flags and glue. Every important decision is made in another crate.
//!
//! Commands that measure need Linux. Those that explain records only need files, and are the only
//! ones on other systems.
//!
//! ```text
//! flags ─► ready values ─► commands/* ─► conduct | load | report | ...
//!                             └─ output.rs prints, interrupt.rs catches Ctrl-C, exit.rs ends
//! ```

#![cfg_attr(
    not(target_os = "linux"),
    allow(
        dead_code,
        unused_imports,
        reason = "what commands that measure would use"
    )
)]

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(target_os = "linux")]
use bakeoff_stage::{host, keeper};
use signal_hook::consts::SIGXFSZ;

#[cfg(target_os = "linux")]
mod campaigns;
mod commands;
#[cfg(target_os = "linux")]
mod display;
mod exit;
mod flags;
#[cfg(target_os = "linux")]
mod interrupt;
#[cfg(target_os = "linux")]
mod library;
#[cfg(target_os = "linux")]
mod metrics;
mod output;
mod paths;
#[cfg(target_os = "linux")]
mod record_place;
#[cfg(target_os = "linux")]
mod run_folder;
#[cfg(target_os = "linux")]
mod standings;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = be_part_of_another() {
        return code;
    }
    hear_of_large_files();
    let flags = match flags::Flags::of(arguments()) {
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

/// Carries out what this process was started for by another bakeoff, or gets ready to start such
/// processes itself.
#[cfg(target_os = "linux")]
fn be_part_of_another() -> Option<ExitCode> {
    // A keeper is started for each server. It needs no flags, prints nothing and must not wait.
    if std::env::args_os()
        .next()
        .is_some_and(|name| name == keeper::NAME)
    {
        let code = keeper::main();
        return Some(ExitCode::from(u8::try_from(code).unwrap_or(exit::FAILED)));
    }
    host::take_name(c"bakeoff");
    host::has_keeper();
    None
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
