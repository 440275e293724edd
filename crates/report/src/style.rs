//! Text of a fixed width: lines that are folded between words, grids of columns, colours.
//!
//! Colours never change a character, and nothing here measures a coloured string.

use std::collections::HashSet;

/// Spaces between two columns.
pub(crate) const GAP: usize = 2;
/// Narrowest width that is respected; below it words are cut off by the terminal.
pub(crate) const WIDTH_LEAST: usize = 24;

/// A colour or weight of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Nothing.
    None,
    /// A title.
    Bold,
    /// What stands back.
    Dim,
    /// Good.
    Green,
    /// Careful.
    Yellow,
    /// Bad.
    Red,
}

impl Paint {
    /// The text in this colour, where colours are wanted.
    pub(crate) fn on(self, text: &str, colour: bool) -> String {
        let code = match self {
            Self::None => return text.to_owned(),
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Red => 31,
        };
        if colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Columns that a text takes.
pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

/// The text in at most `width` columns, cut with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The same with both ends kept: names of variants differ at their ends.
pub(crate) fn cut_middle(text: &str, width: usize) -> String {
    let size = length(text);
    if size <= width || width < 3 {
        return cut(text, width);
    }
    let end = (width - 1) / 2;
    let start: String = text.chars().take(width - 1 - end).collect();
    let tail: String = text.chars().skip(size - end).collect();
    format!("{start}…{tail}")
}

/// Words in lines of up to `width` columns, further lines indented by two more columns. A number
/// and its percent sign stay in one line.
pub(crate) fn folded(text: &str, indent: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut column = 0;
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match words.last_mut() {
            Some(number) if word.starts_with('%') => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    for word in &words {
        let size = length(word);
        if column > 0 && column + 1 + size > width {
            lines.push(String::new());
            column = 0;
        }
        let more = if lines.len() > 1 { "  " } else { "" };
        let Some(line) = lines.last_mut() else { break };
        if column == 0 {
            *line = format!("{indent}{more}{word}");
            column = length(line);
        } else {
            line.push(' ');
            line.push_str(word);
            column += 1 + size;
        }
    }
    lines
}

/// A bar of a share of so many columns, in eighths of one.
pub(crate) fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * columns as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// One column of a grid.
#[derive(Debug, Clone)]
pub(crate) struct GridColumn {
    /// Lines of its head.
    pub(crate) head: Vec<String>,
    /// Whether its fields stand to the right.
    pub(crate) right: bool,
}

/// One field of a grid.
#[derive(Debug, Clone)]
pub(crate) struct GridField {
    /// What stands there.
    pub(crate) text: String,
    /// The colour.
    pub(crate) paint: Paint,
}

impl GridField {
    /// A field without a colour.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            paint: Paint::None,
        }
    }
}

/// Columns and rows of text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    /// The columns.
    pub(crate) columns: Vec<GridColumn>,
    /// The rows, each with a field for every column.
    pub(crate) rows: Vec<Vec<GridField>>,
}

