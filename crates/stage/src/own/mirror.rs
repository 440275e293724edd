//! Changed configuration files in a folder that looks like the whole disk.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bakeoff_record::Step;

use super::OwnFile;
use crate::error::StageError;
use crate::prepared::write as write_file;
use crate::stage::make_folder;

/// Where the mirror in `folder` has the file `path`.
pub(super) fn at(folder: &Path, path: &Path) -> PathBuf {
    folder.join(path.strip_prefix("/").unwrap_or(path))
}

/// Writes `files` and the folder `base` into the mirror in `folder`. What lies beside them and
/// beside their folders is there as links.
pub(super) fn write(files: &[OwnFile], base: &Path, folder: &Path) -> Result<(), StageError> {
    // A second start, at other ports, mirrors anew.
    match std::fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            return Err(StageError::file(Step::Prepare, folder, cause));
        }
        _ => {}
    }
    let mut folders: BTreeSet<&Path> = base.ancestors().collect();
    folders.extend(files.iter().flat_map(|it| it.path.ancestors().skip(1)));
    let mut own = folders.clone();
    own.extend(files.iter().map(|it| it.path.as_path()));
    for original in folders {
        let copy = at(folder, original);
        make_folder(&copy)?;
        link_others(original, &copy, &own)?;
    }
    for file in files {
        write_file(&at(folder, &file.path), &file.text)?;
    }
    Ok(())
}

fn link_others(original: &Path, copy: &Path, own: &BTreeSet<&Path>) -> Result<(), StageError> {
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |cause| StageError::file(Step::Prepare, path, cause)
    };
    for entry in std::fs::read_dir(original).map_err(fail(original))? {
        let path = entry.map_err(fail(original))?.path();
        let Some(name) = path.file_name().filter(|_| !own.contains(path.as_path())) else {
            continue;
        };
        symlink(&path, copy.join(name)).map_err(fail(&path))?;
    }
    Ok(())
}
