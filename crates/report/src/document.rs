//! The report as sections of lines, tables, texts and figures.
//!
//! It is drawn once, by [`draw`], from the view model; text, Markdown, CSV and the HTML fallback
//! walk it. A field holds the measured value, its rounding, and why a value is missing, so no
//! format does that by itself. All strings in it are safe for a terminal (`fit`); Markdown and HTML
//! escape them further.

mod answer;
mod cells;
mod configurations;
mod context;
pub(crate) mod fit;
mod links;
mod page;
mod unit;

use bakeoff_stats::Estimate;
use serde::Serialize;

pub use unit::Unit;

pub(crate) use answer::{TRUST, legend, marks_of, unit_of};
pub(crate) use answer::{failing as failing_of, findings as findings_of};
pub(crate) use page::of_page;

use crate::view::{Report, Tone};

/// A report, ready to be walked.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What was run and where.
    pub title: String,
    /// The sections in the order of reading: the answer first.
    pub sections: Vec<Section>,
}

/// Parts that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Stable name, such as `answer` or `cells`.
    pub name: &'static str,
    /// Title; empty where the section needs none.
    pub title: String,
    /// Whether a short report has it too.
    pub extent: Extent,
    /// What it consists of, in order.
    pub parts: Vec<Part>,
}

impl Section {
    /// A section of every report.
    pub(crate) fn new(name: &'static str, title: impl Into<String>, parts: Vec<Part>) -> Self {
        Self {
            name,
            title: title.into(),
            extent: Extent::Short,
            parts,
        }
    }

    /// The same of some reports.
    pub(crate) fn within(self, extent: Extent) -> Self {
        Self { extent, ..self }
    }

    /// A section of lines; `None` where there is none.
    pub(crate) fn of_lines(name: &'static str, title: &str, lines: Vec<Line>) -> Option<Self> {
        (!lines.is_empty()).then(|| Self::new(name, title, vec![Part::Lines(lines)]))
    }
}

/// Which reports have a section or a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Every report, also one that is pasted into an issue.
    Short,
    /// Full reports.
    Full,
    /// No report for people; machine-readable tables alone.
    Data,
}

impl Extent {
    /// The extent of a full report, or of a short one.
    pub(crate) fn of(full: bool) -> Self {
        if full { Self::Full } else { Self::Short }
    }
}

/// One part of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Sentences.
    Lines(Vec<Line>),
    /// A table.
    Table(Table),
    /// Lines that keep their spaces, under a title of their own.
    Verbatim {
        /// What they are; may be empty.
        title: String,
        /// The lines.
        lines: Vec<String>,
        /// What stands in their place where they would be too long; empty where they are short
        /// enough, or nothing sums them up.
        brief: Vec<String>,
    },
    /// Numbers that a format without pictures leaves out: a table beside it has them.
    Figure(Figure),
}

/// One sentence or list item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// How to take it; `None` where it only informs.
    pub tone: Option<Tone>,
    /// 0 for a paragraph or an item, 1 for what belongs to the one above.
    pub depth: u8,
    /// The text.
    pub text: String,
}

impl Line {
    /// A plain line.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            tone: None,
            depth: 0,
            text: text.into(),
        }
    }

    /// A line that says how it is to be taken.
    pub(crate) fn toned(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            tone: Some(tone),
            ..Self::new(text)
        }
    }

    /// The same line below another.
    pub(crate) fn below(self) -> Self {
        Self { depth: 1, ..self }
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Stable name, such as `ratios` or `cells`; tables of one name have the same columns.
    pub name: &'static str,
    /// Title; may be empty.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with a field for every column.
    pub rows: Vec<Row>,
}

impl Table {
    /// A table of contenders and no references, without a title.
    pub(crate) fn of(name: &'static str, columns: Vec<Column>, rows: Vec<Vec<Field>>) -> Self {
        let row = |fields| Row {
            reference: false,
            fields,
        };
        Self {
            name,
            title: String::new(),
            columns,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    /// The columns that a report of this extent has, each with its place.
    pub(crate) fn within(&self, extent: Extent) -> Vec<(usize, &Column)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, one)| one.extent <= extent).collect()
    }
}

/// A table of contenders that is made column by column, each from the same rows.
pub(crate) struct Rows<R> {
    rows: Vec<R>,
    pub(crate) table: Table,
}

impl<R> Rows<R> {
    /// A table of this name without columns.
    pub(crate) fn new(name: &'static str, rows: impl IntoIterator<Item = R>) -> Self {
        let rows: Vec<R> = rows.into_iter().collect();
        let fields = rows.iter().map(|_| Vec::new()).collect();
        let table = Table::of(name, Vec::new(), fields);
        Self { rows, table }
    }

