//! `bakeoff site DIR...`: many records as pages to publish.
//!
//! Each record is published as `bakeoff report --share` would give it away. The site is built in a
//! folder next to its target and exchanged with it when complete, so nobody sees half of one.

mod place;

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use bakeoff_record::{FolderError, Record};
use bakeoff_report::{Redacted, SiteFile, SiteOptions, SiteRecord, count, site_files, site_record};

use self::place::Place;
use super::found::Found;
use crate::flags::SiteFlags;
use crate::{exit, output, paths};

/// Records that are read and judged at the same time, at most: so many are in memory.
const AT_A_TIME_MAX: usize = 8;

pub(crate) fn carry_out(flags: &SiteFlags) -> anyhow::Result<u8> {
    paths::must_be_text("--output", &flags.output)?;
    let options = SiteOptions {
        title: flags.title.clone(),
        url: flags.url.clone(),
    };
    let place = Place::at(&flags.output)?;
    let found = Found::below(&flags.folders)?;
    for line in found.passed_over() {
        output::note(&line);
    }
    let mut site = Site::new(place, options);
    for (folder, error) in found.unreadable {
        site.leave_out(&folder, error);
    }
    let processors = thread::available_parallelism().map_or(1, usize::from);
    for folders in found.records.chunks(processors.min(AT_A_TIME_MAX)) {
        site.add(folders)?;
    }
    site.finish(&flags.output)
}

/// What a record comes to: its facts, and the files that are its own.
type Published = (SiteRecord, Vec<SiteFile>);

/// Reads and judges these records at the same time; in their order.
fn published(folders: &[PathBuf], options: &SiteOptions) -> Vec<Result<Published, FolderError>> {
    let publish = |folder: &Path| {
        let record = Record::read(folder)?;
        Ok(site_record(&Redacted::shared(record), options))
    };
    thread::scope(|scope| {
        let each = folders.iter();
        let threads: Vec<_> = each.map(|one| scope.spawn(move || publish(one))).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// A site that is being made.
struct Site {
    place: Place,
    options: SiteOptions,
    /// By the names of their pages, with the folders that they are from.
    records: BTreeMap<String, (SiteRecord, PathBuf)>,
    /// What a record that could not be read comes to.
    code: u8,
    broken: usize,
}

impl Site {
    fn new(place: Place, options: SiteOptions) -> Self {
        Self {
            place,
            options,
            records: BTreeMap::new(),
            code: exit::DONE,
            broken: 0,
        }
    }

    /// Says that a record cannot be published, and goes on.
    fn leave_out(&mut self, folder: &Path, error: FolderError) {
        let folder = folder.display();
        output::note(&format!("left out: {folder}: {error}"));
        self.broken += 1;
        let code = exit::code_of(&super::folder_error(error));
        self.code = match self.code {
            exit::DONE => code,
            // That a disk cannot be read is worse than a record that is damaged.
            known => known.min(code),
        };
    }

    /// Adds the records in these folders.
    fn add(&mut self, folders: &[PathBuf]) -> anyhow::Result<()> {
        for (folder, read) in folders.iter().zip(published(folders, &self.options)) {
            match read {
                Ok(record) => self.take(folder, record)?,
                Err(error) => self.leave_out(folder, error),
            }
        }
        Ok(())
    }

    /// Takes a record. Of two copies of one campaign the one with more trials stays, else the
    /// first.
    fn take(&mut self, folder: &Path, (record, files): Published) -> anyhow::Result<()> {
        let known = self.records.get(&record.name);
        if let Some((known, other)) = known {
            let is_more = record.trials > known.trials;
            let (kept, left) = if is_more {
                (folder, other.as_path())
            } else {
                (other.as_path(), folder)
            };
            output::note(&format!(
                "skipped: {} is the same campaign as {}, without more trials",
                left.display(),
                kept.display()
            ));
            if !is_more {
                return Ok(());
            }
        }
        self.write(&files)?;
        let name = record.name.clone();
        self.records.insert(name, (record, folder.to_owned()));
        Ok(())
    }

    fn write(&self, files: &[SiteFile]) -> anyhow::Result<()> {
        files.iter().try_for_each(|file| self.place.write(file))
    }

    fn finish(mut self, shown: &Path) -> anyhow::Result<u8> {
        let records = std::mem::take(&mut self.records);
        let records: Vec<SiteRecord> = records.into_values().map(|(record, _)| record).collect();
        if records.is_empty() {
            return Err(exit::usage(match self.broken {
                0 => {
                    "there is no record to publish; name folders that `bakeoff run` made, or a \
                      folder that holds some"
                }
                _ => "none of the records can be read, for the reasons above",
            }));
        }
        let published = records.len();
        self.write(&site_files(records, &self.options))?;
        let kept = self.place.take()?;
        let broken = match self.broken {
            0 => String::new(),
            broken => format!(", {broken} left out because they cannot be read"),
        };
        let kept = match kept {
            0 => String::new(),
            kept => format!("; what else was in the folder was kept ({kept})"),
        };
        let records = match published {
            1 => "1 record".to_owned(),
            many => format!("{} records", count(many as u64)),
        };
        output::result(&format!(
            "{}: {records}{broken}{kept}",
            shown.join("index.html").display()
        ))?;
        Ok(self.code)
    }
}
