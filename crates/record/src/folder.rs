//! The record folder on disk: `plan.json`, `plan.toml`, `machine.json`, `machine.sum`,
//! `trials.jsonl`, `trials.sum`, `links.json`, `links.sum`, `logs/`.
//!
//! A trial is one line, appended and synced when the trial ends. If bakeoff is killed, only the
//! running trial is lost. A line that was cut short is ignored when reading, and removed before the
//! next append. One process writes at a time (`folder/lock.rs`); others may read meanwhile.
//!
//! It stores and returns records. It does not judge what is in them.

mod beside;
mod damaged;
mod file_sum;
mod links;
mod lock;
mod sums;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bakeoff_plan::Plan;
use serde::de::DeserializeOwned;

pub use self::beside::check_beside;
use self::damaged::reason;
use self::file_sum::MACHINE_SUM_FILE;
pub use self::file_sum::check_machine;
pub use self::links::LINKS_FILE;
pub use self::links::check_links;
use self::links::{LINKS_SUM_FILE, MeasuredAfter};
use self::lock::Lock;
pub use self::lock::Writer;
pub use self::sums::{Changed, SumCheck, check_lines, check_sums, hex};
use self::sums::{SUMS_FILE, Sums};
use crate::addresses::Addresses;
use crate::hosts::LinkFacts;
use crate::machine::{MACHINE_SCHEMA, Machine};
use crate::private::{open_private, private_folder, replace_private};
use crate::regular::{line_of, refuse_links};
use crate::shell::shell_path;
use crate::trial::{TRIAL_SCHEMA, TrialRecord};

/// Version of `plan.json`.
pub const PLAN_SCHEMA: &str = "bakeoff.plan/1";
/// The resolved plan, with everything that a plan file cannot say.
const PLAN_FILE: &str = "plan.json";
/// The same as a plan file, for people and for a campaign like it.
const PLAN_COPY: &str = "plan.toml";
/// The machine.
const MACHINE_FILE: &str = "machine.json";
/// One trial a line.
const TRIALS_FILE: &str = "trials.jsonl";
/// Folder in a record that holds another one, of the trials that confirm bottlenecks.
pub const CONFIRM_FOLDER: &str = "confirm";
/// File that says what a shared copy lacks, and marks its folder as one.
pub const COPY_FILE: &str = "SHARED.txt";
/// What of a folder is the record's.
const OWN_NAMES: [&str; 10] = [
    PLAN_FILE,
    PLAN_COPY,
    MACHINE_FILE,
    MACHINE_SUM_FILE,
    TRIALS_FILE,
    SUMS_FILE,
    LINKS_FILE,
    LINKS_SUM_FILE,
    "report.html",
    "logs",
];
/// Longest file of a record that is read, bytes: a trial takes some 10 to 100 KB.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// A record folder as read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The resolved plan.
    pub plan: Plan,
    /// The machine.
    pub machine: Machine,
    /// Trials in the order in which they ended; only the later one of two with the same id.
    pub trials: Vec<TrialRecord>,
    /// Trials that confirm bottlenecks, one resource changed at a time, from the record in the
    /// folder [`CONFIRM_FOLDER`].
    pub confirming: Vec<TrialRecord>,
    /// Whether it is a shared copy, which no campaign can go on with: it lacks what trials need.
    pub is_copy: bool,
}

/// `plan.json`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPlan<P> {
    schema: String,
    plan: P,
}

