//! One campaign on a host at a time: a lock on a file in the cache there.
//!
//! The lock is the kernel's (flock), so it is free as soon as its holders are gone, also by `kill
//! -9`. All agents of one campaign on a host share it, and the host is locked until the last of
//! them is gone: a host may have an agent for each role, and an agent whose link was cut lives on
//! for a while next to its successor.
//!
//! A home folder may belong to many hosts (NFS, where a lock applies to all of them), and network
//! namespaces of one machine are several hosts with one file system. So the file's name contains
//! the kernel's boot identifier and the namespace's number. The last agent removes the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::way::CACHE;

/// What the message to the second campaign begins with; the owner follows.
pub(crate) const BUSY: &str = "busy: ";
/// Bytes of an owner that are read and written.
const OWNER_BYTES_MAX: usize = 1024;
/// Attempts to take the lock, and the time between them: whoever takes it has to write its owner
/// over that of the last, and whoever looks at it holds it for a moment.
const ATTEMPTS: usize = 20;
const PAUSE: Duration = Duration::from_millis(5);
/// What a kernel calls itself since it started. No two are called the same.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Holds the host for one campaign until it is dropped.
#[derive(Debug)]
pub struct HostLock {
    path: PathBuf,
    /// Locked for as long as it is open, with all others of the same owner.
    file: File,
}

/// Why the host is not locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another campaign holds it. The text begins so that home recognises it.
    #[error("{BUSY}{owner}")]
    Held {
        /// Who, as it has written.
        owner: String,
    },
    /// There is no place for the file.
    #[error("{} cannot be locked: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's cause.
        source: io::Error,
    },
}

/// What came of one attempt.
enum Attempt {
    Taken(File),
    /// Another owner holds it.
    Others(String),
    /// Whoever was there takes it, looks at it or removes it at this moment.
    Again,
}

impl HostLock {
    /// Locks this host for `owner`, in the cache below the folder `home`.
    ///
    /// # Errors
    /// It is held by another owner, or there is no place for the lock.
    pub fn take(home: &Path, owner: &str) -> Result<Self, LockError> {
        let pause = || std::thread::sleep(PAUSE);
        Self::take_at(home.join(CACHE).join(name(&this_kernel())), owner, pause)
    }

    /// The same at this path, with a pause between two attempts.
    fn take_at(path: PathBuf, owner: &str, mut pause: impl FnMut()) -> Result<Self, LockError> {
        let failed = |source| LockError::Io {
            path: path.clone(),
            source,
        };
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path.parent().unwrap_or(Path::new("/")));
        made.map_err(failed)?;
        let owner = plain(owner);
        let mut others = None;
        for _ in 0..ATTEMPTS {
            match attempt(&path, &owner).map_err(failed)? {
                Attempt::Taken(file) => return Ok(Self { path, file }),
                Attempt::Others(owner) => others = Some(owner),
                Attempt::Again => {}
            }
            pause();
        }
        Err(match others {
            Some(owner) => LockError::Held { owner },
            None => failed(io::ErrorKind::ResourceBusy.into()),
        })
    }
}

impl Drop for HostLock {
    fn drop(&mut self) {
        // The last one has it alone. It is locked until the file is closed, after this.
        if flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The name of the file on a host whose kernel calls itself so.
fn name(kernel: &str) -> String {
    let network = fs::metadata("/proc/self/ns/net").map_or(0, |found| found.ino());
    format!("agent-{kernel}-{network}.lock")
}

/// What this kernel calls itself; where it does not say so, the name of the host.
fn this_kernel() -> String {
    let said = fs::read_to_string(BOOT_ID).unwrap_or_default();
    let named = rustix::system::uname();
    let text = match said.trim() {
        "" => named.nodename().to_string_lossy(),
        said => said.into(),
    };
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    text.chars().filter(is_plain).take(64).collect()
}

/// Takes the lock alone and writes the owner, or shares it with others of this owner.
fn attempt(path: &Path, owner: &str) -> io::Result<Attempt> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(i32::try_from(flags).unwrap_or(0))
        .open(path)?;
    let locked = |operation| match flock(&file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(io::Error::from(errno)),
    };
    let is_alone = locked(FlockOperation::NonBlockingLockExclusive)?;
    if !is_alone && !locked(FlockOperation::NonBlockingLockShared)? {
        return Ok(Attempt::Again);
    }
    // Its last holder may have removed it between the two calls.
    let is_there = fs::symlink_metadata(path)
        .and_then(|there| Ok(there.ino() == file.metadata()?.ino()))
        .unwrap_or(false);
    if !is_there {
        return Ok(Attempt::Again);
    }
    if is_alone {
        // The lock holds without the note, on a disk that is full.
        let _ = note(&mut file, owner);
        // Somebody else may have it in between.
        let is_shared = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
        return Ok(if is_shared {
            Attempt::Taken(file)
        } else {
            Attempt::Again
        });
    }
    Ok(match owner_in(&mut file)? {
        holder if holder == owner => Attempt::Taken(file),
        holder if holder.is_empty() => Attempt::Others("another process".to_owned()),
        holder => Attempt::Others(holder),
    })
}

fn note(file: &mut File, owner: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(owner.as_bytes())
}

/// An owner as it is written.
fn plain(owner: &str) -> String {
    let mut plain: String = owner.chars().filter(|c| !c.is_control()).collect();
    let ends = plain.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| *end <= OWNER_BYTES_MAX).last();
    plain.truncate(end.unwrap_or(0));
    plain
}

