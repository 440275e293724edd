//! What to believe: sentences for the top of a report, and notes for its foot.

use std::collections::BTreeSet;

use bakeoff_audit::{Check, Code, Equivalence, Inequality, Level, Tone, Verdict};
use bakeoff_stats::Number;
use schemars::JsonSchema;
use serde::Serialize;

use crate::number::counted;
use crate::view::cell::Cell;
use crate::words::capital;

/// Facts that are spelled out.
const SPELLED_OUT: usize = 4;

/// The check that speaks of the machine, whatever the cell.
const OF_THE_MACHINE: Code = Code::CoLocated;

/// One sentence of the summary.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sentence {
    /// How to take it.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
    /// Number of the note that it sums up.
    pub note: Option<usize>,
}

/// Something that did not pass, once for all cells that it concerns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Note {
    /// Number from 1, as cells refer to it.
    pub number: usize,
    /// Code of the check.
    pub code: Code,
    /// Requirement that it comes from.
    pub rule: &'static str,
    /// How bad it is at its worst.
    pub level: Level,
    /// The cells, each with what was seen there.
    pub cells: Vec<NotedCell>,
}

/// A cell that a note concerns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NotedCell {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// What was seen.
    pub text: String,
}

/// Collects what did not pass, worst kinds first, and gives each cell the numbers of its notes.
pub(super) fn notes(cells: &mut [Cell]) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for cell in cells.iter() {
        for check in cell.verdict.checks.iter().filter(|check| is_noted(check)) {
            let noted = NotedCell {
                contender: cell.contender.clone(),
                workload: cell.workload.clone(),
                load: cell.load.clone(),
                text: check.text.clone(),
            };
            match notes.iter_mut().find(|note| note.code == check.code) {
                Some(note) => {
                    note.level = note.level.max(check.level);
                    note.cells.push(noted);
                }
                None => notes.push(Note {
                    number: 0,
                    code: check.code,
                    rule: check.rule,
                    level: check.level,
                    cells: vec![noted],
                }),
            }
        }
    }
    notes.sort_by_key(|note| std::cmp::Reverse(note.level));
    for (index, note) in notes.iter_mut().enumerate() {
        note.number = index + 1;
    }
    for cell in cells {
        let bad = cell
            .verdict
            .checks
            .iter()
            .filter(|check| check.level > Level::Note);
        let codes: BTreeSet<Code> = bad.map(|check| check.code).collect();
        let mine = notes.iter().filter(|note| codes.contains(&note.code));
        cell.notes = mine.map(|note| note.number).collect();
    }
    notes
}

/// Trials that ended otherwise than measured have a list of their own.
fn is_noted(check: &Check) -> bool {
    check.level > Level::Passed && check.code != Code::TrialEnded
}

pub(super) fn summary(
    cells: &[Cell],
    notes: &[Note],
    equivalence: &[Equivalence],
) -> Vec<Sentence> {
    let mut sentences = vec![verdicts(cells)];
    sentences.extend(shares(notes));
    sentences.extend(unequal_work(equivalence));
    sentences.extend(lower_bounds(cells));
    sentences.extend(facts(notes));
    sentences
}

fn verdicts(cells: &[Cell]) -> Sentence {
    let contenders: Vec<&Cell> = cells.iter().filter(|cell| cell.is_contender()).collect();
    let of = |verdict| {
        let mut all = contenders.iter().map(|cell| cell.verdict.verdict);
        all.by_ref().filter(|one| *one == verdict).count()
    };
    let valid = |number: Number| {
        let all = contenders.iter().map(|cell| cell.verdicts.of(number));
        all.filter(|verdict| *verdict == Verdict::Valid).count()
    };
    let parts: Vec<String> = Number::ALL
        .into_iter()
        .map(|number| format!("{} {}", number.name(), valid(number)))
        .collect();
    let gone: Vec<String> = [Verdict::Failed, Verdict::Skipped, Verdict::Unsupported]
        .into_iter()
        .filter(|verdict| of(*verdict) > 0)
        .map(|verdict| format!("; {} {}", of(verdict), verdict.name()))
        .collect();
    let measured = contenders.iter().any(|cell| cell.rounds_measured > 0);
    let text = if measured {
        format!(
            "Valid numbers in {} of contender, workload and load: {}{}.",
            counted(contenders.len() as u64, "combination"),
            parts.join(", "),
            gone.concat()
        )
    } else {
        "Nothing was measured.".to_owned()
    };
    let tone = match of(Verdict::Valid) {
        all if all == contenders.len() && all > 0 => Tone::Good,
        0 => Tone::Bad,
        _ => Tone::Warning,
    };
    Sentence {
        tone,
        text,
        note: None,
    }
}

