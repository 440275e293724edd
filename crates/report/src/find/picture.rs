//! The latency curve of each contender as SVG, up to its knee between the bounds: latency on a
//! logarithmic axis over the rate.

use super::FindReport;
use super::document::curves;
use super::sentence::rate;
use super::view::{CurveRow, FoundRow};
use crate::document::Unit;
use crate::svg::{DASHED, DIM, Plot, Svg};

/// Width and height of a picture.
const SIZE: (f64, f64) = (460.0, 280.0);
/// The plot in it.
const PLOT: Plot = Plot {
    left: 44.0,
    right: 368.0,
    top: 46.0,
    floor: 240.0,
};
/// Least distance between two labels, one below the other.
const LABEL_PX: f64 = 14.0;
/// Least distance between two labels beside each other.
const BESIDE_PX: f64 = 46.0;
/// Colours of quantiles that people with any colour vision can distinguish.
const COLOURS: [&str; 5] = ["#0072b2", "#009e73", "#cc79a7", "#b07d00", "#56b4e9"];
/// The colour of the knee.
const KNEE: &str = "#d55e00";

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
    /// The ends of the latency, nanoseconds.
    ends_ns: (f64, f64),
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
            ends_ns: (least / 1.5, most * 1.5),
        })
    }

    fn x(&self, rate: f64) -> f64 {
        PLOT.x(rate / self.rate_most)
    }

    fn y(&self, ns: f64) -> f64 {
        PLOT.log_y(ns, self.ends_ns)
    }
}

fn one(row: &FoundRow) -> Option<String> {
    let lines = lines(row);
    let axes = Axes::of(row, &lines)?;
    let name = format!("{}, {}", row.contender, row.workload);
    let label = format!("latency over rate of {name}");
    let mut svg = Svg::of_plot(SIZE, &PLOT, &label, [&name, "latency, ms"]);
    let per_s = (PLOT.right + 6.0, PLOT.floor + 15.0);
    svg.text(per_s, DIM, "requests/s");
    decades(&mut svg, &axes);
    bounds(&mut svg, row, &axes);
    objective(&mut svg, row, &axes);
    rates(&mut svg, row, &axes);
    for line in &lines {
        draw(&mut svg, line, &axes);
    }
    labels(&mut svg, &lines, &axes);
    Some(svg.finish())
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
            let ns = point.latency_ns(Some(quantile.quantile))?;
            Some((point.rate_per_s, ns as f64))
        });
        let is_goals = row.goal.quantile == Some(quantile.quantile);
        let mut points: Vec<(f64, f64)> = known.collect();
        if is_goals {
            points.extend(row.ends().map(|(rate, ns)| (rate, ns as f64)));
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

/// Powers of ten within the axis.
fn decades(svg: &mut Svg, axes: &Axes) {
    let (least, most) = axes.ends_ns;
    for power in least.log10().ceil() as i32..=most.log10().floor() as i32 {
        let ns = 10.0_f64.powi(power);
        let label = Unit::Milliseconds.show(ns);
        let label = label.trim_end_matches('0').trim_end_matches('.');
        svg.level(
            &PLOT,
            axes.y(ns),
            if label.is_empty() { "0" } else { label },
        );
    }
}

/// The knee, as a band between the bounds.
fn bounds(svg: &mut Svg, row: &FoundRow, axes: &Axes) {
    let Some(lower) = row.lower_per_s else {
        return;
    };
    let (from, text) = (axes.x(lower), format!("at least {}", rate(lower)));
    let (to, text) = match row.upper_per_s {
        Some(upper) => (axes.x(upper), format!("{} to {}", rate(lower), rate(upper))),
        None => (from, text),
    };
    let size = ((to - from).max(1.5), PLOT.floor - PLOT.top);
    let style = format!("fill=\"{KNEE}\" opacity=\"0.35\"");
    let said = format!("knee: {text} requests/s");
    svg.rect((from, PLOT.top), size, &style, &said);
    let style = format!("text-anchor=\"end\" fill=\"{KNEE}\"");
    svg.text((to.max(from + 1.5), PLOT.top - 4.0), &style, &text);
}

fn objective(svg: &mut Svg, row: &FoundRow, axes: &Axes) {
    let Some(asked) = row.goal.below_ns.map(|ns| ns as f64) else {
        return;
    };
    let y = axes.y(asked);
    svg.line((PLOT.left, y), (PLOT.right, y), DASHED, "");
    // As it was asked for: rounded it would be another one.
    let text = format!("objective: {} ms", asked / 1e6);
    svg.text((PLOT.left + 5.0, y - 5.0), DIM, &text);
}

/// Rates of the curve's points, as far as they have room beside each other.
fn rates(svg: &mut Svg, row: &FoundRow, axes: &Axes) {
    let mut last = f64::MIN;
    for point in sound(row) {
        let (x, floor) = (axes.x(point.rate_per_s), PLOT.floor);
        svg.line((x, floor), (x, floor + 4.0), "stroke=\"currentColor\"", "");
        if x - last >= BESIDE_PX {
            last = x;
            let text = rate(point.rate_per_s);
            svg.text((x, floor + 16.0), "text-anchor=\"middle\"", &text);
        }
    }
}

fn draw(svg: &mut Svg, line: &Line, axes: &Axes) {
    let width = if line.is_goals { 2.5 } else { 1.5 };
    let colour = line.colour;
    let at = |(rate, ns): &(f64, f64)| (axes.x(*rate), axes.y(*ns));
    let places: Vec<(f64, f64)> = line.points.iter().map(at).collect();
    let style = format!("stroke=\"{colour}\" stroke-width=\"{width}\"");
    svg.polyline(&places, &style, &line.name);
    for ((per_s, ns), place) in line.points.iter().zip(places) {
        let (rate, ms) = (rate(*per_s), Unit::Milliseconds.show(*ns));
        let said = format!("{} at {rate} requests/s: {ms} ms", line.name);
        svg.dot(place, 2.5, &format!("fill=\"{colour}\""), &said);
    }
}

/// Names of the lines at their ends, apart from each other.
fn labels(svg: &mut Svg, lines: &[Line], axes: &Axes) {
    let ends = lines
        .iter()
        .filter_map(|line| Some((line, *line.points.last()?)));
    let mut ends: Vec<(f64, &Line, f64)> =
        ends.map(|(line, (_, ns))| (axes.y(ns), line, ns)).collect();
    ends.sort_by(|left, right| right.0.total_cmp(&left.0));
    let mut above = PLOT.floor + LABEL_PX;
    for (y, line, ns) in ends {
        let y = y.min(above - LABEL_PX);
        above = y;
        let text = format!("{} {}", line.name, Unit::Milliseconds.show(ns));
        let style = format!("fill=\"{}\"", line.colour);
        svg.text((PLOT.right + 6.0, y + 4.0), &style, &text);
    }
}
