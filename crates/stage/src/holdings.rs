//! What bakeoff has on this machine outside of records: run folders that nobody owns any more,
//! unfinished installations, installed programs; how large each is, and whether it may go.
//!
//! Only folders that a bakeoff of this user has made are found: by their names, in the folder for
//! temporary files and in the folders of programs. No link is followed. It removes nothing by
//! itself: [`leftovers`](crate::leftovers) removes what killed bakeoffs have left, and a program or
//! what could not be removed so goes by [`Holding::remove`].

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::host::KEEPERS;
use crate::installed::FILE;
use crate::leftovers::is_own_folder;
use crate::program;
use crate::run_folder::Owner;
use crate::tree;

/// Bytes of a block as the kernel counts them for a file.
const BLOCK_BYTES: u64 = 512;
/// Entries of a folder that are counted; what has more is larger than what is said.
const ENTRIES_MAX: usize = 1_000_000;
/// The lock and the work folder of a server's folder; see `install/shelf.rs`.
const LOCK: &str = ".lock";
const WORK: &str = ".installing";

/// What is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldingKind {
    /// A run folder.
    Run,
    /// The work folder of an installation.
    Installation,
    /// A version of a server's program.
    Program,
}

/// A folder that bakeoff has made.
#[derive(Debug)]
pub struct Holding {
    /// What it is.
    pub kind: HoldingKind,
    /// Where it is.
    pub path: PathBuf,
    /// What it takes on the disk.
    pub bytes: u64,
    /// Somebody uses it: its lock is held, or a process runs a program in it.
    pub in_use: bool,
}

/// All of them; `parent` is where run folders are made.
pub fn holdings(parent: &Path) -> Vec<Holding> {
    let mut found = Vec::new();
    for path in own_folders_in(parent) {
        if let Some(owner) = name_of(&path).and_then(Owner::of) {
            let in_use = owner.is_running() || is_locked(&path.join(KEEPERS));
            found.push(holding(HoldingKind::Run, path, in_use));
        }
    }
    let folders = program::own_folders().into_iter();
    for shelf in folders.flat_map(|folder| own_folders_in(&folder)) {
        let is_locked = is_locked(&shelf.join(LOCK));
        for path in own_folders_in(&shelf) {
            let name = name_of(&path).unwrap_or_default();
            let is_installed = || {
                let data = path.join(FILE).symlink_metadata();
                !name.starts_with('.') && data.is_ok_and(|data| data.is_file())
            };
            let kind = if name == WORK {
                HoldingKind::Installation
            } else if is_installed() {
                HoldingKind::Program
            } else {
                continue;
            };
            let in_use = is_locked || runs_from(&path);
            found.push(holding(kind, path, in_use));
        }
    }
    found
}

/// Run folders in `parent` that bakeoffs of other users have left, and those users' numbers. Only
/// they may remove them: what is in them is theirs.
pub fn left_by_others(parent: &Path) -> Vec<(PathBuf, u32)> {
    let own = rustix::process::geteuid().as_raw();
    let entries = parent.read_dir().into_iter().flatten().flatten();
    let left = entries.filter_map(|entry| {
        let path = entry.path();
        let owner = name_of(&path).and_then(Owner::of)?;
        let data = path.symlink_metadata().ok()?;
        let is_anothers = data.is_dir() && data.uid() != own;
        (is_anothers && !owner.is_running()).then(|| (path.clone(), data.uid()))
    });
    let mut left: Vec<(PathBuf, u32)> = left.collect();
    left.sort();
    left
}

impl Holding {
    /// Removes it; an installed program goes whole or not at all. `false` where somebody uses it
    /// now, or where it is no folder of this user.
    ///
    /// # Errors
    /// When it cannot be moved or removed.
    pub fn remove(&self) -> io::Result<bool> {
        let Some(shelf) = self.path.parent() else {
            return Ok(false);
        };
        if !is_own_folder(&self.path) {
            return Ok(false);
        }
        if self.kind == HoldingKind::Run {
            // Held until the folder is gone, so that nobody begins to work in it meanwhile.
            let list = File::open(self.path.join(KEEPERS)).ok();
            let lock = |list| flock(list, FlockOperation::NonBlockingLockExclusive);
            if list.as_ref().is_some_and(|list| lock(list).is_err()) {
                return Ok(false);
            }
            return fs::remove_dir_all(&self.path).map(|()| true);
        }
        // Held to the end, so that nobody installs there meanwhile.
        let mut options = File::options();
        let options = options.create(true).truncate(false).write(true);
        let lock = options.open(shelf.join(LOCK))?;
        let is_free = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if !is_free || runs_from(&self.path) {
            return Ok(false);
        }
        // A version is there whole or not at all, also when this is killed now.
        let work = shelf.join(WORK);
        if is_own_folder(&work) {
            fs::remove_dir_all(&work)?;
        }
        if self.kind == HoldingKind::Program {
            fs::rename(&self.path, &work)?;
            fs::remove_dir_all(&work)?;
        }
        Ok(true)
    }
}

