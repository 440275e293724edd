//! The report for a terminal or a log: the answer alone, or after all tables. The answer, which a
//! terminal ends with, has at most 30 lines at 80 columns.
//!
//! What does not fit is never wrapped: tables lose the baseline's value, then their intervals, then
//! contenders, but for the one that leads; rows and tables beyond the room are summed up. Each says
//! so, and `--full` has all: there nothing is summed up, and wide tables go on below.

mod names;
mod ratios;
mod values;

use std::collections::BTreeMap;

use bakeoff_audit::Grade;

use crate::document::{Document, Extent, Line, Part, TRUST, Table, Unit, draw, marks_of};
use crate::style::{Paint, WIDTH_LEAST, cut, folded, length};
use crate::text::{TextOptions, section, tone_mark, tone_paint};
use crate::view::{RatioRow, RatioTable, Report, Tone};
use ratios::Drawn;
use values::values;

/// Sections of the answer, which ends the text in its own form.
const ANSWER: [&str; 3] = ["findings", "ratios", "trust"];
/// Most lines of the answer: who prints it adds where its page is.
const LINES_MOST: usize = 29;
/// Most lines of findings.
const FINDING_LINES_MOST: usize = 8;
/// Lines of findings that there is always room for.
const FINDING_LINES_LEAST: usize = 3;
/// Servers that did not do their work or answered late after it, before the rest is only counted.
const FAILING_MOST: usize = 2;
/// Most lines of each of them.
const FAILING_LINES_MOST: usize = 2;
/// Most lines of what else weakens it.
const TRUST_LINES_MOST: usize = 2;
/// Most lines of what has no result.
const LOST_LINES_MOST: usize = 3;
/// Rows of the first table that stand even where there is little room.
const ROWS_LEAST: usize = 3;
/// Columns of a table before those of the contenders: workload and load.
const LABELS: usize = 2;
/// What stands behind ratios of which none has a mark.
const NO_MARK: &str = "(no mark)";
/// Rows of the first table that go before further findings.
const ROWS_WANTED: usize = 5;

/// The report for a terminal or a log.
pub fn text(report: &Report, options: TextOptions<'_>) -> String {
    let width = options.width.max(WIDTH_LEAST);
    let options = TextOptions { width, ..options };
    let document = draw(report);
    let mut lines = Vec::new();
    if options.full {
        lines.push(Paint::Bold.on(&document.title, options.colour));
        let shown = document.within(Extent::Full);
        for one in shown.filter(|section| !ANSWER.contains(&section.name)) {
            section(&mut lines, one, options);
            lines.push(String::new());
        }
    }
    lines.extend(answer(report, &document, options));
    lines.push(String::new());
    lines.join("\n")
}

/// The lines of the answer. Where they are too many, servers are not quoted.
fn answer(report: &Report, document: &Document, options: TextOptions<'_>) -> Vec<String> {
    if options.full {
        return whole(report, document, options);
    }
    let lines = answer_with(report, document, options, lost(document, options, true));
    if lines.len() <= LINES_MOST {
        return lines;
    }
    answer_with(report, document, options, lost(document, options, false))
}

/// The whole answer, with nothing left to a longer one. What has no result stands above it.
fn whole(report: &Report, document: &Document, options: TextOptions<'_>) -> Vec<String> {
    let mut lines = findings(report, options, usize::MAX);
    // Without a ratio, the cells' own numbers stand above too.
    if report.answer.tables.iter().any(has_ratios) {
        lines.push(String::new());
        lines.extend(tables(report, document, options, usize::MAX));
    }
    lines.push(String::new());
    lines.extend(end(report, document, options));
    lines
}