impl Grid {
    /// How wide each column is.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let width = |index: usize, column: &GridColumn| {
            let head = column.head.iter().map(|line| length(line));
            let rows = self.rows.iter().filter_map(|row| row.get(index));
            head.chain(rows.map(|field| length(&field.text)))
                .max()
                .unwrap_or(0)
        };
        let columns = self.columns.iter().enumerate();
        columns
            .map(|(index, column)| width(index, column))
            .collect()
    }

    /// How wide the whole is.
    pub(crate) fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// The lines, heads first; `rule` puts a line below the heads.
    pub(crate) fn lines(&self, colour: bool, rule: bool) -> Vec<String> {
        let widths = self.widths();
        let height = self.columns.iter().map(|column| column.head.len()).max();
        let mut lines = Vec::new();
        for level in 0..height.unwrap_or(0) {
            let field = |column: &GridColumn| GridField {
                text: column.head.get(level).cloned().unwrap_or_default(),
                paint: Paint::Bold,
            };
            let row: Vec<GridField> = self.columns.iter().map(field).collect();
            lines.push(self.line(&row, &widths, colour));
        }
        if rule {
            lines.push("─".repeat(self.width()));
        }
        lines.extend(self.rows.iter().map(|row| self.line(row, &widths, colour)));
        lines
    }

    fn line(&self, row: &[GridField], widths: &[usize], colour: bool) -> String {
        let mut line = String::new();
        let mut owed = 0;
        for ((field, column), width) in row.iter().zip(&self.columns).zip(widths) {
            let text = field.text.trim_end();
            let space = width.saturating_sub(length(&field.text));
            let (before, after) = if column.right { (space, 0) } else { (0, space) };
            // Spaces are written when something follows, so that no line ends in them.
            owed += before;
            if !text.is_empty() {
                line.push_str(&" ".repeat(owed));
                line.push_str(&field.paint.on(text, colour));
                owed = 0;
            }
            owed += length(&field.text) - length(text) + after + GAP;
        }
        line
    }

    /// Grids of some of the columns each, none wider than `width` unless a single column is.
    ///
    /// The first columns by which rows differ stand in all of them. Where these take too much
    /// room, the first does, and each row has a number.
    pub(crate) fn split(&self, width: usize) -> Vec<Self> {
        if self.width() <= width {
            return vec![self.clone()];
        }
        let widths = self.widths();
        let leads =
            |kept: usize| -> usize { widths.iter().take(kept).map(|width| width + GAP).sum() };
        let widest = |kept: usize| widths.iter().skip(kept).max().copied().unwrap_or(0);
        match (1..widths.len()).find(|kept| self.differ_by(*kept)) {
            Some(kept) if leads(kept) + widest(kept) <= width => self.parts(kept, width),
            Some(1) => self.parts(1, width),
            _ => self.numbered().parts(2, width),
        }
    }

    /// Whether no two rows are the same in the first columns.
    fn differ_by(&self, kept: usize) -> bool {
        let mut seen = HashSet::new();
        let mut rows = self.rows.iter();
        rows.all(|row| {
            let lead = row.iter().take(kept).map(|field| field.text.as_str());
            seen.insert(lead.collect::<Vec<_>>())
        })
    }

    /// The same with the number of each row before it.
    fn numbered(&self) -> Self {
        let number = GridColumn {
            head: vec!["#".to_owned()],
            right: true,
        };
        let rows = self.rows.iter().enumerate().map(|(index, row)| {
            let number = GridField::new((index + 1).to_string());
            [number].into_iter().chain(row.iter().cloned()).collect()
        });
        Self {
            columns: [number].into_iter().chain(self.columns.clone()).collect(),
            rows: rows.collect(),
        }
    }

    /// Groups of columns as wide as `width` allows; the first `kept` stand in all of them.
    fn parts(&self, kept: usize, width: usize) -> Vec<Self> {
        let widths = self.widths();
        let lead: usize = widths.iter().take(kept).map(|width| width + GAP).sum();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut used = 0;
        for (index, own) in widths.iter().enumerate().skip(kept) {
            match groups.last_mut() {
                Some(group) if used + GAP + own <= width => {
                    used += GAP + own;
                    group.push(index);
                }
                _ => {
                    groups.push(vec![index]);
                    used = lead + own;
                }
            }
        }
        let only = |group: Vec<usize>| {
            let wanted: Vec<usize> = (0..kept).chain(group).collect();
            self.only(&wanted)
        };
        groups.into_iter().map(only).collect()
    }

    /// The same with some of its columns alone.
    pub(crate) fn only(&self, wanted: &[usize]) -> Self {
        let columns = wanted.iter().filter_map(|index| self.columns.get(*index));
        let row = |row: &Vec<GridField>| {
            let fields = wanted.iter().filter_map(|index| row.get(*index));
            fields.cloned().collect()
        };
        Self {
            columns: columns.cloned().collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let column = |head: &str, right| GridColumn {
            head: vec![head.to_owned()],
            right,
        };
        Grid {
            columns: vec![
                column("name", false),
                column("one", true),
                column("two", true),
            ],
            rows: vec![["a", "1", "22,222"].map(GridField::new).to_vec()],
        }
    }

    #[test]
    fn columns_stand_apart_and_no_line_ends_in_a_space() {
        assert_eq!(
            grid().lines(false, false),
            ["name  one     two", "a       1  22,222"]
        );
        assert_eq!(grid().width(), 17);
    }

    #[test]
    fn a_wide_grid_becomes_several_that_repeat_the_first_column() {
        let parts = grid().split(12);
        assert_eq!(parts.len(), 2);
        assert_eq!(
            parts[1].lines(false, false),
            ["name     two", "a     22,222"]
        );
    }

    /// Rows of a table of which the first two columns say what they are about.
    fn pairs() -> Grid {
        let mut grid = grid();
        let rows = [["a", "one", "22,222"], ["a", "two", "1"]];
        grid.rows = rows.map(|row| row.map(GridField::new).to_vec()).to_vec();
        grid.columns.push(grid.columns[2].clone());
        for row in &mut grid.rows {
            row.push(GridField::new("third"));
        }
        grid
    }

    #[test]
    fn rows_can_be_told_apart_in_each_part() {
        let last = |width| {
            let parts = pairs().split(width);
            parts.last().map(|part| part.lines(false, false))
        };
        let by_name = ["name  one    two", "a     one  third", "a     two  third"];
        assert_eq!(last(17), Some(by_name.map(str::to_owned).to_vec()));
        let by_number = ["#  name    two", "1  a     third", "2  a     third"];
        assert_eq!(last(16), Some(by_number.map(str::to_owned).to_vec()));
    }

    #[test]
    fn words_are_never_cut_and_further_lines_are_indented() {
        assert_eq!(folded("one two three", "", 9), ["one two", "  three"]);
        assert_eq!(folded("by 12 %, at", "", 7), ["by", "  12 %,", "  at"]);
        assert_eq!(cut("nginx-optimized", 8), "nginx-o…");
        assert_eq!(cut_middle("nginx-optimized", 9), "ngin…ized");
    }
}