    /// With a column.
    fn column<F: Into<Field>>(mut self, column: Column, field: impl Fn(&R) -> F) -> Self {
        self.table.columns.push(column);
        for (row, drawn) in self.rows.iter().zip(&mut self.table.rows) {
            drawn.fields.push(field(row).into());
        }
        self
    }

    /// With a column for machines alone.
    pub(crate) fn data<F: Into<Field>>(
        self,
        name: &str,
        unit: Unit,
        field: impl Fn(&R) -> F,
    ) -> Self {
        self.column(Column::new(name, "", unit), field)
            .within(Extent::Data)
    }

    /// With the last column in some reports alone.
    pub(crate) fn within(self, extent: Extent) -> Self {
        self.last(|column| column.extent = extent)
    }

    /// With the last column for machines alone, unless eyes need it to distinguish rows.
    pub(crate) fn shown_if(self, is_needed: bool) -> Self {
        let extent = if is_needed {
            Extent::Short
        } else {
            Extent::Data
        };
        self.within(extent)
    }

    /// With a last column of estimates, whose two ends a machine-readable table has too.
    pub(crate) fn with_ends(self) -> Self {
        self.last(|column| column.ends = true)
    }

    fn last(mut self, change: impl Fn(&mut Column)) -> Self {
        self.table.columns.last_mut().into_iter().for_each(change);
        self
    }

    /// The table, as a part of a section.
    pub(crate) fn part(self) -> Part {
        Part::Table(self.table)
    }
}

/// Columns of every report by what their values are.
macro_rules! columns {
    ($($name:ident $unit:ident)+) => {
        impl<R> Rows<R> {
            $(pub(crate) fn $name<F: Into<Field>>(
                self,
                name: &str,
                title: &str,
                field: impl Fn(&R) -> F,
            ) -> Self {
                self.column(Column::new(name, title, Unit::$unit), field)
            })+
        }
    };
}

columns! {
    text Text
    count Count
    per_second PerSecond
    milliseconds Milliseconds
    percent Percent
    ratio Ratio
    bits Bits
    bytes Bytes
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name for machines, such as `latency_p99_ns`; empty where no machine needs the column.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// What its values are, and so how they are rounded.
    pub unit: Unit,
    /// Whether its values are estimates, whose two ends a machine-readable table has too.
    pub ends: bool,
    /// Which reports show it.
    pub extent: Extent,
}

impl Column {
    /// A column of every report.
    pub(crate) fn new(name: &str, title: &str, unit: Unit) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            unit,
            ends: false,
            extent: Extent::Short,
        }
    }

    /// The same of some reports.
    pub(crate) fn within(self, extent: Extent) -> Self {
        Self { extent, ..self }
    }
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Whether it is a reference, which is measured beside the others and not compared.
    pub reference: bool,
    /// A field for each column.
    pub fields: Vec<Field>,
}

/// One field: a value, or why there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Field {
    /// The value as it was measured.
    pub value: Value,
    /// Whether the value is only a bound: `>=` or `<=`.
    pub bound: Option<&'static str>,
    /// The result of a comparison: `^`, `v`, `=`, `~` or nothing.
    pub mark: &'static str,
    /// Why there is no value.
    pub reason: Option<String>,
    /// How to take it, where that is shown by a colour.
    pub tone: Option<Tone>,
    /// Whether the verdict on the value is less than valid.
    pub weak: bool,
    /// Numbers of the notes that are about it.
    pub notes: Vec<usize>,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Nothing; the field's reason says why, where there is one.
    #[default]
    Nothing,
    /// Words.
    Text(String),
    /// One number.
    Number(f64),
    /// A number with its interval and its count.
    Estimate(Estimate),
    /// The two ends of an interval that stands beside its number.
    Range(f64, f64),
}

/// What a field is made of.
macro_rules! fields {
    ($($kind:ty: $value:ident => $field:expr;)+) => {
        $(impl From<$kind> for Field {
            fn from($value: $kind) -> Self {
                $field
            }
        })+
    };
}

fields! {
    String: text => Self::text(text);
    &str: text => Self::text(text);
    f64: number => Self::of(Value::Number(number));
    Option<f64>: number => Self::number(number);
    u32: count => Self::from(f64::from(count));
    u64: count => Self::from(count as f64);
    usize: count => Self::from(count as f64);
    Option<u64>: count => Self::from(count.map(|count| count as f64));
}

/// A value, or why there is none.
pub(crate) fn known(value: impl Into<Field>, why: &Option<String>) -> Field {
    let field = value.into();
    let reason = why.clone().filter(|_| field.value == Value::Nothing);
    Field { reason, ..field }
}

