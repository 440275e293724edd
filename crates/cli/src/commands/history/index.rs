//! What histories took from records, kept in the user's cache, so that the next one need not read
//! and judge them again: a file for each record.
//!
//! It saves time and nothing else. An entry counts for the files and the program that it was made
//! of and by; whatever is wrong with the index, the records are read instead. It holds what a
//! history shows and no secrets.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bakeoff_plan::Random;
use bakeoff_record::{LINKS_FILE, cache_folder, private_folder, replace_private};
use bakeoff_report::{EXTRACT_SCHEMA, HistoryRecord};
use serde::{Deserialize, Serialize};

use crate::output;

/// The folder of the index in the cache.
const FOLDER: &str = "history";
/// Files of a record that a history rests on.
const RESTS_ON: [&str; 3] = ["trials.jsonl", "plan.json", "machine.json"];
/// Entries that are kept, the latest.
const ENTRIES_MAX: usize = 10_000;
/// Longest entry that is read, bytes: one takes some 10 KB.
const ENTRY_BYTES_MAX: u64 = 16 << 20;

/// Where the index is; `None` without a home.
pub(crate) fn path() -> Option<PathBuf> {
    cache_folder().map(|cache| cache.join(FOLDER))
}

/// The index, where there is one.
pub(super) struct Index {
    folder: Option<PathBuf>,
    /// The program that entries are made by.
    made_by: String,
    /// Whether it was said that something is wrong with it.
    was_said: Cell<bool>,
}

/// What was taken from a record.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// The record's folder.
    path: PathBuf,
    /// Its files.
    made_of: String,
    /// The program.
    made_by: String,
    taken: HistoryRecord,
}

impl Index {
    /// No index: every record is read.
    pub(super) fn none() -> Self {
        Self {
            folder: None,
            made_by: String::new(),
            was_said: Cell::new(false),
        }
    }

    /// The index in a folder, which is made where it is missing. Where that fails, there is none,
    /// and a line says so.
    pub(super) fn open(folder: Option<PathBuf>) -> Self {
        let none = Self::none();
        let (Some(folder), Some(made_by)) = (folder, this_program()) else {
            return none;
        };
        if let Err(error) = private_folder(&folder) {
            let shown = folder.display();
            none.say(&format!(
                "no index of records: failed to make {shown}: {error}"
            ));
            return none;
        }
        Self {
            folder: Some(folder),
            made_by,
            ..none
        }
    }

    /// Once: an index with thousands of entries is wrong in thousands of places at once.
    fn say(&self, text: &str) {
        if !self.was_said.replace(true) {
            output::note(text);
        }
    }

    /// Reads a record by `read`, or takes what an earlier history took from it.
    pub(super) fn or_read(
        &self,
        record: &Path,
        read: impl FnOnce(&Path) -> Result<HistoryRecord, String>,
    ) -> Result<HistoryRecord, String> {
        let whole = record.canonicalize().unwrap_or_else(|_| record.to_owned());
        let place = self.folder.as_ref().map(|folder| folder.join(name(&whole)));
        // Before it is read: what is appended meanwhile makes the entry one of other files.
        let (Some(place), Some(made_of)) = (place, made_of(&whole)) else {
            return read(record);
        };
        let known = self
            .entry(&place)
            .filter(|it| it.path == whole && it.made_of == made_of && it.made_by == self.made_by);
        if let Some(entry) = known {
            return Ok(entry.taken);
        }
        let entry = Entry {
            path: whole,
            made_of,
            made_by: self.made_by.clone(),
            taken: read(record)?,
        };
        let text = serde_json::to_vec(&entry).map_err(std::io::Error::other);
        if let Err(error) = text.and_then(|text| replace_private(&place, &text)) {
            let shown = place.display();
            self.say(&format!(
                "not kept in the index: failed to write {shown}: {error}"
            ));
        }
        Ok(entry.taken)
    }

    /// The entry of a place; `None` where there is none that can be used.
    fn entry(&self, place: &Path) -> Option<Entry> {
        let facts = fs::symlink_metadata(place).ok()?;
        let is_readable = facts.is_file() && facts.len() <= ENTRY_BYTES_MAX;
        let bytes = is_readable.then(|| fs::read(place).ok()).flatten();
        let entry = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if entry.is_none() {
            let shown = place.display();
            self.say(&format!(
                "{shown} in the index is damaged or of another version, and is made again"
            ));
        }
        entry
    }

    /// Forgets the oldest entries beyond those that are kept.
    pub(super) fn finish(self) {
        let Some(entries) = self.folder.and_then(|folder| fs::read_dir(folder).ok()) else {
            return;
        };
        let mut entries: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        entries.sort();
        let more = entries.len().saturating_sub(ENTRIES_MAX);
        for (_, path) in &entries[..more] {
            // It is only larger than it needs to be.
            let _ = fs::remove_file(path);
        }
    }
}

/// The name of a record's entry. Two records of one name take turns: an entry knows its record.
fn name(record: &Path) -> String {
    let path = record.to_string_lossy();
    format!("{:016x}.json", Random::labelled(0, &path).bits())
}