fn owner_in(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(OWNER_BYTES_MAX as u64).read_to_end(&mut bytes)?;
    Ok(plain(&String::from_utf8_lossy(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(home: &Path, owner: &str) -> Result<HostLock, LockError> {
        HostLock::take(home, owner)
    }

    /// Who refuses this owner.
    fn refusal(home: &Path, owner: &str) -> String {
        take(home, owner).unwrap_err().to_string()
    }

    #[test]
    fn the_second_is_refused_and_the_first_named_and_nothing_is_left() {
        let home = tempfile::tempdir().unwrap();
        let lock = take(home.path(), "ada's load\n\u{1b}").unwrap();
        assert_eq!(refusal(home.path(), "bob"), "busy: ada's load");
        drop(lock);
        let cache = home.path().join(CACHE);
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
        let long = "ä".repeat(OWNER_BYTES_MAX);
        let _lock = take(home.path(), &long).unwrap();
        let second = refusal(home.path(), "bob");
        assert!(second.len() < OWNER_BYTES_MAX + 10, "{second}");
        assert!(take(home.path(), &long).is_ok(), "it is the same owner");
    }

    /// As after a quick reconnect: the agent before lives on for a while. And a host may have an
    /// agent for each role.
    #[test]
    fn the_host_is_held_until_the_last_agent_of_its_owner_is_gone() {
        let home = tempfile::tempdir().unwrap();
        for first_goes_first in [true, false] {
            let mut agents = vec![
                take(home.path(), "ada").unwrap(),
                take(home.path(), "ada").unwrap(),
            ];
            drop(agents.remove(if first_goes_first { 0 } else { 1 }));
            assert_eq!(refusal(home.path(), "bob"), "busy: ada");
            let third = take(home.path(), "ada").unwrap();
            drop(agents);
            assert_eq!(refusal(home.path(), "bob"), "busy: ada");
            drop(third);
            let lock = take(home.path(), "bob").unwrap();
            assert_eq!(refusal(home.path(), "ada"), "busy: bob");
            drop(lock);
            let cache = home.path().join(CACHE);
            assert_eq!(fs::read_dir(cache).unwrap().count(), 0);
        }
    }

    /// As on NFS.
    #[test]
    fn hosts_with_one_home_folder_have_a_lock_each() {
        let home = tempfile::tempdir().unwrap();
        let at = |kernel: &str, owner| {
            let path = home.path().join(CACHE).join(name(kernel));
            HostLock::take_at(path, owner, || {})
        };
        let _ada = at("a-1", "ada").unwrap();
        assert!(at("b-2", "bob").is_ok());
        assert!(at("a-1", "bob").is_err());
        let kernel = this_kernel();
        assert!(!kernel.is_empty() && this_kernel() == kernel, "{kernel}");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        assert!(kernel.chars().all(is_plain), "{kernel}");
    }

    #[test]
    fn an_agent_that_has_yet_to_write_its_owner_is_waited_for() {
        for before in ["", "bob, whose agent was killed"] {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("a.lock");
            fs::write(&path, before).unwrap();
            let mut first = OpenOptions::new().write(true).open(&path).unwrap();
            flock(&first, FlockOperation::NonBlockingLockExclusive).unwrap();
            let mut pauses = 0;
            let second = HostLock::take_at(path, "ada", || {
                pauses += 1;
                if pauses == 3 {
                    note(&mut first, "ada").unwrap();
                    flock(&first, FlockOperation::NonBlockingLockShared).unwrap();
                }
            });
            assert!(second.is_ok(), "{before}");
            assert_eq!(pauses, 3, "{before}");
        }
    }

    /// Somebody else reads who holds it while that agent ends.
    #[test]
    fn whoever_looks_at_it_for_a_moment_does_not_hold_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.lock");
        fs::write(&path, "bob, whose agent was killed").unwrap();
        let mut looks = Some(File::open(&path).unwrap());
        flock(
            looks.as_ref().unwrap(),
            FlockOperation::NonBlockingLockShared,
        )
        .unwrap();
        let lock = HostLock::take_at(path.clone(), "ada", || drop(looks.take())).unwrap();
        drop(lock);
        assert!(!path.exists());
    }

    #[test]
    fn no_place_for_it_is_another_error() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        let error = take(&file, "ada").unwrap_err();
        assert!(matches!(error, LockError::Io { .. }), "{error}");
    }
}
