//! The folder of a server's installed versions, each in a folder of its own.
//!
//! A version appears by a rename, so it is whole or not there. A lock lets one installation at a
//! time change the shelf; readers need none.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bakeoff_record::exchange;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::InstallError;
use crate::installed::{FILE, Installed};
use crate::program::{self, Program, sha256_of};
use crate::server::Server;

/// Between two looks at a lock that another holds.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The shelf, held for one installation.
pub(super) struct Shelf {
    folder: PathBuf,
    /// Unlocked when it is closed.
    _lock: File,
}

impl Shelf {
    /// The newest installed program of this version that is undamaged, without a lock: what is
    /// there is whole, and the folder may be one that only others can change.
    pub(super) fn look(server: &Server, version: Option<&str>) -> Option<Program> {
        let programs = program::own_folders().into_iter().next()?;
        undamaged(server, &programs.join(&server.name), version, &mut |_| {})
    }

    /// The server's shelf in the first of bakeoff's own folders, as soon as nobody else has it.
    pub(super) fn open(
        server: &Server,
        limit: Duration,
        interrupted: &AtomicBool,
        report: &mut dyn FnMut(&str),
    ) -> Result<Self, InstallError> {
        let programs = program::own_folders().into_iter().next().ok_or_else(|| {
            let cause = io::Error::other("set HOME, or BAKEOFF_PROGRAMS to a folder");
            InstallError::file("~/.cache/bakeoff/programs", cause)
        })?;
        let folder = programs.join(&server.name);
        fs::create_dir_all(&folder).map_err(|cause| {
            let is_in_the_way = folder.is_file();
            let cause = if is_in_the_way {
                io::Error::other("it is a file where versions would be kept; move it into `bin/`")
            } else {
                or_elsewhere(cause)
            };
            InstallError::file(&folder, cause)
        })?;
        let path = folder.join(".lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let lock = lock.map_err(|cause| InstallError::file(&path, or_elsewhere(cause)))?;
        let end = Instant::now() + limit;
        let mut is_reported = false;
        while !is_locked(&lock).map_err(|cause| InstallError::file(&path, cause))? {
            if interrupted.load(Ordering::Relaxed) {
                return Err(InstallError::Interrupted);
            }
            if Instant::now() >= end {
                let cause = io::Error::other("another bakeoff holds it and does not end");
                return Err(InstallError::file(path, cause));
            }
            if !is_reported {
                report(&format!(
                    "another bakeoff installs {}: waiting for it",
                    server.title()
                ));
                is_reported = true;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// The newest installed program of this version that is undamaged. Damaged ones are reported.
    pub(super) fn installed(
        &self,
        server: &Server,
        version: Option<&str>,
        report: &mut dyn FnMut(&str),
    ) -> Option<Program> {
        undamaged(server, &self.folder, version, report)
    }

    /// An empty folder to work in. What an installation left that was killed is removed.
    pub(super) fn work_folder(&self) -> Result<PathBuf, InstallError> {
        let path = self.folder.join(".installing");
        remove(&path)?;
        fs::create_dir(&path).map_err(|cause| InstallError::file(&path, cause))?;
        Ok(path)
    }

    /// Puts a program and what is known of it in the folder of its version.
    pub(super) fn put(
        &self,
        program: &Path,
        server: &Server,
        installed: &Installed,
    ) -> Result<Program, InstallError> {
        let version = &installed.version;
        if version.is_empty() || version.starts_with('.') || version.contains('/') {
            let cause = io::Error::other("the program's version cannot be a folder's name");
            return Err(InstallError::file(version, cause));
        }
        let whole = self.folder.join(".installing/whole");
        fs::create_dir(&whole).map_err(|cause| InstallError::file(&whole, cause))?;
        let name = &server.description.programs[0];
        let path = whole.join(name);
        copy_synced(program, &path).map_err(|cause| InstallError::file(&path, cause))?;
        let arrived = sha256_of(&path);
        if let Some(damage) = installed.damage(arrived) {
            return Err(InstallError::file(path, io::Error::other(damage)));
        }
        let description = whole.join(FILE);
        write_synced(&description, &installed.to_toml())
            .map_err(|cause| InstallError::file(&description, cause))?;
        let home = self.folder.join(version);
        let fail = |cause: io::Error| InstallError::file(&home, cause);
        if home.exists() {
            // The old one goes away with the work folder.
            exchange(&whole, &home).map_err(fail)?;
        } else {
            fs::rename(&whole, &home).map_err(fail)?;
        }
        Ok(Program {
            path: home.join(name),
            version: version.clone(),
        })
    }
}

/// The newest program in a server's folder that is undamaged. Damaged ones are reported.
fn undamaged(
    server: &Server,
    folder: &Path,
    version: Option<&str>,
    report: &mut dyn FnMut(&str),
) -> Option<Program> {
    for found in program::installed_in(server, folder, version) {
        let path = found.path;
        match (found.damage, found.version) {
            (None, Some(version)) => return Some(Program { path, version }),
            (Some(damage), _) => {
                report(&format!("{} is damaged: {damage}", path.display()));
            }
            // What was installed has a version.
            (None, None) => {}
        }
    }
    None
}

/// Locks a file; `false` where somebody else holds it. Where files cannot be locked, nobody does.
fn is_locked(lock: &File) -> io::Result<bool> {
    match flock(lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(io::Error::other(format!(
            "it cannot be locked: {errno}; set BAKEOFF_PROGRAMS to a folder on a local disk"
        ))),
    }
}

/// The same error with what to do, where another folder would help.
fn or_elsewhere(cause: io::Error) -> io::Error {
    match cause.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => io::Error::new(
            cause.kind(),
            format!("{cause}; set BAKEOFF_PROGRAMS to a folder that you can write to"),
        ),
        _ => cause,
    }
}

fn remove(path: &Path) -> Result<(), InstallError> {
    match fs::remove_dir_all(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(InstallError::file(path, cause))
        }
        _ => Ok(()),
    }
}

fn copy_synced(from: &Path, to: &Path) -> io::Result<()> {
    // A link, as some builds leave, would lead nowhere soon.
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn only_a_lock_that_somebody_holds_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        let (first, second) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        assert!(is_locked(&first).unwrap());
        assert!(!is_locked(&second).unwrap());
        drop(first);
        assert!(is_locked(&second).unwrap());
        // A file that is open for its path alone is one that cannot be locked.
        let path_alone = rustix::fs::open(&path, OFlags::PATH, Mode::empty()).unwrap();
        let error = is_locked(&File::from(path_alone)).unwrap_err().to_string();
        assert!(error.starts_with("it cannot be locked: "), "{error}");
        assert!(error.ends_with("set BAKEOFF_PROGRAMS to a folder on a local disk"));
    }
}
