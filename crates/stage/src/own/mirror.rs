//! Changed configuration files in a folder that looks like the whole disk.
//!
//! A copy lies below that folder as its original lies below the root: by names alone, as neither
//! path has links or `..`. Links that lead to copies are there too, and lead to the copies. The
//! other entries of folders are links to the originals. All of it is new: folders, links and
//! files are made where nothing was, and no file is written through a link.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bakeoff_record::Step;

use super::{OwnFile, OwnFiles};
use crate::error::StageError;
use crate::files;

/// Entries of the mirrored folders that become links. Configurations lie in folders with some
/// hundred entries.
const LINKS_MAX: usize = 100_000;

/// Where the mirror in `folder` has `path`, which is absolute and has no links or `..`.
pub(super) fn at(folder: &Path, path: &Path) -> PathBuf {
    let below = path.strip_prefix("/").unwrap_or(path);
    folder.join(below)
}

/// Writes `files`, those of `own` as they are now, into the mirror in `folder`.
pub(super) fn write(own: &OwnFiles, files: &[OwnFile], folder: &Path) -> Result<(), StageError> {
    // A second start, at other ports, mirrors anew.
    match std::fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(fail(folder)(cause)),
        _ => {}
    }
    let scene = Scene::of(own, files);
    let mut links_left = LINKS_MAX;
    for original in &scene.folders {
        let copy = at(folder, original);
        files::create_folder(&copy).map_err(fail(&copy))?;
        if scene.shows_others_in(original, own) {
            scene.link_others(original, &copy, &mut links_left)?;
        }
    }
    for (link, to) in &scene.links {
        symlink(at(folder, to), at(folder, link)).map_err(fail(link))?;
    }
    for file in files {
        let copy = at(folder, &file.path);
        let made = files::create_copy(&copy, file.text.as_bytes(), file.access);
        made.map_err(fail(&copy))?;
    }
    Ok(())
}

fn fail(path: &Path) -> impl Fn(io::Error) -> StageError + use<> {
    let path = path.to_owned();
    move |cause| StageError::file(Step::Prepare, &path, cause)
}

/// What is mirrored, by the paths of the originals.
struct Scene<'a> {
    /// With all folders that they are in; the root first.
    folders: BTreeSet<&'a Path>,
    /// Links, and where they lead.
    links: BTreeMap<&'a Path, PathBuf>,
    files: BTreeSet<&'a Path>,
    /// Most steps upwards that a line of the files says.
    climbs: usize,
}

impl<'a> Scene<'a> {
    fn of(own: &'a OwnFiles, files: &'a [OwnFile]) -> Self {
        let passed = own.trail.folders.iter().flat_map(|it| it.ancestors());
        let mut folders: BTreeSet<&Path> = passed.chain(own.base.ancestors()).collect();
        let files_at: BTreeSet<&Path> = files.iter().map(|it| it.path.as_path()).collect();
        folders.extend(files_at.iter().flat_map(|it| it.ancestors().skip(1)));
        let followed = own.trail.links.iter().filter_map(|link| {
            let to = link.canonicalize().ok()?;
            let is_mirrored = folders.contains(&*to) || files_at.contains(&*to);
            is_mirrored.then_some((link.as_path(), to))
        });
        let lines = files.iter().flat_map(|file| file.text.lines());
        Self {
            links: followed.collect(),
            climbs: lines
                .map(|line| line.matches("..").count())
                .max()
                .unwrap_or(0),
            folders,
            files: files_at,
        }
    }

    /// Whether a relative path in the files could lead to what else is in a folder.
    fn shows_others_in(&self, folder: &Path, own: &OwnFiles) -> bool {
        let mut below = self.links.values().chain([&own.base]);
        if below.any(|leads_to| folder.starts_with(leads_to)) {
            return true;
        }
        let holds = |path: &&Path| path.parent() == Some(folder);
        let Ok(below) = own.base.strip_prefix(folder) else {
            return self.climbs > 0 || self.files.iter().chain(self.links.keys()).any(holds);
        };
        below.components().count() <= self.climbs || self.files.iter().any(holds)
    }

    /// Links to all entries of a folder that are not mirrored themselves.
    fn link_others(
        &self,
        original: &Path,
        copy: &Path,
        links_left: &mut usize,
    ) -> Result<(), StageError> {
        for entry in std::fs::read_dir(original).map_err(fail(original))? {
            let path = entry.map_err(fail(original))?.path();
            let is_mirrored = self.folders.contains(&*path)
                || self.links.contains_key(&*path)
                || self.files.contains(&*path);
            let Some(name) = path.file_name().filter(|_| !is_mirrored) else {
                continue;
            };
            *links_left = links_left.checked_sub(1).ok_or_else(|| {
                let problem = "it has too many entries to stand beside a configuration; \
                               move the configuration to a folder of its own";
                fail(original)(io::Error::other(problem))
            })?;
            symlink(&path, copy.join(name)).map_err(fail(&path))?;
        }
        Ok(())
    }
}