/// Why a record folder cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file or folder could not be read or written.
    #[error("failed to {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's cause.
        source: io::Error,
    },
    /// A trial could not be written; those before it are kept.
    #[error(
        "failed to append a trial to {}: {source}; the trials before it are kept: make room, then \
         run `bakeoff run --resume {}`",
        path.display(),
        shell_path(path.parent().unwrap_or(path))
    )]
    Append {
        /// `trials.jsonl`.
        path: PathBuf,
        /// The system's cause.
        source: io::Error,
    },
    /// A trial could not be read with names in the places of addresses; those before it are kept.
    #[error(
        "cannot append a trial to {}: with names of hosts in the places of their addresses it \
         could not be read back ({source}); the trials before it are kept: give the hosts other \
         names or addresses, or go on with --addresses",
        path.display()
    )]
    Hidden {
        /// `trials.jsonl`.
        path: PathBuf,
        /// What could not be read.
        source: serde_json::Error,
    },
    /// There is a record already.
    #[error(
        "{} holds a record already; choose another --out, or continue it with \
         `bakeoff run --resume`",
        .0.display()
    )]
    Exists(PathBuf),
    /// Another process writes to the record.
    #[error("{} is being written {}; wait until that has ended: a record has one writer",
            path.display(), Writer::describe(writer.as_ref()))]
    Held {
        /// The record.
        path: PathBuf,
        /// The other process, if it left a note.
        writer: Option<Writer>,
    },
    /// There is no record.
    #[error("{} holds no record: it has no {PLAN_FILE}; name a folder that `bakeoff run` made",
            .0.display())]
    Missing(PathBuf),
    /// There is no such folder.
    #[error("there is no {}; name a folder that `bakeoff run` made", .0.display())]
    NotThere(PathBuf),
    /// It is a file, perhaps one of a record.
    #[error("{} is a file; name the folder of its record", .0.display())]
    NoFolder(PathBuf),
    /// A file is of another version of the format.
    #[error(
        "{} is of format {found}, but this bakeoff reads {expected}; use a newer bakeoff",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
        /// The version that is read.
        expected: &'static str,
    },
    /// A file does not hold what it should.
    #[error("{} line {line} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What was found.
        reason: String,
    },
}

impl FolderError {
    /// What to say of a path where no record is.
    fn without_record(path: &Path) -> Self {
        let path = path.to_owned();
        if path.is_file() {
            Self::NoFolder(path)
        } else if path.is_dir() {
            Self::Missing(path)
        } else {
            Self::NotThere(path)
        }
    }
}

/// A record folder that trials are appended to, by this process alone.
#[derive(Debug)]
pub struct RecordFolder {
    path: PathBuf,
    /// Goes before the file that it is the lock of.
    _lock: Lock,
    trials: File,
    sums: Sums,
    /// Bytes of the trials that this process has appended.
    appended: Range<u64>,
    /// Addresses that are not to be written.
    hidden: Addresses,
}

impl RecordFolder {
    /// Makes a folder with a plan and a machine in it and no trial.
    ///
    /// # Errors
    /// When the folder holds a record already, or cannot be written, or another process is making
    /// one in it.
    pub fn create(path: &Path, plan: &Plan, machine: &Machine) -> Result<Self, FolderError> {
        // A plan file of the user's would be written over.
        if is_record(path)? || path.join(PLAN_COPY).exists() {
            return Err(FolderError::Exists(path.to_owned()));
        }
        private_folder(path).map_err(failed("create", path))?;
        let folder = Self::lock(path)?;
        // Two may make it at once: one has the lock and goes first. Trials without a plan
        // are somebody's all the same.
        let length = folder.trials.metadata().map_or(0, |data| data.len());
        if length > 0 || is_record(path)? {
            return Err(FolderError::Exists(path.to_owned()));
        }
        file_sum::write(path, (MACHINE_FILE, MACHINE_SUM_FILE), machine)?;
        // The plan is what makes a folder a record, so it comes last and whole: where a disk was
        // full or an end by force came before, the same command can be given again.
        write_plan(path, plan).inspect_err(|_| {
            // One of its two files would make the folder a record that is refused then.
            for name in [PLAN_FILE, PLAN_COPY] {
                let _ = fs::remove_file(path.join(name));
            }
        })?;
        Ok(folder)
    }

    /// Puts another plan in the place of the stored one, as when rounds are added to a campaign
    /// that was finished. The trials stay.
    ///
    /// # Errors
    /// When it cannot be written; then the plan that was there still is.
    pub fn replace_plan(&self, plan: &Plan) -> Result<(), FolderError> {
        write_plan(&self.path, plan)
    }

