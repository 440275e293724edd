//! The report as Markdown: the answer first, short enough to paste into an issue, or all of it.

use std::fmt::Write as _;

use crate::document::{Column, Document, Extent, Line, Part, Section, Table, draw};
use crate::number::counted;
use crate::view::{Report, Tone};

/// Findings of a short report; the most important ones come first.
const FINDINGS_MOST: usize = 6;
/// Warnings of a short report, which are counted by themselves.
const WARNINGS_MOST: usize = 3;

/// Shortest fence of a code block.
const FENCE_LEAST: usize = 3;

/// How much is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkdownOptions {
    /// Whether everything is, and not only the answer and the tables of the cells.
    pub full: bool,
}

/// The report as Markdown.
pub fn markdown(report: &Report, options: MarkdownOptions) -> String {
    let extent = Extent::of(options.full);
    let document = draw(report);
    let mut out = format!("# {}\n", escaped(&document.title));
    // The tables refer to the notes by number.
    let wanted = document
        .sections
        .iter()
        .filter(|section| section.extent <= extent || section.name == "notes");
    // The answer first; what was run and where stands below it.
    let (heading, rest): (Vec<&Section>, Vec<&Section>) =
        wanted.partition(|section| section.name == "campaign");
    let (answer, rest): (Vec<&Section>, Vec<&Section>) = rest
        .into_iter()
        .partition(|section| ["findings", "ratios", "trust"].contains(&section.name));
    for one in answer.into_iter().chain(heading).chain(rest) {
        section(&mut out, one, extent);
    }
    out
}

/// A document from top to bottom: the sections that a report of this extent has.
pub(crate) fn plain(document: &Document, extent: Extent) -> String {
    let mut out = format!("# {}\n", escaped(&document.title));
    for one in document.within(extent) {
        section(&mut out, one, extent);
    }
    out
}

pub(crate) fn section(out: &mut String, section: &Section, extent: Extent) {
    // A sentence as a title would be too loud.
    match section.title.strip_suffix('.') {
        Some(_) => drop(writeln!(out, "\n**{}**", escaped(&section.title))),
        None if section.title.is_empty() => {}
        None => drop(writeln!(out, "\n## {}", escaped(&section.title))),
    }
    for part in &section.parts {
        match part {
            Part::Lines(lines) if section.name == "campaign" => {
                let texts = lines.iter().map(|line| escaped_line(&line.text));
                let _ = writeln!(out, "\n{}", texts.collect::<Vec<_>>().join("  \n"));
            }
            Part::Lines(lines) if section.name == "findings" && extent == Extent::Short => {
                let (shown, [more, warnings]) = foremost(lines);
                list(out, shown);
                if more > 0 {
                    let _ = writeln!(out, "- {more} more with `--full`");
                }
                if warnings > 0 {
                    let warnings = counted(warnings, "more warning");
                    let _ = writeln!(out, "- **Careful:** {warnings} with `--full`");
                }
            }
            Part::Lines(lines) if section.name == "notes" && extent == Extent::Short => {
                list(out, with_one_example(lines));
            }
            Part::Lines(lines) => list(out, lines),
            Part::Table(one) => table(out, one, extent),
            Part::Verbatim { title, lines, .. } => verbatim(out, title, lines),
            // The tables have its numbers.
            Part::Figure(_) => {}
        }
    }
}

/// The findings that a short report has, in their order, and how many findings and warnings it
/// leaves out. What warns stands behind the findings, so a cut by place alone would take it away.
fn foremost(lines: &[Line]) -> (Vec<&Line>, [u64; 2]) {
    let mut left_out = [0; 2];
    let mut rooms = [FINDINGS_MOST, WARNINGS_MOST];
    let is_shown = |line: &&Line| {
        let warns = matches!(line.tone, Some(Tone::Warning | Tone::Bad));
        let kind = usize::from(warns);
        let has_room = rooms[kind] > 0;
        rooms[kind] = rooms[kind].saturating_sub(1);
        left_out[kind] += u64::from(!has_room);
        has_room
    };
    let shown = lines.iter().filter(is_shown).collect();
    (shown, left_out)
}

