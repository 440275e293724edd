//! The cells' own numbers, for where there is no ratio to show instead.
//!
//! The rate goes before all that a verdict has to say, which is of no use without the number.

use super::names::shortened;
use super::{LABELS, ROWS_LEAST};
use crate::document::{Column, Document, Extent};
use crate::style::{GAP, Grid, cut};
use crate::text::TextOptions;

/// Columns of names: workload, load and contender.
const NAMES: usize = LABELS + 1;
/// Numbers that stand beside what a verdict is about; where fewer fit, it is a word.
const NUMBERS_WANTED: usize = 3;
/// Shortest form of a name.
const NAME_LEAST: usize = 6;

/// Numbers of each cell: as many columns as fit, and as many rows as there is room for.
pub(super) fn values(document: &Document, options: TextOptions<'_>, room: usize) -> Vec<String> {
    let whole = whole(document);
    let rows = whole.rows.len();
    if rows == 0 {
        return Vec::new();
    }
    let mut grid = fitting(&whole, options.width);
    let left_out = whole.columns.len() - grid.columns.len();
    // Names of columns and their units, and the line on columns that are left out.
    let heads = 2 + usize::from(left_out > 0);
    if heads + rows > room {
        let shown = room.saturating_sub(heads + 1).max(ROWS_LEAST);
        grid.rows.truncate(shown);
    }
    let left = rows - grid.rows.len();
    // Names and verdicts may be longer than the terminal is wide.
    let mut lines = if grid.width() <= options.width {
        grid.lines(options.colour, false)
    } else {
        let plain = grid.lines(false, false).into_iter();
        plain.map(|line| cut(&line, options.width)).collect()
    };
    if left > 0 {
        lines.push(cut(&format!("{left} more rows: --full"), options.width));
    }
    if left_out > 0 {
        let noun = if left_out == 1 { "column" } else { "columns" };
        let line = format!("{left_out} more {noun}: a wider terminal or --full");
        lines.push(cut(&line, options.width));
    }
    lines
}

/// Every contender's row, with the numbers that a reader looks for first and the verdict last.
fn whole(document: &Document) -> Grid {
    let mut grid = Grid::default();
    for table in document.tables("cells") {
        let wanted = |column: &Column| {
            let is_key = ["workload", "load"].contains(&column.name.as_str());
            // Intervals are left to the full report.
            is_key
                || column.extent == Extent::Short
                    && !["low to high", "ratio"].contains(&column.title.as_str())
        };
        let shown: Vec<usize> = (0..table.columns.len())
            .filter(|index| wanted(&table.columns[*index]))
            .collect();
        let part = crate::text::grid(table, &shown);
        let contenders = table.rows.iter().map(|row| !row.reference);
        let rows = part.rows.into_iter().zip(contenders);
        grid.rows.extend(
            rows.filter(|(_, is_contender)| *is_contender)
                .map(|(row, _)| row),
        );
        grid.columns = part.columns;
    }
    grid
}

/// As many columns as fit: names, numbers from the left, and the verdict, which says what to make
/// of them. Where there is room for few numbers, the verdict is a word.
fn fitting(whole: &Grid, width: usize) -> Grid {
    let last = whole.columns.len() - 1;
    let of = |grid: &Grid, numbers: usize| {
        let kept: Vec<usize> = (0..NAMES + numbers).chain([last]).collect();
        grid.only(&kept)
    };
    let in_a_word = with_verdicts_in_a_word(whole);
    let all = last - NAMES;
    let in_full = (NUMBERS_WANTED..=all).rev();
    let in_full = in_full.map(|numbers| of(whole, numbers));
    let short = (1..=all).rev().map(|numbers| of(&in_a_word, numbers));
    let found = in_full.chain(short).find(|grid| grid.width() <= width);
    found.unwrap_or_else(|| with_short_names(of(&in_a_word, 1), width))
}

/// The grid with `suspect` in place of `suspect: rate, latency [1]`.
fn with_verdicts_in_a_word(whole: &Grid) -> Grid {
    let mut grid = whole.clone();
    for verdict in grid.rows.iter_mut().filter_map(|row| row.last_mut()) {
        let end = verdict.text.find([':', ' ']).unwrap_or(verdict.text.len());
        verdict.text.truncate(end);
    }
    grid
}

/// The grid with names that leave room for what stands behind them.
fn with_short_names(mut grid: Grid, width: usize) -> Grid {
    let widths = grid.widths();
    let numbers: usize = widths.iter().skip(NAMES).map(|own| own + GAP).sum();
    let room = width.saturating_sub(numbers + GAP * (NAMES - 1));
    let most = (room / NAMES).max(NAME_LEAST);
    for column in 0..NAMES {
        let head = &mut grid.columns[column].head;
        head.iter_mut().for_each(|line| *line = cut(line, most));
        let names: Vec<&str> = grid
            .rows
            .iter()
            .map(|row| row[column].text.as_str())
            .collect();
        let short = shortened(&names, most);
        for (row, name) in grid.rows.iter_mut().zip(short) {
            row[column].text = name;
        }
    }
    grid
}
