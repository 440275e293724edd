//! Lines of styled text of a known width, bars and sparklines.

use anstyle::Style;

use super::{ASIDE, NORMAL};

/// Heights of a sparkline; the first stands for nothing at all.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A line of parts, each in its style. Every character of it takes one column.
#[derive(Debug, Clone, Default)]
pub(super) struct Line(Vec<(Style, String)>);

impl Line {
    pub(super) fn of(style: Style, text: &str) -> Self {
        Self(vec![(style, text.to_owned())])
    }

    /// A label that takes at least so many columns.
    pub(super) fn label(text: &str, columns: usize) -> Self {
        Self::of(ASIDE, &format!("{text:<columns$}"))
    }

    pub(super) fn blank(columns: usize) -> Self {
        Self::of(NORMAL, &" ".repeat(columns))
    }

    /// The same with more behind it.
    pub(super) fn then(mut self, style: Style, text: &str) -> Self {
        self.0.push((style, text.to_owned()));
        self
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// The text without blanks at its end, in at most so many columns.
    pub(super) fn text(&self, columns: usize, colour: bool) -> String {
        let plain: String = self.0.iter().map(|(_, text)| text.as_str()).collect();
        let mut left = columns.min(plain.trim_end().chars().count());
        let mut line = String::new();
        for (style, text) in &self.0 {
            let shown: String = text.chars().take(left).collect();
            left -= shown.chars().count();
            if colour && *style != NORMAL && !shown.is_empty() {
                line.push_str(&format!("{style}{shown}{style:#}"))
            } else {
                line.push_str(&shown)
            }
        }
        line
    }
}

/// A text in at most so many columns, with an ellipsis where it is cut.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// The done and the other part of a bar; none where there is hardly room.
pub(super) fn bar(share: f64, columns: usize) -> (String, String) {
    if columns < 5 {
        return (String::new(), String::new());
    }
    let done = ((share * columns as f64) as usize).min(columns);
    ("█".repeat(done), "░".repeat(columns - done))
}

/// The course of a rate in at most so many columns, from 0 to its highest. Neighbours share a
/// column where there are too many, which then shows their mean.
pub(super) fn sparkline(rates: &[f64], columns: usize) -> String {
    let columns = columns.min(rates.len());
    let means: Vec<f64> = (0..columns)
        .map(|column| {
            let (from, to) = (
                column * rates.len() / columns,
                (column + 1) * rates.len() / columns,
            );
            let part = &rates[from..to];
            part.iter().sum::<f64>() / part.len() as f64
        })
        .collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    let height = |rate: &f64| {
        if *rate > 0.0 {
            1 + ((rate / most) * 6.0).round() as usize
        } else {
            0
        }
    };
    means.iter().map(|rate| HEIGHTS[height(rate)]).collect()
}
