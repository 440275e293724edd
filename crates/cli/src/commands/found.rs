//! Finds record folders, and reports other folders that it skips.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_record::{FolderError, RecordFolder};
use bakeoff_report::SITE_MARK;

use crate::exit;

/// How far below a named folder records are looked for.
const LEVELS: usize = 4;
/// Names that are looked at below the named folders.
const ENTRIES_MAX: usize = 100_000;
/// Names of what was skipped that a message has.
const NAMES_SHOWN: usize = 3;

/// What was found below the named folders.
#[derive(Default)]
pub(super) struct Found {
    /// Record folders, each once, in the order of the command line and of their names.
    pub(super) records: Vec<PathBuf>,
    /// Folders that cannot be looked into, each once.
    pub(super) unreadable: Vec<(PathBuf, FolderError)>,
    /// Named folders that neither are a record nor hold one.
    pub(super) empty: Vec<PathBuf>,
    /// Sites that `bakeoff site` made.
    sites: Vec<PathBuf>,
    /// Named folders, with the names in them that are neither records nor hold any.
    others: Vec<(PathBuf, Vec<String>)>,
    seen: BTreeSet<PathBuf>,
    entries: usize,
}

impl Found {
    /// Looks into the folders that the user named.
    ///
    /// # Errors
    /// When one of them is no folder, or there is too much below them.
    pub(super) fn below(folders: &[PathBuf]) -> anyhow::Result<Self> {
        let mut found = Self::default();
        for folder in folders {
            if !folder.is_dir() {
                return Err(exit::usage(format!(
                    "{} is not a folder; name record folders, or folders that hold some",
                    folder.display()
                )));
            }
            let mut others = Vec::new();
            if !found.look(folder, LEVELS, &mut others)? {
                found.empty.push(folder.clone());
            }
            if !others.is_empty() {
                found.others.push((folder.clone(), others));
            }
        }
        Ok(found)
    }

    /// Takes a folder that is a record, or those in it. Returns whether there were any, or
    /// something to be said of it; names in it without any go into `others`.
    fn look(
        &mut self,
        folder: &Path,
        levels: usize,
        others: &mut Vec<String>,
    ) -> anyhow::Result<bool> {
        if folder.join(SITE_MARK).exists() {
            self.sites.push(folder.to_owned());
            return Ok(true);
        }
        let is_record = RecordFolder::is_at(folder);
        if !matches!(is_record, Ok(false)) {
            let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
            if self.seen.insert(real) {
                match is_record {
                    Ok(_) => self.records.push(folder.to_owned()),
                    Err(error) => self.unreadable.push((folder.to_owned(), error)),
                }
            }
            return Ok(true);
        }
        let failed = || format!("failed to read {}", folder.display());
        let mut entries = fs::read_dir(folder)
            .and_then(|entries| entries.collect::<Result<Vec<_>, _>>())
            .with_context(failed)?;
        self.entries += entries.len();
        if self.entries > ENTRIES_MAX {
            return Err(exit::usage(format!(
                "there are more than {ENTRIES_MAX} entries up to {}; name folders with fewer",
                folder.display()
            )));
        }
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut has_any = false;
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            // `.git` and the like.
            if name.starts_with('.') {
                continue;
            }
            let path = entry.path();
            let below = path.is_dir() && levels > 0;
            if below && self.look(&path, levels - 1, &mut Vec::new())? {
                has_any = true;
            } else {
                others.push(name);
            }
        }
        Ok(has_any)
    }

    /// What was skipped, in a line for each named folder.
    pub(super) fn passed_over(&self) -> Vec<String> {
        let sites = self
            .sites
            .iter()
            .map(|folder| format!("skipped: {}: it is a site, not a record", folder.display()));
        let others = self.others.iter().map(|(folder, names)| {
            let shown = names[..names.len().min(NAMES_SHOWN)].join(", ");
            let more = match names.len().saturating_sub(NAMES_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("skipped in {}: {shown}{more}: no record", folder.display())
        });
        sites.chain(others).collect()
    }
}