/// Sizes and times of the files that a history rests on.
fn made_of(record: &Path) -> Option<String> {
    let one = |name: &str| stamp(&record.join(name));
    let all: Option<Vec<String>> = RESTS_ON.into_iter().map(one).collect();
    let mut all = all?;
    // Links are written after the last trial, and only where there are hosts.
    all.push(one(LINKS_FILE).unwrap_or_else(|| "-".to_owned()));
    Some(all.join(" "))
}

/// The version of the reader, and of the very program: what judges may change between two builds.
fn this_program() -> Option<String> {
    let program = stamp(&std::env::current_exe().ok()?)?;
    let version = env!("CARGO_PKG_VERSION");
    Some(format!("{EXTRACT_SCHEMA} {version} {program}"))
}

fn stamp(path: &Path) -> Option<String> {
    let facts = fs::metadata(path).ok()?;
    let (s, ns) = (facts.mtime(), facts.mtime_nsec());
    Some(format!("{}:{s}.{ns:09}", facts.len()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;

    use bakeoff_plan::Pinning;
    use bakeoff_record::Machine;
    use bakeoff_report::{HistoryCell, HistoryMetric, HistoryNumber};

    use super::*;

    fn taken(plan: &str) -> HistoryRecord {
        let rate = HistoryNumber::Known {
            value: 1.5,
            low: 1.0,
            high: 2.0,
            n: 7,
            suspect: true,
        };
        let missing = HistoryNumber::Missing("cpu is invalid".to_owned());
        HistoryRecord {
            plan: plan.to_owned(),
            started_at: "2026-09-01T03:00:00Z".to_owned(),
            machine: Machine::default(),
            pinning: Pinning::default(),
            cells: vec![HistoryCell {
                contender: "it".to_owned(),
                version: None,
                workload: "html".to_owned(),
                load: "c50".to_owned(),
                protocol: "h1".to_owned(),
                asks: "1a2b".to_owned(),
                rate_was_found: false,
                numbers: BTreeMap::from([
                    (HistoryMetric::Rate, rate),
                    (HistoryMetric::Cpu, missing),
                ]),
            }],
        }
    }

    struct World {
        folder: tempfile::TempDir,
        reads: Cell<u32>,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            for name in RESTS_ON {
                fs::write(folder.path().join(name), "1").expect("a file");
            }
            Self {
                folder,
                reads: Cell::new(0),
            }
        }

        fn index(&self) -> PathBuf {
            self.folder.path().join("cache").join(FOLDER)
        }

        fn entry(&self) -> PathBuf {
            let whole = self.folder.path().canonicalize().expect("a path");
            self.index().join(name(&whole))
        }

        /// Looks at the record once, with the index or without, and says how often it was read by
        /// now.
        fn look(&self, index: Index) -> u32 {
            let read = |_: &Path| {
                self.reads.set(self.reads.get() + 1);
                Ok(taken("nightly"))
            };
            assert_eq!(
                index.or_read(self.folder.path(), read),
                Ok(taken("nightly"))
            );
            index.finish();
            self.reads.get()
        }

        fn opened(&self) -> Index {
            Index::open(Some(self.index()))
        }
    }

    #[test]
    fn a_record_is_read_once_until_it_or_the_program_changes() {
        let world = World::new();
        assert_eq!(
            (world.look(world.opened()), world.look(world.opened())),
            (1, 1)
        );
        let mode = world
            .entry()
            .metadata()
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(world.folder.path().join(RESTS_ON[0]), "more").expect("a file");
        assert_eq!(
            (world.look(world.opened()), world.look(world.opened())),
            (2, 2)
        );
        let other = Index {
            made_by: "another".to_owned(),
            ..world.opened()
        };
        assert_eq!(world.look(other), 3);
        assert_eq!(world.look(Index::none()), 4);
    }

    #[test]
    fn an_entry_that_is_damaged_or_gone_is_made_again() {
        let world = World::new();
        world.look(world.opened());
        let whole = fs::read(world.entry()).expect("it is there");
        for damaged in [&b"{"[..], &whole[..whole.len() / 2], b"\xff\0"] {
            let reads = world.reads.get();
            fs::write(world.entry(), damaged).expect("it can be damaged");
            assert_eq!(world.look(world.opened()), reads + 1);
            assert_eq!(world.look(world.opened()), reads + 1);
        }
        // Another record's, whose name is the same by chance.
        let other = String::from_utf8(whole).expect("text");
        let path = world.folder.path().canonicalize().expect("a path");
        let other = other.replace(&path.display().to_string(), "/elsewhere");
        fs::write(world.entry(), other).expect("it can be replaced");
        let reads = world.reads.get();
        assert_eq!(world.look(world.opened()), reads + 1);
        fs::remove_dir_all(world.index()).expect("it is there");
        assert_eq!(world.look(world.opened()), reads + 2);
    }

    #[test]
    fn an_index_that_cannot_be_had_is_done_without() {
        let world = World::new();
        fs::create_dir_all(world.index().parent().expect("a folder")).expect("a folder");
        fs::write(world.index(), "").expect("a file in its place");
        assert_eq!(
            (world.look(world.opened()), world.look(world.opened())),
            (1, 2)
        );
        let world = World::new();
        fs::create_dir_all(world.entry()).expect("a folder in an entry's place");
        assert_eq!(
            (world.look(world.opened()), world.look(world.opened())),
            (1, 2)
        );
    }
}
