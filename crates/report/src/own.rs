//! Reports of questions that compare no rounds: each has a view and a document of its own, which
//! the formats walk as they walk that of rounds.

use bakeoff_record::{Record, TrialEnd};

use crate::document::{Document, Extent, Line, Part, Section};
use crate::number::plain;
use crate::redaction::Redacted;
use crate::safe::json_safe;
use crate::text::TextOptions;
use crate::view::Tone;
use crate::{csv, html, markdown, text};

/// The report of a question that compares no rounds, in every format.
pub trait OwnReport {
    /// The document; `in_characters` where the reader sees no pictures.
    fn draw(&self, in_characters: bool) -> Document;

    /// Name of the table that other programs get.
    fn table(&self) -> &'static str;

    /// The pictures as HTML, and the section that they stand below.
    fn pictures(&self) -> (&'static str, String);

    /// The view model, without holes in its syntax.
    fn to_json(&self) -> serde_json::Result<String>;

    /// The answer in sentences.
    fn answer(&self) -> &[String];

    /// Rows that were measured, and those that were not.
    fn measured(&self) -> [usize; 2];

    /// Why nothing in it is a valid measurement; with `strict` why something is not.
    fn why_not_valid(&self, strict: bool) -> Option<String>;

    /// Text for a terminal: the answer and the tables, with `full` all of them.
    fn text(&self, options: TextOptions<'_>) -> String {
        text::plain(&self.draw(true), Extent::of(options.full), options)
    }

    /// The same as Markdown.
    fn markdown(&self, full: bool) -> String {
        markdown::plain(&self.draw(true), Extent::of(full))
    }

    /// Lines for other programs.
    fn csv(&self) -> String {
        csv::tables(&self.draw(false), self.table())
    }

    /// A page that loads nothing from anywhere.
    fn html(&self) -> String {
        let (below, pictures) = self.pictures();
        html::plain(&self.draw(false), (below, &pictures)) + "</html>\n"
    }

    /// One document, whose schema it names.
    fn json(&self) -> String {
        json_safe(
            &self
                .to_json()
                .expect("a view has only text keys and numbers"),
        ) + "\n"
    }
}

/// Whether a trial was interrupted.
pub(crate) fn was_interrupted(record: &Record) -> bool {
    let mut trials = record.trials.iter();
    trials.any(|it| it.end == TrialEnd::Interrupted)
}

/// The sentences of an answer with how to take each, and one more where it can go on.
pub(crate) fn answered(
    record: &Record,
    mut answer: Vec<(Tone, String)>,
) -> (Vec<Tone>, Vec<String>) {
    if was_interrupted(record) {
        answer.push((Tone::Good, "It was interrupted, and can go on.".to_owned()));
    }
    answer.into_iter().unzip()
}

/// The section of the answer.
pub(crate) fn answer_section(answer: &[String], tones: &[Tone]) -> Section {
    let lines = answer.iter().zip(tones);
    let lines = lines.map(|(line, tone)| Line::toned(*tone, plain(line)));
    Section::new("answer", "", vec![Part::Lines(lines.collect())])
}

/// What was asked, and where.
pub(crate) fn heading(description: &str, machine: &str) -> Section {
    let lines = [plain(description), plain(machine)];
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
