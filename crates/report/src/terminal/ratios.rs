//! A table of ratios in the form that fits a terminal.

use bakeoff_audit::Verdict;

use super::names::shortened;
use super::{LABELS, longest_within, summed_up};
use crate::document::{Row, Table, Unit};
use crate::style::{Grid, GridColumn, GridField, Paint, cut};
use crate::text::{TextOptions, tone_paint};
use crate::view::{RatioCell, RatioRow, RatioTable, Report};

/// Longest name of a contender in the head of a table with intervals.
const NAME_MOST: usize = 18;
/// Longest name of a contender in the head of a table without.
const NAME_SHORT: usize = 9;
/// Shortest form of a workload's name.
const LABEL_LEAST: usize = 6;

/// How much of a table there is room for.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// The baseline's own value.
    baseline: bool,
    /// Intervals.
    ranges: bool,
}

/// Richest first; an interval is worth more than the baseline's value.
const FORMS: [Form; 4] = [
    form(true, true),
    form(false, true),
    form(true, false),
    form(false, false),
];

const fn form(baseline: bool, ranges: bool) -> Form {
    Form { baseline, ranges }
}

/// A table in the form that fits.
pub(super) struct Drawn<'r> {
    table: &'r RatioTable,
    /// The table, or where nothing is left out tables of some contenders each.
    parts: Vec<Grid>,
    /// Contenders that there was no room for.
    dropped: usize,
    /// The line above where the baseline has no column.
    above: Option<String>,
}

impl<'r> Drawn<'r> {
    /// `explained` puts below the heads what the columns hold.
    pub(super) fn new(
        report: &Report,
        (ratios, table): (&'r RatioTable, &Table),
        options: TextOptions<'_>,
        explained: bool,
    ) -> Self {
        let width = options.width;
        let draw = |form: Form| {
            let mut grid = grid(report, ratios, table, form, width);
            if !explained {
                grid.columns
                    .iter_mut()
                    .for_each(|column| column.head.truncate(1));
            }
            grid
        };
        // The whole answer has intervals in any width.
        let mut wanted = FORMS.iter().filter(|form| form.ranges || !options.full);
        let mut forms = wanted.clone().map(|form| (*form, draw(*form)));
        let found = forms.find(|(_, grid)| grid.width() <= width);
        let last = *wanted.next_back().unwrap_or(&FORMS[0]);
        let (form, mut grid) = found.unwrap_or_else(|| (last, draw(last)));
        let dropped = if options.full {
            0
        } else {
            drop_contenders(&mut grid, ratios, width)
        };
        let above = format!("{}, ratio to {}", ratios.title, ratios.baseline);
        Self {
            table: ratios,
            parts: if options.full {
                grid.split(width)
            } else {
                vec![grid]
            },
            dropped,
            above: (!form.baseline).then(|| cut(&crate::number::plain(&above), width)),
        }
    }

    /// Lines that are no rows.
    pub(super) fn height(&self) -> usize {
        let columns = self.parts.iter().flat_map(|part| &part.columns);
        let heads = columns.map(|column| column.head.len()).max();
        heads.unwrap_or(0) + usize::from(self.above.is_some()) + usize::from(self.dropped > 0)
    }

    /// At most `most` lines; the rows that do not fit are summed up in the last one.
    pub(super) fn lines(&self, options: TextOptions<'_>, most: usize) -> Vec<String> {
        let heads = self.height();
        let rows = self.table.rows.len();
        let shown = if rows <= most.saturating_sub(heads) {
            rows
        } else {
            most.saturating_sub(heads + 1).min(rows)
        };
        let mut lines: Vec<String> = Vec::new();
        let above = self.above.iter();
        lines.extend(above.map(|line| Paint::Bold.on(line, options.colour)));
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                lines.push(String::new());
            }
            let mut grid = part.clone();
            grid.rows.truncate(shown);
            lines.extend(grid.lines(options.colour, false));
        }
        if shown < rows {
            let rest = &self.table.rows[shown..];
            let noun = if rest.len() == 1 { "row" } else { "rows" };
            let more = format!("{} more {noun}", rest.len());
            let [whole, range, _] = summed_up(rest);
            let forms = [
                format!("{more}: {whole}; --full"),
                format!("{more}: {range}; --full"),
                format!("{more}: --full"),
            ];
            lines.push(longest_within(&forms, options.width));
        }
        if self.dropped > 0 {
            let noun = if self.dropped == 1 {
                "contender"
            } else {
                "contenders"
            };
            let line = format!("{} more {noun}: a wider terminal or --full", self.dropped);
            lines.push(cut(&line, options.width));
        }
        lines
    }
}

