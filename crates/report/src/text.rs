//! A document for a terminal or a log.
//!
//! Nothing from a server reaches the terminal unescaped. The width decides only how tables are
//! cut; the same numbers are shown at any width.

use crate::document::{Document, Extent, Field, Line, Part, Section, Table};
use crate::style::{Grid, GridColumn, GridField, Paint, WIDTH_LEAST, folded};
use crate::view::Tone;

/// Lines up to which a difference of configurations is shown without being asked for.
const SHORT_DIFF: usize = 16;

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions<'a> {
    /// Columns of the terminal; for a file, as wide as it should be.
    pub width: usize,
    /// Whether colours may be used.
    pub colour: bool,
    /// Whether all tables stand before the answer.
    pub full: bool,
    /// Whether differences and changes of configurations are shown whole, and not only short ones.
    pub diffs: bool,
    /// The record folder, for the commands that come next; `None` where it is not known.
    pub record: Option<&'a str>,
    /// Flags that going on with the record takes, such as ` --hosts lab.toml`; `None` where they
    /// are not known.
    pub needed_again: Option<&'a str>,
}

/// A document from top to bottom: the sections that a report of this extent has.
pub(crate) fn plain(document: &Document, most: Extent, options: TextOptions<'_>) -> String {
    let width = options.width.max(WIDTH_LEAST);
    let options = TextOptions { width, ..options };
    let mut lines = Vec::new();
    for one in document.within(most) {
        section(&mut lines, one, options);
        lines.push(String::new());
    }
    lines.join("\n")
}

pub(crate) fn section(lines: &mut Vec<String>, section: &Section, options: TextOptions<'_>) {
    if !section.title.is_empty() {
        lines.push(Paint::Bold.on(&section.title, options.colour));
    }
    let configurations = section.name == "configurations";
    for part in &section.parts {
        match part {
            Part::Lines(all) => {
                let indent = if section.title.is_empty() { "" } else { "  " };
                all.iter()
                    .for_each(|one| line(lines, one, indent, options.width));
            }
            Part::Table(one) => table(lines, one, options),
            Part::Verbatim { .. } => verbatim(lines, part, configurations, options),
            // The tables have its numbers.
            Part::Figure(_) => {}
        }
    }
}

fn line(lines: &mut Vec<String>, line: &Line, indent: &str, width: usize) {
    let mark = tone_mark(line.tone);
    let indent = format!("{indent}{}", "  ".repeat(usize::from(line.depth)));
    lines.extend(folded(&format!("{mark}{}", line.text), &indent, width));
}

/// What stands before a sentence that is to be taken in some way.
pub(crate) fn tone_mark(tone: Option<Tone>) -> &'static str {
    match tone {
        None => "",
        Some(Tone::Good) => "+ ",
        Some(Tone::Note) => "- ",
        Some(Tone::Warning) => "! ",
        Some(Tone::Bad) => "x ",
    }
}

/// Short configurations are shown, long ones where they are asked for.
fn verbatim(lines: &mut Vec<String>, part: &Part, configurations: bool, options: TextOptions<'_>) {
    let Part::Verbatim {
        title,
        lines: more,
        brief,
    } = part
    else {
        return;
    };
    let is_short = brief.is_empty() && more.len() <= SHORT_DIFF;
    let is_whole = !configurations || options.diffs || is_short;
    if !title.is_empty() {
        let hint = if is_whole {
            ""
        } else {
            " (--diffs shows them)"
        };
        lines.extend(folded(&format!("{title}{hint}"), "  ", options.width));
    }
    let indent = if configurations { "    " } else { "  " };
    if is_whole {
        lines.extend(more.iter().map(|line| format!("{indent}{line}")));
    } else {
        lines.extend(
            brief
                .iter()
                .flat_map(|line| folded(line, indent, options.width)),
        );
    }
}

fn table(lines: &mut Vec<String>, table: &Table, options: TextOptions<'_>) {
    let shown = table.within(Extent::Full);
    let shown: Vec<usize> = shown.into_iter().map(|(index, _)| index).collect();
    let grid = grid(table, &shown);
    for (index, part) in grid.split(options.width).iter().enumerate() {
        if index > 0 {
            lines.push(String::new());
        }
        lines.extend(part.lines(options.colour, true));
    }
}

/// Some of the columns as text; those for machines alone have no title.
pub(crate) fn grid(table: &Table, shown: &[usize]) -> Grid {
    let column = |index: &usize| {
        let column = &table.columns[*index];
        let unit = column.unit.name();
        let head = [column.title.clone(), unit.to_owned()];
        GridColumn {
            head: head.into_iter().filter(|line| !line.is_empty()).collect(),
            right: column.unit.is_numeric(),
        }
    };
    let rows = table.rows.iter().map(|row| {
        let field = |index: &usize| {
            let unit = table.columns[*index].unit;
            let text = row.fields[*index].shown(unit);
            GridField {
                text: if text.is_empty() && unit.is_numeric() {
                    "-".into()
                } else {
                    text
                },
                paint: paint(&row.fields[*index], row.reference),
            }
        };
        shown.iter().map(field).collect()
    });
    Grid {
        rows: rows.collect(),
        columns: shown.iter().map(column).collect(),
    }
}

/// References are set apart: they are not compared.
fn paint(field: &Field, reference: bool) -> Paint {
    match field.tone {
        Some(tone) => tone_paint(tone),
        None if reference => Paint::Dim,
        None => Paint::None,
    }
}

pub(crate) fn tone_paint(tone: Tone) -> Paint {
    match tone {
        Tone::Good => Paint::Green,
        Tone::Note => Paint::None,
        Tone::Warning => Paint::Yellow,
        Tone::Bad => Paint::Red,
    }
}
