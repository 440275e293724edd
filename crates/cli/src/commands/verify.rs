//! `bakeoff verify`: whether a record is as it was written, and its page says what it gives.

use std::path::Path;

use bakeoff_record::{
    CONFIRM_FOLDER, Disturbance, Record, RecordFolder, SumCheck, TrialRecord, check_beside,
    check_links, check_machine, check_sums, disturbances, doubts, shell_path,
};
use bakeoff_report::{
    Redacted, Report, counted, differences, is_drawn_around, stored_document, view_of,
};

use super::report::{Drawn, PAGE_FILE};
use crate::flags::VerifyFlags;
use crate::{exit, output};

/// Name of the machine's file and of its checksum, without what follows the dot.
const MACHINE: &str = "machine";
/// Differences that are listed; what is beyond them is counted.
const LISTED_MOST: usize = 20;
/// Longest page that is read, bytes.
const PAGE_BYTES_MAX: u64 = 1 << 30;

pub(crate) fn carry_out(flags: &VerifyFlags) -> anyhow::Result<u8> {
    let path = &flags.record;
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let whole = hold_to_sums(path, "", &mut found, &mut notes)?;
    let mut unchecked = Vec::new();
    for (name, check) in [(MACHINE, check_machine(path)), ("links", check_links(path))] {
        match check.map_err(unreadable)? {
            Some(true) => {}
            None => unchecked.push(name),
            Some(false) => found.push(format!(
                "{name}.json is not what {name}.sum has the checksum of"
            )),
        }
    }
    let mut checked = Checked {
        trials: whole > 0,
        figures: false,
        unchecked,
    };
    let confirming = path.join(CONFIRM_FOLDER);
    if RecordFolder::is_at(&confirming).map_err(unreadable)? {
        hold_to_sums(&confirming, " of confirm/", &mut found, &mut notes)?;
    }
    let listed = found.len();
    // Said before anything is made of trials that are not what was written.
    if listed > 0 {
        show(
            path,
            &differences_of(listed, "from the checksums"),
            &first(&found),
        )?;
    }
    let judged = judge(path, &mut checked, &mut notes);
    match judged {
        Ok(more) => found.extend(more),
        // A changed bit may leave a line that nobody can read.
        Err(error) if listed > 0 => found.push(format!("{error:#}")),
        Err(error) => return Err(error),
    }
    finish(path, listed, &found, notes, checked)
}

