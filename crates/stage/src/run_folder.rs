//! The folder for files that live as long as a trial: sockets, caches, served files.
//!
//! Its name says which process it belongs to, by number and start time, and ends in a part that
//! nobody can guess. Its owner holds a lock on the list of its keepers in it, which another PID
//! namespace sees too. It goes with its owner; what a killed one left is removed by the next
//! ([`leftovers`](crate::leftovers)).

use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::Pid;

use crate::host::{self, KEEPERS};
use crate::tree;

/// Beginning of the folder's name; number and start time of the process follow, and a random part.
const PREFIX: &str = "bakeoff-run-";
/// Names that are tried.
const NAMES_MAX: u32 = 16;

/// A run folder. Removed when dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Locked as long as this process lives.
    _list: File,
}

impl RunFolder {
    /// Makes a new folder in `parent`.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn make_in(parent: &Path) -> io::Result<Self> {
        let path = make_folder(parent)?;
        let made = list_in(&path);
        if made.is_err() {
            let _ = std::fs::remove_dir_all(&path);
        }
        host::note_in(&path.join(KEEPERS));
        Ok(Self { _list: made?, path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if host::is_run_folder_left() {
            return;
        }
        // What cannot be removed now is removed by the next bakeoff.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A folder that is made in one step and belongs to nobody else, whatever others put beside it.
fn make_folder(parent: &Path) -> io::Result<PathBuf> {
    let me = rustix::process::getpid();
    let started = tree::started(me).unwrap_or_default();
    // A server that gives up root must be able to enter it, but nobody needs to list it.
    let mode = if rustix::process::geteuid().is_root() {
        0o711
    } else {
        0o700
    };
    let mut tried = 0;
    loop {
        // The keys of the hasher come from the system's random numbers.
        let random = RandomState::new().build_hasher().finish();
        let path = parent.join(format!("{PREFIX}{me}-{started}-{random:016x}"));
        tried += 1;
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {
                // Whatever the umask is.
                std::fs::set_permissions(&path, PermissionsExt::from_mode(mode))?;
                return Ok(path);
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && tried < NAMES_MAX => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// Makes the list of keepers, and locks it.
fn list_in(folder: &Path) -> io::Result<File> {
    let path = folder.join(KEEPERS);
    let mut list = File::options().write(true).create_new(true).open(path)?;
    // A file system without locks leaves the folder's name, which is enough on one system.
    let _ = flock(&list, FlockOperation::NonBlockingLockExclusive);
    list.write_all(format!("boot {}\n", boot()).as_bytes())?;
    Ok(list)
}

/// The text with `TRIAL` in place of each path of a trial's folder, which is gone when it is read.
/// Such a folder is in a run folder; a path begins at the first slash after a blank, a quote or a
/// sign that ends a word.
pub fn without_trial_folders(text: &str) -> String {
    let ends_word =
        |it: char| it.is_whitespace() || matches!(it, '"' | '\'' | '`' | '=' | ',' | ':' | '(');
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PREFIX) {
        let (before, folder) = rest.split_at(at);
        let word = before.rfind(ends_word).map_or(0, |at| at + 1);
        let end = folder
            .find(|it: char| it.is_whitespace() || matches!(it, '"' | '\'' | '`' | ';' | ','))
            .unwrap_or(folder.len());
        let start = before[word..].find('/').map(|it| word + it);
        let below = folder[..end].split_once('/').map(|(_, below)| below);
        match (start, below) {
            (Some(start), Some(below)) => {
                shown.push_str(&before[..start]);
                shown.push_str("TRIAL");
                if let Some((_, inside)) = below.split_once('/') {
                    shown.push('/');
                    shown.push_str(inside);
                }
            }
            _ => shown.push_str(&rest[..at + end]),
        }
        rest = &folder[end..];
    }
    shown + rest
}

/// Names this run of the operating system: numbers and start times repeat in the next.
pub(crate) fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The process whose folder this name belongs to: number and start time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Owner(Pid, u64);

impl Owner {
    /// Read from a folder's name; `None` for one that no bakeoff has made.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let rest = name.strip_prefix(PREFIX)?;
        let number = |text: &str| {
            let number = text.parse().ok().filter(|&number: &i32| number > 0)?;
            Pid::from_raw(number)
        };
        let (pid, rest) = rest.split_once('-')?;
        let (started, _) = rest.split_once('-')?;
        Some(Self(number(pid)?, started.parse().ok()?))
    }

    pub(crate) fn is_running(&self) -> bool {
        tree::is_running(self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_s_folder_is_shown_without_its_path() {
        let folder = "/tmp/bakeoff-run-12-345-00ff00ff00ff00ff/r1-a";
        for (text, shown) in [
            ("listen 80;".to_owned(), "listen 80;"),
            (format!("pid {folder}/run/pid;"), "pid TRIAL/run/pid;"),
            (format!("root \"{folder}\";"), "root \"TRIAL\";"),
            (
                format!("unix:{folder}/s, {folder}/run/é;"),
                "unix:TRIAL/s, TRIAL/run/é;",
            ),
            ("see bakeoff-run-1".to_owned(), "see bakeoff-run-1"),
            ("/tmp/bakeoff-run-1 é".to_owned(), "/tmp/bakeoff-run-1 é"),
        ] {
            assert_eq!(without_trial_folders(&text), shown);
        }
    }

    #[test]
    fn a_folder_is_new_and_says_whose_it_is() {
        let parent = tempfile::tempdir().unwrap();
        let one = RunFolder::make_in(parent.path()).unwrap();
        let two = RunFolder::make_in(parent.path()).unwrap();
        assert_ne!(one.path(), two.path());
        let me = rustix::process::getpid();
        let owner = Owner::of(one.path().file_name().unwrap().to_str().unwrap()).unwrap();
        assert_eq!(owner, Owner(me, tree::started(me).unwrap()));
        assert!(owner.is_running());
        let mode = one.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o066, 0, "nobody else may list or write: {mode:o}");
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && two.path().exists());
    }

    #[test]
    fn only_names_of_our_making_have_an_owner() {
        let pid = |number| Pid::from_raw(number).unwrap();
        let check = |name: &str, owner: Option<Owner>| assert_eq!(Owner::of(name), owner, "{name}");
        check("bakeoff-run-71-5-00ff", Some(Owner(pid(71), 5)));
        for name in [
            "bakeoff-run-",
            "bakeoff-run-71",
            "bakeoff-run-71-5",
            "bakeoff-run--1-5-0",
            "other-71-5-0",
        ] {
            check(name, None);
        }
        let started = tree::started(rustix::process::getpid()).unwrap();
        let other = Owner(rustix::process::getpid(), started + 1);
        assert!(!other.is_running(), "a number alone names nobody");
    }
}
