//! The latency curve of each contender as SVG, up to its knee between the bounds: latency on a
//! logarithmic axis over the rate.

use std::fmt::Write as _;

use super::document::curves;
use super::sentence::rate;
use super::view::{CurveRow, FindReport, FoundRow};
use crate::document::Unit;
use crate::html::escaped;
use crate::number::plain;

/// Width and height of a picture.
const SIZE: (f64, f64) = (460.0, 280.0);
/// Room around its axes: left, right, top, bottom.
const ROOM: (f64, f64, f64, f64) = (44.0, 92.0, 46.0, 40.0);
/// Least distance between two labels, one below the other.
const LABEL_PX: f64 = 14.0;
/// Least distance between two labels beside each other.
const BESIDE_PX: f64 = 46.0;
/// Colours of quantiles that people with any colour vision can distinguish.
const COLOURS: [&str; 5] = ["#0072b2", "#009e73", "#cc79a7", "#b07d00", "#56b4e9"];

/// A picture of each contender at each workload.
pub(super) fn pictures(report: &FindReport) -> String {
    let all = curves(report);
    let drawn: String = all.into_iter().filter_map(one).collect();
    if drawn.is_empty() {
        drawn
    } else {
        format!("<div class=\"curves\">\n{drawn}</div>\n")
    }
}

/// One quantile over the rate.
struct Line {
    name: String,
    colour: &'static str,
    /// Rate and latency in nanoseconds, by rising rate.
    points: Vec<(f64, f64)>,
    is_goals: bool,
}

/// Where a rate and a latency lie in the picture.
struct Axes {
    rate_most: f64,
    least_ns: f64,
    most_ns: f64,
}

impl Axes {
    fn of(row: &FoundRow, lines: &[Line]) -> Option<Self> {
        let all = lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|(_, ns)| *ns);
        let asked = row.goal.below_ns.map(|ns| ns as f64);
        let least = all.clone().chain(asked).reduce(f64::min)?.max(1.0);
        let most = all.chain(asked).reduce(f64::max)?.max(2.0);
        let end = row.upper_per_s.or(row.lower_per_s)?;
        Some(Self {
            rate_most: end * 1.04,
            least_ns: least / 1.5,
            most_ns: most * 1.5,
        })
    }

    fn x(&self, rate: f64) -> f64 {
        let (left, right, ..) = ROOM;
        left + rate / self.rate_most * (SIZE.0 - left - right)
    }

    fn y(&self, ns: f64) -> f64 {
        let (_, _, top, bottom) = ROOM;
        let share = (ns / self.least_ns).ln() / (self.most_ns / self.least_ns).ln();
        SIZE.1 - bottom - share * (SIZE.1 - top - bottom)
    }

    /// Powers of ten within the axis.
    fn decades(&self) -> impl Iterator<Item = f64> {
        let (first, last) = (self.least_ns.log10().ceil(), self.most_ns.log10().floor());
        (first as i32..=last as i32).map(|power| 10.0_f64.powi(power))
    }
}

fn one(row: &FoundRow) -> Option<String> {
    let lines = lines(row);
    let axes = Axes::of(row, &lines)?;
    let name = escaped(&plain(&format!("{}, {}", row.contender, row.workload)));
    let mut out = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"latency over rate of {name}\">\n\
         <text x=\"4\" y=\"14\" font-weight=\"600\">{name}</text>\n\
         <text x=\"4\" y=\"30\" class=\"dim\">latency, ms</text>\n",
        SIZE.0, SIZE.1
    );
    grid(&mut out, &axes);
    bounds(&mut out, row, &axes);
    objective(&mut out, row, &axes);
    rates(&mut out, row, &axes);
    for line in &lines {
        draw(&mut out, line, &axes);
    }
    labels(&mut out, &lines, &axes);
    out.push_str("</svg>\n");
    Some(out)
}

/// Points of the curve that nothing weakens: the others are in the table alone.
fn sound(row: &FoundRow) -> impl Iterator<Item = &CurveRow> {
    row.curve.iter().filter(|point| point.why.is_none())
}

/// Each quantile of the curve; that of the goal goes on to the bounds.
fn lines(row: &FoundRow) -> Vec<Line> {
    let quantiles = row.curve.first().map(|point| point.quantiles.as_slice());
    let all = quantiles.unwrap_or_default().iter().enumerate();
    let one = |(index, quantile): (usize, &super::view::QuantileRow)| {
        let known = sound(row).filter_map(|point| {
            let mut of_point = point.quantiles.iter();
            let found = of_point.find(|it| it.quantile == quantile.quantile)?;
            Some((point.rate_per_s, found.latency_ns? as f64))
        });
        let is_goals = row.goal.quantile == Some(quantile.quantile);
        let mut points: Vec<(f64, f64)> = known.collect();
        if is_goals {
            let lower = row.lower_per_s.zip(row.behind.lower_latency_ns);
            let upper = row.upper_per_s.zip(row.behind.upper_latency_ns);
            let known = lower.into_iter().chain(upper);
            points.extend(known.map(|(rate, ns)| (rate, ns as f64)));
        }
        Line {
            name: quantile.name(),
            colour: COLOURS[index % COLOURS.len()],
            points,
            is_goals,
        }
    };
    all.map(one)
        .filter(|line| !line.points.is_empty())
        .collect()
}

