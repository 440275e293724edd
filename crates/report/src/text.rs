//! The report for a terminal or a log.
//!
//! Nothing from a server reaches the terminal unescaped. The width decides only how the tables
//! are cut; the same numbers are shown at any width.

use std::fmt::Write as _;

use bakeoff_audit::{Level, Verdict};
use comfy_table::{Attribute, Cell as Field, CellAlignment, Color, ContentArrangement, Table};

use crate::changes;
use crate::equal::{self, SHORT_DIFF};
use crate::number::plain;
use crate::table::{
    COLUMNS, Column, Group, Half, beyond_range, errors_by_kind, groups, lost_trials, median_of,
    statuses, told_by_peers,
};
use crate::view::{Cell, Class, ConfigDiff, Equivalence, Note, Report, Tone};

/// Cells listed under a note before the rest is only counted.
const CELLS_PER_NOTE: usize = 3;
/// Width that one table needs; below it, latencies and the rest stand in tables of their own.
const ONE_TABLE_WIDTH: usize = 140;
/// Width from which columns stand three spaces apart instead of two.
const ROOMY_WIDTH: usize = 160;

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal; for a file, as wide as it should be.
    pub width: usize,
    /// Whether colours may be used.
    pub colour: bool,
    /// Whether differences and changes of configurations are shown whole, and not only short ones.
    pub diffs: bool,
}

/// The report for a terminal or a log.
pub fn text(report: &Report, options: TextOptions) -> String {
    let mut out = String::new();
    heading(&mut out, report, options);
    for group in groups(report) {
        main_table(&mut out, &group, options);
        errors(&mut out, &group, options);
        for line in told_by_peers(report, &group) {
            let _ = writeln!(out, "  {line}");
        }
        out.push('\n');
    }
    comparisons(&mut out, report, options);
    equal_work(&mut out, report, options);
    configurations(&mut out, report, options);
    notes(&mut out, report, options);
    without_result(&mut out, report, options);
    summary(&mut out, report, options);
    out
}

fn heading(out: &mut String, report: &Report, options: TextOptions) {
    let campaign = &report.campaign;
    let machine = &campaign.machine;
    title(
        out,
        &format!("{} on {}", plain(&campaign.name), plain(&machine.host)),
        options,
    );
    let versions: Vec<String> = campaign
        .contenders
        .iter()
        .filter(|one| !one.versions.is_empty())
        .map(|one| format!("{} {}", plain(&one.name), plain(&one.versions.join(", "))))
        .collect();
    let lines = [
        plain(&campaign.description),
        format!(
            "{} CPUs ({}), {}, Linux {}",
            machine.cpus,
            plain(machine.cpu_model.as_deref().unwrap_or("model unknown")),
            plain(machine.os.as_deref().unwrap_or("system unknown")),
            plain(&machine.kernel),
        ),
        versions.join("; "),
        format!(
            "Each number is {}; low to high is the {}. Latencies are of ok \
             responses only, in ms; requests are of one round, errors of all.",
            median_of(campaign.rounds),
            campaign.interval.text
        ),
    ];
    for line in lines.iter().filter(|line| !line.is_empty()) {
        wrapped(out, line, "", options);
    }
    out.push('\n');
}

fn main_table(out: &mut String, group: &Group<'_>, options: TextOptions) {
    title(out, &group.title, options);
    if options.width >= ONE_TABLE_WIDTH {
        table(out, group, options, |_| true);
    } else {
        table(out, group, options, |column| column.half != Half::Rest);
        out.push('\n');
        table(out, group, options, |column| column.half != Half::Latency);
    }
}

