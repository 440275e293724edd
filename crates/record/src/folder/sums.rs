//! `trials.sum`: a checksum for each line of `trials.jsonl`, so that a changed bit is found and its
//! trial named.
//!
//! A line is `OFFSET LENGTH SHA256 TRIAL`, written and synced after its trial. It names a range of
//! bytes, line end included, so that no changed byte can move a trial out of its sight.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::{FILE_BYTES_MAX, FolderError, TRIALS_FILE, cut_torn_line, failed, is_record};
use crate::private::open_private;
use crate::regular::read_regular;

/// The checksums.
pub(super) const SUMS_FILE: &str = "trials.sum";

/// The checksums of a record that trials are appended to.
#[derive(Debug)]
pub(super) struct Sums(File);

impl Sums {
    /// Opens them, without a line that an end by force has torn.
    pub(super) fn open(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join(SUMS_FILE);
        let file = open_private(&path, OpenOptions::new().read(true).append(true));
        let mut file = file.map_err(failed("open", &path))?;
        cut_torn_line(&mut file).map_err(failed("fix", &path))?;
        Ok(Self(file))
    }

    /// Appends the checksum of a line and waits until the disk has it, whole or not at all.
    pub(super) fn append(&mut self, offset: u64, line: &[u8], trial: &str) -> io::Result<()> {
        let sum = hex(&Sha256::digest(line));
        let text = format!("{offset} {} {sum} {}\n", line.len(), on_one_line(trial));
        let end = self.0.seek(SeekFrom::End(0))?;
        let written = self
            .0
            .write_all(text.as_bytes())
            .and_then(|()| self.0.sync_data());
        if written.is_err() {
            // Should this fail too, the next open cuts the torn line.
            let _ = self.0.set_len(end);
        }
        written
    }
}

/// Names of trials hold no line ends; a record of somebody else may.
fn on_one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Bytes as hexadecimal digits, as digests are written.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the checksums of a record say of its trials.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SumCheck {
    /// Trials that are as they were written.
    pub whole: usize,
    /// Lines without a checksum, which is written for each: it was taken away, or bakeoff was ended
    /// by force just after the trial.
    pub missing: usize,
    /// Trials that are no longer as they were written.
    pub changed: Vec<Changed>,
}

/// A trial that is no longer as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its name.
    pub trial: String,
    /// What was found.
    pub text: String,
}

/// One line of checksums.
struct Sum<'t> {
    offset: usize,
    length: usize,
    sha256: &'t str,
    trial: &'t str,
}

impl<'t> Sum<'t> {
    fn read(line: &'t str) -> Option<Self> {
        let mut parts = line.splitn(4, ' ');
        Some(Self {
            offset: parts.next()?.parse().ok()?,
            length: parts.next()?.parse().ok()?,
            sha256: parts.next().filter(|sum| sum.len() == 64)?,
            trial: parts.next()?,
        })
    }

    fn check(&self, trials: &[u8]) -> Result<(), String> {
        let end = self.offset.checked_add(self.length);
        let bytes = end.and_then(|end| trials.get(self.offset..end));
        let Some(bytes) = bytes else {
            return Err(format!("{TRIALS_FILE} ends before its line does"));
        };
        if hex(&Sha256::digest(bytes)) == self.sha256 {
            return self.check_name(bytes);
        }
        let before = trials.get(..self.offset).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Err(format!(
            "line {line} of {TRIALS_FILE} (bytes {} to {}) is not what {SUMS_FILE} has the \
             checksum of",
            self.offset,
            self.offset + self.length
        ))
    }

    /// A name beside the right bytes is what a reader of the checksums believes.
    fn check_name(&self, line: &[u8]) -> Result<(), String> {
        match Head::read(line) {
            Some(Head { id }) if on_one_line(&id) != self.trial => Err(format!(
                "{SUMS_FILE} has this name beside the checksum of trial {id}"
            )),
            _ => Ok(()),
        }
    }
}

/// What a line of trials is, whatever else it holds.
#[derive(serde::Deserialize)]
struct Head {
    id: String,
}

impl Head {
    fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// Holds the lines of a record's trials against their checksums.
///
/// # Errors
/// When the folder holds no record, or a file of it cannot be read.
pub fn check_sums(path: &Path) -> Result<SumCheck, FolderError> {
    if !is_record(path)? {
        return Err(FolderError::without_record(path));
    }
    let read = |name: &str| {
        let file = path.join(name);
        read_regular(&file, FILE_BYTES_MAX).map_err(failed("read", &file))
    };
    let trials = read(TRIALS_FILE)?;
    let sums = match path.join(SUMS_FILE).try_exists() {
        Ok(false) => Vec::new(),
        _ => read(SUMS_FILE)?,
    };
    Ok(check_lines(&trials, &String::from_utf8_lossy(&sums)))
}

/// Holds the bytes of `trials.jsonl` against those of `trials.sum`.
pub fn check_lines(trials: &[u8], sums: &str) -> SumCheck {
    let mut check = SumCheck::default();
    let (mut covered, mut unreadable) = (0, 0_usize);
    let mut uncovered = 0;
    for (number, line) in (1..).zip(sums.split_inclusive('\n')) {
        // Torn, as the line of a trial may be; its trial then has none.
        let Some(line) = line.strip_suffix('\n') else {
            break;
        };
        let mut changed = |trial: String, text: String| check.changed.push(Changed { trial, text });
        let Some(sum) = Sum::read(line) else {
            let trial = format!("the trial of line {number} of {SUMS_FILE}");
            changed(trial, "its checksum cannot be read".to_owned());
            unreadable += 1;
            continue;
        };
        // Written one after the other, they cannot overlap or go back.
        if sum.offset < covered {
            let text = format!("line {number} of {SUMS_FILE} is there twice, or at a wrong place");
            changed(sum.trial.to_owned(), text);
            continue;
        }
        uncovered += whole_lines(trials, covered, sum.offset);
        covered = sum.offset.saturating_add(sum.length);
        match sum.check(trials) {
            Ok(()) => check.whole += 1,
            Err(text) => changed(sum.trial.to_owned(), text),
        }
    }
    // What follows the last checksum is a trial after which bakeoff was ended by force.
    uncovered += whole_lines(trials, covered, trials.len());
    // Lines whose checksum could not be read are counted already.
    check.missing = uncovered.saturating_sub(unreadable);
    check
}

/// Whole lines in a part of the trials.
fn whole_lines(trials: &[u8], from: usize, to: usize) -> usize {
    let part = trials.get(from..to.min(trials.len())).unwrap_or_default();
    part.iter().filter(|byte| **byte == b'\n').count()
}
