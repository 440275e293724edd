//! `bakeoff report RECORD --share DIR`: a copy of a record to give away.
//!
//! It holds no secrets, no texts of configuration files, no values of headers but those that say
//! how an answer is sent, and no servers' logs. The rest is as in the record, so that the copy
//! reads and reports as the record does.

use std::io;
use std::path::Path;

use anyhow::Context;
use bakeoff_record::{CONFIRM_FOLDER, COPY_FILE, Record, RecordFolder, TrialRecord};
use bakeoff_report::{MarkdownOptions, Redacted, counted};

use crate::{exit, output, paths};

/// What [`COPY_FILE`] says.
const NOTE: &str = "\
This is a copy of a record of bakeoff, made by `bakeoff report RECORD --share DIR`. Left out are the
texts of configuration files, the logs of the servers, the folders in the command that began it,
the names of home folders (`~` stands there), values of headers other than those that say how an
answer is sent and those of bakeoff's own workloads, and values that look secret: `[secret-1]` and
so on stand in their place, the same number for the same value. `bakeoff report` reads the copy;
`bakeoff run --resume` needs the record itself.
";

/// Writes the copy of the record at `path`.
pub(super) fn carry_out(path: &Path, folder: &Path) -> anyhow::Result<u8> {
    let record = Record::read(path).map_err(super::folder_error)?;
    paths::must_be_text("--share", folder)?;
    must_be_empty(folder)?;
    let shared = Redacted::shared(record);
    let record = shared.record();
    copy_trials(folder, record, &record.trials)?;
    if !record.confirming.is_empty() {
        copy_trials(&folder.join(CONFIRM_FOLDER), record, &record.confirming)?;
    }
    let (page, text) = drawn(&shared);
    let files = [
        (super::report::PAGE_FILE, page),
        ("report.md", text),
        (COPY_FILE, NOTE.to_owned()),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        let written = std::fs::write(&path, text);
        written.with_context(|| format!("failed to write {}", path.display()))?;
    }
    output::result(&format!(
        "{}: {} without configuration texts, logs, values of headers and {}; see {COPY_FILE}",
        folder.display(),
        counted(record.trials.len() as u64, "trial"),
        counted(shared.secrets() as u64, "secret value")
    ))?;
    Ok(exit::DONE)
}

/// Writes a record folder with the plan and machine of `record`.
fn copy_trials(folder: &Path, record: &Record, trials: &[TrialRecord]) -> anyhow::Result<()> {
    let copy = RecordFolder::create(folder, &record.plan, &record.machine);
    let mut copy = copy.map_err(super::folder_error)?;
    for trial in trials {
        copy.append(trial).map_err(super::folder_error)?;
    }
    Ok(())
}

/// The page and the text.
fn drawn(shared: &Redacted) -> (String, String) {
    if let Some(report) = bakeoff_report::own_view(shared) {
        return (report.html(), report.markdown(true));
    }
    let report = bakeoff_report::view_of(shared);
    let full = MarkdownOptions { full: true };
    (
        bakeoff_report::html(&report),
        bakeoff_report::markdown(&report, full),
    )
}

/// Refuses to go on with a copy: what a trial needs is not in it.
pub(super) fn refuse_to_resume(record: &Path) -> anyhow::Result<()> {
    if !record.join(COPY_FILE).exists() {
        return Ok(());
    }
    Err(exit::usage(format!(
        "{} is a shared copy, which lacks what trials need; resume the record that it was made of",
        record.display()
    )))
}

/// A folder that is there must be empty, so that nothing else is given away with the copy.
fn must_be_empty(folder: &Path) -> anyhow::Result<()> {
    let refused = |why: &str| {
        let folder = folder.display();
        exit::usage(format!(
            "--share {folder} {why}; name a folder that is new or empty"
        ))
    };
    match folder
        .read_dir()
        .map(|mut entries| entries.next().is_none())
    {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused("is not empty")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refused(&format!("cannot be used: {error}"))),
    }
}
