//! Two folders of one file system change places.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Puts `made` into the place of `last`, and `last` where `made` was: at once where the file system
/// can do that, else in steps.
///
/// # Errors
/// When a rename fails; `last` is then in its place again, or the error says where it is.
pub fn exchange(made: &Path, last: &Path) -> io::Result<()> {
    match renameat_with(CWD, made, CWD, last, RenameFlags::EXCHANGE) {
        // Network file systems and most of FUSE cannot do it at once.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => exchange_in_steps(made, last),
        done => done.map_err(io::Error::from),
    }
}

/// The same in steps, between which there is nothing in the place of `last` for a moment.
fn exchange_in_steps(made: &Path, last: &Path) -> io::Result<()> {
    let mut aside = made.as_os_str().to_owned();
    aside.push("-old");
    let aside = PathBuf::from(aside);
    let left_aside = |error: io::Error| {
        let place = aside.display();
        io::Error::new(error.kind(), format!("{error}; the last one is in {place}"))
    };
    fs::rename(last, &aside)?;
    if let Err(error) = fs::rename(made, last) {
        fs::rename(&aside, last).map_err(left_aside)?;
        return Err(error);
    }
    fs::rename(&aside, made).map_err(left_aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new folder and the last one, which have their names in them.
    fn folders(home: &Path, names: &[&str]) -> (PathBuf, PathBuf) {
        for name in names {
            fs::create_dir(home.join(name)).unwrap();
            fs::write(home.join(name).join("file"), name).unwrap();
        }
        (home.join("new"), home.join("last"))
    }

    fn text(folder: &Path) -> String {
        fs::read_to_string(folder.join("file")).unwrap()
    }

    #[test]
    fn folders_change_places_at_once_and_in_steps() {
        for exchange in [exchange, exchange_in_steps] {
            let home = tempfile::tempdir().unwrap();
            let (made, last) = folders(home.path(), &["new", "last"]);
            exchange(&made, &last).unwrap();
            assert_eq!((text(&last), text(&made)), ("new".into(), "last".into()));
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn the_last_one_comes_back_where_the_new_one_cannot_take_its_place() {
        let home = tempfile::tempdir().unwrap();
        let (made, last) = folders(home.path(), &["last"]);
        let error = exchange_in_steps(&made, &last).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(text(&last), "last");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
