//! A format that has a file for each cell: where the files go, and what of an earlier record they
//! replace there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_record::read_regular_text;
use bakeoff_report::{HGRM_ENDING, HGRM_MARK, HgrmFile, counted};

use crate::flags::ReportFlags;
use crate::{exit, output, paths};

/// Longest file that is looked at, bytes: one of ours takes some 20 KB.
const BYTES_MAX: u64 = 1 << 20;

/// Writes the files; 4 where none has values.
pub(super) fn write(files: &[HgrmFile], flags: &ReportFlags) -> anyhow::Result<u8> {
    match (&flags.output, files) {
        (None, [only]) => output::document(&only.text)?,
        (None, _) => {
            return Err(exit::usage(format!(
                "hgrm has a file for each cell, and this record has {} cells: name a folder for \
                 them, as in --format hgrm --output latencies",
                files.len()
            )));
        }
        (Some(folder), _) => {
            let removed = write_into(folder, files)?;
            if removed > 0 {
                output::note(&format!(
                    "removed from {}: {} of an earlier record",
                    folder.display(),
                    counted(removed as u64, "file")
                ));
            }
        }
    }
    let with = files.iter().filter(|file| file.has_values).count();
    if flags.output.is_some() || with == 0 {
        let of = files.len();
        output::note(&format!(
            "{with} of {of} cells have valid latencies; the files of the others say why not"
        ));
    }
    Ok(if with > 0 {
        exit::DONE
    } else {
        exit::NOT_VALID
    })
}

/// Writes the files into a folder, which has those of no other record then, and returns how many
/// were removed from it.
fn write_into(folder: &Path, files: &[HgrmFile]) -> anyhow::Result<usize> {
    if folder.exists() && !folder.is_dir() {
        let folder = folder.display();
        return Err(exit::usage(format!(
            "{folder} is not a folder: hgrm has a file for each cell and needs one"
        )));
    }
    fs::create_dir_all(folder).map_err(|error| {
        let fix = "choose another folder with --output";
        paths::not_made("make", folder, &error, fix)
    })?;
    let earlier = earlier(folder, files)?;
    for path in &earlier {
        fs::remove_file(path).with_context(|| format!("failed to remove {}", path.display()))?;
    }
    for file in files {
        output::document_to(Some(&folder.join(&file.name)), &file.text)?;
    }
    Ok(earlier.len())
}

/// The files of a folder that bakeoff wrote there of a record with other cells. A tool that reads
/// the whole folder would mix the two. What bears no mark of bakeoff is somebody else's.
fn earlier(folder: &Path, files: &[HgrmFile]) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || format!("failed to read the folder {}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        let is_written = files.iter().any(|file| path.ends_with(&file.name));
        if !is_written && is_ours(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Whether it is a file of latencies that bakeoff wrote: by its name, and by the mark in it. A link
/// is somebody else's.
fn is_ours(path: &Path) -> bool {
    let has_ending = path.extension().is_some_and(|one| one == HGRM_ENDING);
    let is_file = || fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file());
    let is_marked = |text: String| text.lines().any(|line| line.starts_with(HGRM_MARK));
    has_ending && is_file() && read_regular_text(path, BYTES_MAX).is_ok_and(is_marked)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn file(name: &str) -> HgrmFile {
        HgrmFile {
            name: name.to_owned(),
            text: format!("{name}\n{HGRM_MARK}, of the record begun 2026-11-21T04:00:00Z\n"),
            has_values: true,
        }
    }

    /// A tool that was pointed at the folder drew two records as one.
    #[test]
    fn a_folder_of_latencies_has_those_of_one_record_and_all_that_is_not_ours() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("latencies");
        let write = |names: &[&str]| {
            let files: Vec<HgrmFile> = names.iter().map(|name| file(name)).collect();
            write_into(&folder, &files).unwrap()
        };
        assert_eq!(write(&["html-c10-nginx.hgrm", "html-c10-caddy.hgrm"]), 0);
        let others = BTreeMap::from([
            ("wrk2.hgrm", "       Value   Percentile\n"),
            ("notes.txt", HGRM_MARK),
        ]);
        for (name, text) in &others {
            fs::write(folder.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink(home.path(), folder.join("link.hgrm")).unwrap();
        fs::create_dir(folder.join("folder.hgrm")).unwrap();

        assert_eq!(write(&["html-c10-nginx.hgrm", "html-c50-nginx.hgrm"]), 1);
        for (name, text) in others {
            assert_eq!(
                fs::read_to_string(folder.join(name)).unwrap(),
                text,
                "{name}"
            );
        }
        let entries = fs::read_dir(&folder).unwrap();
        let names = entries.map(|one| one.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        let expected = [
            "folder.hgrm",
            "html-c10-nginx.hgrm",
            "html-c50-nginx.hgrm",
            "link.hgrm",
            "notes.txt",
            "wrk2.hgrm",
        ];
        assert_eq!(names, expected);
    }
}
