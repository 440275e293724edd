//! `bakeoff verify`: whether a record is as it was written, and its page says what it gives.

use std::path::Path;

use bakeoff_record::{
    Disturbance, Record, SumCheck, TRIAL_SCHEMAS_READ, TrialRecord, check_sums, disturbances,
};
use bakeoff_report::{Redacted, differences, stored_document, view_of};

use super::run::PAGE_FILE;
use crate::flags::VerifyFlags;
use crate::{exit, output};

/// Differences that are listed; what is beyond them is counted.
const LISTED_MOST: usize = 20;
/// Longest page that is read, bytes.
const PAGE_BYTES_MAX: u64 = 1 << 30;

pub(crate) fn carry_out(flags: &VerifyFlags) -> anyhow::Result<u8> {
    let path = &flags.record;
    let sums = check_sums(path).map_err(unreadable)?;
    let mut found: Vec<String> = sums
        .changed
        .iter()
        .map(|one| format!("trial {}: {}", one.trial, one.text))
        .collect();
    let record = match Record::read(path) {
        Ok(record) => record,
        // A changed bit may leave a line that nobody can read.
        Err(error) if !found.is_empty() => {
            found.push(error.to_string());
            return finish(path, &found, &[]);
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut notes = vec![said(&sums)];
    found.extend(record.trials.iter().filter_map(disturbed));
    match page(path, record)? {
        Page::Differs(differences) => found.extend(differences),
        Page::Holds(cells) => notes.push(cells),
        Page::NotCompared(why) => notes.push(why),
    }
    finish(path, &found, &notes)
}

/// What cannot be read ends with exit code 2, whatever the cause is.
fn unreadable(error: bakeoff_record::FolderError) -> anyhow::Error {
    exit::usage(error)
}

/// What the checksums came to, where nothing was changed.
fn said(sums: &SumCheck) -> String {
    let whole = format!("{} trials are as they were written", sums.whole);
    match sums.without {
        0 => whole,
        without => format!(
            "{whole}; {without} have no checksum, so that a change of them is found only where it \
             changes a figure below"
        ),
    }
}

/// What disturbed a trial is decided while a campaign runs, by the trial alone but for drift.
fn disturbed(trial: &TrialRecord) -> Option<String> {
    let of_trial = |found: &[Disturbance]| -> Vec<&'static str> {
        let own = found.iter().filter(|one| **one != Disturbance::Drift);
        own.map(|one| one.name()).collect()
    };
    let stored = of_trial(&trial.attempt.disturbed);
    let computed = of_trial(&disturbances(trial));
    // The first version of a trial's line had no place for it.
    let differs = trial.schema != TRIAL_SCHEMAS_READ[0] && stored != computed;
    differs.then(|| {
        format!(
            "trial {}: disturbed: the record holds [{}], computed again it is [{}]",
            trial.id,
            stored.join(", "),
            computed.join(", ")
        )
    })
}

/// What comparing the page came to.
enum Page {
    Holds(String),
    Differs(Vec<String>),
    NotCompared(String),
}

fn page(path: &Path, record: Record) -> anyhow::Result<Page> {
    let file = path.join(PAGE_FILE);
    if !file.exists() {
        let why = format!("there is no {PAGE_FILE} whose verdicts and estimates could be compared");
        return Ok(Page::NotCompared(why));
    }
    let text = bakeoff_record::read_regular_text(&file, PAGE_BYTES_MAX);
    let text =
        text.map_err(|error| exit::usage(format!("failed to read {}: {error}", file.display())))?;
    let Some(stored) = stored_document(&text) else {
        let why = format!("{PAGE_FILE} holds no document whose figures could be compared");
        return Ok(Page::NotCompared(why));
    };
    let ran = record.machine.bakeoff.clone();
    let mut fewest: Option<Vec<String>> = None;
    // It may have been drawn with --show-secrets.
    for redacted in [Redacted::hidden(record.clone()), Redacted::shown(record)] {
        let report = view_of(&redacted);
        let found = differences(&report, &stored).map_err(|problem| {
            exit::usage(format!("{} cannot be compared: {problem}", file.display()))
        })?;
        if found.is_empty() {
            return Ok(Page::Holds(format!(
                "{PAGE_FILE} holds what the record gives: {} cells, {} comparisons, {} trials",
                report.cells.len(),
                report.comparisons.len(),
                report.trials.len()
            )));
        }
        let lines = found.into_iter().map(|one| {
            format!(
                "{}: {PAGE_FILE} holds {}, computed again it is {}",
                one.place, one.stored, one.computed
            )
        });
        let lines: Vec<String> = lines.collect();
        if fewest
            .as_ref()
            .is_none_or(|known| lines.len() < known.len())
        {
            fewest = Some(lines);
        }
    }
    let mut lines = fewest.unwrap_or_default();
    if ran != env!("CARGO_PKG_VERSION") {
        lines.push(format!(
            "the record was made by bakeoff {ran} and this is {}, whose rules may be others",
            env!("CARGO_PKG_VERSION")
        ));
    }
    Ok(Page::Differs(lines))
}

fn finish(path: &Path, found: &[String], notes: &[String]) -> anyhow::Result<u8> {
    let mut lines = Vec::new();
    match found.len() {
        0 => lines.push(format!("{}: all of it holds", path.display())),
        1 => lines.push(format!("{}: 1 difference", path.display())),
        n => lines.push(format!("{}: {n} differences", path.display())),
    }
    lines.extend(
        found
            .iter()
            .take(LISTED_MOST)
            .map(|line| format!("  {line}")),
    );
    if found.len() > LISTED_MOST {
        lines.push(format!("  and {} more", found.len() - LISTED_MOST));
    }
    lines.extend(notes.iter().map(|line| format!("  {line}")));
    output::result(&lines.join("\n"))?;
    Ok(if found.is_empty() {
        exit::DONE
    } else {
        exit::FAILED
    })
}