    /// Opens a folder to append to it, without the torn end that a trial may have left.
    ///
    /// # Errors
    /// When it holds no record, cannot be written, or another process writes to it.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        if !is_record(path)? {
            return Err(FolderError::without_record(path));
        }
        for name in OWN_NAMES {
            let links = refuse_links(&path.join(name));
            links.map_err(|(link, cause)| failed("use", &link)(cause))?;
        }
        let mut folder = Self::lock(path)?;
        cut_torn_line(&mut folder.trials).map_err(failed("fix", &path.join(TRIALS_FILE)))?;
        Ok(folder)
    }

    /// Opens `trials.jsonl`, which may be missing, for this process alone.
    fn lock(path: &Path) -> Result<Self, FolderError> {
        let file = path.join(TRIALS_FILE);
        let trials = open_private(&file, OpenOptions::new().read(true).append(true));
        let trials = trials.map_err(failed("open", &file))?;
        let lock = Lock::take(&trials, path)?;
        let sums = Sums::open(path)?;
        // Servers get paths below it on their command lines, and run in folders of their own.
        let path = std::path::absolute(path).map_err(failed("find", path))?;
        Ok(Self {
            path,
            _lock: lock,
            trials,
            sums,
            appended: 0..0,
            hidden: Addresses::default(),
        })
    }

    /// Whether there is a record.
    ///
    /// # Errors
    /// When the folder cannot be looked into.
    pub fn is_at(path: &Path) -> Result<bool, FolderError> {
        is_record(path)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Folder for what belongs to one trial.
    pub fn logs_of(&self, trial_id: &str) -> PathBuf {
        self.path.join("logs").join(trial_id)
    }

    /// Has names of hosts written in the places of these addresses, in all trials from now on and
    /// in their logs.
    pub fn hide(&mut self, addresses: Addresses) {
        self.hidden = addresses;
    }

    /// Appends a trial and waits until the disk has it. Whole or not at all: what a full disk
    /// has taken of the line is cut off again.
    ///
    /// # Errors
    /// When it cannot be written; what was there before is untouched.
    pub fn append(&mut self, trial: &TrialRecord) -> Result<(), FolderError> {
        let failed = |source| FolderError::Append {
            path: self.path.join(TRIALS_FILE),
            source,
        };
        let mut line = serde_json::to_string(trial).map_err(|error| failed(error.into()))?;
        if !self.hidden.is_empty() {
            line = self.hidden.hide_in_json(&line);
            // One line that cannot be read would take the whole record with it.
            serde_json::from_str::<TrialRecord>(&line).map_err(|source| FolderError::Hidden {
                path: self.path.join(TRIALS_FILE),
                source,
            })?;
            self.hidden
                .hide_in(&self.logs_of(&trial.id))
                .map_err(failed)?;
        }
        line.push('\n');
        let line = line.into_bytes();
        let end = self.trials.seek(SeekFrom::End(0)).map_err(failed)?;
        let written = self
            .trials
            .write_all(&line)
            .and_then(|()| self.trials.sync_data())
            .and_then(|()| self.sums.append(end, &line, &trial.id));
        if written.is_err() {
            // Should this fail too, the next open cuts the torn line.
            let _ = self.trials.set_len(end);
        }
        written.map_err(failed)?;
        if self.appended.is_empty() {
            self.appended.start = end;
        }
        self.appended.end = end + line.len() as u64;
        Ok(())
    }

    /// Keeps what the network between hosts carried after the trials that this process has
    /// appended.
    ///
    /// # Errors
    /// When it cannot be written; then what was there still is.
    pub fn keep_links(&self, links: Vec<LinkFacts>) -> Result<(), FolderError> {
        if self.appended.is_empty() || links.is_empty() {
            return Ok(());
        }
        links::add(&self.path, MeasuredAfter::of(self.appended.clone(), links))
    }
}

impl Record {
    /// Reads a record folder.
    ///
    /// # Errors
    /// When a file is missing, damaged or of another version. A torn last line is left out.
    pub fn read(path: &Path) -> Result<Self, FolderError> {
        if !is_record(path)? {
            return Err(FolderError::without_record(path));
        }
        let plan = read_plan(path)?;
        let machine_file = path.join(MACHINE_FILE);
        let machine = read_text(&machine_file)?;
        let machine = read_versioned(&machine_file, 1, &machine, MACHINE_SCHEMA)?;
        let within = path.join(CONFIRM_FOLDER);
        Ok(Self {
            plan,
            machine,
            trials: read_trials(path)?,
            confirming: if is_record(&within)? {
                read_trials(&within)?
            } else {
                Vec::new()
            },
            is_copy: path.join(COPY_FILE).exists(),
        })
    }