/// The lines of the answer with these on what has no result.
fn answer_with(
    report: &Report,
    document: &Document,
    options: TextOptions<'_>,
    mut end: Vec<String>,
) -> Vec<String> {
    end.extend(self::end(report, document, options));
    let room = LINES_MOST.saturating_sub(end.len() + 2 + tables_least(report));
    let mut lines = findings(
        report,
        options,
        room.clamp(FINDING_LINES_LEAST, FINDING_LINES_MOST),
    );
    // A blank line on each side of the tables.
    let taken = lines.len() + end.len() + 2;
    let room = LINES_MOST.saturating_sub(taken);
    let mut ratios = report
        .answer
        .tables
        .iter()
        .filter(|table| has_ratios(table));
    let tables = match ratios.next() {
        Some(_) => tables(report, document, options, room),
        None => values(document, options, room),
    };
    if !tables.is_empty() {
        lines.push(String::new());
        lines.extend(tables);
    }
    lines.push(String::new());
    lines.extend(end);
    lines
}

/// Lines that the tables of ratios need to say something: heads, some rows and the legend of the
/// first, and a line for each of the others.
fn tables_least(report: &Report) -> usize {
    let tables = report.answer.tables.iter();
    let rows = tables.clone().next().map_or(0, |table| table.rows.len());
    let others = tables.skip(1).filter(|table| has_ratios(table)).count();
    rows.min(ROWS_WANTED) + others + 3
}

fn has_ratios(table: &RatioTable) -> bool {
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    cells.any(|cell| cell.ratio.is_some())
}

/// All lines of the section of a name.
fn lines_of<'d>(document: &'d Document, name: &str) -> Vec<&'d Line> {
    let parts = document.section(name).into_iter().flat_map(|it| &it.parts);
    let lines = parts.flat_map(|part| match part {
        Part::Lines(lines) => &lines[..],
        _ => &[],
    });
    lines.collect()
}

