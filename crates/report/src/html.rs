//! The report as one offline HTML file: the built page with the view model in it.
//!
//! The page itself is made in `web/`. Where it was not built, the document takes its place, with
//! plain tables and drawn figures.

use std::fmt::Write as _;

use crate::document::{Column, Document, Extent, Figure, Line, Part, Section, Table, draw};
use crate::pack::packed;
use crate::svg::{LINE, Svg, escaped};
use crate::view::{Report, Tone};

/// The built page; empty when `make page` had not been run.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// Where the record goes in the page.
const SLOT: &str = "<script type=\"application/json\" id=\"record\">null</script>";

/// The report as one HTML file that loads nothing from anywhere.
pub fn html(report: &Report) -> String {
    match PAGE.split_once(SLOT) {
        Some((before, after)) => [before, &record_element(report), after].concat(),
        None => fallback(report),
    }
}

/// The built page in parts, for pages that have their style and script beside them.
pub(crate) struct Built {
    /// Up to the content of the policy.
    pub(crate) start: &'static str,
    /// The part from behind the policy up to the style element.
    pub(crate) head: &'static str,
    pub(crate) style: &'static str,
    /// The part from behind the style element up to the record's element.
    pub(crate) body: &'static str,
    /// The part from behind the record's element up to the script's.
    pub(crate) between: &'static str,
    pub(crate) script: &'static str,
    /// The part from behind the script element.
    pub(crate) end: &'static str,
}

impl Built {
    /// The parts; `None` where the page was not built.
    pub(crate) fn parts() -> Option<Self> {
        let (start, rest) = PAGE.split_once("http-equiv=\"Content-Security-Policy\" content=\"")?;
        let (_, rest) = rest.split_once('"')?;
        let (head, rest) = rest.split_once("<style>")?;
        let (style, rest) = rest.split_once("</style>")?;
        let (body, rest) = rest.split_once(SLOT)?;
        let (between, rest) = rest.split_once("<script type=\"module\">")?;
        let (script, end) = rest.rsplit_once("</script>")?;
        Some(Self {
            start,
            head,
            style,
            body,
            between,
            script,
            end,
        })
    }
}

/// The element that holds the record in a page.
pub(crate) fn record_element(report: &Report) -> String {
    let slot = SLOT.trim_end_matches("null</script>");
    [slot, &script_safe(&packed(report)), "</script>"].concat()
}

