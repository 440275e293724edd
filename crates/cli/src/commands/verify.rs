//! `bakeoff verify`: whether a record is as it was written, and its page says what it gives.

use std::path::Path;

use bakeoff_record::{
    CONFIRM_FOLDER, Disturbance, Record, RecordFolder, SumCheck, TRIAL_SCHEMAS_READ, TrialRecord,
    check_sums, disturbances, shell_path,
};
use bakeoff_report::{Redacted, counted, differences, stored_document, view_of};

use super::report::Drawn;
use super::run::PAGE_FILE;
use crate::flags::VerifyFlags;
use crate::{exit, output};

/// Differences that are listed; what is beyond them is counted.
const LISTED_MOST: usize = 20;
/// Longest page that is read, bytes.
const PAGE_BYTES_MAX: u64 = 1 << 30;

pub(crate) fn carry_out(flags: &VerifyFlags) -> anyhow::Result<u8> {
    let path = &flags.record;
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let whole = hold_to_sums(path, "", &mut found, &mut notes)?;
    let mut checked = Checked {
        trials: whole > 0,
        figures: false,
    };
    let confirming = path.join(CONFIRM_FOLDER);
    if RecordFolder::is_at(&confirming).map_err(unreadable)? {
        hold_to_sums(&confirming, " of confirm/", &mut found, &mut notes)?;
    }
    let record = match Record::read(path) {
        Ok(record) => record,
        // A changed bit may leave a line that nobody can read.
        Err(error) if !found.is_empty() => {
            found.push(error.to_string());
            return finish(path, &found, &[], checked);
        }
        Err(error) => return Err(unreadable(error)),
    };
    let confirming = record.confirming.iter();
    found.extend(record.trials.iter().chain(confirming).filter_map(disturbed));
    match page(path, record)? {
        Page::Differs(differences) => found.extend(differences),
        Page::Holds(cells) => {
            checked.figures = true;
            notes.push(cells);
        }
        Page::NotCompared(why) => notes.push(why),
    }
    finish(path, &found, &notes, checked)
}

/// What could be checked: what was not has not passed.
#[derive(Clone, Copy)]
struct Checked {
    /// Some trial has a checksum.
    trials: bool,
    /// There is a page to compare verdicts and estimates with.
    figures: bool,
}

/// Holds the trials of a folder to their checksums, and returns how many are as they were written.
/// `of` names the folder where it is not the record itself.
fn hold_to_sums(
    folder: &Path,
    of: &str,
    found: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> anyhow::Result<usize> {
    let sums = check_sums(folder).map_err(unreadable)?;
    let changed = sums.changed.iter();
    found.extend(changed.map(|one| format!("trial{of} {}: {}", one.trial, one.text)));
    notes.push(unchanged(&sums, of));
    Ok(sums.whole)
}

/// What cannot be read ends with exit code 2, whatever the cause is.
fn unreadable(error: bakeoff_record::FolderError) -> anyhow::Error {
    exit::usage(error)
}

/// How many trials are known to be unchanged, and how many cannot be.
fn unchanged(sums: &SumCheck, of: &str) -> String {
    let (trials, are) = match sums.whole {
        1 => ("trial", "is as it was"),
        _ => ("trials", "are as they were"),
    };
    let whole = format!("{} {trials}{of} {are} written", sums.whole);
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
    let stored = match stored_document(&text) {
        Ok(Some(stored)) => stored,
        Ok(None) => return Ok(without_document(path, record, &text)),
        Err(problem) => return Ok(Page::Differs(vec![format!("{PAGE_FILE}: {problem}")])),
    };
    let ran = record.machine.bakeoff.clone();
    let recorded = record.trials.len();
    let mut fewest: Option<Vec<String>> = None;
    // It may have been drawn with --show-secrets.
    for redacted in [Redacted::hidden(record.clone()), Redacted::shown(record)] {
        let report = view_of(&redacted);
        let found = differences(&report, &stored).map_err(|problem| {
            exit::usage(format!("{} cannot be compared: {problem}", file.display()))
        })?;
        if found.is_empty() {
            let counts = match recorded.saturating_sub(report.trials.len()) {
                0 => String::new(),
                repeated => format!(", and {repeated} that were repeated"),
            };
            return Ok(Page::Holds(format!(
                "{PAGE_FILE} holds what the record gives: {}, {}, {} that count{counts}",
                counted(report.cells.len() as u64, "cell"),
                counted(report.comparisons.len() as u64, "comparison"),
                counted(report.trials.len() as u64, "trial")
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

/// A page that holds no document is held against the one that would be drawn today: that of a
/// search or an overload is the same wherever its record lies.
fn without_document(path: &Path, record: Record, text: &str) -> Page {
    let is_of_rounds = !record.plan.is_search() && !record.plan.is_overload();
    let ran = record.machine.bakeoff.clone();
    let drawn = |redacted: &Redacted| Drawn::of(redacted, path).page() == text;
    if drawn(&Redacted::hidden(record.clone())) || drawn(&Redacted::shown(record)) {
        return Page::Holds(format!("{PAGE_FILE} is what the record gives"));
    }
    if is_of_rounds || ran != env!("CARGO_PKG_VERSION") {
        let why = format!("{PAGE_FILE} holds no document whose figures could be compared");
        return Page::NotCompared(why);
    }
    Page::Differs(vec![format!(
        "{PAGE_FILE} is not what the record gives; `bakeoff report {} --format html` draws that",
        shell_path(path)
    )])
}

fn finish(path: &Path, found: &[String], notes: &[String], checked: Checked) -> anyhow::Result<u8> {
    let (headline, code) = match (found.len(), checked.figures, checked.trials) {
        (0, true, _) => ("all of it holds".to_owned(), exit::DONE),
        (0, false, true) => {
            let text = "the trials are as they were written; verdicts and estimates were not \
                        compared";
            (text.to_owned(), exit::DONE)
        }
        (0, false, false) => ("nothing could be checked".to_owned(), exit::NOT_VALID),
        (1, ..) => ("1 difference".to_owned(), exit::FAILED),
        (n, ..) => (format!("{n} differences"), exit::FAILED),
    };
    let mut lines = vec![format!("{}: {headline}", path.display())];
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
    Ok(code)
}
