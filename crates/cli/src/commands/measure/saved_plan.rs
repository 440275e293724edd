//! `--save-plan`: a plan in a file of its own.
//!
//! It is written before any server is asked, as the folder of the record is made: a server may list
//! the folder that it lies in. What is refused after that leaves no file, because the next try
//! names the same one.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::exit;

/// A plan that was written. Dropping it removes its file, unless that is to be kept.
#[derive(Debug)]
pub(super) struct SavedPlan(Option<PathBuf>);

impl SavedPlan {
    /// Writes a plan to a file that does not exist yet; nothing where no `path` is asked for.
    pub(super) fn write(plan: &str, path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            return Ok(Self(None));
        };
        let failed = |error: std::io::Error| {
            exit::usage(format!(
                "failed to write the plan to {}: {error}; give --save-plan another file",
                path.display()
            ))
        };
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).open(path);
        let mut file = file.map_err(failed)?;
        // Half a plan is removed, too.
        let saved = Self(Some(path.to_owned()));
        file.write_all(plan.as_bytes()).map_err(failed)?;
        Ok(saved)
    }

    /// Leaves the file where it is.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for SavedPlan {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // It is in the way of the next try at worst, which says so.
            let _ = fs::remove_file(path);
        }
    }
}

/// Refuses a path at which no file can be made, before anything is done.
pub(super) fn refuse_taken(path: Option<&Path>) -> anyhow::Result<()> {
    let Some(path) = path else {
        return Ok(());
    };
    let shown = path.display();
    if path.symlink_metadata().is_ok() {
        return Err(exit::usage(format!(
            "{shown} exists already; give --save-plan the name of a file that does not"
        )));
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => Err(exit::usage(format!(
            "{} is no folder; give --save-plan a file in one that is there",
            folder.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_stays_only_where_it_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("mine.toml");
        let plan = "name = \"mine\"\n";
        drop(SavedPlan::write(plan, Some(&path)).unwrap());
        assert!(!path.exists(), "the campaign did not begin");
        SavedPlan::write(plan, Some(&path)).unwrap().keep();
        assert_eq!(fs::read_to_string(&path).unwrap(), plan);
        // What was there before is neither written nor removed.
        let error = SavedPlan::write("other", Some(&path)).unwrap_err();
        assert!(error.to_string().contains("mine.toml"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), plan);
        SavedPlan::write(plan, None).unwrap().keep();
    }

    #[test]
    fn a_path_without_room_for_a_file_is_refused_with_what_to_give() {
        let home = tempfile::tempdir().unwrap();
        let check = |path: PathBuf, expected: Option<&str>| {
            let refused = refuse_taken(Some(&path)).map_err(|error| error.to_string());
            match (refused, expected) {
                (Ok(()), None) => {}
                (Err(said), Some(expected)) => assert!(said.contains(expected), "{said}"),
                (refused, _) => panic!("{}: {refused:?}", path.display()),
            }
        };
        let at = |name: &str| home.path().join(name);
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
        check(at("new.toml"), None);
        check(PathBuf::from("bakeoff-test-no-such-plan.toml"), None);
        let taken = "exists already; give --save-plan the name of a file that does not";
        check(at("file"), Some(taken));
        check(at("link"), Some(taken));
        check(at("missing/new.toml"), Some("missing is no folder; give"));
        refuse_taken(None).unwrap();
    }
}
