//! Where a site is made, and how it comes to its place: whole, and over nothing but another site.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_record::exchange;
use bakeoff_report::{SITE_MARK, SITE_SCHEMA, SiteFile};
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

use crate::exit;

/// What of a site's folder is the site's.
const OWN_NAMES: [&str; 5] = ["assets", "feed.xml", "index.html", "records", SITE_MARK];
/// Bytes of the mark that are read to see whose it is.
const MARK_BYTES: u64 = 4096;

/// A folder that a site is made for.
pub(super) struct Place {
    /// Where it goes.
    target: PathBuf,
    /// Whether a site is there.
    is_site: bool,
    /// Where it is made.
    made: PathBuf,
}

impl Place {
    /// Takes a folder for a site, and makes one beside it to work in.
    ///
    /// # Errors
    /// When it holds something that is no site of this command.
    pub(super) fn at(output: &Path) -> anyhow::Result<Self> {
        // A link stays, and what it leads to is replaced.
        let target = match output.canonicalize() {
            Ok(target) => target,
            Err(_) => std::path::absolute(output)
                .with_context(|| format!("failed to find {}", output.display()))?,
        };
        let is_site = is_site(&target, output)?;
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(refused(output, "cannot be replaced"));
        };
        let failed = |path: &Path| format!("failed to create {}", path.display());
        fs::create_dir_all(parent).with_context(|| failed(parent))?;
        let mut beginning = OsString::from(".");
        beginning.push(name);
        beginning.push(".bakeoff-");
        remove_leftovers(parent, &beginning);
        let mut made = beginning;
        made.push(std::process::id().to_string());
        let made = parent.join(made);
        fs::create_dir(&made).with_context(|| failed(&made))?;
        Ok(Self {
            target,
            is_site,
            made,
        })
    }

    /// Writes a file of the site.
    pub(super) fn write(&self, file: &SiteFile) -> anyhow::Result<()> {
        let path = self.made.join(&file.path);
        let folder = path.parent().unwrap_or(&self.made);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, &file.bytes));
        written.with_context(|| format!("failed to write {}", path.display()))
    }

    /// Moves the site to its place. Returns how many things were kept that lay beside the last
    /// one's: `CNAME`, `.git`.
    pub(super) fn take(&self) -> anyhow::Result<usize> {
        let failed = || failed_to_replace(&self.target);
        if !self.is_site {
            // An empty folder may be there.
            let moved = fs::rename(&self.made, &self.target);
            moved.map_err(|error| not_replaced(&self.target, error))?;
            return Ok(0);
        }
        let swapped = exchange(&self.made, &self.target);
        swapped.map_err(|error| not_replaced(&self.target, error))?;
        // From here on `made` holds what was there.
        let mut kept = 0;
        for entry in fs::read_dir(&self.made).with_context(failed)? {
            let name = entry.with_context(failed)?.file_name();
            if OWN_NAMES.iter().any(|own| name == *own) {
                continue;
            }
            fs::rename(self.made.join(&name), self.target.join(&name)).with_context(failed)?;
            kept += 1;
        }
        Ok(kept)
    }
}

impl Drop for Place {
    /// Removes what was not finished, or the site that was replaced.
    fn drop(&mut self) {
        remove_own(&self.made);
    }
}

fn failed_to_replace(target: &Path) -> String {
    format!("failed to replace {}", target.display())
}

/// Why a site could not come to its place.
fn not_replaced(target: &Path, error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices => exit::usage(format!(
            "--output {} cannot be replaced, because it is a mount point or on another file system \
             than the folder around it: {error}; name a folder in it, such as {}",
            target.display(),
            target.join("site").display()
        )),
        _ => anyhow::Error::new(error).context(failed_to_replace(target)),
    }
}

/// Removes what killed commands have left beside the site's place.
fn remove_leftovers(parent: &Path, beginning: &OsStr) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let rest = name.as_bytes().strip_prefix(beginning.as_bytes());
        let number = rest.and_then(|rest| std::str::from_utf8(rest).ok());
        let number = number.and_then(|text| text.parse::<u32>().ok());
        if number.is_some_and(is_gone) {
            remove_own(&entry.path());
        }
    }
}

/// Whether no other process has a number. This one has made nothing yet: in a container each one
/// may have the same number.
fn is_gone(number: u32) -> bool {
    let process = i32::try_from(number).ok().and_then(Pid::from_raw);
    process
        .is_none_or(|process| process == getpid() || test_kill_process(process) == Err(Errno::SRCH))
}

/// Removes a folder with the files of a site in it. With anything else in it, it stays.
fn remove_own(folder: &Path) {
    for name in OWN_NAMES {
        let path = folder.join(name);
        let removed = if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        // It may not have been made.
        drop(removed);
    }
    drop(fs::remove_dir(folder));
}

/// Whether there is a site; there may also be nothing, or an empty folder.
fn is_site(target: &Path, output: &Path) -> anyhow::Result<bool> {
    let mut entries = match target.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(refused(output, &format!("cannot be used: {error}"))),
    };
    if entries.next().is_none() {
        return Ok(false);
    }
    if is_marked(target) {
        Ok(true)
    } else {
        Err(refused(
            output,
            &format!("holds other files, and no {SITE_MARK}"),
        ))
    }
}

fn is_marked(folder: &Path) -> bool {
    let mut bytes = Vec::new();
    let opened = bakeoff_record::open_regular(&folder.join(SITE_MARK));
    let read = opened.and_then(|file| file.take(MARK_BYTES).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    read.is_ok() && text.contains(&format!("\"schema\": \"{SITE_SCHEMA}\""))
}

fn refused(output: &Path, why: &str) -> anyhow::Error {
    exit::usage(format!(
        "--output {} {why}; name a folder that is new or empty, or a site that `bakeoff site` made",
        output.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_process_that_runs_is_left_alone() {
        assert!(!is_gone(std::os::unix::process::parent_id()));
        for number in [std::process::id(), 0, 999_999_999, u32::MAX] {
            assert!(is_gone(number), "{number}");
        }
    }

    #[test]
    fn a_mount_point_is_called_one() {
        let said =
            |kind: io::ErrorKind| format!("{:#}", not_replaced(Path::new("/srv/www"), kind.into()));
        for kind in [io::ErrorKind::ResourceBusy, io::ErrorKind::CrossesDevices] {
            let said = said(kind);
            assert!(
                said.contains("mount point") && said.ends_with("/srv/www/site"),
                "{said}"
            );
        }
        let other = said(io::ErrorKind::PermissionDenied);
        assert!(other.starts_with("failed to replace /srv/www: "), "{other}");
    }
}
