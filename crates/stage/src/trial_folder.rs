//! Where what lives as long as a trial is: its folders and files, and how the record names them.

use std::path::{Path, PathBuf};

use bakeoff_plan::Workload;
use bakeoff_record::{Step, private_folder};

use crate::error::StageError;
use crate::files;

/// A folder that goes with its owner.
#[derive(Debug)]
pub(crate) struct TrialFolder(pub(crate) PathBuf);

impl TrialFolder {
    /// Where the server writes.
    pub(crate) fn run(&self) -> PathBuf {
        self.0.join("run")
    }

    /// Where its certificate is.
    pub(crate) fn tls(&self) -> PathBuf {
        self.0.join("tls")
    }

    /// Where files are served from in place of a user's folders.
    pub(crate) fn overlay(&self) -> PathBuf {
        self.0.join("overlay")
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes a folder that nobody else can enter, until it is handed over to a server's user.
pub(crate) fn make_folder(path: &Path) -> Result<(), StageError> {
    private_folder(path).map_err(|cause| StageError::file(Step::Prepare, path, cause))
}

/// Makes a folder of a trial's own, which must not be there.
pub(crate) fn create_folder(folder: &Path) -> Result<(), StageError> {
    files::create_folder(folder).map_err(|cause| StageError::file(Step::Prepare, folder, cause))
}

/// Makes the folder `root` with the files that a server serves.
pub(crate) fn make_served_files(root: &Path, workload: &Workload) -> Result<(), StageError> {
    create_folder(root)?;
    for file in &workload.files {
        write(&place(root, Path::new(&file.path))?, file.content.bytes())?;
    }
    Ok(())
}

/// Makes a file that nobody else can read, in place of an earlier one, until it is handed over to
/// a server's user.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), StageError> {
    files::replace(path, bytes.as_ref(), files::FOR_OWNER)
        .map_err(|cause| StageError::file(Step::Prepare, path, cause))
}

/// The path of `below` in the folder `root`, and not elsewhere; folders on the way are made.
pub(crate) fn place(root: &Path, below: &Path) -> Result<PathBuf, StageError> {
    files::place(root, below).map_err(|cause| StageError::file(Step::Prepare, below, cause))
}

/// `logs/<trial>/<name>`.
pub(crate) fn path_in_record(log_folder: &Path, name: &str) -> String {
    let mut parts: Vec<_> = log_folder.components().rev().take(2).collect();
    parts.reverse();
    parts
        .into_iter()
        .collect::<PathBuf>()
        .join(name)
        .display()
        .to_string()
}
