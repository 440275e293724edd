//! Each history as SVG: a point with its interval for each record, the levels, and where one ends.

use std::fmt::Write as _;

use super::document::{day, name, percent, title, unit, versions};
use super::view::{ChangeRow, History, PointRow, SeriesRow};
use crate::html::escaped;
use crate::number::{counted, plain};

/// Width and height of a picture.
const SIZE: (f64, f64) = (460.0, 220.0);
/// Room around its axes: left, right, top, bottom.
const ROOM: (f64, f64, f64, f64) = (56.0, 14.0, 54.0, 28.0);
/// Pictures on a page; the table has all histories.
const PICTURES_MAX: usize = 200;
/// Points of a picture: the latest, which are those that are looked at.
const POINTS_MAX: usize = bakeoff_stats::HISTORY_MAX;
/// What the height spans at least, as a ratio.
const SPAN_LEAST: f64 = 1.25;
/// Least distance between two labels beside each other.
const BESIDE_PX: f64 = 56.0;

/// The pictures, those with changes first.
pub(super) fn pictures(history: &History) -> String {
    let (mut with, without): (Vec<&SeriesRow>, Vec<&SeriesRow>) = history
        .series
        .iter()
        .partition(|one| !one.changes.is_empty());
    with.extend(without);
    let drawn = with.iter().take(PICTURES_MAX);
    let drawn: String = drawn.map(|series| one(history, series)).collect();
    if drawn.is_empty() {
        return drawn;
    }
    let left = with.len().saturating_sub(PICTURES_MAX);
    let note = match left {
        0 => String::new(),
        more => format!("<p>{more} more in the tables.</p>\n"),
    };
    format!("<div class=\"curves\">\n{drawn}</div>\n{note}")
}

/// Where a record and a value lie in the picture.
struct Axes {
    /// Position of the first point that is shown.
    first: usize,
    count: usize,
    least: f64,
    most: f64,
}

impl Axes {
    fn of(one: &SeriesRow) -> Self {
        let first = one.points.len().saturating_sub(POINTS_MAX);
        let shown = &one.points[first..];
        let least = shown.iter().map(|it| it.low).fold(f64::INFINITY, f64::min);
        let most = shown.iter().map(|it| it.high).fold(0.0, f64::max);
        // Values are on a logarithmic axis, so that equal ratios have equal heights.
        let wider = (SPAN_LEAST / (most / least)).max(1.1).sqrt();
        Self {
            first,
            count: shown.len(),
            least: least / wider,
            most: most * wider,
        }
    }

    fn x(&self, at: f64) -> f64 {
        let (left, right, ..) = ROOM;
        let share = (at - self.first as f64 + 0.5) / self.count.max(1) as f64;
        left + share * (SIZE.0 - left - right)
    }

    fn y(&self, value: f64) -> f64 {
        let (_, _, top, bottom) = ROOM;
        let share = (value / self.least).ln() / (self.most / self.least).ln();
        SIZE.1 - bottom - share * (SIZE.1 - top - bottom)
    }
}

fn one(history: &History, series: &SeriesRow) -> String {
    let axes = Axes::of(series);
    let metric = series.metric;
    let name = escaped(&name(history, series));
    let mut out = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} of {name} over {} records\">\n\
         <text x=\"4\" y=\"14\" font-weight=\"600\">{name}</text>\n\
         <text x=\"4\" y=\"30\" class=\"dim\">{}</text>\n",
        SIZE.0,
        SIZE.1,
        metric.name(),
        series.points.len(),
        title(metric)
    );
    grid(&mut out, series, &axes);
    levels(&mut out, series, &axes);
    let shown = series.points.iter().enumerate().skip(axes.first);
    for (at, point) in shown {
        dot(&mut out, series, &axes, (at, point));
    }
    let mut last = f64::MIN;
    for change in series.changes.iter().filter(|it| it.at > axes.first) {
        mark(&mut out, &axes, change, &mut last);
    }
    out.push_str("</svg>\n");
    out
}

