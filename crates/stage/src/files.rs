//! Files and folders that bakeoff makes for a trial: always new ones, and never through a link.
//!
//! A path that somebody else wrote is used only if it leads downwards by names alone.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Component, Path, PathBuf};

/// Mode of what only its owner reads: bakeoff's own user, or a server's that it is handed over to.
pub(crate) const FOR_OWNER: u32 = 0o600;
/// Mode of folders, for their owner as well.
const FOLDER: u32 = 0o700;

/// Who may use a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    mode: u32,
    owner: u32,
    group: u32,
}

impl Access {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            mode: metadata.mode(),
            owner: metadata.uid(),
            group: metadata.gid(),
        }
    }
}

/// Whether `path` leads downwards, by names alone.
pub(crate) fn is_below(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Makes a file where there is none, with this mode whatever the umask is.
pub(crate) fn create(path: &Path, bytes: &[u8], mode: u32) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(mode & FOR_OWNER);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

/// Makes a copy of a user's file where there is none. Nobody can read it who cannot read the
/// original, and only its owner can write to it.
pub(crate) fn create_copy(path: &Path, bytes: &[u8], original: Access) -> io::Result<()> {
    let copy = create(path, bytes, FOR_OWNER)?;
    // Only root can give a file away. If it stays bakeoff's, it is of another group.
    let is_given = fchown(&copy, Some(original.owner), Some(original.group)).is_ok();
    let mode = if is_given {
        original.mode & 0o755
    } else {
        original.mode & 0o705 | 0o400
    };
    copy.set_permissions(Permissions::from_mode(mode))
}

/// Makes a file in place of one that may be there. If that is a link, the link is replaced, and
/// not what it leads to.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    remove(path)?;
    create(path, bytes, mode).map(drop)
}

/// Removes a file or a link that may be there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
        _ => Ok(()),
    }
}

/// Makes a folder where there is nothing.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(FOLDER))
}

/// The path of `below` in the folder `root`. The folders on the way are made, or are there.
pub(crate) fn place(root: &Path, below: &Path) -> io::Result<PathBuf> {
    if !is_below(below) {
        let problem = format!("{} does not lead below {}", below.display(), root.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let mut folder = root.to_owned();
    for name in below.parent().into_iter().flat_map(Path::components) {
        folder.push(name);
        match create_folder(&folder) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                if !folder.symlink_metadata()?.is_dir() {
                    let problem = format!("{} is there and is not a folder", folder.display());
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
                }
            }
            made => made?,
        }
    }
    Ok(root.join(below))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_names_lead_below() {
        for path in ["a", "a/b", "a/./b", "a//b", "a/b/", "..a/b.."] {
            assert!(is_below(Path::new(path)), "{path}");
        }
        for path in ["", ".", "./a", "..", "a/..", "a/../b", "../a", "/", "/a"] {
            assert!(!is_below(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (root, theirs) = (folder.path().join("root"), folder.path().join("theirs"));
        for path in [&root, &theirs] {
            std::fs::create_dir(path).unwrap();
        }
        std::fs::write(theirs.join("file"), "theirs").unwrap();
        symlink(&theirs, root.join("folder")).unwrap();
        symlink(theirs.join("file"), root.join("file")).unwrap();
        assert!(create(&root.join("file"), b"ours", FOR_OWNER).is_err());
        replace(&root.join("file"), b"ours", FOR_OWNER).unwrap();
        for below in ["folder/a/b", "folder/b", "file/b", "../b"] {
            assert!(place(&root, Path::new(below)).is_err(), "{below}");
        }
        assert_eq!(place(&root, Path::new("a/b")).unwrap(), root.join("a/b"));
        let names = std::fs::read_dir(&theirs).unwrap().count();
        let text = std::fs::read_to_string(theirs.join("file")).unwrap();
        assert_eq!((names, text.as_str()), (1, "theirs"));
    }
}