/// Drops contenders from the right until the grid fits, and counts them. It has no column of the
/// baseline.
fn drop_contenders(grid: &mut Grid, ratios: &RatioTable, width: usize) -> usize {
    let mut dropped = 0;
    let mut leader = leader(ratios).map(|index| LABELS + index - 1);
    while grid.width() > width && grid.columns.len() > LABELS + 1 {
        let last = grid.columns.len() - 1;
        // The one that leads stays, wherever the plan has it.
        let out = if leader == Some(last) { last - 1 } else { last };
        leader = leader.map(|at| at.min(last - 1));
        let kept: Vec<usize> = (0..=last).filter(|one| *one != out).collect();
        *grid = grid.only(&kept);
        dropped += 1;
    }
    dropped
}

/// Position of the contender that is best in most rows, of those that are held against the
/// baseline; `None` where the baseline is best in all of them.
fn leader(table: &RatioTable) -> Option<usize> {
    let better = |cell: &RatioCell| {
        let log = cell.ratio.map_or(0.0, |ratio| ratio.point.ln());
        if table.metric.more_is_better() {
            log
        } else {
            -log
        }
    };
    let mut rows_led = vec![0; table.columns.len()];
    for row in &table.rows {
        let cells = row.cells.iter().enumerate();
        let compared = cells.filter(|(_, cell)| !cell.mark.is_empty() && better(cell) > 0.0);
        let best = compared.max_by(|(_, one), (_, other)| better(one).total_cmp(&better(other)));
        if let Some((index, _)) = best {
            rows_led[index] += 1;
        }
    }
    let most = rows_led.iter().copied().max().filter(|rows| *rows > 0)?;
    rows_led.iter().position(|rows| *rows == most)
}

/// The table as a grid in one of the forms.
fn grid(report: &Report, ratios: &RatioTable, table: &Table, form: Form, width: usize) -> Grid {
    let kept: Vec<usize> = (0..table.columns.len())
        .filter(|index| *index != LABELS || form.baseline)
        .collect();
    let most = if form.ranges { NAME_MOST } else { NAME_SHORT };
    let titles = table.columns.iter().map(|column| column.title.as_str());
    let names = shortened(&titles.collect::<Vec<_>>(), most);
    let workloads = ratios
        .rows
        .iter()
        .map(|row| crate::number::plain(&row.workload));
    let workloads: Vec<String> = workloads.collect();
    let workloads: Vec<&str> = workloads.iter().map(String::as_str).collect();
    let workloads = shortened(&workloads, (width / 4).max(LABEL_LEAST));
    let column = |index: &usize| {
        let column = &table.columns[*index];
        let name = if *index >= LABELS {
            names[*index].clone()
        } else if form.baseline {
            // The title of the table stands over its labels.
            column.title.clone()
        } else {
            String::new()
        };
        let below = match *index {
            LABELS => "= 1.00",
            index if index > LABELS && form.ranges => "ratio (low-high)",
            _ => "",
        };
        let mut head = vec![name];
        if form.ranges {
            head.push(below.to_owned());
        }
        GridColumn {
            head,
            right: *index > 0,
        }
    };
    let row = |((row, of), workload): ((&Row, &RatioRow), &String)| {
        let field = |index: &usize| match *index {
            0 => GridField::new(workload.clone()),
            index => number(report, row, of, index, table.columns[index].unit, form),
        };
        kept.iter().map(field).collect()
    };
    let rows = table.rows.iter().zip(&ratios.rows);
    Grid {
        rows: rows.zip(&workloads).map(row).collect(),
        columns: kept.iter().map(column).collect(),
    }
}

fn number(
    report: &Report,
    row: &Row,
    of: &RatioRow,
    index: usize,
    unit: Unit,
    form: Form,
) -> GridField {
    let field = &row.fields[index];
    let text = if form.ranges {
        field.shown(unit)
    } else {
        field.shown_short(unit)
    };
    let paint = field.tone.map_or(Paint::None, tone_paint);
    if !text.is_empty() {
        // Marks stand below each other, also where a ratio has none.
        let space = if unit == Unit::Ratio && field.mark.is_empty() {
            "  "
        } else {
            ""
        };
        let text = format!("{text}{space}");
        return GridField { text, paint };
    }
    let name = index
        .checked_sub(LABELS)
        .and_then(|index| of.cells.get(index));
    let cell = report.cells.iter().find(|cell| {
        let mine = name.is_some_and(|name| name.contender == cell.contender);
        mine && cell.workload == of.workload && cell.load == of.load
    });
    let verdict = cell.map(|cell| cell.verdict.verdict);
    match verdict.filter(|verdict| *verdict > Verdict::Suspect && form.ranges) {
        Some(verdict) => GridField::new(verdict.name()),
        None => GridField::new("-"),
    }
}