/// One sentence for each kind of finding that is worse than a note.
fn shares(notes: &[Note]) -> Vec<Sentence> {
    let worse = notes.iter().filter(|note| note.level > Level::Note);
    worse
        .map(|note| {
            let tone = if note.level == Level::Invalid {
                Tone::Bad
            } else {
                Tone::Warning
            };
            Sentence {
                tone,
                text: format!(
                    "{}: {}",
                    note.code,
                    once(&note.cells[0], note.cells.len() - 1)
                ),
                note: Some(note.number),
            }
        })
        .collect()
}

/// One sentence for each kind of unequal work, with the workloads where it was found.
fn unequal_work(equivalence: &[Equivalence]) -> Vec<Sentence> {
    let mut kinds: Vec<(&Inequality, Vec<&str>)> = Vec::new();
    for table in equivalence {
        for one in &table.inequalities {
            let known = kinds.iter_mut().find(|(known, _)| known.fact == one.fact);
            match known {
                Some((_, workloads)) => workloads.push(&table.workload),
                None => kinds.push((one, vec![&table.workload])),
            }
        }
    }
    let sentence = |(one, workloads): (&Inequality, Vec<&str>)| Sentence {
        tone: Tone::Warning,
        text: format!(
            "Unequal work in {}: {} ({}).",
            workloads.join(", "),
            one.check.text,
            one.check.code
        ),
        note: None,
    };
    kinds.into_iter().map(sentence).collect()
}

fn lower_bounds(cells: &[Cell]) -> Option<Sentence> {
    let n = cells.iter().filter(|cell| cell.rate_is_lower_bound).count();
    let text = match n {
        0 => return None,
        1 => "One rate is marked >=: what was limited there was not the server.".into(),
        _ => format!("{n} rates are marked >=: what was limited there was not the server."),
    };
    Some(Sentence {
        tone: Tone::Warning,
        text,
        note: None,
    })
}

/// What must be known and takes nothing away, each fact once with a count of its cells.
fn facts(notes: &[Note]) -> Vec<Sentence> {
    let mut facts: Vec<(Code, &NotedCell, usize)> = Vec::new();
    for note in notes.iter().filter(|note| note.level == Level::Note) {
        // These codes stand for several facts; a check's text differs by its figures alone.
        let by_text = matches!(note.code, OF_THE_MACHINE | Code::Warning);
        for cell in &note.cells {
            let known = facts.iter_mut().find(|(code, first, _)| {
                *code == note.code && (!by_text || first.text == cell.text)
            });
            match known {
                Some((_, _, more)) => *more += 1,
                None => facts.push((note.code, cell, 0)),
            }
        }
    }
    let sentence = |(code, cell, more): (Code, &NotedCell, usize)| Sentence {
        tone: Tone::Note,
        text: match code {
            OF_THE_MACHINE => format!("{}.", capital(&cell.text)),
            _ => once(cell, more),
        },
        note: None,
    };
    facts.into_iter().take(SPELLED_OUT).map(sentence).collect()
}

/// What was seen in a cell, and in how many more.
fn once(cell: &NotedCell, more: usize) -> String {
    let more = match more {
        0 => String::new(),
        1 => " One more cell likewise.".into(),
        more => format!(" {more} more cells likewise."),
    };
    let (contender, workload, load, text) =
        (&cell.contender, &cell.workload, &cell.load, &cell.text);
    format!("{contender}, {workload}, {load}: {text}.{more}")
}