/// What has no result, in a few lines; the first server is quoted where it `quotes`.
fn lost(document: &Document, options: TextOptions<'_>, quotes: bool) -> Vec<String> {
    let all = lines_of(document, "lost");
    let heads = all.iter().filter(|line| line.depth == 0).count();
    let mut lines: Vec<String> = Vec::new();
    for (shown, entry) in all.chunk_by(|_, next| next.depth > 0).enumerate() {
        let text = format!("! {}", entry[0].text);
        let rows = folded(&text, "", options.width);
        if shown > 0 && lines.len() + rows.len() > LOST_LINES_MOST {
            lines.push(format!("! {} more without a result: --full", heads - shown));
            break;
        }
        // The last line of what the first server said: it often names the cause.
        let said = entry.iter().skip(1).rfind(|line| !line.text.is_empty());
        let said = said.filter(|_| shown == 0 && quotes);
        let most = LOST_LINES_MOST - usize::from(said.is_some());
        let mut rows = at_most(most, rows, options.width);
        rows.extend(said.map(|said| cut(&format!("    {}", said.text), options.width)));
        lines.extend(
            rows.iter()
                .map(|line| Paint::Yellow.on(line, options.colour)),
        );
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// The first lines of a sentence; where there are more, the last one ends in an ellipsis.
fn at_most(most: usize, mut rows: Vec<String>, width: usize) -> Vec<String> {
    let is_cut = rows.len() > most;
    rows.truncate(most);
    if let Some(last) = rows.last_mut().filter(|_| is_cut) {
        *last = cut(&format!("{last} …"), width);
    }
    rows
}

fn findings(report: &Report, options: TextOptions<'_>, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let failing = failing(report, options);
    let most = most.saturating_sub(failing.len());
    let most = most.max(FINDING_LINES_LEAST);
    let section = crate::document::findings_of(report);
    let grades = report.answer.findings.iter().map(|finding| finding.grade);
    let mut grades = grades.map(Some).chain(std::iter::repeat(None));
    let total = section.iter().filter(|line| line.depth == 0).count();
    let entries = section.chunk_by(|_, next| next.depth > 0);
    for (reported, entry) in entries.enumerate() {
        let grade = grades.next().flatten();
        let rows = folded(&entry[0].text, "", options.width);
        let below = entry[1..].iter();
        let below: Vec<String> = below
            .flat_map(|line| toned(line, "    ", usize::MAX, options))
            .collect();
        let rest = total - reported;
        // The line that counts the rest needs room too.
        let room = most - usize::from(rest > 1);
        if reported > 0 && lines.len() + rows.len() + below.len() > room {
            let noun = if rest == 1 { "finding" } else { "findings" };
            lines.push(format!("{rest} more {noun}: --full"));
            break;
        }
        let paint = match grade {
            Some(Grade::Shown) => Paint::Bold,
            _ => Paint::None,
        };
        lines.extend(rows.iter().map(|line| paint.on(line, options.colour)));
        lines.extend(below);
    }
    lines.extend(failing);
    lines
}

/// Who did not do its work, or answered late after it.
fn failing(report: &Report, options: TextOptions<'_>) -> Vec<String> {
    let failing = crate::document::failing_of(report);
    let (most, most_lines) = if options.full {
        (usize::MAX, usize::MAX)
    } else {
        (FAILING_MOST, FAILING_LINES_MOST)
    };
    let mut shown: Vec<Line> = failing.iter().take(most).cloned().collect();
    if let Some(more) = failing.len().checked_sub(most).filter(|more| *more > 0) {
        let text = format!("{more} more failed or answered late: --full.");
        shown.push(Line::toned(Tone::Warning, text));
    }
    let rows = shown.iter();
    rows.flat_map(|line| toned(line, "  ", most_lines, options))
        .collect()
}

/// The first lines of a sentence in the colour of its tone, behind its mark.
fn toned(line: &Line, indent: &str, most: usize, options: TextOptions<'_>) -> Vec<String> {
    let text = format!("{}{}", tone_mark(line.tone), line.text);
    let paint = line.tone.map_or(Paint::None, tone_paint);
    let rows = at_most(most, folded(&text, indent, options.width), options.width);
    rows.iter().map(|it| paint.on(it, options.colour)).collect()
}

/// How far to trust it, and the next commands.
fn end(report: &Report, document: &Document, options: TextOptions<'_>) -> Vec<String> {
    let reasons = lines_of(document, "trust");
    // What is said of a number is never left out.
    let (numbers, reasons) = reasons.split_at(report.answer.trust.numbers.len());
    let most = if options.full {
        usize::MAX
    } else {
        TRUST_LINES_MOST
    };
    let mut reported = Vec::new();
    let mut left = reasons.len();
    for reason in reasons {
        let rows = toned(reason, "  ", usize::MAX, options).len();
        // Of the worst one there is always something.
        if !reported.is_empty() && reported.len() + rows > most {
            break;
        }
        left -= usize::from(rows <= most);
        reported.extend(toned(reason, "  ", most, options));
    }
    let more = match left {
        0 => String::new(),
        left => format!(" ({left} more: --full)"),
    };
    let mut lines = folded(&format!("{TRUST}{more}"), "", options.width);
    for number in numbers {
        lines.extend(toned(number, "  ", usize::MAX, options));
    }
    lines.extend(reported);
    if let Some(published) = &report.published {
        lines.extend(folded(&published.summary(), "  ", options.width));
    }
    let own = options.record.map(crate::number::plain);
    let record = own.as_deref().unwrap_or("RECORD");
    let needed_again = options.needed_again.map(crate::number::plain);
    // A full report needs no hint at itself.
    let answer = &report.answer;
    let next = answer.commands(record, needed_again.as_deref(), !options.full);
    lines.extend(next.iter().map(|line| format!("next: {line}")));
    lines
}

/// Draws as many tables as there is room for: the first with as many rows as fit, the others whole
/// or as a line of their own.
fn tables(
    report: &Report,
    document: &Document,
    options: TextOptions<'_>,
    room: usize,
) -> Vec<String> {
    let all = report.answer.tables.iter().zip(document.tables("ratios"));
    // The values of a metric without any ratio are in the tables of the cells.
    let all: Vec<(&RatioTable, &Table)> = all
        .enumerate()
        .filter(|(index, (ratios, _))| *index == 0 || has_ratios(ratios))
        .map(|(_, tables)| tables)
        .collect();
    let mut lines: Vec<String> = Vec::new();
    let mut marks: Vec<&str> = Vec::new();
    // The legend below.
    let room = room.saturating_sub(1);
    for (index, (ratios, table)) in all.iter().enumerate() {
        // A line for each of the tables after this one.
        let reserved = all.len() - index - 1;
        let free = room.saturating_sub(lines.len() + reserved + usize::from(index > 0));
        let is_first = index == 0;
        let drawn = Drawn::new(report, (ratios, table), options, is_first);
        let whole = drawn.lines(options, usize::MAX);
        if whole.len() <= free || is_first {
            if index > 0 {
                lines.push(String::new());
            }
            let least = drawn.height() + ROWS_LEAST + 1;
            lines.extend(drawn.lines(options, free.max(if is_first { least } else { 0 })));
            marks.extend(ratios.rows.iter().flat_map(marks_of));
        } else {
            let line = in_a_line(ratios, options.width);
            marks.extend(line.contains(NO_MARK).then_some(""));
            lines.push(line);
        }
    }
    if !lines.is_empty() {
        let legend = crate::document::legend(&marks, "   ");
        // The last words are the least needed.
        let fits = |text: &&str| length(text) <= options.width;
        let short = legend.rsplit_once("   no mark").map(|(marks, _)| marks);
        let legend = Some(legend.as_str())
            .filter(fits)
            .or(short)
            .unwrap_or(&legend);
        lines.extend(Some(cut(legend, options.width)).filter(|legend| !legend.is_empty()));
    }
    lines
}

/// `p99, ms: 8 ratios, 0.94x to 3.41x (5 ^, 2 =); --full has them`.
fn in_a_line(table: &RatioTable, width: usize) -> String {
    let title = &table.title;
    let [whole, range, count] = summed_up(&table.rows);
    let forms = [
        format!("{title}: {whole}; --full has them"),
        format!("{title}: {whole}"),
        format!("{title}: {range}"),
        format!("{title}: {count}; --full"),
    ];
    longest_within(&forms, width)
}

/// The first of the forms that fits, so that no number ends in the middle.
fn longest_within(forms: &[String], width: usize) -> String {
    let found = forms.iter().find(|form| length(form) <= width);
    let last = forms.last().map_or("", String::as_str);
    found.cloned().unwrap_or_else(|| cut(last, width))
}

/// What rows come to without being shown: in full, without marks, and their number alone.
fn summed_up(rows: &[RatioRow]) -> [String; 3] {
    let cells = rows.iter().flat_map(|row| &row.cells);
    let mut points = Vec::new();
    let mut marks: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in cells {
        if let Some(ratio) = cell.ratio {
            points.push(ratio.point);
            if !cell.mark.is_empty() {
                *marks.entry(cell.mark).or_default() += 1;
            }
        }
    }
    let least = points.iter().copied().reduce(f64::min);
    let most = points.iter().copied().reduce(f64::max);
    let Some((least, most)) = least.zip(most) else {
        return ["no ratios"; 3].map(str::to_owned);
    };
    let noun = if points.len() == 1 { "ratio" } else { "ratios" };
    let count = format!("{} {noun}", points.len());
    let [least, most] = [least, most].map(|end| format!("{}x", Unit::Ratio.show(end)));
    let range = if least == most {
        format!("{count}, {least}")
    } else {
        format!("{count}, {least} to {most}")
    };
    let marks: Vec<String> = marks
        .iter()
        .map(|(mark, n)| format!("{n} {mark}"))
        .collect();
    let whole = if marks.is_empty() {
        // That they are not ranked must not be taken for room that there was not.
        format!("{range} {NO_MARK}")
    } else {
        format!("{range} ({})", marks.join(", "))
    };
    [whole, range, count]
}
