//! One campaign on a host at a time: a lock on a file in the cache there.
//!
//! The lock is the kernel's own (flock), so it is free as soon as its holder is gone, by `kill -9`
//! too. Network namespaces of one machine are several hosts with one file system, so the file's
//! name has the namespace's number. The file goes with the agent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::way::CACHE;

/// What the message to the second campaign begins with; the owner follows.
pub(crate) const BUSY: &str = "busy: ";
/// Bytes of an owner that are read and written.
const OWNER_BYTES_MAX: usize = 1024;
/// Attempts to lock a file that its holder removes at the same moment.
const ATTEMPTS: usize = 20;
/// Looks at who holds the lock, and the time between them: whoever has just taken it has yet to
/// write its owner over that of the last.
const LOOKS: usize = 20;
const LOOK_PERIOD: Duration = Duration::from_millis(5);

/// Holds the host for one campaign until it is dropped.
#[derive(Debug)]
pub struct HostLock {
    /// The lock; `None` beside another agent of the same owner, which has it.
    path: Option<PathBuf>,
    /// Locked for as long as it is open.
    _file: File,
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

impl HostLock {
    /// Locks this host for `owner`, in the cache below the folder `home`.
    ///
    /// # Errors
    /// It is held, or there is no place for the lock.
    pub fn take(home: &Path, owner: &str) -> Result<Self, LockError> {
        let folder = home.join(CACHE);
        let network = fs::metadata("/proc/self/ns/net").map_or(0, |found| found.ino());
        let path = folder.join(format!("agent-{network}.lock"));
        let failed = |source| LockError::Io {
            path: path.clone(),
            source,
        };
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.map_err(failed)?;
        for _ in 0..ATTEMPTS {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
                .open(&path)
                .map_err(failed)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    // Its own other agent: a host may have more than one role.
                    return match holder_beside(&mut file, owner) {
                        None => Ok(Self {
                            path: None,
                            _file: file,
                        }),
                        Some(owner) => Err(LockError::Held { owner }),
                    };
                }
                Err(errno) => return Err(failed(errno.into())),
            }
            // Its last holder may have removed it between the two calls.
            let is_there = fs::symlink_metadata(&path)
                .and_then(|there| Ok(there.ino() == file.metadata()?.ino()))
                .unwrap_or(false);
            if is_there {
                // The lock holds without the note, on a disk that is full.
                let _ = note(&mut file, owner);
                return Ok(Self {
                    path: Some(path),
                    _file: file,
                });
            }
        }
        Err(failed(io::ErrorKind::ResourceBusy.into()))
    }
}

impl Drop for HostLock {
    fn drop(&mut self) {
        // Still locked: the file is closed after this.
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

fn note(file: &mut File, owner: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(plain(owner).as_bytes())
}

/// An owner as it is written.
fn plain(owner: &str) -> String {
    let mut plain: String = owner.chars().filter(|c| !c.is_control()).collect();
    let ends = plain.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| *end <= OWNER_BYTES_MAX).last();
    plain.truncate(end.unwrap_or(0));
    plain
}

/// Who holds the file, unless that is `owner` too.
fn holder_beside(file: &mut File, owner: &str) -> Option<String> {
    let own = plain(owner);
    for _ in 1..LOOKS {
        if owner_in(file) == own {
            return None;
        }
        std::thread::sleep(LOOK_PERIOD);
    }
    Some(owner_in(file)).filter(|holder| *holder != own)
}

fn owner_in(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let begun = file.rewind();
    let read = begun.and_then(|()| file.take(OWNER_BYTES_MAX as u64).read_to_end(&mut bytes));
    let read = read.is_ok();
    let text = String::from_utf8_lossy(&bytes);
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    if read && !plain.is_empty() {
        plain
    } else {
        "another process".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_and_the_first_named_and_nothing_is_left() {
        let home = tempfile::tempdir().unwrap();
        let lock = HostLock::take(home.path(), "ada's load\n\u{1b}").unwrap();
        let second = HostLock::take(home.path(), "bob").unwrap_err().to_string();
        assert_eq!(second, "busy: ada's load");
        // Another agent of the same campaign, for another role of this host.
        let beside = HostLock::take(home.path(), "ada's load\n\u{1b}").unwrap();
        drop(beside);
        assert!(HostLock::take(home.path(), "bob").is_err(), "it is held on");
        drop(lock);
        let cache = home.path().join(CACHE);
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
        let long = "ä".repeat(OWNER_BYTES_MAX);
        let _lock = HostLock::take(home.path(), &long).unwrap();
        let second = HostLock::take(home.path(), "bob").unwrap_err().to_string();
        assert!(second.len() < OWNER_BYTES_MAX + 10, "{second}");
    }

    #[test]
    fn an_agent_that_has_yet_to_write_its_owner_is_waited_for() {
        for before in ["", "bob, whose agent was killed"] {
            let home = tempfile::tempdir().unwrap();
            drop(HostLock::take(home.path(), "ada").unwrap());
            let network = fs::metadata("/proc/self/ns/net").unwrap().ino();
            let path = home.path().join(CACHE);
            let path = path.join(format!("agent-{network}.lock"));
            fs::write(&path, before).unwrap();
            let mut first = OpenOptions::new().write(true).open(&path).unwrap();
            rustix::fs::flock(&first, FlockOperation::NonBlockingLockExclusive).unwrap();
            std::thread::scope(|scope| {
                let second = scope.spawn(|| HostLock::take(home.path(), "ada"));
                std::thread::sleep(Duration::from_millis(10));
                note(&mut first, "ada").unwrap();
                assert!(second.join().unwrap().is_ok(), "{before}");
            });
        }
    }

    #[test]
    fn no_place_for_it_is_another_error() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        let error = HostLock::take(&file, "ada").unwrap_err();
        assert!(matches!(error, LockError::Io { .. }), "{error}");
    }
}