impl Field {
    /// Words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::of(Value::Text(text.into()))
    }

    /// A value that needs no reason.
    pub(crate) fn of(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    /// A number, or nothing.
    pub(crate) fn number(value: Option<f64>) -> Self {
        Self::of(value.map_or(Value::Nothing, Value::Number))
    }

    /// The field as people read it; empty where there is no value. The interval of a ratio stands
    /// with it, that of other numbers in a column of its own.
    pub fn shown(&self, unit: Unit) -> String {
        let words = self.words(unit);
        if self.notes.is_empty() {
            return words;
        }
        let notes: Vec<String> = self.notes.iter().map(ToString::to_string).collect();
        format!("{words} [{}]", notes.join(","))
    }

    /// The same without the numbers of notes.
    pub(crate) fn words(&self, unit: Unit) -> String {
        let bound = self.bound.map_or(String::new(), |bound| bound.to_owned());
        match &self.value {
            Value::Nothing => String::new(),
            Value::Text(text) => text.clone(),
            Value::Number(value) => bounded(&bound, &unit.show(*value), unit),
            Value::Estimate(one) if unit == Unit::Ratio => {
                let ends = if one.n > 1 {
                    format!(" ({}-{})", unit.show(one.low), unit.show(one.high))
                } else {
                    String::new()
                };
                let point = bounded(&bound, &unit.show(one.point), unit);
                format!("{point}{ends}{}", self.marked())
            }
            Value::Estimate(one) => bounded(&bound, &unit.show(one.point), unit),
            Value::Range(low, high) => format!("{} to {}", unit.show(*low), unit.show(*high)),
        }
    }

    /// The same without an interval, for where there is little room.
    pub fn shown_short(&self, unit: Unit) -> String {
        match &self.value {
            Value::Estimate(one) if unit == Unit::Ratio => {
                let bound = self.bound.unwrap_or("");
                let point = bounded(bound, &unit.show(one.point), unit);
                format!("{point}{}", self.marked())
            }
            _ => self.shown(unit),
        }
    }

    fn marked(&self) -> String {
        match self.mark {
            "" => String::new(),
            mark => format!(" {mark}"),
        }
    }
}

/// A ratio's bound stands close to it, because its column has no room to spare.
fn bounded(bound: &str, number: &str, unit: Unit) -> String {
    match (bound, unit) {
        ("", _) => number.to_owned(),
        (bound, Unit::Ratio) => format!("{bound}{number}"),
        (bound, _) => format!("{bound} {number}"),
    }
}

/// Dots and whiskers against a line at 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Stable name, such as `rate_per_s`.
    pub name: &'static str,
    /// What is shown, with the contender that is 1.
    pub title: String,
    /// Half width of the grey band around 1: what two runs of one server may differ by.
    pub floor: f64,
    /// The dots, from top to bottom.
    pub points: Vec<Point>,
}

/// One dot with its whiskers.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Whose, and where.
    pub label: String,
    /// Ratio with its interval.
    pub ratio: Estimate,
    /// Whether it is only a bound, and so hollow.
    pub bound: bool,
}

/// Draws the document from the view model.
pub fn draw(report: &Report) -> Document {
    let campaign = &report.campaign;
    let mut sections = vec![context::heading(report)];
    sections.extend(answer::draw(report));
    sections.extend(context::cautions(report));
    if let Some(published) = &report.published {
        sections.extend(context::published(published));
    }
    sections.extend(cells::draw(report));
    sections.extend(context::comparisons(report));
    sections.extend(links::draw(report));
    sections.extend(configurations::equal_work(report));
    sections.extend(configurations::configurations(report));
    sections.extend(context::notes(report));
    sections.extend(context::lost(report));
    let host = crate::number::plain(&campaign.machine.host);
    let mut document = Document {
        title: format!("{} on {host}", crate::number::plain(&campaign.name)),
        sections,
    };
    fit::make(&mut document);
    document
}

/// A document whose strings are fit for a terminal.
pub(crate) fn fitted(mut document: Document) -> Document {
    fit::make(&mut document);
    document
}

impl Document {
    /// The section of a name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// What a report of this extent has of it.
    pub(crate) fn within(&self, extent: Extent) -> impl Iterator<Item = &Section> {
        self.sections
            .iter()
            .filter(move |section| section.extent <= extent)
    }

    /// Every table of a name, in order.
    pub fn tables(&self, name: &str) -> impl Iterator<Item = &Table> {
        let parts = self.sections.iter().flat_map(|section| &section.parts);
        parts.filter_map(move |part| match part {
            Part::Table(table) if table.name == name => Some(table),
            _ => None,
        })
    }
}
