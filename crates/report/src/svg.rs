//! Pictures as SVG: lines, shapes and texts in a plot with its axes. Texts are escaped here.

use std::fmt::Write as _;

use crate::number::plain;

/// Across and down, in units of the picture.
pub(crate) type At = (f64, f64);

/// A line that stands back.
pub(crate) const FAINT: &str = "stroke=\"currentColor\" opacity=\"0.15\"";
/// A dashed line that is read.
pub(crate) const DASHED: &str = "stroke=\"currentColor\" stroke-dasharray=\"4 3\"";
/// A line of the text's colour.
pub(crate) const LINE: &str = "class=\"l\"";
/// A text that stands back.
pub(crate) const DIM: &str = "class=\"dim\"";

/// The edges of a plot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plot {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) floor: f64,
}

impl Plot {
    /// The place of a share of the width.
    pub(crate) fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    /// The place of a share of the height.
    pub(crate) fn y(&self, share: f64) -> f64 {
        self.floor - share * (self.floor - self.top)
    }

    /// The place of a value on a logarithmic axis between two others.
    pub(crate) fn log_y(&self, value: f64, (least, most): (f64, f64)) -> f64 {
        self.y((value / least).ln() / (most / least).ln())
    }
}

/// A picture that is being drawn.
pub(crate) struct Svg(String);

impl Svg {
    /// An empty picture of a size, with what it is to those who do not see it.
    pub(crate) fn new((width, height): At, style: &str, label: &str) -> Self {
        Self(format!(
            "<svg viewBox=\"0 0 {} {}\" {style}role=\"img\" aria-label=\"{}\">\n",
            short(width),
            short(height),
            escaped(&plain(label))
        ))
    }

    /// A picture of one plot with axes, under two lines of title.
    pub(crate) fn of_plot(size: At, plot: &Plot, label: &str, [name, unit]: [&str; 2]) -> Self {
        let mut svg = Self::new(size, "", label);
        svg.text((4.0, 14.0), "font-weight=\"600\"", name);
        svg.text((4.0, 30.0), DIM, unit);
        let Plot {
            left,
            right,
            top,
            floor,
        } = *plot;
        let corner = [(left, top), (left, floor), (right, floor)];
        svg.polyline(&corner, "stroke=\"currentColor\"", "");
        svg
    }

    fn element(&mut self, name: &str, geometry: &str, style: &str, said: &str) {
        let _ = match said {
            "" => writeln!(self.0, "<{name} {geometry} {style}/>"),
            said => writeln!(
                self.0,
                "<{name} {geometry} {style}><title>{}</title></{name}>",
                escaped(&plain(said))
            ),
        };
    }

    /// A straight line, which says something where it is pointed at.
    pub(crate) fn line(&mut self, from: At, to: At, style: &str, said: &str) {
        let geometry = format!("d=\"M{} L{}\"", place(from), place(to));
        self.element("path", &geometry, style, said);
    }

    /// A line across a plot with its label at the left.
    pub(crate) fn level(&mut self, plot: &Plot, y: f64, label: &str) {
        self.line((plot.left, y), (plot.right, y), FAINT, "");
        let style = format!("text-anchor=\"end\" {DIM}");
        self.text((plot.left - 5.0, y + 4.0), &style, label);
    }

    /// A line through points.
    pub(crate) fn polyline(&mut self, points: &[At], style: &str, said: &str) {
        let style = format!("fill=\"none\" {style}");
        self.element("polyline", &through(points), &style, said);
    }

    /// An area between points.
    pub(crate) fn polygon(&mut self, points: &[At], style: &str) {
        self.element("polygon", &through(points), style, "");
    }

    /// A rectangle from its upper left.
    pub(crate) fn rect(&mut self, at: At, (width, height): At, style: &str, said: &str) {
        let (x, y, width, height) = (short(at.0), short(at.1), short(width), short(height));
        let geometry = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        self.element("rect", &geometry, style, said);
    }

    /// A dot.
    pub(crate) fn dot(&mut self, at: At, radius: f64, style: &str, said: &str) {
        let (x, y, radius) = (short(at.0), short(at.1), short(radius));
        let geometry = format!("cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"");
        self.element("circle", &geometry, style, said);
    }

    /// A text from its start, unless its style says otherwise.
    pub(crate) fn text(&mut self, at: At, style: &str, text: &str) {
        let (x, y, text) = (short(at.0), short(at.1), escaped(&plain(text)));
        let _ = writeln!(self.0, "<text x=\"{x}\" y=\"{y}\" {style}>{text}</text>");
    }

    /// The picture.
    pub(crate) fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

fn place((x, y): At) -> String {
    format!("{} {}", short(x), short(y))
}

fn through(points: &[At]) -> String {
    let points = points
        .iter()
        .map(|(x, y)| format!("{},{}", short(*x), short(*y)));
    format!("points=\"{}\"", points.collect::<Vec<_>>().join(" "))
}

/// Text for HTML and pictures, between tags or as an attribute.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// With one decimal, where that is not 0.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
