//! Folders and files that only their owner may enter, read and write, whatever the umask: a
//! record holds texts of configuration files and the answers of servers.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// What the owner may do with a folder, and nobody else.
const FOLDER: u32 = 0o700;
/// What the owner may do with a file, and nobody else.
const FILE: u32 = 0o600;

/// Makes a folder, and those above it that are missing. The ones that it makes are private; one
/// that is there stays as it is, for it may be anything, such as `/tmp`.
///
/// # Errors
/// When a folder cannot be made, or another kind of file is in its place.
pub fn private_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        private_folder(parent)?;
    }
    match DirBuilder::new().mode(FOLDER).create(path) {
        // The umask may have taken more than it should.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(FOLDER)),
        // Another process was faster.
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// Writes a file with these bytes, private if it was not there. A symbolic link is not followed.
///
/// # Errors
/// When it cannot be written; what was in it may be lost.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    open_private(path, OpenOptions::new().write(true).truncate(true))?.write_all(bytes)
}

/// Puts a private file with these bytes in the place of `path`, whole or not at all.
///
/// # Errors
/// When it cannot be written; then what was there still is.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    let unfinished = path.with_file_name(name);
    // What an end by force has left there may have other permissions.
    match fs::remove_file(&unfinished) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(FILE)
        .open(&unfinished)?;
    let written = file
        .set_permissions(Permissions::from_mode(FILE))
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // What a full disk took of it helps nobody.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Opens a file by `options`, and makes it private if it was not there. A symbolic link is not
/// followed.
pub(crate) fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    match options.open(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let file = options.create(true).mode(FILE).open(path)?;
    file.set_permissions(Permissions::from_mode(FILE))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_the_owners_alone_and_what_was_there_stays() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), Permissions::from_mode(0o755)).unwrap();
        let folder = base.path().join("a/b");
        private_folder(&folder).unwrap();
        private_folder(&folder).unwrap();
        assert_eq!(
            (mode(&folder), mode(&base.path().join("a"))),
            (0o700, 0o700)
        );
        assert_eq!(mode(base.path()), 0o755);
        let file = folder.join("file");
        write_private(&file, b"long").unwrap();
        write_private(&file, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        fs::write(
            folder.join("file.unfinished"),
            "of a bakeoff that was killed",
        )
        .unwrap();
        replace_private(&file, b"newer").unwrap();
        assert_eq!(
            (fs::read(&file).unwrap(), mode(&file)),
            (b"newer".to_vec(), 0o600)
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_not_followed_and_a_file_is_no_folder() {
        let base = tempfile::tempdir().unwrap();
        let (real, link) = (base.path().join("real"), base.path().join("link"));
        fs::write(&real, "kept").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_private(&link, b"x").unwrap_err();
        private_folder(&link).unwrap_err();
        replace_private(&link, b"new").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"kept");
        assert_eq!(fs::read(&link).unwrap(), b"new");
    }
}
