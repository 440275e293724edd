//! What bakeoffs that were killed have left, ended and removed by the next one: processes that no
//! keeper held any more, containers, run folders, control groups, unfinished installations.
//!
//! Nothing is ended by its number alone. A keeper is known by its number and start time from the
//! list in the run folder; a process below it by its parents; and one that has lost them by the
//! mark in its environment, or by its keeper's session together with a file in the run folder.
//! Nothing of a process that runs is touched, and nothing of another user.

use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal};

use crate::belonging::{Keeper, marks, uses};
use crate::cgroup::Cgroups;
use crate::container::holder;
use crate::host::KEEPERS;
use crate::program;
use crate::run_folder::{Owner, boot};
use crate::tree::{self, Process};

/// What keepers get to do that themselves, whose bakeoff has just been killed.
const BY_THEMSELVES: Duration = Duration::from_millis(500);
/// What killed processes get to vanish. Far more than they take.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// What a bakeoff gets from making its run folder to locking the list in it. Far more than it
/// takes.
const MADE_WITHIN: Duration = Duration::from_secs(10);
/// A list of keepers is longer than this only if somebody else wrote it.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// Removes all of it; `parent` is where run folders are made. Returns how many processes were
/// ended.
pub fn remove(parent: &Path) -> usize {
    let mut ended = 0;
    for entry in parent.read_dir().into_iter().flatten().flatten() {
        let owner = entry.file_name().to_str().and_then(Owner::of);
        if owner.is_some_and(|owner| !owner.is_running()) {
            ended += remove_run_folder(&entry.path());
        }
    }
    Cgroups::detect().remove_left_over();
    remove_unfinished_installations();
    ended
}

/// Ends what is left below a run folder's keepers, and removes the folder.
fn remove_run_folder(folder: &Path) -> usize {
    // A folder of another user may say anything, and a link leads anywhere.
    if !is_own_folder(folder) {
        return 0;
    }
    let list = File::open(folder.join(KEEPERS)).ok();
    if is_being_made(folder, list.as_ref()) {
        return 0;
    }
    // Somebody in another PID namespace may be at work in it.
    let lock = list
        .as_ref()
        .map(|list| flock(list, FlockOperation::NonBlockingLockExclusive));
    if lock == Some(Err(rustix::io::Errno::WOULDBLOCK)) {
        return 0;
    }
    let ended = list.map_or(0, |list| end(folder, &listed_in(list)));
    if holder::remove_left_in(folder) {
        let _ = std::fs::remove_dir_all(folder);
    }
    ended
}

/// Whether somebody may be about to lock the list in a folder: in another PID namespace, whose
/// processes are not seen here.
fn is_being_made(folder: &Path, list: Option<&File>) -> bool {
    let is_written = |list: &File| list.metadata().is_ok_and(|data| data.len() > 0);
    let made = folder.symlink_metadata().and_then(|data| data.modified());
    let age = made.ok().and_then(|made| made.elapsed().ok());
    !list.is_some_and(is_written) && age.is_some_and(|age| age < MADE_WITHIN)
}

pub(crate) fn is_own_folder(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    path.symlink_metadata()
        .is_ok_and(|data| data.is_dir() && data.uid() == own)
}

/// The keepers of a list that was written since the system started.
fn listed_in(list: File) -> Vec<Keeper> {
    use std::io::Read as _;
    let mut text = String::new();
    let read = list.take(LIST_BYTES_MAX).read_to_string(&mut text);
    let mut lines = text.lines();
    let now = format!("boot {}", boot());
    if read.is_err() || lines.next() != Some(now.as_str()) {
        return Vec::new();
    }
    let keepers = lines.filter_map(|line| {
        let (pid, started) = line.strip_prefix("keeper ")?.split_once(' ')?;
        Some(Keeper {
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
        })
    });
    keepers.collect()
}