fn table(
    out: &mut String,
    group: &Group<'_>,
    options: TextOptions,
    wanted: impl Fn(&Column) -> bool,
) {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| wanted(column)).collect();
    let mut table = Table::new();
    table
        .load_preset("     ──            ")
        .set_content_arrangement(ContentArrangement::Disabled);
    if options.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let alignment = |column: &Column| match column.numeric {
        true => CellAlignment::Right,
        false => CellAlignment::Left,
    };
    table.set_header(columns.iter().map(|column| {
        let unit = if column.unit.is_empty() {
            String::new()
        } else {
            format!("\n{}", column.unit)
        };
        let field = Field::new(format!("{}{unit}", column.title));
        styled(field.set_alignment(alignment(column)), options, |field| {
            field.add_attribute(Attribute::Bold)
        })
    }));
    for cell in group.cells {
        table.add_row(columns.iter().map(|column| {
            let text = (column.text)(cell);
            let text = if text.is_empty() && column.numeric {
                "-".into()
            } else {
                text
            };
            let field = Field::new(text).set_alignment(alignment(column));
            styled(field, options, |field| tinted(field, column, cell))
        }));
    }
    // The table itself adds one space between columns.
    let gap = if options.width >= ROOMY_WIDTH { 2 } else { 1 };
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index + 1 == columns.len() { 0 } else { gap }));
    }
    for line in table.to_string().lines() {
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn tinted(field: Field, column: &Column, cell: &Cell) -> Field {
    if column.title == "verdict" {
        return match cell.verdict.verdict {
            Verdict::Valid => field.fg(Color::Green),
            Verdict::Suspect => field.fg(Color::Yellow),
            _ => field.fg(Color::Red),
        };
    }
    // References are set apart: they are not compared.
    if cell.is_contender() {
        field
    } else {
        field.add_attribute(Attribute::Dim)
    }
}

fn styled(field: Field, options: TextOptions, style: impl Fn(Field) -> Field) -> Field {
    if options.colour { style(field) } else { field }
}

fn errors(out: &mut String, group: &Group<'_>, options: TextOptions) {
    for cell in group.cells {
        if let Some(kinds) = errors_by_kind(cell) {
            let status = statuses(cell).map_or(String::new(), |text| format!("; status {text}"));
            let line = format!("errors of {}: {kinds}{status}", plain(&cell.contender));
            wrapped(out, &line, "  ", options);
        }
        if let Some(beyond) = beyond_range(cell) {
            let line = format!("latencies of {}: {beyond}", plain(&cell.contender));
            wrapped(out, &line, "  ", options);
        }
        let gone = cell
            .missing
            .get("latency_p50_ns")
            .filter(|_| cell.rounds_measured > 0 && cell.at_least.is_empty());
        if let Some(reason) = gone {
            let line = format!(
                "no latency of {}: {}",
                plain(&cell.contender),
                plain(reason)
            );
            wrapped(out, &line, "  ", options);
        }
    }
}

fn comparisons(out: &mut String, report: &Report, options: TextOptions) {
    let shown: Vec<_> = report
        .comparisons
        .iter()
        .filter(|one| matches!(one.conclusion, "higher" | "lower"))
        .collect();
    if shown.is_empty() {
        return;
    }
    title(out, "Differences shown", options);
    for one in shown {
        let line = format!(
            "{}, {}: {}",
            plain(&one.workload),
            one.load,
            plain(&one.text)
        );
        wrapped(out, &line, "  ", options);
    }
    out.push('\n');
}

/// A table for each workload where the work is unequal, a few lines for each where it is not.
fn equal_work(out: &mut String, report: &Report, options: TextOptions) {
    if report.equivalence.is_empty() {
        return;
    }
    title(out, "Equal work", options);
    for table in &report.equivalence {
        let workload = plain(&table.workload);
        if equal::is_unfair(table) {
            let _ = writeln!(out, "  {workload}: unequal");
            fact_table(out, table, options);
        } else {
            let _ = writeln!(out, "  {workload}: equal in all that matters");
            if let Some(line) = equal::differing_line(table) {
                wrapped(out, &line, "    ", options);
            }
        }
        for line in equal::equal_line(table)
            .iter()
            .chain(&equal::unknown_lines(table))
        {
            wrapped(out, line, "    ", options);
        }
        for one in &table.inequalities {
            wrapped(
                out,
                &format!("! {}", equal::inequality_line(one)),
                "    ",
                options,
            );
            for line in equal::remedy_lines(one) {
                wrapped(out, &line, "      ", options);
            }
        }
    }
    out.push('\n');
}

fn fact_table(out: &mut String, facts: &Equivalence, options: TextOptions) {
    let indent = "    ";
    let mut table = Table::new();
    table
        .load_preset("     ──            ")
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(options.width.max(60) - indent.len()).unwrap_or(u16::MAX));
    if options.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let header = equal::titles(facts).into_iter().map(Field::new);
    table.set_header(
        header.map(|field| styled(field, options, |field| field.add_attribute(Attribute::Bold))),
    );
    for row in &facts.rows {
        table.add_row(equal::fields(row).into_iter().map(|text| {
            styled(Field::new(text), options, |field| match row.class {
                Class::Unfair => field.fg(Color::Yellow),
                Class::Differs => field,
            })
        }));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    for line in table.to_string().lines() {
        let _ = writeln!(out, "{indent}{}", line.trim_end());
    }
}

/// Differences of configurations and changes of users' own: short diffs always and reasons for the
/// changes, all of both where it is asked for.
fn configurations(out: &mut String, report: &Report, options: TextOptions) {
    if report.diffs.is_empty() && report.config_changes.is_empty() {
        return;
    }
    title(out, "Configurations", options);
    for one in &report.config_changes {
        let title = changes::title(one);
        if options.diffs {
            wrapped(out, &title, "  ", options);
            for line in changes::lines(one) {
                let _ = writeln!(out, "    {line}");
            }
            continue;
        }
        wrapped(out, &format!("{title} (--diffs shows them)"), "  ", options);
        for line in changes::by_reason(one) {
            wrapped(out, &line, "    ", options);
        }
    }
    let is_shown = |diff: &&ConfigDiff| options.diffs || diff.changed <= SHORT_DIFF;
    let (shown, long): (Vec<_>, Vec<_>) = report.diffs.iter().partition(is_shown);
    for diff in shown {
        wrapped(out, &equal::diff_title(diff), "  ", options);
        for line in diff.text.lines() {
            let _ = writeln!(out, "    {}", plain(line));
        }
    }
    for diff in long {
        let line = format!("{} (--diffs shows them)", equal::diff_title(diff));
        wrapped(out, &line, "  ", options);
    }
    out.push('\n');
}

fn notes(out: &mut String, report: &Report, options: TextOptions) {
    let bad: Vec<&Note> = report
        .notes
        .iter()
        .filter(|note| note.level > Level::Note)
        .collect();
    if bad.is_empty() {
        return;
    }
    title(out, "Notes", options);
    for note in bad {
        let _ = writeln!(out, "[{}] {} ({})", note.number, note.code, note.rule);
        for cell in note.cells.iter().take(CELLS_PER_NOTE) {
            let line = format!(
                "{}, {}, {}: {}",
                plain(&cell.contender),
                plain(&cell.workload),
                cell.load,
                plain(&cell.text)
            );
            wrapped(out, &line, "    ", options);
        }
        if note.cells.len() > CELLS_PER_NOTE {
            let _ = writeln!(out, "    and {} more", note.cells.len() - CELLS_PER_NOTE);
        }
    }
    out.push('\n');
}

fn without_result(out: &mut String, report: &Report, options: TextOptions) {
    if report.lost.is_empty() {
        return;
    }
    title(out, "Trials without a result", options);
    for lost in &report.lost {
        wrapped(out, &lost_trials(lost), "  ", options);
        if let Some(words) = &lost.words {
            wrapped(
                out,
                &format!("the server said: {}", plain(words)),
                "    ",
                options,
            );
        }
    }
    out.push('\n');
}

fn summary(out: &mut String, report: &Report, options: TextOptions) {
    title(out, "What to believe", options);
    // What sums up a note is not repeated: the notes stand just above.
    for sentence in report
        .summary
        .iter()
        .filter(|sentence| sentence.note.is_none())
    {
        let mark = match sentence.tone {
            Tone::Good => "+",
            Tone::Note => "-",
            Tone::Warning => "!",
            Tone::Bad => "x",
        };
        wrapped(
            out,
            &format!("{mark} {}", plain(&sentence.text)),
            "  ",
            options,
        );
    }
}

fn title(out: &mut String, text: &str, options: TextOptions) {
    let _ = if options.colour {
        writeln!(out, "\u{1b}[1m{text}\u{1b}[0m")
    } else {
        writeln!(out, "{text}")
    };
}

/// Writes words in lines no longer than the width, further lines indented by two more columns.
fn wrapped(out: &mut String, text: &str, indent: &str, options: TextOptions) {
    for line in folded(text, indent, options.width.max(40)) {
        let _ = writeln!(out, "{line}");
    }
}

/// Words in lines of up to `width` columns, further lines indented by two more columns.
pub(crate) fn folded(text: &str, indent: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut column = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            lines.push(String::new());
            column = 0;
        }
        let more = if lines.len() > 1 { "  " } else { "" };
        let line = lines.last_mut().expect("one line is there from the start");
        if column == 0 {
            *line = format!("{indent}{more}{word}");
            column = line.chars().count();
        } else {
            let _ = write!(line, " {word}");
            column += 1 + length;
        }
    }
    lines
}