/// Each point with the first of those below it.
fn with_one_example(lines: &[Line]) -> impl Iterator<Item = &Line> {
    let mut depth_before = 1;
    lines.iter().filter(move |line| {
        let is_shown = line.depth == 0 || depth_before == 0;
        depth_before = line.depth;
        is_shown
    })
}

fn list<'l>(out: &mut String, lines: impl IntoIterator<Item = &'l Line>) {
    for (index, line) in lines.into_iter().enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let indent = "  ".repeat(usize::from(line.depth));
        let mark = match line.tone {
            None | Some(Tone::Good | Tone::Note) => "",
            Some(Tone::Warning) => "**Careful:** ",
            Some(Tone::Bad) => "**Not to be used:** ",
        };
        let text = match mark {
            "" => escaped_line(&line.text),
            _ => escaped(&line.text),
        };
        let _ = writeln!(out, "{gap}{indent}- {mark}{text}");
    }
}

fn table(out: &mut String, table: &Table, extent: Extent) {
    let shown = table.within(extent);
    if !table.title.is_empty() {
        let _ = writeln!(out, "\n{}", escaped_line(&table.title));
    }
    out.push('\n');
    row(
        out,
        shown.iter().map(|(_, column)| match column.unit.name() {
            "" => escaped(&column.title),
            unit => format!("{} ({unit})", escaped(&column.title)),
        }),
    );
    let rules = shown
        .iter()
        .map(|(_, column)| match column.unit.is_numeric() {
            true => "--:",
            false => "---",
        });
    row(out, rules.map(str::to_owned));
    for one in &table.rows {
        let field = |(at, column): &(usize, &Column)| one.fields[*at].shown(column.unit);
        row(out, shown.iter().map(|column| escaped(&field(column))));
    }
}

fn row(out: &mut String, fields: impl Iterator<Item = String>) {
    let _ = writeln!(out, "| {} |", fields.collect::<Vec<_>>().join(" | "));
}

/// A fence that is longer than any run of backticks inside, so that no text ends it. Four spaces
/// would begin no code block behind a list.
fn verbatim(out: &mut String, title: &str, lines: &[String]) {
    if !title.is_empty() {
        let _ = writeln!(out, "\n{}", escaped_line(title));
    }
    let runs = lines.iter().flat_map(|line| line.split(|one| one != '`'));
    let longest = runs.map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(FENCE_LEAST - 1) + 1);
    let _ = writeln!(out, "\n{fence}");
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "{fence}");
}

/// Text that neither ends a table's cell nor begins markup, calls nobody and links no issue: where
/// a word begins, GitHub takes `@name` and `#123` for these, escaped by a backslash or not. The
/// empty comment between them is seen by nobody.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::new();
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let begins_word = !before.is_alphanumeric() && before != '_';
        before = character;
        match character {
            '@' | '#'
                if begins_word && characters.peek().is_some_and(|it| it.is_alphanumeric()) =>
            {
                safe.push(character);
                safe.push_str("<!-- -->");
            }
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '\\' | '~' | '[' | ']' => {
                safe.push('\\');
                safe.push(character);
            }
            usual => safe.push(usual),
        }
    }
    safe
}

