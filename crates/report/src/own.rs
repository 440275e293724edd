//! Reports of questions that compare no rounds: each has rows and sections of its own, which the
//! formats walk as they walk those of rounds.

use bakeoff_record::{Record, TrialEnd};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::document::{Document, Extent, Line, Part, Section, fitted};
use crate::machine;
use crate::number::plain;
use crate::redaction::Redacted;
use crate::safe::pretty_json;
use crate::text::TextOptions;
use crate::view::Tone;
use crate::{csv, html, markdown, text};

/// What such a question came to; as JSON fields may be added, and a hole is null.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered<R> {
    /// The plan's name.
    pub name: String,
    /// The plan's description.
    pub description: String,
    /// The machine, on one line.
    pub machine: String,
    /// The answer in sentences.
    pub answer: Vec<String>,
    /// How to take each of them.
    pub tones: Vec<Tone>,
    /// What they rest on.
    pub rows: Vec<R>,
}

impl<R> Answered<R> {
    /// The answer of a record.
    pub(crate) fn new(
        record: &Record,
        answer: impl IntoIterator<Item = (Tone, String)>,
        rows: Vec<R>,
    ) -> Self {
        let (tones, answer) = answer.into_iter().unzip();
        Self {
            name: record.plan.name.clone(),
            description: record.plan.description.clone(),
            machine: machine::on_one_line(&record.machine),
            answer,
            tones,
            rows,
        }
    }
}

/// What distinguishes such a question.
pub(crate) trait OwnRow: Serialize + Sized {
    /// Version of its document.
    const SCHEMA: &'static str;
    /// Name of the rows in it.
    const ROWS: &'static str;
    /// Name of the table that other programs get.
    const TABLE: &'static str;

    /// The sections of its document; `in_characters` where the reader sees no pictures.
    fn sections(report: &Answered<Self>, in_characters: bool) -> Vec<Section>;

    /// The pictures as HTML, and the section that they stand below.
    fn pictures(report: &Answered<Self>) -> (&'static str, String);

    /// What takes away from it, in sentences; `None` where its document does not have them.
    fn weakened_by(_: &[Self]) -> Option<Vec<String>> {
        None
    }

    /// Whether it holds anything that was measured.
    fn is_measured(&self) -> bool;

    /// Why nothing in it is a valid measurement; with `strict` why something is not.
    fn why_not_valid(rows: &[Self], strict: bool) -> Option<String>;

    /// The flags with which it goes on; `None` where nothing is left.
    fn flags_to_go_on(_: &[Self]) -> Option<String> {
        None
    }
}

impl<R: OwnRow> Serialize for Answered<R> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("schema", R::SCHEMA)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("description", &self.description)?;
        map.serialize_entry("machine", &self.machine)?;
        map.serialize_entry("answer", &self.answer)?;
        if let Some(weakened_by) = R::weakened_by(&self.rows) {
            map.serialize_entry("weakened_by", &weakened_by)?;
        }
        map.serialize_entry(R::ROWS, &self.rows)?;
        map.end()
    }
}

/// The report of a question that compares no rounds, in every format.
pub trait OwnReport {
    /// The document; `in_characters` where the reader sees no pictures.
    fn draw(&self, in_characters: bool) -> Document;

    /// Text for a terminal: the answer and the tables, with `full` all of them.
    fn text(&self, options: TextOptions<'_>) -> String {
        text::plain(&self.draw(true), Extent::of(options.full), options)
    }

    /// The same as Markdown.
    fn markdown(&self, full: bool) -> String {
        markdown::plain(&self.draw(true), Extent::of(full))
    }

    /// Lines for other programs.
    fn csv(&self) -> String;

    /// A page that loads nothing from anywhere.
    fn html(&self) -> String;

    /// One document, whose schema it names.
    fn json(&self) -> String;

    /// The answer in sentences.
    fn answer(&self) -> &[String];

    /// Rows that were measured, and those that were not.
    fn measured(&self) -> [usize; 2];

    /// Why nothing in it is a valid measurement; with `strict` why something is not.
    fn why_not_valid(&self, strict: bool) -> Option<String>;

    /// The flags with which it goes on, beside its record; `None` where nothing is left.
    fn flags_to_go_on(&self) -> Option<String>;
}

impl<R: OwnRow> OwnReport for Answered<R> {
    fn draw(&self, in_characters: bool) -> Document {
        fitted(Document {
            title: self.name.clone(),
            sections: R::sections(self, in_characters),
        })
    }

    fn csv(&self) -> String {
        csv::tables(&self.draw(false), R::TABLE)
    }

    fn html(&self) -> String {
        let (below, pictures) = R::pictures(self);
        html::plain(&self.draw(false), (below, &pictures)) + "</html>\n"
    }

    fn json(&self) -> String {
        pretty_json(self) + "\n"
    }

    fn answer(&self) -> &[String] {
        &self.answer
    }

    fn measured(&self) -> [usize; 2] {
        let measured = self.rows.iter().filter(|row| row.is_measured()).count();
        [measured, self.rows.len() - measured]
    }

    fn why_not_valid(&self, strict: bool) -> Option<String> {
        R::why_not_valid(&self.rows, strict)
    }

    fn flags_to_go_on(&self) -> Option<String> {
        R::flags_to_go_on(&self.rows)
    }
}

/// Whether a trial was interrupted.
pub(crate) fn was_interrupted(record: &Record) -> bool {
    let mut trials = record.trials.iter();
    trials.any(|it| it.end == TrialEnd::Interrupted)
}

/// The answer of a record, with one more sentence where it can go on.
pub(crate) fn answered<R>(
    record: &Record,
    mut answer: Vec<(Tone, String)>,
    rows: Vec<R>,
) -> Answered<R> {
    if was_interrupted(record) {
        answer.push((Tone::Good, "It was interrupted, and can go on.".to_owned()));
    }
    Answered::new(record, answer, rows)
}

/// The section of the answer.
pub(crate) fn answer_section<R>(report: &Answered<R>) -> Section {
    let lines = report.answer.iter().zip(&report.tones);
    let lines = lines.map(|(line, tone)| Line::toned(*tone, plain(line)));
    Section::new("answer", "", vec![Part::Lines(lines.collect())])
}

/// What was asked, and where.
pub(crate) fn heading<R>(report: &Answered<R>) -> Section {
    let lines = [plain(&report.description), plain(&report.machine)];
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    let parts = vec![Part::Lines(lines.map(Line::new).collect())];
    Section::new("campaign", "", parts)
}

/// The report of a record that has no rounds to compare; `None` of one that has.
pub fn own_view(redacted: &Redacted) -> Option<Box<dyn OwnReport>> {
    if let Some(report) = crate::find_view(redacted) {
        return Some(Box::new(report));
    }
    if let Some(report) = crate::overload_view(redacted) {
        return Some(Box::new(report));
    }
    Some(Box::new(crate::change_view(redacted)?))
}