/// What a folder and all that is in it take on the disk.
pub fn bytes_in(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    let mut entries = 0;
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            entries += 1;
            if entries > ENTRIES_MAX {
                return bytes;
            }
            // Of a link, not of what it leads to.
            let Ok(data) = entry.metadata() else {
                continue;
            };
            bytes += data.blocks() * BLOCK_BYTES;
            if data.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bytes
}

/// Whether a process runs a program in this folder, as far as this user may know.
pub fn runs_from(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    tree::all().into_iter().any(|pid| {
        let program = fs::read_link(format!("/proc/{pid}/exe"));
        program.is_ok_and(|program| program.starts_with(&folder))
    })
}

fn holding(kind: HoldingKind, path: PathBuf, in_use: bool) -> Holding {
    Holding {
        kind,
        bytes: bytes_in(&path),
        path,
        in_use,
    }
}

fn own_folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is_own_folder(path))
        .collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Whether somebody holds the lock on this file.
fn is_locked(path: &Path) -> bool {
    File::open(path)
        .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn program_in(shelf: &Path) -> Holding {
        let path = shelf.join("1.0");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(FILE), "").unwrap();
        fs::write(path.join("server"), vec![1; 100_000]).unwrap();
        holding(HoldingKind::Program, path, false)
    }

    #[test]
    fn what_another_user_has_left_is_found_and_is_not_ones_own() {
        let parent = tempfile::tempdir().unwrap();
        let me = rustix::process::getpid();
        let folder = parent
            .path()
            .join(format!("bakeoff-run-{me}-1-0123456789abcdef"));
        fs::create_dir(&folder).unwrap();
        assert_eq!(left_by_others(parent.path()), []);
        if std::os::unix::fs::chown(&folder, Some(65534), None).is_err() {
            return; // Only root may give a folder away.
        }
        assert_eq!(left_by_others(parent.path()), [(folder.clone(), 65534)]);
        assert!(holdings(parent.path()).iter().all(|it| it.path != folder));
    }

    #[test]
    fn a_program_goes_whole_unless_its_shelf_is_held() {
        let home = tempfile::tempdir().unwrap();
        let program = program_in(home.path());
        assert!(program.bytes >= 100_000, "{program:?}");
        fs::write(home.path().join("other"), "").unwrap();
        let lock = File::create(home.path().join(LOCK)).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(!program.remove().unwrap() && program.path.exists());
        drop(lock);
        assert!(program.remove().unwrap() && !program.path.exists());
        assert!(home.path().join("other").exists() && !home.path().join(WORK).exists());
    }

    #[test]
    fn what_was_left_goes_unless_somebody_holds_it() {
        for (kind, name, lock) in [
            (HoldingKind::Run, "run", "run/keepers"),
            (HoldingKind::Installation, WORK, LOCK),
        ] {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "").unwrap();
            let left = holding(kind, path, false);
            let lock = File::create(home.path().join(lock)).unwrap();
            flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
            assert!(!left.remove().unwrap() && left.path.join("file").exists());
            drop(lock);
            assert!(left.remove().unwrap() && !left.path.exists());
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let elsewhere = program_in(&home.path().join("elsewhere"));
        let shelf = home.path().join("shelf");
        fs::create_dir(&shelf).unwrap();
        symlink(&elsewhere.path, shelf.join("2.0")).unwrap();
        assert!(own_folders_in(&shelf).is_empty());
        assert!(bytes_in(&shelf) < elsewhere.bytes);
        let linked = holding(HoldingKind::Program, shelf.join("2.0"), false);
        assert!(!linked.remove().unwrap() && elsewhere.path.join("server").exists());
    }

    #[test]
    fn a_running_program_is_seen() {
        let own = std::env::current_exe().unwrap();
        assert!(runs_from(own.parent().unwrap()));
        let empty = tempfile::tempdir().unwrap();
        assert!(!runs_from(empty.path()) && !runs_from(&empty.path().join("none")));
    }
}