/// The same where a line begins: there some characters make it a heading, an item or a rule.
fn escaped_line(text: &str) -> String {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let behind = text[digits..].chars().next();
    let begins_block = match digits {
        0 => matches!(behind, Some('#' | '-' | '+' | '=')),
        _ => matches!(behind, Some('.' | ')')) && text[digits + 1..].starts_with([' ', '\t']),
    };
    if begins_block {
        format!("{}\\{}", &text[..digits], escaped(&text[digits..]))
    } else {
        escaped(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four spaces behind a list made the block a part of its last point.
    #[test]
    fn a_block_behind_a_list_is_one_that_nothing_inside_ends() {
        let part = Section {
            name: "cell",
            title: String::new(),
            extent: Extent::Short,
            parts: vec![
                Part::Lines(vec![Line::new("3 errors".to_owned())]),
                Part::Verbatim {
                    title: "Vegeta".to_owned(),
                    lines: vec!["Requests  1".to_owned(), "````".to_owned()],
                    brief: Vec::new(),
                },
            ],
        };
        let mut out = String::new();
        section(&mut out, &part, Extent::Full);
        let wanted = "\n- 3 errors\n\nVegeta\n\n`````\nRequests  1\n````\n`````\n";
        assert_eq!(out, wanted);
    }

    /// A server that did not recover stood behind six findings, and was cut with the rest.
    #[test]
    fn a_short_report_cuts_findings_and_no_warning() {
        let mut lines: Vec<Line> = (1..=8)
            .map(|it| Line::new(format!("finding {it}")))
            .collect();
        for (text, tone) in [
            ("late", Tone::Warning),
            ("gone", Tone::Bad),
            ("confirmed", Tone::Good),
        ] {
            lines.push(Line::toned(tone, text.to_owned()));
        }
        let part = Section {
            name: "findings",
            title: String::new(),
            extent: Extent::Short,
            parts: vec![Part::Lines(lines)],
        };
        let drawn = |extent| {
            let mut out = String::new();
            section(&mut out, &part, extent);
            out
        };
        let first: String = (1..=6).map(|it| format!("- finding {it}\n")).collect();
        let wanted = format!(
            "\n{first}- **Careful:** late\n- **Not to be used:** gone\n- 3 more with `--full`\n"
        );
        assert_eq!(drawn(Extent::Short), wanted);
        let full = drawn(Extent::Full);
        assert!(
            full.contains("finding 8") && full.contains("confirmed"),
            "{full}"
        );
    }

    /// A full report had "2 more answered as late: --full" too.
    #[test]
    fn many_warnings_are_counted_in_a_short_report_and_all_in_a_full_one() {
        let warning = |it| Line::toned(Tone::Warning, format!("late {it}"));
        let part = Section {
            name: "findings",
            title: String::new(),
            extent: Extent::Short,
            parts: vec![Part::Lines((1..=5).map(warning).collect())],
        };
        let drawn = |extent| {
            let mut out = String::new();
            section(&mut out, &part, extent);
            out
        };
        let short = drawn(Extent::Short);
        let end = "late 3\n- **Careful:** 2 more warnings with `--full`\n";
        assert!(short.ends_with(end), "{short}");
        assert!(drawn(Extent::Full).ends_with("late 5\n"));
    }

    /// A plan's description that began with `# ` was a heading of the report.
    #[test]
    fn a_line_of_foreign_text_begins_no_block() {
        let rows = [
            ("# title", "\\# title"),
            ("    code", "code"),
            ("- item", "\\- item"),
            ("+ item", "\\+ item"),
            ("===", "\\==="),
            ("2026. A year", "2026\\. A year"),
            ("1) one", "1\\) one"),
            ("1.5 ms", "1.5 ms"),
            ("3 errors", "3 errors"),
            ("", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(escaped_line(text), expected);
        }
        let of = |name| Section {
            name,
            title: String::new(),
            extent: Extent::Short,
            parts: vec![Part::Lines(vec![Line::new("# title".to_owned())])],
        };
        for (name, expected) in [("campaign", "\n\\# title\n"), ("notes", "\n- \\# title\n")] {
            let mut out = String::new();
            section(&mut out, &of(name), Extent::Short);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(escaped("a|b<script>`*"), "a\\|b&lt;script&gt;\\`\\*");
        // Pasted into an issue, a contender's name must call nobody.
        assert_eq!(escaped("@team is"), "@<!-- -->team is");
        assert_eq!(escaped("(@team/a)"), "(@<!-- -->team/a)");
        assert_eq!(escaped("fix #12"), "fix #<!-- -->12");
        for plain in ["nginx@1.28", "@ 5 ms", "a#1", "C# and @"] {
            assert_eq!(escaped(plain), plain);
        }
    }
}