    /// Rounds of which at least one trial was run.
    pub fn rounds_begun(&self) -> u32 {
        let rounds = self.trials.iter().map(|trial| trial.round);
        rounds.max().unwrap_or(0)
    }
}

fn read_trials(path: &Path) -> Result<Vec<TrialRecord>, FolderError> {
    let file = path.join(TRIALS_FILE);
    let text = read_text(&file)?;
    let measured_after = links::read(path)?;
    let mut trials: Vec<TrialRecord> = Vec::new();
    let mut offset = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if !line.ends_with('\n') {
            break;
        }
        let mut trial: TrialRecord = read_versioned(&file, index + 1, line, TRIAL_SCHEMA)?;
        for measured in &measured_after {
            measured.give(offset, &mut trial);
        }
        offset += line.len() as u64;
        trials.retain(|earlier| earlier.id != trial.id);
        trials.push(trial);
    }
    Ok(trials)
}

/// A record is private, so that another user's is no missing one.
fn is_record(path: &Path) -> Result<bool, FolderError> {
    let file = path.join(PLAN_FILE);
    match file.try_exists() {
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            Err(failed("read", &file)(cause))
        }
        found => Ok(found.unwrap_or(false)),
    }
}

/// Writes `plan.json` and its readable copy, each whole or not at all.
fn write_plan(path: &Path, plan: &Plan) -> Result<(), FolderError> {
    let file = path.join(PLAN_FILE);
    let stored = StoredPlan {
        schema: PLAN_SCHEMA.to_owned(),
        plan,
    };
    let text = serde_json::to_string_pretty(&stored)
        .map_err(|error| failed("write", &file)(io::Error::other(error)))?;
    for (name, text) in [(PLAN_FILE, text), (PLAN_COPY, plan.to_toml())] {
        let file = path.join(name);
        replace_private(&file, text.as_bytes()).map_err(failed("write", &file))?;
    }
    Ok(())
}

/// The stored plan.
fn read_plan(path: &Path) -> Result<Plan, FolderError> {
    let file = path.join(PLAN_FILE);
    let text = read_text(&file)?;
    let plan = read_versioned::<StoredPlan<Plan>>(&file, 1, &text, PLAN_SCHEMA)?.plan;
    match plan.check_stored_paths() {
        Ok(()) => Ok(plan),
        Err(reason) => Err(FolderError::Damaged {
            path: file,
            line: 1,
            reason,
        }),
    }
}

/// Reads a JSON value after its `schema` was found to be the one that is read.
fn read_versioned<T: DeserializeOwned>(
    path: &Path,
    line: usize,
    text: &str,
    expected: &'static str,
) -> Result<T, FolderError> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        schema: String,
    }
    // Of what ends too early, the place is before the line break, not in the line behind it.
    let text = text.trim_end();
    let found = read_json::<Versioned>(path, line, text)?.schema;
    if found != expected {
        return Err(FolderError::Version {
            path: path.to_owned(),
            found,
            expected,
        });
    }
    read_json(path, line, text)
}

fn read_json<T: DeserializeOwned>(path: &Path, line: usize, text: &str) -> Result<T, FolderError> {
    serde_json::from_str(text).map_err(|error| FolderError::Damaged {
        path: path.to_owned(),
        line: line + error.line().saturating_sub(1),
        reason: reason::<T>(text, &error),
    })
}

fn read_text(path: &Path) -> Result<String, FolderError> {
    let bytes = crate::read_regular(path, FILE_BYTES_MAX).map_err(failed("read", path))?;
    // It was written as UTF-8: no other encoding explains what is none.
    String::from_utf8(bytes).map_err(|error| FolderError::Damaged {
        path: path.to_owned(),
        line: line_of(&error),
        reason: "some of its bytes are others than were written".to_owned(),
    })
}

/// Cuts what follows the last line break.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    if whole < bytes.len() {
        file.set_len(whole as u64)?;
    }
    Ok(())
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::File {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests;
