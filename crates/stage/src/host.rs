//! What the program around this crate has set once, for all that it does: that a keeper is
//! part of it, where keepers are listed, and that somebody has asked to end.
//!
//! A program that says nothing, such as a test, has no keeper for short commands and is never
//! interrupted.

use std::ffi::CStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bakeoff_record::Step;

use crate::error::{Cause, StageError};

/// The program of this process as it is mapped, wherever its file is now.
const MAPPED: &str = "/proc/self/exe";
/// Set to a list of `groups` and `namespace` to do without them, which tests do.
const WITHOUT: &str = "BAKEOFF_WITHOUT";
/// The list of keepers in a run folder.
pub(crate) const KEEPERS: &str = "keepers";

static KEEPER: OnceLock<Vec<String>> = OnceLock::new();
static INTERRUPT: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static NOTES: OnceLock<PathBuf> = OnceLock::new();
/// Whether the run folder is for the next bakeoff to remove, with what is named in it.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Says that this program becomes a [keeper](crate::keeper) when it is started by the name
/// [`keeper::NAME`](crate::keeper::NAME). Short commands run under one from now on.
pub fn has_keeper() {
    let _ = KEEPER.set(vec![MAPPED.to_owned()]);
    own_program();
}

/// Gives a process that was started as it is mapped, or by a descriptor, its program's name, which
/// it does not have from the kernel then.
pub fn take_name(name: &CStr) {
    let now = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let now = now.trim_end();
    if Path::new(MAPPED).ends_with(now) || now.parse::<u32>().is_ok() {
        let _ = rustix::thread::set_name(name);
    }
}

/// Says where it is seen that somebody asked to end: every wait ends soon after.
pub fn hear(flag: Arc<AtomicBool>) {
    let _ = INTERRUPT.set(flag);
}

/// Whether somebody asked to end.
pub fn is_interrupted() -> bool {
    let flag = INTERRUPT.get();
    flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// An error if somebody asked to end.
pub(crate) fn check(step: Step) -> Result<(), StageError> {
    if is_interrupted() {
        return Err(StageError::new(step, Cause::Interrupted));
    }
    Ok(())
}

/// The error of a wait that somebody cut short.
pub(crate) fn interrupted() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "interrupted")
}

/// The list in a run folder for the keepers of short commands.
pub(crate) fn note_in(list: &Path) {
    let _ = NOTES.set(list.to_owned());
}

/// Leaves the run folder to the next bakeoff, which ends what is named in it.
pub(crate) fn leave_run_folder() {
    LEFT.store(true, Ordering::Relaxed);
}

pub(crate) fn is_run_folder_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// The keeper for short commands, where the program has one.
pub(crate) fn keeper() -> Option<Keepers> {
    Some(Keepers {
        command: KEEPER.get()?.clone(),
        note: NOTES.get().cloned(),
        // Their processes may be a package manager's, which look at those of the system.
        namespace: false,
    })
}

/// How keepers are started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keepers {
    /// Command line.
    pub(crate) command: Vec<String>,
    /// The list that they add themselves to.
    pub(crate) note: Option<PathBuf>,
    /// Whether they may use a PID namespace.
    pub(crate) namespace: bool,
}

impl Keepers {
    /// Keepers for servers, listed in this folder if it keeps a list.
    pub(crate) fn listed_in(folder: &Path, command: Vec<String>) -> Self {
        let note = folder.join(KEEPERS);
        Self {
            command,
            note: note.is_file().then_some(note),
            namespace: !is_without("namespace"),
        }
    }

    /// Whether the keeper is this very program.
    pub(crate) fn is_own(&self) -> bool {
        let program = self.command.first();
        program.is_some_and(|program| program == MAPPED || is_own(Path::new(program)))
    }
}

/// Whether a means of the system is to be left unused.
pub(crate) fn is_without(means: &str) -> bool {
    let without = std::env::var(WITHOUT).unwrap_or_default();
    without.split(',').any(|one| one == means)
}

/// The file to execute or read for `path`: this program as it is mapped, if `path` is where this
/// program was found. A new version that was put in its place meanwhile is another program.
pub(crate) fn mapped(path: &Path) -> &Path {
    if is_own(path) {
        return Path::new(MAPPED);
    }
    path
}

fn is_own(path: &Path) -> bool {
    own_program().is_some_and(|own| own == path)
}

/// Where this program was found; once its file is replaced, the kernel no longer says.
fn own_program() -> Option<&'static Path> {
    static OWN: OnceLock<Option<PathBuf>> = OnceLock::new();
    OWN.get_or_init(|| std::env::current_exe().ok()).as_deref()
}