/// Ends everything that belongs to these keepers of a run folder; returns how many processes.
fn end(folder: &Path, keepers: &[Keeper]) -> usize {
    let begun = Instant::now();
    let mut ended = Vec::new();
    loop {
        let left = left(folder, keepers);
        if left.is_empty() || begun.elapsed() >= GONE_WITHIN {
            return ended.len();
        }
        if begun.elapsed() < BY_THEMSELVES {
            std::thread::sleep(LOOK_AGAIN);
            continue;
        }
        for process in left {
            if let Some(pid) = Pid::from_raw(process.pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            let known = (process.pid, process.started);
            if !ended.contains(&known) {
                ended.push(known);
            }
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn left(folder: &Path, keepers: &[Keeper]) -> Vec<Process> {
    let Some(since) = keepers.iter().map(|keeper| keeper.started).min() else {
        return Vec::new();
    };
    let all = tree::processes();
    let below: Vec<Pid> = all
        .iter()
        .filter(|process| keepers.iter().any(|keeper| keeper.is(process)))
        .filter_map(|process| Pid::from_raw(process.pid))
        .flat_map(tree::descendants)
        .collect();
    let belongs = |process: &&Process| {
        let is_keeper = || keepers.iter().any(|keeper| keeper.is(process));
        let is_below = || below.iter().any(|pid| pid.as_raw_pid() == process.pid);
        let in_session = || keepers.iter().any(|keeper| keeper.led(process, &all));
        let is_marked = || marks(process).any(|mark| is_within(&mark, folder));
        process.started >= since
            && (is_keeper() || is_below() || is_marked() || in_session() && uses(process, folder))
    };
    all.iter().filter(belongs).cloned().collect()
}

fn is_within(mark: &[u8], folder: &Path) -> bool {
    let rest = mark.strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| rest.starts_with(b"/"))
}

/// Removes the work folders of installations that nobody carries on.
fn remove_unfinished_installations() {
    let shelves = program::own_folders().into_iter();
    let shelves = shelves.flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    for shelf in shelves {
        let work = shelf.path().join(".installing");
        if !is_own_folder(&work) {
            continue;
        }
        // Held until the folder is gone, so that nobody begins in it meanwhile.
        let lock = File::open(shelf.path().join(".lock")).ok();
        let is_free = lock
            .as_ref()
            .is_some_and(|lock| flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_free {
            let _ = std::fs::remove_dir_all(&work);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;
    use crate::belonging::{MARK, mark};

    /// A run folder of a process that is gone, with these keepers in its list.
    fn folder_of_the_dead(parent: &Path, keepers: &[Keeper]) -> std::path::PathBuf {
        let me = rustix::process::getpid();
        let long_ago = tree::started(me).unwrap() - 1;
        let folder = parent.join(format!("bakeoff-run-{me}-{long_ago}-0123456789abcdef"));
        std::fs::create_dir(&folder).unwrap();
        let mut text = format!("boot {}\n", boot());
        for Keeper { pid, started } in keepers {
            text += &format!("keeper {pid} {started}\n");
        }
        std::fs::write(folder.join(KEEPERS), text).unwrap();
        folder
    }

    fn sleeper(mark: Option<String>) -> (Child, Keeper) {
        let mut command = Command::new("sleep");
        command.arg("600").envs(mark.map(|mark| (MARK, mark)));
        let child = command.spawn().unwrap();
        let pid = Pid::from_child(&child);
        let started = tree::started(pid).unwrap();
        let pid = pid.as_raw_pid();
        (child, Keeper { pid, started })
    }

    #[track_caller]
    fn check(mut child: Child, is_ended: bool) {
        let end = Instant::now() + GONE_WITHIN;
        if is_ended {
            while child.try_wait().unwrap().is_none() {
                assert!(Instant::now() < end, "it was left");
                std::thread::sleep(LOOK_AGAIN);
            }
        } else {
            assert!(child.try_wait().unwrap().is_none(), "it was ended");
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_listed_keeper_is_ended_by_number_and_start_and_others_are_not() {
        let parent = tempfile::tempdir().unwrap();
        let (listed, keeper) = sleeper(None);
        let (other, mut stale) = sleeper(None);
        stale.started -= 1;
        let folder = folder_of_the_dead(parent.path(), &[keeper, stale]);
        let (marked, _) = sleeper(Some(mark(&folder, 3)));
        let (elsewhere, _) = sleeper(Some(mark(&parent.path().join("bakeoff-run-1"), 3)));
        assert_eq!(remove_run_folder(&folder), 2);
        assert!(!folder.exists());
        check(listed, true);
        check(marked, true);
        check(other, false);
        check(elsewhere, false);
    }

    #[test]
    fn a_folder_that_somebody_holds_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let (child, keeper) = sleeper(None);
        let folder = folder_of_the_dead(parent.path(), &[keeper]);
        let held = File::open(folder.join(KEEPERS)).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(remove_run_folder(&folder), 0);
        assert!(folder.exists());
        check(child, false);
        let link = parent.path().join("bakeoff-run-1-1-1");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        drop(held);
        assert_eq!(remove_run_folder(&link), 0, "a link leads anywhere");
        assert!(folder.exists());
    }

    #[test]
    fn a_list_from_before_the_last_start_of_the_system_ends_nobody() {
        let parent = tempfile::tempdir().unwrap();
        let (child, keeper) = sleeper(None);
        let folder = folder_of_the_dead(parent.path(), &[keeper]);
        let list = folder.join(KEEPERS);
        let text = std::fs::read_to_string(&list).unwrap();
        std::fs::write(&list, text.replace(&boot(), "another")).unwrap();
        assert_eq!(remove_run_folder(&folder), 0);
        assert!(!folder.exists());
        check(child, false);
    }

    /// An agent in a container that shares the temporary folder does not see who has just made one.
    #[test]
    fn a_folder_that_is_being_made_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = folder_of_the_dead(parent.path(), &[]);
        let list = folder.join(KEEPERS);
        for make in [
            |list: &Path| std::fs::remove_file(list),
            |list: &Path| File::create(list).map(drop),
        ] {
            make(&list).unwrap();
            remove(parent.path());
            assert!(folder.exists());
        }
        let long_ago = std::time::SystemTime::now() - 2 * MADE_WITHIN;
        File::open(&folder).unwrap().set_modified(long_ago).unwrap();
        remove(parent.path());
        assert!(!folder.exists());
    }
}
