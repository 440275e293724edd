//! The folder of a new record, made before any server is asked.
//!
//! A server that lists the folder that it was started in, as `python3 -m http.server` does, answers
//! otherwise as soon as a record lies there, and every answer after its first one would be wrong.

use std::fs;
use std::path::{Path, PathBuf};

use bakeoff_record::private_folder;

use crate::paths;

/// Folders that were made; those that are still empty in the end are removed.
#[derive(Debug)]
pub(crate) struct RecordPlace {
    /// The innermost first.
    made: Vec<PathBuf>,
}

impl RecordPlace {
    /// Makes the folder and those above it that are missing.
    pub(crate) fn make(path: &Path) -> anyhow::Result<Self> {
        let named = path.ancestors().filter(|it| !it.as_os_str().is_empty());
        let missing = named.take_while(|it| !it.exists());
        let made = missing.map(Path::to_owned).collect();
        // What was made of it is removed if the rest fails.
        let place = Self { made };
        private_folder(path).map_err(|error| {
            paths::not_made("create", path, &error, "choose another folder with --out")
        })?;
        Ok(place)
    }
}

impl Drop for RecordPlace {
    fn drop(&mut self) {
        for folder in &self.made {
            // What holds a record stays.
            if fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_empty_is_removed_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let there = home.path().join("there");
        fs::create_dir(&there).unwrap();
        let place = RecordPlace::make(&there.join("results/one")).unwrap();
        assert!(there.join("results/one").is_dir());
        drop(place);
        assert_eq!(fs::read_dir(&there).unwrap().count(), 0);

        let place = RecordPlace::make(&there.join("results/two")).unwrap();
        fs::write(there.join("results/two/plan.json"), "{}").unwrap();
        drop(place);
        assert!(there.join("results/two/plan.json").is_file());
        drop(RecordPlace::make(&there).unwrap());
        assert!(there.is_dir());
    }

    #[test]
    fn a_file_in_its_place_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("results");
        fs::write(&file, "").unwrap();
        let error = RecordPlace::make(&file.join("one")).unwrap_err();
        let said = format!("{error:#}");
        assert!(said.contains("results/one"), "{said}");
        assert!(said.ends_with("choose another folder with --out"), "{said}");
        assert_eq!(crate::exit::code_of(&error), crate::exit::USAGE);
        assert!(file.is_file());
    }
}
