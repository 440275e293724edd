//! `links.json`: what the network between hosts carried after the last round, and the part of
//! `trials.jsonl` that it belongs to. Trials are appended before it is known, so it is a file of
//! its own.
//!
//! A resumed campaign measures again after its new rounds, and adds an entry of its own.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{FolderError, file_sum, read_text, read_versioned};
use crate::hosts::LinkFacts;
use crate::trial::TrialRecord;

/// The file.
pub const LINKS_FILE: &str = "links.json";
/// Its checksum.
pub(super) const LINKS_SUM_FILE: &str = "links.sum";
/// Its version.
const LINKS_SCHEMA: &str = "bakeoff.links/1";

/// What is in the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredLinks {
    schema: String,
    measured: Vec<MeasuredAfter>,
}

/// Links as they were after some trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeasuredAfter {
    /// Bytes of `trials.jsonl` with the trials that came before.
    trials: Range<u64>,
    links: Vec<LinkFacts>,
}

impl MeasuredAfter {
    pub(super) fn of(trials: Range<u64>, links: Vec<LinkFacts>) -> Self {
        Self { trials, links }
    }

    /// Gives a trial whose line begins at `offset` what was measured after it.
    pub(super) fn give(&self, offset: u64, trial: &mut TrialRecord) {
        if let Some(hosts) = &mut trial.hosts
            && self.trials.contains(&offset)
        {
            hosts.links.extend(self.links.iter().cloned());
        }
    }
}

/// What was kept; nothing where there is no file.
pub(super) fn read(folder: &Path) -> Result<Vec<MeasuredAfter>, FolderError> {
    let path = folder.join(LINKS_FILE);
    if matches!(path.try_exists(), Ok(false)) {
        return Ok(Vec::new());
    }
    let stored: StoredLinks = read_versioned(&path, 1, &read_text(&path)?, LINKS_SCHEMA)?;
    Ok(stored.measured)
}

/// Adds one entry, whole or not at all, and the checksum of them all.
pub(super) fn add(folder: &Path, new: MeasuredAfter) -> Result<(), FolderError> {
    let mut measured = read(folder)?;
    measured.push(new);
    let stored = StoredLinks {
        schema: LINKS_SCHEMA.to_owned(),
        measured,
    };
    file_sum::write(folder, (LINKS_FILE, LINKS_SUM_FILE), &stored)
}

/// Whether `links.json` is as it was written, or is missing as it should be; `None` where it has
/// no checksum.
///
/// # Errors
/// When a file of the record cannot be read.
pub fn check_links(path: &Path) -> Result<Option<bool>, FolderError> {
    let is_there = |name: &str| !matches!(path.join(name).try_exists(), Ok(false));
    match (is_there(LINKS_FILE), is_there(LINKS_SUM_FILE)) {
        (false, has_sum) => Ok(Some(!has_sum)),
        (true, _) => file_sum::check(path, LINKS_FILE, LINKS_SUM_FILE),
    }
}