fn grid(out: &mut String, axes: &Axes) {
    let (left, right, top, bottom) = ROOM;
    let (floor, end) = (SIZE.1 - bottom, SIZE.0 - right);
    for ns in axes.decades() {
        let y = axes.y(ns);
        let label = Unit::Milliseconds.show(ns);
        let label = label.trim_end_matches('0').trim_end_matches('.');
        let _ = writeln!(
            out,
            "<path d=\"M{left} {y:.1} H{end}\" stroke=\"currentColor\" opacity=\"0.15\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" class=\"dim\">{}</text>",
            left - 5.0,
            y + 4.0,
            if label.is_empty() { "0" } else { label }
        );
    }
    let _ = writeln!(
        out,
        "<path d=\"M{left} {top} V{floor} H{end}\" fill=\"none\" stroke=\"currentColor\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" class=\"dim\">requests/s</text>",
        end + 6.0,
        floor + 15.0
    );
}

/// The knee, as a band between the bounds.
fn bounds(out: &mut String, row: &FoundRow, axes: &Axes) {
    let (_, _, top, bottom) = ROOM;
    let floor = SIZE.1 - bottom;
    let Some(lower) = row.lower_per_s else {
        return;
    };
    let (from, text) = (axes.x(lower), format!("at least {}", rate(lower)));
    let (to, text) = match row.upper_per_s {
        Some(upper) => (axes.x(upper), format!("{} to {}", rate(lower), rate(upper))),
        None => (from, text),
    };
    let _ = writeln!(
        out,
        "<rect x=\"{from:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#d55e00\" \
         opacity=\"0.35\"><title>knee: {text} requests/s</title></rect>\
         <text x=\"{:.1}\" y=\"{}\" text-anchor=\"end\" fill=\"#d55e00\">{text}</text>",
        (to - from).max(1.5),
        floor - top,
        to.max(from + 1.5),
        top - 4.0
    );
}

fn objective(out: &mut String, row: &FoundRow, axes: &Axes) {
    let (left, right, ..) = ROOM;
    let Some(asked) = row.goal.below_ns.map(|ns| ns as f64) else {
        return;
    };
    let _ = writeln!(
        out,
        "<path d=\"M{left} {0:.1} H{1}\" stroke=\"currentColor\" stroke-dasharray=\"4 3\"/>\
         <text x=\"{2}\" y=\"{3:.1}\" class=\"dim\">objective: {4} ms</text>",
        axes.y(asked),
        SIZE.0 - right,
        left + 5.0,
        axes.y(asked) - 5.0,
        // As it was asked for: rounded it would be another one.
        asked / 1e6
    );
}

/// Rates of the curve's points, as far as they have room beside each other.
fn rates(out: &mut String, row: &FoundRow, axes: &Axes) {
    let floor = SIZE.1 - ROOM.3;
    let mut last = f64::MIN;
    for point in sound(row) {
        let x = axes.x(point.rate_per_s);
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {floor} v4\" stroke=\"currentColor\"/>"
        );
        if x - last < BESIDE_PX {
            continue;
        }
        last = x;
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            floor + 16.0,
            rate(point.rate_per_s)
        );
    }
}

fn draw(out: &mut String, line: &Line, axes: &Axes) {
    let width = if line.is_goals { 2.5 } else { 1.5 };
    let places = line.points.iter();
    let places = places.map(|(rate, ns)| format!("{:.1},{:.1}", axes.x(*rate), axes.y(*ns)));
    let places: Vec<String> = places.collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\">\
         <title>{}</title></polyline>",
        places.join(" "),
        line.colour,
        line.name
    );
    for ((per_s, ns), place) in line.points.iter().zip(&places) {
        let (x, y) = place.split_once(',').unwrap_or_default();
        let _ = writeln!(
            out,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.5\" fill=\"{}\"><title>{} at {} requests/s: {} \
             ms</title></circle>",
            line.colour,
            line.name,
            rate(*per_s),
            Unit::Milliseconds.show(*ns)
        );
    }
}

/// Names of the lines at their ends, apart from each other.
fn labels(out: &mut String, lines: &[Line], axes: &Axes) {
    let ends = lines
        .iter()
        .filter_map(|line| Some((line, *line.points.last()?)));
    let mut ends: Vec<(f64, &Line, f64)> =
        ends.map(|(line, (_, ns))| (axes.y(ns), line, ns)).collect();
    ends.sort_by(|left, right| right.0.total_cmp(&left.0));
    let mut above = SIZE.1 - ROOM.3 + LABEL_PX;
    for (y, line, ns) in ends {
        let y = y.min(above - LABEL_PX);
        above = y;
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{}\">{} {}</text>",
            SIZE.0 - ROOM.1 + 6.0,
            y + 4.0,
            line.colour,
            line.name,
            Unit::Milliseconds.show(ns)
        );
    }
}