/// The axes, with the values at their ends and the days of the first and last record.
fn grid(out: &mut String, series: &SeriesRow, axes: &Axes) {
    let (left, right, top, bottom) = ROOM;
    let (floor, end) = (SIZE.1 - bottom, SIZE.0 - right);
    let unit = unit(series.metric);
    let middle = (axes.least * axes.most).sqrt();
    for value in [axes.least, middle, axes.most] {
        let y = axes.y(value);
        let _ = writeln!(
            out,
            "<path d=\"M{left} {y:.1} H{end}\" stroke=\"currentColor\" opacity=\"0.15\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" class=\"dim\">{}</text>",
            left - 5.0,
            y + 4.0,
            unit.show(value)
        );
    }
    let _ = writeln!(
        out,
        "<path d=\"M{left} {top} V{floor} H{end}\" fill=\"none\" stroke=\"currentColor\"/>"
    );
    let ends = [
        (left, "start", series.points.get(axes.first)),
        (end, "end", series.points.last()),
    ];
    let ends = if series.points.len() > 1 {
        &ends[..]
    } else {
        &ends[..1]
    };
    for (x, anchor, point) in ends {
        let day = point.map_or(String::new(), |point| day(&point.started_at));
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\" class=\"dim\">{}</text>",
            floor + 17.0,
            escaped(&day)
        );
    }
}

/// The level of each stretch between two changes: the geometric mean of its values. On both sides
/// of a change the stretches are those that its size is of.
fn levels(out: &mut String, series: &SeriesRow, axes: &Axes) {
    let of_changes = series.changes.iter().flat_map(|change| {
        let [before, after] = change.n;
        [change.at - before, change.at, change.at + after]
    });
    let mut ends = vec![axes.first, series.points.len()];
    ends.extend(of_changes);
    ends.sort_unstable();
    ends.dedup();
    for pair in ends.windows(2) {
        let part = &series.points[pair[0]..pair[1]];
        let logs = part.iter().map(|point| point.value.ln()).sum::<f64>();
        let level = (logs / part.len() as f64).exp();
        let from = axes.x(pair[0] as f64 - 0.5);
        let to = axes.x(pair[1] as f64 - 0.5);
        let _ = writeln!(
            out,
            "<path d=\"M{from:.1} {y:.1} H{to:.1}\" stroke=\"#2a8fd0\" stroke-width=\"2\"/>",
            y = axes.y(level)
        );
    }
}

/// A record: a dot with its interval, hollow where it is suspect.
fn dot(out: &mut String, series: &SeriesRow, axes: &Axes, (at, point): (usize, &PointRow)) {
    let unit = unit(series.metric);
    let (x, y) = (axes.x(at as f64), axes.y(point.value));
    let class = match point.verdict {
        "suspect" => " class=\"hollow\"",
        _ => "",
    };
    let version = point.version.as_deref().unwrap_or("unknown");
    let ends = if point.has_interval() {
        format!("{} to {}, ", unit.show(point.low), unit.show(point.high))
    } else {
        String::new()
    };
    let said = format!(
        "{}, {}: {} ({ends}{}), version {version}, {}",
        point.record,
        day(&point.started_at),
        unit.show(point.value),
        counted(point.n as u64, "round"),
        point.verdict
    );
    let _ = writeln!(
        out,
        "<path d=\"M{x:.1} {:.1} V{:.1}\" class=\"l\" opacity=\"0.5\"/>\
         <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"{class}><title>{}</title></circle>",
        axes.y(point.low),
        axes.y(point.high),
        escaped(&plain(&said))
    );
}

/// A change: a line between two records with its size above, where there is room.
fn mark(out: &mut String, axes: &Axes, change: &ChangeRow, last: &mut f64) {
    let (_, _, top, bottom) = ROOM;
    let x = axes.x(change.at as f64 - 0.5);
    let colour = if change.is_better {
        "#009e73"
    } else {
        "#d55e00"
    };
    let said = format!(
        "{} ({} to {}) between {} and {}{}",
        percent(change.size),
        percent(change.low),
        percent(change.high),
        change.before.record,
        change.after.record,
        versions(change)
    );
    let _ = writeln!(
        out,
        "<path d=\"M{x:.1} {top} V{}\" stroke=\"{colour}\" stroke-width=\"2\" \
         stroke-dasharray=\"4 3\"><title>{}</title></path>",
        SIZE.1 - bottom,
        escaped(&plain(&said))
    );
    if x - *last < BESIDE_PX {
        return;
    }
    *last = x;
    let anchor = match x {
        near if near < ROOM.0 + 30.0 => "start",
        far if far > SIZE.0 - 60.0 => "end",
        _ => "middle",
    };
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"{colour}\" \
         font-weight=\"600\">{}</text>",
        top - 6.0,
        percent(change.size)
    );
}