/// What differs apart from the checksums.
fn judge(
    path: &Path,
    checked: &mut Checked,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<String>> {
    let record = Record::read(path).map_err(unreadable)?;
    let mut found = beside(path, &record, notes)?;
    let confirming = record.confirming.iter();
    found.extend(record.trials.iter().chain(confirming).filter_map(disturbed));
    match page(path, record)? {
        Page::Differs(differences) => found.extend(differences),
        Page::Holds(cells) => {
            // The machine is part of its document.
            checked.figures = true;
            checked.unchecked.retain(|name| *name != MACHINE);
            notes.extend(cells);
        }
        Page::Drawn(drawn) => {
            checked.figures = true;
            notes.push(drawn);
        }
        Page::NotCompared(why) => notes.push(why),
    }
    Ok(found)
}

/// What lies beside the trials, as far as it is held against anything.
fn beside(path: &Path, record: &Record, notes: &mut Vec<String>) -> anyhow::Result<Vec<String>> {
    if !record.is_copy {
        notes.push("logs/ is not covered: no checksum is kept of what servers wrote".to_owned());
    }
    if !is_of_this_version(record) {
        let ran = &record.machine.bakeoff;
        notes.push(format!(
            "plan.toml and confirm/ were not compared: the record is of bakeoff {ran}"
        ));
        return Ok(Vec::new());
    }
    check_beside(path, record).map_err(unreadable)
}

/// Whether what was drawn and written with the record is what this bakeoff would draw and write.
fn is_of_this_version(record: &Record) -> bool {
    record.machine.bakeoff == env!("CARGO_PKG_VERSION")
}

/// What could be checked: what was not has not passed.
struct Checked {
    /// Some trial has a checksum.
    trials: bool,
    /// There is a page to compare verdicts and estimates with.
    figures: bool,
    /// Files that have no checksum, and are not in the page either, without `.json`.
    unchecked: Vec<&'static str>,
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
    if sums.missing > 0 {
        let trials = match sums.missing {
            1 => format!("1 trial{of} has"),
            many => format!("{many} trials{of} have"),
        };
        found.push(format!(
            "{trials} no checksum in trials.sum, which bakeoff writes for each: it was taken away, \
             or bakeoff was ended by force just after the trial"
        ));
    }
    notes.push(unchanged(&sums, of));
    Ok(sums.whole)
}

/// What cannot be read ends with exit code 2, whatever the cause is.
fn unreadable(error: bakeoff_record::FolderError) -> anyhow::Error {
    exit::usage(error)
}

/// How many trials are known to be unchanged.
fn unchanged(sums: &SumCheck, of: &str) -> String {
    let (trials, are) = match sums.whole {
        1 => ("trial", "is as it was"),
        _ => ("trials", "are as they were"),
    };
    format!("{} {trials}{of} {are} written", sums.whole)
}

/// What disturbed a trial is decided while a campaign runs, by the trial alone but for drift.
fn disturbed(trial: &TrialRecord) -> Option<String> {
    let of_trial = |found: &[Disturbance]| -> Vec<&'static str> {
        let own = found.iter().filter(|one| **one != Disturbance::Drift);
        own.map(|one| one.name()).collect()
    };
    let differs = |what: &str, stored: &[Disturbance], computed: &[Disturbance]| {
        let (stored, computed) = (of_trial(stored), of_trial(computed));
        (stored != computed).then(|| {
            format!(
                "trial {}: {what}: the record holds [{}], computed again it is [{}]",
                trial.id,
                stored.join(", "),
                computed.join(", ")
            )
        })
    };
    let disturbed = differs("disturbed", &trial.disturbed, &disturbances(trial));
    let doubted = trial.doubted.as_deref();
    let doubted = || differs("doubted", doubted?, &doubts(trial).unwrap_or_default());
    disturbed.or_else(doubted)
}

/// What comparing the page came to.
enum Page {
    /// The document that it was drawn from holds.
    Holds(Vec<String>),
    /// It has no document, and would be drawn again as it is.
    Drawn(String),
    Differs(Vec<String>),
    NotCompared(String),
}

fn page(path: &Path, record: Record) -> anyhow::Result<Page> {
    let file = path.join(PAGE_FILE);
    if !file.exists() {
        let why = format!("there is no {PAGE_FILE} whose verdicts and estimates could be compared");
        return Ok(Page::NotCompared(why));
    }
    let text = match bakeoff_record::read_regular_text(&file, PAGE_BYTES_MAX) {
        Ok(text) => text,
        // It was drawn as text: some of its bytes are others now.
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            let differs = format!("{PAGE_FILE} is damaged: it is no text in UTF-8 any more");
            return Ok(Page::Differs(vec![differs]));
        }
        Err(error) => {
            let problem = format!("failed to read {}: {error}", file.display());
            return Err(exit::usage(problem));
        }
    };
    let stored = match stored_document(&text) {
        Ok(Some(stored)) => stored,
        Ok(None) => return Ok(without_document(path, record, &text)),
        Err(problem) => return Ok(Page::Differs(vec![format!("{PAGE_FILE}: {problem}")])),
    };
    let is_same_version = is_of_this_version(&record);
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
            let repeated = recorded.saturating_sub(report.trials.len());
            return Ok(around(&report, repeated, path, &text, is_same_version));
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
    if !is_same_version {
        lines.push(format!(
            "the record was made by bakeoff {ran} and this is {}, whose rules may be others",
            env!("CARGO_PKG_VERSION")
        ));
    }
    Ok(Page::Differs(lines))
}

