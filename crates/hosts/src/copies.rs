//! Copies of bakeoff that other machines have put into the cache here, to run as their agents.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::digest::Digest;
use crate::way::CACHE;

/// The folders of copies in the cache below the folder `home`, and whether an agent holds this
/// host: then no copy may go.
///
/// # Errors
/// The cache cannot be read. Where there is none there are no copies.
pub fn copies(home: &Path) -> io::Result<(Vec<PathBuf>, bool)> {
    let entries = match fs::read_dir(home.join(CACHE)) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), false)),
        Err(cause) => return Err(cause),
    };
    let (mut folders, mut is_held) = (Vec::new(), false);
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        // Of a link, not of what it leads to.
        let kind = entry.file_type()?;
        if kind.is_dir() && Digest::read(name).is_some() {
            folders.push(entry.path());
        } else if kind.is_file() && name.starts_with("agent-") && name.ends_with(".lock") {
            let lock = File::open(entry.path());
            is_held |= lock
                .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err());
        }
    }
    folders.sort();
    Ok((folders, is_held))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::HostLock;

    #[test]
    fn only_digests_are_copies_and_an_agent_holds_them() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(copies(home.path()).unwrap(), (Vec::new(), false));
        let cache = home.path().join(CACHE);
        let copy = cache.join(Digest::of(b"program").to_string());
        for folder in [&copy, &cache.join("programs"), &cache.join("0123")] {
            fs::create_dir_all(folder).unwrap();
        }
        let link = cache.join(Digest::of(b"link").to_string());
        std::os::unix::fs::symlink(home.path(), link).unwrap();
        let lock = HostLock::take(home.path(), "a test").unwrap();
        assert_eq!(copies(home.path()).unwrap(), (vec![copy.clone()], true));
        drop(lock);
        assert_eq!(copies(home.path()).unwrap(), (vec![copy], false));
    }
}
