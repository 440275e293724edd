//! Each history as SVG: a point with its interval for each record, the levels, and where one ends.

use super::document::{day, name, percent, title, unit, versions};
use super::view::{ChangeRow, History, PointRow, SeriesRow};
use crate::number::counted;
use crate::svg::{DIM, Plot, Svg};

/// Width and height of a picture.
const SIZE: (f64, f64) = (460.0, 220.0);
/// The plot in it.
const PLOT: Plot = Plot {
    left: 56.0,
    right: 446.0,
    top: 54.0,
    floor: 192.0,
};
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
        PLOT.x((at - self.first as f64 + 0.5) / self.count.max(1) as f64)
    }

    fn y(&self, value: f64) -> f64 {
        PLOT.log_y(value, (self.least, self.most))
    }
}

fn one(history: &History, series: &SeriesRow) -> String {
    let axes = Axes::of(series);
    let metric = series.metric;
    let (name, records) = (name(history, series), series.points.len());
    let label = format!("{} of {name} over {records} records", metric.name());
    let mut svg = Svg::of_plot(SIZE, &PLOT, &label, [&name, title(metric)]);
    grid(&mut svg, series, &axes);
    levels(&mut svg, series, &axes);
    let shown = series.points.iter().enumerate().skip(axes.first);
    for (at, point) in shown {
        dot(&mut svg, series, &axes, (at, point));
    }
    let mut last = f64::MIN;
    for change in series.changes.iter().filter(|it| it.at > axes.first) {
        mark(&mut svg, &axes, change, &mut last);
    }
    svg.finish()
}

/// The values at the ends of the axis, and the days of the first and last record.
fn grid(svg: &mut Svg, series: &SeriesRow, axes: &Axes) {
    let middle = (axes.least * axes.most).sqrt();
    for value in [axes.least, middle, axes.most] {
        svg.level(&PLOT, axes.y(value), &unit(series.metric).show(value));
    }
    let last = series.points.last().filter(|_| series.points.len() > 1);
    let first = series.points.get(axes.first);
    for (x, anchor, point) in [(PLOT.left, "start", first), (PLOT.right, "end", last)] {
        if let Some(point) = point {
            let style = format!("text-anchor=\"{anchor}\" {DIM}");
            svg.text((x, PLOT.floor + 17.0), &style, &day(&point.started_at));
        }
    }
}

/// The level of each stretch between two changes: the geometric mean of its values. On both sides
/// of a change the stretches are those that its size is of.
fn levels(svg: &mut Svg, series: &SeriesRow, axes: &Axes) {
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
        let [from, to] = [pair[0], pair[1]].map(|at| axes.x(at as f64 - 0.5));
        let y = axes.y(level);
        let style = "stroke=\"#2a8fd0\" stroke-width=\"2\"";
        svg.line((from, y), (to, y), style, "");
    }
}

/// A record: a dot with its interval, hollow where it is suspect.
fn dot(svg: &mut Svg, series: &SeriesRow, axes: &Axes, (at, point): (usize, &PointRow)) {
    let unit = unit(series.metric);
    let (x, y) = (axes.x(at as f64), axes.y(point.value));
    let class = match point.verdict {
        "suspect" => "class=\"hollow\"",
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
    let ends = [point.low, point.high].map(|end| (x, axes.y(end)));
    svg.line(ends[0], ends[1], "class=\"l\" opacity=\"0.5\"", "");
    svg.dot((x, y), 3.0, class, &said);
}

/// A change: a line between two records with its size above, where there is room.
fn mark(svg: &mut Svg, axes: &Axes, change: &ChangeRow, last: &mut f64) {
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
    let style = format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"4 3\"");
    svg.line((x, PLOT.top), (x, PLOT.floor), &style, &said);
    if x - *last < BESIDE_PX {
        return;
    }
    *last = x;
    let anchor = match x {
        near if near < PLOT.left + 30.0 => "start",
        far if far > SIZE.0 - 60.0 => "end",
        _ => "middle",
    };
    let style = format!("text-anchor=\"{anchor}\" fill=\"{colour}\" font-weight=\"600\"");
    svg.text((x, PLOT.top - 6.0), &style, &percent(change.size));
}