/// Holds what a browser shows beside the document against the page that would be drawn today.
fn around(
    report: &Report,
    repeated: usize,
    path: &Path,
    page: &str,
    is_same_version: bool,
) -> Page {
    let repeated = match repeated {
        0 => String::new(),
        repeated => format!(", and {repeated} that were repeated"),
    };
    let holds = format!(
        "{PAGE_FILE} holds what the record gives: {}, {}, {} that count{repeated}",
        counted(report.cells.len() as u64, "cell"),
        counted(report.comparisons.len() as u64, "comparison"),
        counted(report.trials.len() as u64, "trial")
    );
    match (is_drawn_around(report, page), is_same_version) {
        (true, _) => Page::Holds(vec![holds]),
        (false, true) => Page::Differs(vec![not_as_drawn(path)]),
        (false, false) => Page::Holds(vec![
            holds,
            format!(
                "what {PAGE_FILE} shows beside these figures was not compared: it was drawn by \
                 another version of bakeoff"
            ),
        ]),
    }
}

fn not_as_drawn(path: &Path) -> String {
    format!(
        "{PAGE_FILE} is not what the record gives; `bakeoff report {} --format html` draws that",
        shell_path(path)
    )
}

/// A page that holds no document is held against the one that would be drawn today: that of a
/// search or an overload is the same wherever its record lies.
fn without_document(path: &Path, record: Record, text: &str) -> Page {
    let is_same_version = is_of_this_version(&record);
    let drawn = |redacted: &Redacted| Drawn::of(redacted, path).page() == text;
    if drawn(&Redacted::hidden(record.clone())) || drawn(&Redacted::shown(record)) {
        return Page::Drawn(format!("{PAGE_FILE} is what the record gives"));
    }
    if is_same_version {
        return Page::Differs(vec![not_as_drawn(path)]);
    }
    let why = format!("{PAGE_FILE} holds no document whose figures could be compared");
    Page::NotCompared(why)
}

/// Prints what verify comes to; the first `listed` of what was found are said already.
fn finish(
    path: &Path,
    listed: usize,
    found: &[String],
    mut notes: Vec<String>,
    checked: Checked,
) -> anyhow::Result<u8> {
    let more = &found[listed..];
    let (headline, code) = match (found.len(), checked.figures, checked.trials) {
        (0, true, true) if checked.unchecked.is_empty() => {
            ("all of it holds".to_owned(), exit::DONE)
        }
        (0, true, true) => {
            let text = "the trials are as they were written, and the page is what they give; not \
                        all other files could be checked";
            (text.to_owned(), exit::DONE)
        }
        (0, true, false) => {
            let text = "verdicts and estimates are what the trials give; that the trials are as \
                        they were written could not be checked";
            (text.to_owned(), exit::DONE)
        }
        (0, false, true) => {
            let text = "the trials are as they were written; verdicts and estimates were not \
                        compared";
            (text.to_owned(), exit::DONE)
        }
        (0, false, false) => ("nothing could be checked".to_owned(), exit::NOT_VALID),
        _ if more.is_empty() => ("nothing else differs".to_owned(), exit::FAILED),
        _ if listed > 0 => (differences_of(more.len(), "besides"), exit::FAILED),
        _ => (differences_of(more.len(), ""), exit::FAILED),
    };
    if found.is_empty() {
        notes.extend(
            checked.unchecked.iter().map(|name| {
                format!("{name}.json is not covered: the record has no checksum of it")
            }),
        );
    }
    let mut lines = first(more);
    lines.append(&mut notes);
    show(path, &headline, &lines)?;
    Ok(code)
}

/// `1 difference`, `3 differences from the checksums`.
fn differences_of(number: usize, of: &str) -> String {
    let number = counted(number as u64, "difference");
    format!("{number} {of}").trim_end().to_owned()
}

/// The first lines of many, and how many more there are.
fn first(lines: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = lines.iter().take(LISTED_MOST).cloned().collect();
    if lines.len() > LISTED_MOST {
        shown.push(format!("and {} more", lines.len() - LISTED_MOST));
    }
    shown
}

fn show(path: &Path, headline: &str, lines: &[String]) -> anyhow::Result<()> {
    let mut text = format!("{}: {headline}", path.display());
    for line in lines {
        text.push_str("\n  ");
        text.push_str(line);
    }
    Ok(output::result(&text)?)
}