/// JSON that cannot end the script element it stands in, nor begin another: `<` never appears,
/// and the two line ends that JSON allows and scripts did not are escaped too.
fn script_safe(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// The document without scripts, with a word on how to get the page.
fn fallback(report: &Report) -> String {
    let foot = "<p><small>Plain tables: the page with charts was not built into this bakeoff. Run \
         <code>make page</code>, build again, and draw the report anew with <code>bakeoff report \
         DIR --format html</code>.</small></p>\n";
    plain(&draw(report), ("", "")) + foot + "</html>\n"
}

/// A document as a page without scripts and without its end. Below the section of a name stands
/// more, which is HTML.
pub(crate) fn plain(document: &Document, (below, more): (&str, &str)) -> String {
    let title = escaped(&format!("bakeoff: {}", document.title));
    let mut out = String::new();
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
    out.push_str(
        "<meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n",
    );
    let _ = writeln!(
        out,
        "<title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>"
    );
    for one in document.within(Extent::Full) {
        section(&mut out, one);
        if one.name == below {
            out.push_str(more);
        }
    }
    out
}

fn section(out: &mut String, section: &Section) {
    if !section.title.is_empty() {
        let _ = writeln!(out, "<h2>{}</h2>", escaped(&section.title));
    }
    for part in &section.parts {
        match part {
            Part::Lines(lines) => list(out, lines),
            Part::Table(one) => table(out, one),
            Part::Verbatim { title, lines, .. } => {
                let (title, text) = (escaped(title), escaped(&lines.join("\n")));
                let _ = writeln!(out, "<p>{title}</p>\n<pre>{text}</pre>");
            }
            Part::Figure(one) => figure(out, one),
        }
    }
}

fn list(out: &mut String, lines: &[Line]) {
    out.push_str("<ul>\n");
    for line in lines {
        let mark = match line.tone {
            None | Some(Tone::Good | Tone::Note) => "",
            Some(Tone::Warning) => "<b>Careful:</b> ",
            Some(Tone::Bad) => "<b>Not to be used:</b> ",
        };
        let class = if line.depth > 0 {
            " class=\"below\""
        } else {
            ""
        };
        let _ = writeln!(out, "<li{class}>{mark}{}</li>", escaped(&line.text));
    }
    out.push_str("</ul>\n");
}

fn table(out: &mut String, table: &Table) {
    let shown = table.within(Extent::Full);
    let class = |column: &Column| match column.unit.is_numeric() {
        true => " class=\"n\"",
        false => "",
    };
    out.push_str("<table>\n");
    if !table.title.is_empty() {
        let _ = writeln!(out, "<caption>{}</caption>", escaped(&table.title));
    }
    out.push_str("<tr>");
    for (_, column) in &shown {
        let (title, unit) = (escaped(&column.title), column.unit.name());
        let class = class(column);
        let _ = write!(out, "<th{class}>{title} <small>{unit}</small></th>");
    }
    out.push_str("</tr>\n");
    for row in &table.rows {
        out.push_str(if row.reference {
            "<tr class=\"dim\">"
        } else {
            "<tr>"
        });
        for (index, column) in &shown {
            let field = &row.fields[*index];
            let reason = field.reason.as_ref().map_or(String::new(), |reason| {
                format!(" title=\"{}\"", escaped(&crate::number::plain(reason)))
            });
            let text = escaped(&field.shown(column.unit));
            let _ = write!(out, "<td{}{reason}>{text}</td>", class(column));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
}

/// Height of a row, and the edges of the plot.
const ROW: f64 = 22.0;
const EDGES: (f64, f64) = (300.0, 720.0);

/// Dots with whiskers on a logarithmic axis, 1 in its middle, and the band of noise.
fn figure(out: &mut String, figure: &Figure) {
    let ends = figure
        .points
        .iter()
        .flat_map(|one| [one.ratio.low, one.ratio.high, one.ratio.point]);
    let ends = ends.filter(|value| *value > 0.0 && value.is_finite());
    let most = ends
        .map(|value| value.ln().abs())
        .fold(1.2_f64.ln(), f64::max);
    let (left, right) = EDGES;
    let at = |value: f64| {
        let share = (value.max(1e-9).ln() / most).clamp(-1.0, 1.0);
        left + (right - left) / 2.0 * (1.0 + share)
    };
    let height = ROW * (figure.points.len() as f64 + 1.0);
    let mut svg = Svg::new((right + 20.0, height), "", &figure.title);
    let (low, high) = (at(1.0 / (1.0 + figure.floor)), at(1.0 + figure.floor));
    svg.rect(
        (low, 0.0),
        (high - low, height),
        "opacity=\".15\"",
        &figure.title,
    );
    svg.line((at(1.0), 0.0), (at(1.0), height), LINE, "");
    for (index, point) in figure.points.iter().enumerate() {
        let y = ROW * (index as f64 + 0.8);
        let style = if point.bound { "class=\"hollow\"" } else { "" };
        svg.text((0.0, y + 4.0), "", &point.label);
        svg.line(
            (at(point.ratio.low), y),
            (at(point.ratio.high), y),
            LINE,
            "",
        );
        svg.dot((at(point.ratio.point), y), 4.0, style, "");
    }
    out.push_str(&svg.finish());
}

/// The shadows at the sides of a table are covered where it ends there, so that what is cut off
/// looks cut off.
const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}\
                     table{border-collapse:collapse;display:block;overflow-x:auto;\
                     background:linear-gradient(90deg,Canvas 1rem,transparent) 0/2rem 100% local,\
                     linear-gradient(270deg,Canvas 1rem,transparent) 100%/2rem 100% local,\
                     linear-gradient(90deg,#8888,transparent) 0/.7rem 100%,\
                     linear-gradient(270deg,#8888,transparent) 100%/.7rem 100%;\
                     background-repeat:no-repeat}caption\
                     {text-align:left;font-weight:600}td,th{padding:.2rem .7rem;text-align:left;\
                     border-bottom:1px solid #8884}.n{text-align:right;white-space:nowrap;\
                     font-variant-numeric:tabular-nums}.dim,small{opacity:.65}.below\
                     {margin-left:1.5rem}svg{max-width:46rem;font-size:13px;fill:currentColor}\
                     .l{stroke:currentColor;fill:none}.hollow{fill:Canvas;stroke:currentColor}\
                     .curves{display:grid;gap:1rem;margin-top:1rem;grid-template-columns:\
                     repeat(auto-fill,minmax(min(22rem,100%),1fr))}\
                     .curves svg{width:100%;max-width:38rem}\
                     @media(max-width:30rem){body{margin:1rem}}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_cannot_end_its_script_element() {
        let hostile = "{\"server\":\"</script><script>alert(1)</script>\u{2028}<!--\"}";
        let safe = script_safe(hostile);
        assert!(!safe.contains('<') && !safe.contains('\u{2028}'), "{safe}");
        let read: serde_json::Value = serde_json::from_str(&safe).unwrap();
        assert_eq!(
            read,
            serde_json::from_str::<serde_json::Value>(hostile).unwrap()
        );
    }
}
